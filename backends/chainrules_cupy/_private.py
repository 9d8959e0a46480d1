"""The private names of CuPy; no other module of this package uses one."""

from __future__ import annotations

import importlib
from typing import Any

OF_COMPOSITES = [
    f"cupyx.scipy.special.{m}" for m in ("_softmax", "_logsoftmax", "_logsumexp", "_polygamma")
]
"""The modules of cupyx functions that are composed of other functions."""


def with_broadcast() -> list[Any]:
    """Return the modules whose ``broadcast`` is called: by programs, and by broadcast_arrays."""
    names = "cupy", "cupy._manipulation.dims"
    return [space for space in map(importlib.import_module, names) if hasattr(space, "broadcast")]


def where_ufunc() -> Any:
    """Return the ufunc that ``cupy.where`` calls, or None if there is none."""
    try:
        return getattr(importlib.import_module("cupy._sorting.search"), "_where_ufunc", None)
    except ImportError:
        return None
