"""Operands derived from given ones: other numbers, shapes, layouts, masks and indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np


def is_numpy(x: Any) -> bool:
    """Return whether a value is an array of NumPy's own class."""
    return type(x) is np.ndarray


def is_float_array(x: Any) -> bool:
    """Return whether a value is a NumPy array of floating-point numbers, real or complex."""
    return type(x) is np.ndarray and x.dtype.kind in "fc"


def is_number(x: Any) -> bool:
    """Return whether a value is a floating-point number of Python or NumPy, real or complex."""
    return type(x) in (float, complex) or isinstance(x, np.inexact)


def is_whole(x: Any) -> bool:
    """Return whether a value is a Python integer, or a NumPy array of integers."""
    return type(x) is int or (type(x) is np.ndarray and x.dtype.kind in "iu")


def is_sorted(x: Any) -> bool:
    """Return whether the numbers along the last axis increase, as a function may require."""
    several = is_float_array(x) and x.dtype.kind == "f" and x.ndim > 0 and x.shape[-1] > 1
    return several and bool(np.all(np.diff(x, axis=-1) > 0))


# ------------------------------------------------------------------------------ other numbers


def shaken(rng: np.random.Generator, x: Any) -> Any:
    """Change each number by up to a quarter; a zero, by up to a quarter of the least other one.

    A zero becomes positive, and numbers that increase still do, as a function may require.
    """
    part = 0.25 * rng.uniform(-1.0, 1.0, x.shape)
    least = np.min(np.abs(x), initial=1.0, where=x != 0)
    turned = 1.0 + 1.0j if np.iscomplexobj(x) else 1.0
    return np.where(x == 0, np.abs(part) * least * turned, x * (1.0 + part))


def times(factor: float, x: Any) -> Any:
    """Multiply by a number; if it is negative, increasing numbers are reversed.

    Examples
    --------
    >>> times(-2.0, np.array([1.0, 3.0, 2.0])), times(-2.0, np.array([1.0, 2.0, 4.0]))
    (array([-2., -6., -4.]), array([-8., -4., -2.]))
    """
    return np.flip(factor * x, -1).copy() if factor < 0 and is_sorted(x) else factor * x


def of_both_signs(x: Any) -> Any:
    """Negate every other number if all have one sign; increasing numbers are shifted instead.

    Examples
    --------
    >>> of_both_signs(np.array([1.0, 3.0, 2.0])), of_both_signs(np.array([1.0, 2.0, 4.0]))
    (array([-1.,  3., -2.]), array([-1.875, -0.875,  1.125]))
    """
    if np.iscomplexobj(x) or (np.any(x < 0) and np.any(x > 0)):
        return x
    if is_sorted(x):
        return x - (0.375 * x[..., :1] + 0.625 * x[..., -1:])
    return x * np.where(np.arange(x.size) % 2, 1.0, -1.0).reshape(x.shape)


def in_disorder(x: Any) -> Any:
    """Move the last number first, and reverse the second half: an order unlike its inverse."""
    rolled, half = np.roll(x, 1, axis=-1), x.shape[-1] // 2 + 1
    return np.concatenate([rolled[..., :half], rolled[..., half:][..., ::-1]], axis=-1)


def symmetric_as(given: Any, x: Any) -> Any:
    """Make a matrix symmetric if another one is, as a rule may require."""
    is_square = type(x) is np.ndarray and x.ndim == 2 and x.shape[0] == x.shape[1]
    return (x + x.T) / 2 if is_square and np.array_equal(given, given.T) else x


def with_zeros(x: Any, places: list[int]) -> Any:
    """Return a copy with zeros at some indices of the flat array."""
    x = x.copy()
    x.reshape(-1)[places] = 0
    return x


def with_tie(x: Any) -> Any:
    """Set the second largest number to the largest, and the second least to the least."""
    flat = x.reshape(-1).copy()
    order = np.argsort(np.abs(flat) if flat.dtype.kind == "c" else flat, kind="stable")
    flat[order[-2]] = flat[order[-1]]
    if flat.size > 3:
        flat[order[1]] = flat[order[0]]
    return flat.reshape(x.shape)


