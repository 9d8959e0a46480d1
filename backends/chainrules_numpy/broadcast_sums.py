"""Sums over broadcast axes for NumPy, as products with ones, which BLAS computes.

``np.add.reduce`` has an overhead of 0.8 us, and is slow if sums are short and the axis is the last
in memory: 800 sums of 3 take 9.7 us, a product takes 1.1. Sums of up to `_LONG` numbers lose no
digits by this; longer ones are left to NumPy, which uses pairwise summation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Shape: TypeAlias = tuple[int, ...]

# The functions themselves, without dispatch to arrays of other libraries.
vdot: Any = getattr(np.vdot, "_implementation", np.vdot)
_einsum: Any = getattr(np.einsum, "_implementation", np.einsum)
_add: Any = np.add.reduce
_LONG = 4096
_WORTH = 64  # Matrix size from which a separate product costs less than its elements.
_MANY, _RUN = 1 << 14, 8  # Sizes of products, and of runs in them, from which none is stored.
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_ONES = [np.ones(_LONG, dtype) for dtype in _DTYPES]


def sums(result: Shape, shape: Shape) -> Callable[[Any], Any]:
    """Return a function that sums arrays of one shape to another one that broadcasts to it."""
    extra = len(result) - len(shape)
    kept = (*(1,) * extra, *shape)
    axes = tuple([i for i, n in enumerate(result) if i < extra or n != kept[i]])

    def in_numpy(t: Any) -> Any:
        t = _add(t, axes, None, None, True)
        return t if shape == kept else t.reshape(shape)[()]

    rows = math.prod([result[i] for i in axes])
    leading = axes == tuple(range(len(axes))) and len(axes) < len(result)
    flat = (rows, math.prod(result[len(axes) :]))

    def down_long(t: Any) -> Any:
        # NumPy also adds column sums one by one.
        if t.dtype not in _DTYPES or not t.flags.c_contiguous:
            return in_numpy(t)
        return np.ones(rows, t.dtype).dot(t.reshape(flat)).reshape(shape)

    if rows > _LONG:
        return down_long if leading else in_numpy
    if axes == (0,) and len(result) < 3:
        return _down(_ones(rows, (rows,) if extra else (1, rows)), in_numpy)
    if axes == (1,) and len(result) == 2:
        return _across(_ones(rows, (rows, 1)), in_numpy)
    if leading:
        ones = _ones(rows, (rows,))
        return _in_order(ones, lambda one, t: one.dot(t.reshape(flat)).reshape(shape), in_numpy)
    if len(axes) == len(result):
        ones = _ones(rows, (rows,))
        return _in_order(ones, lambda one, t: _shaped(one.dot(t.reshape(rows)), shape), in_numpy)
    if axes == tuple(range(len(result) - len(axes), len(result))):
        ones, lines = _ones(rows, (rows,)), (math.prod(result[: -len(axes)]), rows)
        return _in_order(ones, lambda one, t: t.reshape(lines).dot(one).reshape(shape), in_numpy)
    if axes == (len(result) - 2,) and not extra:
        return _in_order(_ones(rows, (1, rows)), np.matmul, in_numpy)
    return in_numpy


def dots(result: Shape, shape: Shape, other: Shape) -> Callable[[Any, Any], Any] | None:
    """Return a function that sums products of arrays of one shape to one that broadcasts to it.

    The second array may also have a shape that broadcasts to the first.
    """
    sum_of = sums(result, shape)
    if other != result:
        return _spread(matrices(result, shape, other), shape, sum_of)
    if math.prod(shape) != 1 and math.prod(result) >= _MANY and result[-1] >= _RUN:
        return _at_once(result, shape, sum_of)
    if math.prod(shape) != 1 or _LONG < math.prod(result) < _MANY:
        return lambda t, p: sum_of(t * p)
    if math.prod(result) >= _MANY:
        return _all_at_once(math.prod(result), shape, sum_of)

    def dot(t: Any, p: Any) -> Any:
        if t.dtype != p.dtype or t.dtype not in _DTYPES:
            return sum_of(t * p)
        return _shaped(vdot(t, p), shape)

    return dot


def matrices(result: Shape, shape: Shape, other: Shape) -> Shape | None:
    """Return the number, rows and columns of matrices whose product with a vector is a sum.

    The summed array is multiplied by one number along all remaining axes, so that neither the
    factor is broadcast nor the product stored. Rows are the summed axes, columns the axes behind
    them. Return None if the sum has another form, or would be slower or less exact.
    """
    kept = (*(1,) * (len(result) - len(shape)), *shape)
    summed = [i for i, n in enumerate(result) if n != kept[i]]
    if not (shape and summed) or 0 in result:
        return None
    first, last = summed[0], summed[-1] + 1
    before, after = math.prod(result[:first]), math.prod(result[last:])
    rows = math.prod(result[first:last])
    factor = (*(1,) * (len(result) - len(other)), *other)
    of_summed = math.prod(factor) == math.prod(factor[first:last]) == rows
    if not of_summed or math.prod(shape) != before * after:
        return None
    worth = before == 1 or (rows <= _LONG if after == 1 else rows * after >= _WORTH)
    return (before, rows, after) if worth else None


def _spread(
    form: Shape | None, shape: Shape, sum_of: Callable[[Any], Any]
) -> Callable[[Any, Any], Any] | None:
    """Return a function that multiplies matrices of this form by a vector."""
    if form is None:
        return None
    before, rows, after = form
    # `matmul` does not use BLAS for negative strides.
    product: Any = lambda p, t: np.matmul(np.ascontiguousarray(p), t)
    if before == 1 or after == 1:
        form = (rows, after) if before == 1 else (before, rows)
        product = (lambda p, t: p.dot(t)) if before == 1 else (lambda p, t: t.dot(p))

    def dot(t: Any, p: Any) -> Any:
        if t.dtype != p.dtype or t.dtype not in _DTYPES or not t.flags.c_contiguous:
            return sum_of(t * p)
        return product(p.reshape(rows), t.reshape(form)).reshape(shape)

    return dot


def _at_once(
    result: Shape, shape: Shape, sum_of: Callable[[Any], Any]
) -> Callable[[Any, Any], Any]:
    """Return a function that sums products without storing them, in half of the time or less."""
    kept = (*(1,) * (len(result) - len(shape)), *shape)
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(result)]
    some = [a for a, n, k in zip(letters, result, kept, strict=True) if n == k]
    summed = math.prod([n for n, k in zip(result, kept, strict=True) if n != k])
    if len(result) > len(letters) or (letters[-1] not in some and summed > _LONG):
        return lambda t, p: sum_of(t * p)
    how = f"{letters},{letters}->{''.join(some)}"

    def dot(t: Any, p: Any) -> Any:
        alike = t.shape == p.shape and t.dtype == p.dtype and t.dtype in _DTYPES
        if not alike or not (t.flags.c_contiguous and p.flags.c_contiguous):
            return sum_of(t * p)
        return _einsum(how, t, p).reshape(shape)

    return dot


def _all_at_once(n: int, shape: Shape, sum_of: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function that sums all products in groups of some thousand, and then the groups."""
    rows, ends = (n // _LONG, _LONG), n // _LONG * _LONG

    def dot(t: Any, p: Any) -> Any:
        alike = t.shape == p.shape and t.dtype == p.dtype and t.dtype in _DTYPES
        if not alike or not (t.flags.c_contiguous and p.flags.c_contiguous):
            return sum_of(t * p)
        t, p = t.reshape(n), p.reshape(n)
        total = _add(_einsum("ij,ij->i", t[:ends].reshape(rows), p[:ends].reshape(rows)))
        return _shaped(total + vdot(t[ends:], p[ends:]) if ends < n else total, shape)

    return dot


def _shaped(number: Any, shape: Shape) -> Any:
    return number.reshape(shape) if shape else number


def _down(ones: dict[Any, Any], otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that sums the columns of a matrix."""

    def down(t: Any) -> Any:
        one = ones.get(t.dtype)
        return otherwise(t) if one is None else one.dot(t)

    return down


def _across(ones: dict[Any, Any], otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that sums the rows of a matrix."""

    def across(t: Any) -> Any:
        one = ones.get(t.dtype)
        return otherwise(t) if one is None else t.dot(one)

    return across


def _in_order(
    ones: dict[Any, Any], product: Callable[[Any, Any], Any], otherwise: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Return a function that sums arrays in C order, by their product with ones."""

    def in_order(t: Any) -> Any:
        one = ones.get(t.dtype)
        if one is None or not t.flags.c_contiguous:
            return otherwise(t)
        return product(one, t)

    return in_order


def _ones(n: int, shape: Shape) -> dict[Any, Any]:
    """Return n ones for each dtype."""
    return {ones.dtype: ones[:n].reshape(shape) for ones in _ONES}
