"""Functions of matrices that SciPy computes, called back from programs that JAX traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_jax.engine.callback import called_back, compute_by
from chainrules_py import Primitive
from chainrules_py import ops as v


def _called_back(operation: Primitive[..., Any]) -> None:
    """Compute a function of one matrix by SciPy, with a result of the matrix's dtype."""

    def body(x: np.ndarray) -> Any:
        y = operation.plain_implementation((np.ndarray,))(x)
        if np.iscomplexobj(y) and not np.iscomplexobj(x):
            raise ValueError(
                f"{operation.__name__} of a real matrix is complex here; give a complex one"
            )
        return y

    compute_by(operation, called_back(operation, body, lambda x: x, vectorized=False))


_called_back(v.sqrtm)
_called_back(v.logm)
