"""Operands like those that are given: of other lengths, with zeros and ties, beside a number."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np


def is_sorted(x: Any) -> bool:
    """Tell whether the numbers along the last axis increase, as they may have to."""
    return (
        isinstance(x, np.ndarray)
        and x.dtype.kind == "f"
        and x.ndim > 0
        and x.shape[-1] > 1
        and bool(np.all(np.diff(x, axis=-1) > 0))
    )


def times(factor: float, x: Any) -> Any:
    """Multiply by a number; with a negative one, what increases is put in reverse order.

    Examples
    --------
    >>> times(-2.0, np.array([1.0, 3.0, 2.0])), times(-2.0, np.array([1.0, 2.0, 4.0]))
    (array([-2., -6., -4.]), array([-8., -4., -2.]))
    """
    return np.flip(factor * x, -1).copy() if factor < 0 and is_sorted(x) else factor * x


def of_both_signs(x: Any, first: float = 1.0) -> Any:
    """Give every other number of one sign the other one; what increases does so still.

    Examples
    --------
    >>> of_both_signs(np.array([1.0, 3.0, 2.0])), of_both_signs(np.array([1.0, 2.0, 4.0]))
    (array([-1.,  3., -2.]), array([-1.875, -0.875,  1.125]))
    """
    if np.iscomplexobj(x) or (np.any(x < 0) and np.any(x > 0)):
        return x
    if is_sorted(x):
        return x - (0.375 * x[..., :1] + 0.625 * x[..., -1:])
    return x * np.where(np.arange(x.size) % 2, first, -first).reshape(x.shape)


def with_zeros(x: Any, places: list[int]) -> Any:
    """Put zeros in some places of a copy, counted along the flat array."""
    x = x.copy()
    x.reshape(-1)[places] = 0
    return x


def with_tie(x: Any) -> Any:
    """Copy the largest and the least number to their neighbours."""
    flat = x.reshape(-1).copy()
    order = np.argsort(np.abs(flat) if flat.dtype.kind == "c" else flat, kind="stable")
    flat[order[-2]] = flat[order[-1]]
    if flat.size > 3:
        flat[order[1]] = flat[order[0]]
    return flat.reshape(x.shape)


def is_float_array(x: Any) -> bool:
    """Tell whether it is an array of NumPy of floating numbers, real or complex."""
    return type(x) is np.ndarray and x.dtype.kind in "fc"


def is_numpy(x: Any) -> bool:
    """Tell whether it is an array of NumPy's own class."""
    return type(x) is np.ndarray


def is_number(x: Any) -> bool:
    """Tell whether it is a floating number of Python's or NumPy's, real or complex."""
    return type(x) in (float, complex) or isinstance(x, np.inexact)


def first_element(x: Any) -> Any:
    """Return the first number of an array, as an array without axes; zero of an empty one."""
    return np.asarray(x.reshape(-1)[0] if x.size else 0, x.dtype)


def cut(axis: int) -> Callable[[Any], Any]:
    """Leave out the last number along an axis, the first or the last one."""
    return lambda x: x[:-1] if axis == 0 else x[..., :-1]


def extended(axis: int) -> Callable[[Any], Any]:
    """Add a number behind the last along an axis, the first or the last one."""
    return lambda x: np.concatenate([x, _next(x[-1:] if axis == 0 else x[..., -1:])], axis=axis)


def longer(axis: int, count: int) -> Callable[[Any], Any]:
    """Add so many numbers along an axis, the first or the last one, to what has any."""

    def made(x: Any) -> Any:
        for _ in range(count) if x.ndim and x.size else ():
            x = extended(axis)(x)
        return x

    return made


def with_signs(signs: Sequence[float]) -> Callable[[Any], Any]:
    """Give numbers these signs."""
    return lambda x: np.abs(x) * np.reshape(signs, x.shape)


def of_entries(xs: Any, count: int, axis: int | None, mapped: Callable[..., Any]) -> Any:
    """Add entries to a list, tuple or dictionary, like its last; along an axis all grow unlike.

    Arrays inside of an entry are changed by ``mapped(change, entry)``.

    Examples
    --------
    >>> of_entries([1.0, 2.0], 4, None, lambda change, x: change(x))
    [1.0, 2.0, 2.25, 2.5]
    """
    keys = list(xs) if type(xs) is dict else list(range(len(xs)))
    more = [1.0 + k / 8 for k in range(1, count - len(keys) + 1)]
    last = xs[keys[-1]]
    entries = [*[xs[k] for k in keys], *[mapped(partial(times, c), last) for c in more]]
    if axis is not None:
        entries = [mapped(longer(axis, k), x) for k, x in enumerate(entries)]
    if type(xs) is dict:
        return dict(zip([*keys, *[f"{keys[-1]}{k}" for k in range(count)]], entries, strict=False))
    return type(xs)(entries)


