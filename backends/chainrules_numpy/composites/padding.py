"""Padding, written in operations: axis by axis, each margin computed from the array so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, varies

Width = tuple[int, int]

_KEYWORD = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "edge": None,
    "empty": None,
    "wrap": None,
}
"""The modes, with the keyword of each."""


def pad(
    x: Any,
    pad_width: tuple[Width, ...],
    mode: str = "constant",
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: Any = None,
) -> Any:
    """Pad x with margins of these widths before and after it along each axis.

    Only the keyword of the mode may be given. Values are arrays: one for all margins, one pair for
    all axes, or a pair per axis; lengths are pairs.
    """
    _check(
        mode,
        constant_values=constant_values,
        end_values=end_values,
        stat_length=stat_length,
        reflect_type=reflect_type,
    )
    if mode == "constant" and (constant_values is None or math.prod(constant_values.shape) == 1):
        if constant_values is None:
            return v.pad(x, 0, widths=pad_width)
        return v.pad(x, v.reshape(constant_values, shape=()), widths=pad_width)
    sides = _sides(mode, x.ndim, constant_values, end_values, stat_length)
    for axis, width in enumerate(pad_width):
        if not any(width):
            continue
        if not x.shape[axis] and mode not in ("constant", "empty"):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
        if mode == "wrap":
            x = _wrapped(x, axis, width)
        elif mode in ("reflect", "symmetric") and x.shape[axis] > (mode == "reflect"):
            x = _reflected(x, axis, width, mode == "symmetric", reflect_type == "odd")
        else:
            x = _between(*sides(x, axis, width), x, axis, width)
    return x if any(map(any, pad_width)) else v.copy(x)


def padded_by(
    function: Callable[..., Any], x: Any, widths: tuple[Width, ...], keywords: dict[str, Any]
) -> Any:
    """Pad x with zeros, and call a function of each vector, which writes the margins into it."""
    y = v.pad(x, 0, widths=widths)
    for axis, width in enumerate(widths):
        rows = np.moveaxis(y, axis, -1)
        for at in np.ndindex(rows.shape[:-1]):
            function(rows[at], width, axis, keywords)
    return y


def _check(mode: Any, **given: Any) -> None:
    if mode not in _KEYWORD:
        raise ValueError(f"mode '{mode}' is not supported")
    other = {n for n, value in given.items() if value is not None and n != _KEYWORD[mode]}
    if other:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {other}")


def _at(x: Any, axis: int, part: slice) -> Any:
    return v.index(x, (slice(None),) * axis + (part,))


def _between(before: Any, behind: Any, x: Any, axis: int, width: Width) -> Any:
    """Join x with its margins, each of which is broadcast to its width."""
    parts = []
    for margin, length in ((before, width[0]), (x, None), (behind, width[1])):
        if length is None:
            parts.append(margin)
        elif length:
            shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
            parts.append(margin if margin.shape == shape else v.broadcast_to(margin, shape=shape))
    return v.concat(*parts, axis=axis)


Sides = Callable[[Any, int, Width], tuple[Any, Any]]


def _sides(mode: str, ndim: int, constant_values: Any, end_values: Any, stat_length: Any) -> Sides:
    """Return a function for the two margins of an axis, or values that broadcast to them."""
    if mode == "constant":
        constants = _pairs(constant_values, ndim)
        return lambda x, axis, width: _constants(constants[axis], x)
    if mode == "linear_ramp":
        ends = _pairs(end_values, ndim)
        return lambda x, axis, width: _ramps(ends[axis], x, axis, width)
    if mode in _STATISTICS:
        statistic = _STATISTICS[mode]
        lengths = ((None, None),) * ndim if stat_length is None else stat_length
        return lambda x, axis, width: _statistics(statistic, lengths[axis], x, axis)
    if mode == "empty":
        return lambda x, axis, width: _constants((None, None), x)
    return lambda x, axis, width: (_at(x, axis, slice(0, 1)), _at(x, axis, slice(-1, None)))


def _pairs(values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return one pair per axis, from values that broadcast to these."""
    if values is None:
        return [(None, None)] * ndim
    if math.prod(values.shape) <= 2 and values.shape != (2, 1):
        flat = v.reshape(values, shape=(-1,))
        return [(v.index(flat, 0), v.index(flat, -1))] * ndim
    values = v.broadcast_to(values, shape=(ndim, 2))
    return [(v.index(values, (i, 0)), v.index(values, (i, 1))) for i in range(ndim)]