def tied(xs: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield operands with equal numbers, and one object, for the first two that are alike.

    Of arrays of different lengths, the second one repeats, or leaves out, numbers of the first.

    Examples
    --------
    >>> [(name, len(xs[1])) for name, xs in tied((np.ones((2, 3)), np.zeros((4, 3))))]
    [('ties', 4)]
    """
    for i, k in itertools.combinations(range(len(xs)), 2):
        x, other = xs[i], xs[k]
        alike = is_float_array(x) and is_float_array(other) and x.dtype == other.dtype
        if alike and x.ndim == other.ndim and x.shape[-1:] == other.shape[-1:]:
            yield "ties", (*xs[:k], np.resize(x, other.shape), *xs[k + 1 :])
            if x.shape == other.shape:
                yield "the same object twice", (*xs[:k], x, *xs[k + 1 :])
            return


def meet(x: Any, y: Any) -> bool:
    """Return whether arrays are equal, or have a row in common: there a distance has a kink.

    Examples
    --------
    >>> meet(np.ones((2, 3)), np.ones((4, 3))), meet(np.zeros((2, 3)), np.ones((4, 3)))
    (True, False)
    """
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        return np.array_equal(x, y)
    rows = [{row.tobytes() for row in a.reshape(-1, a.shape[-1])} for a in (x, y)]
    return not rows[0].isdisjoint(rows[1])


def floating(x: Any, more: float = 0.0) -> Any:
    """Convert integers to floating-point numbers, and add a number."""
    return float(x) + more if type(x) is int else np.asarray(x + more, np.float64)


# ------------------------------------------------------------------------------- other shapes


def cut(axis: int) -> Callable[[Any], Any]:
    """Return a function that drops the last element along the first or the last axis."""
    return lambda x: x[:-1] if axis == 0 else x[..., :-1]


def extended(axis: int) -> Callable[[Any], Any]:
    """Return a function that appends an element along the first or the last axis.

    The element is greater than the last, and not a multiple of it.
    """

    def made(x: Any) -> Any:
        last = x[-1:] if axis == 0 else x[..., -1:]
        waves = 0.125 + 0.0625 * np.cos(np.arange(1.0, last.size + 1)).reshape(last.shape)
        more = last + waves * (np.abs(last) + 0.25 * np.max(np.abs(last), initial=0.0))
        return np.concatenate([x, more], axis=axis)

    return made


def stacked(x: Any, count: int) -> Any:
    """Stack an array and multiples of it along a new axis; an unsorted vector is reversed there."""
    other = x[::-1] if x.ndim == 1 and not is_sorted(x) else x
    return np.stack([x, *[(1.0 + k / 8) * other for k in range(1, count)]])


def of_entries(xs: Any, count: int, mapped: Callable[..., Any]) -> Any:
    """Append multiples of the last entry to a list, tuple or dictionary.

    ``mapped(change, entry)`` changes the arrays inside an entry.

    Examples
    --------
    >>> of_entries([1.0, 2.0], 4, lambda change, x: change(x))
    [1.0, 2.0, 2.25, 2.5]
    """
    keys = list(xs) if type(xs) is dict else list(range(len(xs)))
    last, more = xs[keys[-1]], [1.0 + k / 8 for k in range(1, count - len(keys) + 1)]
    entries = [*[xs[k] for k in keys], *[mapped(partial(times, c), last) for c in more]]
    if type(xs) is dict:
        return dict(zip([*keys, *[f"{keys[-1]}{k}" for k in range(count)]], entries, strict=False))
    return type(xs)(entries)


def strided(x: Any) -> Any:
    """Return a copy that is every second element of another array."""
    room = np.repeat(x, 2, axis=-1)
    return room[..., ::2]


def read_only(x: Any) -> Any:
    """Return a read-only copy of an array."""
    x = x.copy()
    x.setflags(write=False)
    return x


# --------------------------------------------------------------------------- masks and indices


def turned(index: Any, n: int) -> Any:
    """Count the last of several indices, and every second before it, from the other end.

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
    """List other masks that are not empty, or the other flag; none if the value is no mask.

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
    first, rolled = mask.copy(), np.roll(mask.reshape(-1), 1).reshape(mask.shape)
    first.reshape(-1)[:1] ^= True
    made = {x.tobytes(): x for x in (first, rolled, ~mask)}
    return [x for key, x in made.items() if key != mask.tobytes() and x.any()]


def reordered(xs: tuple[Any, ...], i: int) -> list[tuple[Any, ...]]:
    """List operands with an array of integers as given, rolled, and rolled along with others.

    The last are operands in which arrays of the same length are rolled too: a function of indices
    gives the same numbers in one of the two. If all integers are equal, the last one is changed.
    Empty for a number.

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
