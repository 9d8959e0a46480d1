"""Special functions for which CuPy's own need other arguments."""

from __future__ import annotations

import importlib
from typing import Any

import cupy

from chainrules_py import Scalar
from chainrules_py import ops as v


@v.polygamma.implement
def polygamma_cupy(n: cupy.ndarray | Scalar, x: cupy.ndarray) -> Any:
    """Compute polygamma in the dtype of x; CuPy's function takes arrays only."""
    y = importlib.import_module("cupyx.scipy.special").polygamma(cupy.asarray(n), x)
    return y if y.dtype == x.dtype else y.astype(x.dtype)
