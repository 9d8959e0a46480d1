"""What is used of CuPy's private names: all of them stand in this module, and each is tried."""

from __future__ import annotations

import importlib
from typing import Any

OF_COMPOSITES = [
    f"cupyx.scipy.special.{m}" for m in ("_softmax", "_logsoftmax", "_logsumexp", "_polygamma")
]
"""The modules of functions of cupyx that CuPy writes in others."""


def where_ufunc() -> Any:
    """Return the ufunc that ``cupy.where`` calls; None without one, and ``v.where`` is written."""
    try:
        return getattr(importlib.import_module("cupy._sorting.search"), "_where_ufunc", None)
    except ImportError:
        return None
