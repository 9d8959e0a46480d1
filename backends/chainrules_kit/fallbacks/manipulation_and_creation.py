"""Operations that rearrange and create arrays for libraries without a function of the name."""

from __future__ import annotations

from typing import Any

from chainrules_py import Array
from chainrules_py import ops as v
from chainrules_py.extend import namespace, type_info


@v.full_like.implement
def full_like_standard(
    x: Array, *, shape: tuple[int, ...], fill: complex, dtype: Any = None
) -> Any:
    """Return a filled array of any shape, which the standard's function does not accept."""
    dtype = x.dtype if dtype is None else dtype
    where = getattr(x, "device", None)
    keywords = {} if where is None else {"device": where}
    return namespace(x).full(shape, fill, dtype=dtype, **keywords)


@v.zeros_like.implement
def zeros_like_standard(x: Array, *, shape: Any = None, dtype: Any = None) -> Any:
    """Return zeros; use `full_like` if there is a shape, which the standard does not accept."""
    if shape is not None:
        return v.full_like(x, shape=shape, fill=0, dtype=dtype)
    keywords = {} if dtype is None else {"dtype": dtype}
    return namespace(x).zeros_like(x, **keywords)


@v.astype.implement
def astype_standard(x: Array, *, dtype: Any) -> Any:
    """Convert to a dtype, which the standard's function accepts by position only."""
    return namespace(x).astype(x, dtype, copy=False)


@v.to_device.fallback
def to_device_standard(x: Any, *, device: Any) -> Any:
    """Move x to a device by the method of the standard."""
    return x if x.device == device else x.to_device(device)


@v.pad.fallback
def pad_standard(x: Array, value: Any, *, widths: tuple[tuple[int, int], ...]) -> Any:
    """Join x to blocks of the value, axis by axis."""
    y: Any = x
    for axis, (before, behind) in enumerate(widths):
        blocks = [
            v.full_like(y, shape=(*y.shape[:axis], n, *y.shape[axis + 1 :]), fill=0)
            for n in (before, behind)
        ]
        if not (type(value) is int and value == 0):
            filler = v.astype(value, dtype=x.dtype) if type_info(type(value)).is_array else value
            blocks = [v.add(block, filler) for block in blocks]
        y = v.concat(blocks[0], y, blocks[1], axis=axis)
    return y


@v.sliding_window_view.fallback
def sliding_window_view_standard(
    x: Array, *, window_shape: tuple[int, ...], axis: tuple[int, ...]
) -> Any:
    """Copy the windows by indices; the result is no view."""
    y: Any = x
    for a, n in zip(axis, window_shape, strict=True):
        a %= x.ndim
        starts = y.shape[a] - n + 1
        if starts < 1:
            raise ValueError("window shape cannot be larger than input array shape")
        places = v.reshape(v.arange_like(x, stop=starts), shape=(-1, 1)) + v.arange_like(x, stop=n)
        y = v.take(y, places, axis=a)
        order = [*range(a + 1), *range(a + 2, y.ndim), a + 1]
        y = v.permute_dims(y, axes=tuple(order))
    return y


@v.geomspace.fallback
def geomspace_standard(
    start: Any,
    stop: Any,
    *,
    num: int,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Compute powers of the quotient, with the exact ends."""
    quotient = v.divide(stop, start)
    start, stop = [v.add(end, v.zeros_like(quotient)) for end in (start, stop)]
    y = v.exp(
        v.linspace(v.zeros_like(quotient), v.log(quotient), num=num, endpoint=endpoint, axis=axis)
    )
    y = v.multiply(y, v.expand_dims(start, axis=axis))
    if num > 1:
        places = v.arange_like(y, stop=num)
        places = v.reshape(places, shape=(-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
        y = v.where(v.equal(places, 0), v.expand_dims(start, axis=axis), y)
        if endpoint:
            y = v.where(v.equal(places, num - 1), v.expand_dims(stop, axis=axis), y)
    return y if dtype is None else v.astype(y, dtype=dtype)


@v.vander.fallback
def vander_standard(x: Array, *, columns: int, increasing: bool = False) -> Any:
    """Compute the powers of x as cumulative products."""
    repeated = v.broadcast_to(v.expand_dims(x, axis=-1), shape=(x.shape[0], max(columns - 1, 0)))
    if columns < 1:
        return repeated
    powers = v.cumulative_prod(repeated, axis=-1, include_initial=True)
    return powers if increasing else v.flip(powers, axis=-1)
