"""Memory layouts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.passes.analysis import contiguous
from chainrules_py.extend import type_info


def layout_of(x: Any) -> tuple[Any, ...] | None:
    """Return the memory layout of an array, as its library defines it; None for other values."""
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size:
        return contiguous(x.shape, x.itemsize)
    memory = type_info(type(x)).memory
    return None if memory is None else tuple(memory.layout(x))


def is_compact(x: Any) -> bool:
    """Return whether the elements are contiguous in some order of the axes, as in a copy."""
    if not isinstance(x, np.ndarray):
        return True
    step = x.itemsize
    for stride, n in sorted([(s, n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1]):
        if stride != step:
            return False
        step *= n
    return True