def of_length(n: int) -> Callable[[Any], Any]:
    """Make the last axis so long, of the numbers that are there, if any, and others like them."""

    def made(x: Any) -> Any:
        while 0 < x.shape[-1] < n:
            # No multiples: a matrix of full rank stays one.
            waves = 1.0 + np.cos(np.arange(1.0, x.size + 1)).reshape(x.shape) / 8
            x = np.concatenate([x, x * (waves + 1.0 / 16)], axis=-1)
        return x[..., :n]

    return made


def of_lengths(of: int, n: int) -> Callable[[Any], Any]:
    """Make every axis of one length another length; a square matrix may have to be what it is.

    Examples
    --------
    >>> of_lengths(2, 5)(np.ones((2, 3))).shape, of_lengths(2, 1)(np.ones((2, 2))).shape
    ((5, 3), (1, 1))
    """

    def made(x: Any) -> Any:
        if x.shape[-2:] == (of, of) and n > of:
            count = -(-n // of)
            x = np.kron(np.diag(1.0 + np.arange(count) / 8) + 1.0 / 16, x)[..., :n, :n]
        for axis, length in enumerate(x.shape):
            if length == of:
                x = np.moveaxis(of_length(n)(np.moveaxis(x, axis, -1)), -1, axis)
        return np.ascontiguousarray(x)

    return made


def _next(last: Any) -> Any:
    """Make up the numbers behind the last: greater, and no multiple of them."""
    waves = 0.125 + 0.0625 * np.cos(np.arange(1.0, last.size + 1)).reshape(last.shape)
    return last + waves * (np.abs(last) + 0.25 * np.max(np.abs(last), initial=0.0))


def stacked(x: Any, count: int) -> Any:
    """Put other rows below, in another order; a matrix may have to be what it is."""
    other = x[::-1] if x.ndim == 1 and not is_sorted(x) else x
    return np.stack([x, *[(1.0 + k / 8) * other for k in range(1, count)]])


def backwards(x: Any) -> Any:
    """Reverse an array of numbers along all axes: of matrices many kinds stay what they are."""
    is_array = type(x) is np.ndarray and x.ndim > 0 and x.dtype.kind in "fc"
    return np.flip(x).copy() if is_array else x


def shuffled(x: Any) -> Any:
    """Shuffle what is no square matrix: of the order of numbers nothing is left."""
    if type(x) is not np.ndarray or x.dtype.kind not in "fc" or x.shape[-2:-1] == x.shape[-1:]:
        return x
    return np.random.default_rng(5).permutation(x.reshape(-1)).reshape(x.shape)


def symmetric_as(given: Any, x: Any) -> Any:
    """Make a matrix symmetric if another one is: a rule may be for these."""
    is_square = type(x) is np.ndarray and x.ndim == 2 and x.shape[0] == x.shape[1]
    return (x + x.T) / 2 if is_square and np.array_equal(given, given.T) else x


def is_whole(x: Any) -> bool:
    """Tell whether it is a whole number of Python's, or an array of them."""
    return type(x) is int or (type(x) is np.ndarray and x.dtype.kind in "iu")


def floating(x: Any, more: float = 0.0) -> Any:
    """Make a floating-point number, or an array of them, of whole ones, and add something."""
    return float(x) + more if type(x) is int else np.asarray(x + more, np.float64)


def turned(index: Any, n: int) -> Any:
    """Count the last of several places, and every second before it, from the other end.

    Examples
    --------
    >>> turned(np.array([0, 0, 2]), 3)
    array([-3,  0, -1])
    """
    index = index.copy()
    some = index.reshape(-1)[::-2]
    some[...] = np.where(some < 0, some + n, some - n)
    return index


def other_masks(mask: Any) -> list[Any]:
    """List other masks, or the other flag: each with something in it; of what is no mask none.

    Examples
    --------
    >>> other_masks(np.array([True, True, False]))
    [array([False,  True, False]), array([False,  True,  True]), array([False, False,  True])]
    >>> other_masks(True), other_masks(1)
    ([False], [])
    """
    if isinstance(mask, (bool, np.bool_)):
        return [type(mask)(not mask)]
    if type(mask) is not np.ndarray or mask.dtype != bool:
        return []
    first = mask.copy()
    first.reshape(-1)[:1] ^= True
    rolled = np.roll(mask.reshape(-1), 1).reshape(mask.shape)
    made = {x.tobytes(): x for x in (first, rolled, ~mask)}
    return [x for key, x in made.items() if key != mask.tobytes() and x.any()]


def exchanged(xs: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Exchange the first two arrays of unlike shapes: whichever is longer may decide.

    Examples
    --------
    >>> [[x.shape for x in other] for other in exchanged((np.ones(3), np.ones(2)))]
    [[(2,), (3,)]]
    """
    arrays = [i for i, x in enumerate(xs) if is_float_array(x)]
    for i, k in itertools.combinations(arrays, 2):
        if xs[i].shape != xs[k].shape:
            other = list(xs)
            other[i], other[k] = xs[k], xs[i]
            yield tuple(other)
            return


def reordered(xs: tuple[Any, ...], i: int) -> list[tuple[Any, ...]]:
    """List operands with whole numbers in rising order, and the last of them first.

    Then the same with the arrays beside them in that order as well: a function of places gives the
    same numbers, in one of both. Where all places are one, the last is another. Empty for a number.

    Examples
    --------
    >>> [index for _, index in reordered((np.array([5.0, 7.0]), np.array([0, 0])), 1)]
    [array([0, 1]), array([1, 0]), array([1, 0])]
    """
    index = xs[i]
    if not index.ndim or len(index) < 2:
        return []
    if np.all(index == index[0]):
        index = index.copy()
        index[-1] += 1
    roll = partial(np.roll, shift=1, axis=0)
    beside = [roll(x) if is_float_array(x) and x.shape[:1] == index.shape[:1] else x for x in xs]
    kinds = (xs, index), (xs, roll(index)), (tuple(beside), roll(index))
    return [(*some[:i], places, *some[i + 1 :]) for some, places in kinds]


def tied(xs: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Give the same numbers, and one object, for the first two operands that are alike.

    Of several points in rows, of which there may be more in one, some are those of the other.

    Examples
    --------
    >>> [(name, len(xs[1])) for name, xs in tied((np.ones((2, 3)), np.zeros((4, 3))))]
    [('ties', 4)]
    """
    for i, k in itertools.combinations(range(len(xs)), 2):
        x, other = xs[i], xs[k]
        if not (is_float_array(x) and is_float_array(other) and x.dtype == other.dtype):
            continue
        if x.ndim == other.ndim and x.shape[-1:] == other.shape[-1:]:
            yield "ties", (*xs[:k], np.resize(x, other.shape), *xs[k + 1 :])
            if x.shape == other.shape:
                yield "the same object twice", (*xs[:k], x, *xs[k + 1 :])
            return


def meet(x: Any, y: Any) -> bool:
    """Tell whether arrays are equal, or have a row in common: there a distance has a kink.

    Examples
    --------
    >>> meet(np.ones((2, 3)), np.ones((4, 3))), meet(np.zeros((2, 3)), np.ones((4, 3)))
    (True, False)
    """
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        return np.array_equal(x, y)
    rows = [{row.tobytes() for row in a.reshape(-1, a.shape[-1])} for a in (x, y)]
    return not rows[0].isdisjoint(rows[1])


def strided(x: Any) -> Any:
    """Copy an array to every second place of another one."""
    room = np.full((*x.shape[:-1], 2 * x.shape[-1] + 1), np.nan, np.result_type(x, np.float16))
    room = room.astype(x.dtype) if x.dtype.kind in "fc" else np.zeros(room.shape, x.dtype)
    room[..., 1::2] = x
    return room[..., 1::2]


def upside_down(x: Any) -> Any:
    """Copy an array to memory in which the last number comes first."""
    return np.flip(np.ascontiguousarray(np.flip(x)))


def read_only(x: Any) -> Any:
    """Copy an array to memory that nobody may write to."""
    x = x.copy()
    x.setflags(write=False)
    return x
