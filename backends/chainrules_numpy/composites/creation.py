"""Functions that create arrays from differentiable numbers, written in operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy.keyword_lowerings import in_memory_order
from chainrules_py import ops as v
from chainrules_py.extend import kind_of


def full(fill_value: Any, dtype: Any = None, shape: tuple[int, ...] = ()) -> Any:
    """Return an array of this shape, filled with a value."""
    filled = v.broadcast_to(fill_value, shape=shape)
    return filled if dtype is None else v.astype(filled, dtype=dtype)


def full_of(
    x: Any, fill_value: Any, dtype: Any = None, shape: tuple[int, ...] | None = None
) -> Any:
    """Return an array in the shape and dtype of x, filled with a value."""
    dtype = x.dtype if dtype is None else dtype
    filled = full(fill_value, dtype, x.shape if shape is None else shape)
    return in_memory_order(filled, x, "K") if filled.ndim == x.ndim else filled


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return evenly spaced numbers on a new axis, and their distance if ``retstep`` is true."""
    y = v.linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    if dtype is not None:
        found = v.astype(y, dtype=dtype)
        y = v.astype(v.floor(y), dtype=dtype) if kind_of(found) == "int" else found
    if not retstep:
        return y
    steps = num - 1 if endpoint else num
    return y, (stop - start) / steps if steps > 0 else float("nan")


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Raise the base to the powers from start to stop, on a new axis."""
    if not getattr(base, "ndim", 0):
        y = v.pow(base, v.linspace(start, stop, num=num, endpoint=endpoint, axis=axis))
    else:
        shapes = [getattr(x, "shape", ()) for x in (start, stop, base)]
        ndim = len(np.broadcast_shapes(*shapes))
        start, stop, base = [_raised(x, ndim) for x in (start, stop, base)]
        single = not any(shapes[:2])
        y = v.linspace(start, stop, num=num, endpoint=endpoint, axis=0 if single else axis)
        if single:
            behind = ndim - axis % (ndim + 1)
            y = v.reshape(y, shape=(*(1,) * (ndim - behind), num, *(1,) * behind))
        y = v.pow(v.expand_dims(base, axis=axis), y)
    return y if dtype is None else v.astype(y, dtype=dtype)


def _raised(x: Any, ndim: int) -> Any:
    """Add leading axes of length one to an array; a number broadcasts unchanged."""
    shape = getattr(x, "shape", ())
    return v.reshape(x, shape=((1,) * (ndim - len(shape))) + shape) if shape else x
