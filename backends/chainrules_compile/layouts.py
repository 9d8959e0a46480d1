"""Layouts: how the elements of arrays lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.passes.values import contiguous
from chainrules_py.extend import type_info


def layout_of(x: Any) -> tuple[Any, ...] | None:
    """Return how the elements of an array lie, as its library says; None for what is no array."""
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size:
        return contiguous(x.shape, x.itemsize)
    memory = type_info(type(x)).memory
    return None if memory is None else tuple(memory.layout(x))


def is_compact(x: Any) -> bool:
    """Tell whether the elements lie without gaps, in any order of the axes: as those of a copy."""
    if not isinstance(x, np.ndarray):
        return True
    step = x.itemsize
    for stride, n in sorted([(s, n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1]):
        if stride != step:
            return False
        step *= n
    return True