def _number(value: Any, x: Any) -> Any:
    """Return a constant as an element of x; 0 if there is none."""
    if value is None:
        return v.full_like(x, shape=(), fill=0)
    return value if value.dtype == x.dtype else v.astype(value, dtype=x.dtype)


def _constants(pair: tuple[Any, Any], x: Any) -> tuple[Any, Any]:
    return _number(pair[0], x), _number(pair[1], x)


def _ramps(ends: tuple[Any, Any], x: Any, axis: int, width: Width) -> tuple[Any, Any]:
    """Return the ramps from the end values to the edges, without the edges."""
    edges = _at(x, axis, slice(0, 1)), _at(x, axis, slice(-1, None))
    before, behind = [
        _ramp(0 if end is None else end, v.squeeze(edge, axis=axis), axis, n, x)
        for end, edge, n in zip(ends, edges, width, strict=True)
    ]
    return before, v.flip(behind, axis=axis)


def _ramp(end: Any, edge: Any, axis: int, n: int, x: Any) -> Any:
    ramp = v.linspace(end, edge, num=n, endpoint=False, axis=axis)
    ramp = v.floor(_unrounded(ramp)) if kind_of(x) == "int" else ramp
    return ramp if ramp.dtype == x.dtype else v.astype(ramp, dtype=x.dtype)


def _unrounded(y: Any) -> Any:
    """Return a value that NumPy rounds because x is an integer array; raise if it is traced."""
    if varies(y):
        raise NotDifferentiableError(
            "pad() of whole numbers rounds what it computes of them, which has no derivative; "
            "convert them before: x.astype(float)"
        )
    return y


def _median(x: Any, axis: Any) -> Any:
    from chainrules_numpy.composites.quantiles import median

    return median(x, axis, keepdims=True)


_STATISTICS: dict[str, Callable[[Any, int], Any]] = {
    "maximum": lambda x, axis: v.max(x, axis=axis, keepdims=True),
    "minimum": lambda x, axis: v.min(x, axis=axis, keepdims=True),
    "mean": lambda x, axis: v.mean(x, axis=axis, keepdims=True),
    "median": _median,
}


def _statistics(
    statistic: Callable[[Any, int], Any], lengths: Any, x: Any, axis: int
) -> tuple[Any, Any]:
    """Compute a statistic of so many elements at either end; of all by default."""
    n = x.shape[axis]
    first, last = [n if length is None else min(length, n) for length in lengths]
    if 0 in (first, last) and statistic in (_STATISTICS["maximum"], _STATISTICS["minimum"]):
        raise ValueError("stat_length of 0 yields no value for padding")

    def of(part: slice) -> Any:
        y = statistic(_at(x, axis, part), axis)
        if kind_of(x) != "int" or kind_of(y) == "int":
            return y if y.dtype == x.dtype else v.astype(y, dtype=x.dtype)
        return v.astype(v.round(_unrounded(y)), dtype=x.dtype)

    before = of(slice(first))
    return before, before if first == last == n else of(slice(n - last, n))


def _wrapped(x: Any, axis: int, width: Width) -> Any:
    """Join as many copies of x as needed, the first and the last in part."""
    n = x.shape[axis]
    (before, end), (behind, start) = [divmod(k, n) for k in width]
    first, last = _at(x, axis, slice(n - end, n)), _at(x, axis, slice(start))
    return v.concat(first, *[x] * (before + 1 + behind), last, axis=axis)


def _reflected(x: Any, axis: int, width: Width, with_edge: bool, odd: bool) -> Any:
    """Reflect x at its ends, in whole periods, until the margins are filled."""
    period = x.shape[axis] - (not with_edge)
    before, behind = width
    while before or behind:
        n = x.shape[axis]
        reach = (n - (not with_edge)) // period * period
        parts, skip = [x], 0 if with_edge else 1
        if k := min(reach, before):
            chunk = v.flip(_at(x, axis, slice(skip, skip + k)), axis=axis)
            edge = _at(x, axis, slice(0, 1))
            parts.insert(0, 2 * edge - chunk if odd else chunk)
            before -= k
        if k := min(reach, behind):
            chunk = v.flip(_at(x, axis, slice(n - skip - k, n - skip)), axis=axis)
            edge = _at(x, axis, slice(n - 1, n))
            parts.append(2 * edge - chunk if odd else chunk)
            behind -= k
        x = v.concat(*parts, axis=axis)
    return x
