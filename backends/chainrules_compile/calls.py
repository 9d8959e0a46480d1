"""Functions of noted calls that are neither operations nor a library's: statements and guards.

Each is a function of plain arrays, which a program may call as it stands, and which a writer may
spell in another way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_compile.scope import identifier
from chainrules_py.extend import TreeDef, flatten, settled, type_info, unflatten
from chainrules_py.ops import divide

Shape = tuple[int, ...]


class MissError(Exception):
    """An answer differs from that of the run that was recorded."""


def expect(x: Any, answer: Any, *, kind: Callable[[Any], Any]) -> None:
    """Raise a miss unless a question about a value has the answer that it had."""
    if kind(x) != answer:
        raise MissError


def made_again(_begins: bool, /) -> None:
    """Mark where calls begin, or end, that a checkpoint makes again so as not to keep values."""


def expect_form(x: Any, form: Any) -> None:
    """Raise a miss unless an array, whose shape hangs on numbers, has the shape that it had.

    And, where nothing is known of it, unless it lies as it did: in C order, or by these strides.
    """
    if (getattr(x, "shape", None), getattr(x, "dtype", None)) != form[:2]:
        raise MissError
    if len(form) > 2 and (None if x.flags.c_contiguous else x.strides) != form[2]:
        raise MissError


def is_finite(t: Any, *, like: type) -> bool:
    """Tell whether all elements are finite, as the library of a class does; no, if unsure."""
    test = type_info(like).library.finite
    return test is not None and test(t)


def plain_number(x: Any) -> float:
    """Return a number of NumPy's, or the only element of an array, as one of Python's."""
    return float(x)


def double(x: float) -> Any:
    """Return a number of Python's as one of NumPy's."""
    return np.float64(x)


def over(x: float, y: float) -> Any:
    """Divide a number of Python's as NumPy divides its own."""
    return x / y if y else np.divide(x, y)


def over_silently(x: float, y: float) -> Any:
    """Divide a number of Python's as the operation `divide` divides NumPy's, which says nothing."""
    return x / y if y else divide(np.float64(x), np.float64(y))


def root(x: float) -> Any:
    """Take the root of a number of Python's, as NumPy does of its own."""
    return math.sqrt(x) if x >= 0.0 else np.sqrt(x)


@functools.cache
def _sums(cls: type, result: Shape, shape: Shape) -> Any:
    return type_info(cls).library.sums(result, shape)  # type: ignore[misc]


@functools.cache
def _dots(cls: type, result: Shape, shape: Shape, other: Shape) -> Any:
    return type_info(cls).library.dots(result, shape, other)  # type: ignore[misc]


def sum_to(t: Any, *, result: Shape, shape: Shape) -> Any:
    """Sum an array of one shape to another that was broadcast to it, as its library does."""
    cls: Any = type(t)
    return _sums(cls, result, shape)(t)


def dot_to(t: Any, p: Any, *, result: Shape, shape: Shape) -> Any:
    """Sum a product of arrays, as `sum_to`."""
    cls: Any = type(t)
    return _dots(cls, result, shape, p.shape)(t, p)


def copied(x: Any) -> Any:
    """Copy an array, of any library."""
    return np.array(x) if isinstance(x, (np.ndarray, np.generic)) else x.copy()


def subtract_at(x: Any, y: Any, *, index: Any) -> Any:
    """Return an array less another in a part of it."""
    z = np.array(x)
    z[index.join(())] -= y
    return z


def plus_at(x: Any, y: Any, *, index: Any) -> Any:
    """Return an array with zero plus another in a part of it, whatever stood there."""
    z = np.array(x)
    z[index.join(())] = 0.0 + y
    return z


def minus_at(x: Any, y: Any, *, index: Any) -> Any:
    """Return an array with zero minus another in a part of it, whatever stood there."""
    z = np.array(x)
    z[index.join(())] = 0.0 - y
    return z


def added_rows(ys: Any, places: Any, *, shape: Shape, times: int) -> Any:
    """Return a matrix or vector with arrays added to its rows, one after the other, from zero on.

    Each row is added to so many places that follow each other. By columns: to places of a vector
    `np.add.at` adds six times as fast as to rows. Of long arrays a part is read that stays in the
    cache for all columns.
    """
    z, width = np.zeros(shape), shape[1:]
    flat, y = _in_one(places, ()).astype(np.intp, copy=False), _in_one(ys, width)
    if times > 1 and width and width[0] > NARROW:
        flat = np.where(flat < 0, flat + shape[0], flat)
        for column, out in zip(y.T, z.T, strict=True):
            out[...] = np.bincount(flat, column.repeat(times), shape[0])
        return z
    step = max(PIECE // times if width else len(y), 1)
    for i in range(0, len(y), step):
        part, where = y[i : i + step], flat[i * times : (i + step) * times]
        for column, each in zip(z.T, part.T, strict=True) if width else ((z, part),):
            np.add.at(column, where, each if times == 1 else each.repeat(times))
    return z


NARROW = 8
"""How many elements rows have at most that are added to in place if each has many places."""
PIECE = 3 << 10
"""How many places are added to at a time."""


def _in_one(xs: Any, width: Shape) -> Any:
    """Return the rows of arrays, whose last axes are those of a row, in one array."""
    rows = [x.reshape(-1, *width) for x in xs]
    return np.concatenate(rows) if len(rows) > 1 else rows[0]


def laid_out(x: Any, *, axes: tuple[int, ...]) -> Any:
    """Copy an array to memory where the axes have this order, the outermost first."""
    inverse = sorted(range(len(axes)), key=axes.__getitem__)
    return x.transpose(axes).copy(order="C").transpose(inverse)


@final
class Through:
    """Function that gives an array with other elements where a view of it lies.

    It takes the array, the elements, and what else the function takes that gives the view.
    """

    __slots__ = ("function", "index", "place")

    def __init__(self, function: Any, place: int, index: int | None) -> None:
        self.function = function
        self.place = place
        self.index = index

    def operands(self, x: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what the function is given that gives the view."""
        return (*rest[: self.place], x, *rest[self.place :])

    def __call__(self, x: Any, y: Any, /, *rest: Any, **options: Any) -> Any:
        """Copy the array, and write to the view of the copy."""
        z = copied(x)
        view = self.function(*self.operands(z, rest), **options)
        view = view if self.index is None else view[self.index]
        view[...] = y
        return z


@final
class Written:
    """Function that gives an array as it is after a function has written to it.

    It takes the array, what else the function takes, and its keywords' values.
    """

    __slots__ = ("function", "keywords")

    def __init__(self, function: Any, keywords: tuple[str, ...] = ()) -> None:
        self.function = function
        self.keywords = keywords

    def __call__(self, x: Any, *rest: Any) -> Any:
        """Copy the array, and have the copy written to."""
        z = copied(x)
        n = len(rest) - len(self.keywords)
        self.function(z, *rest[:n], **dict(zip(self.keywords, rest[n:], strict=True)))
        return z


@final
class Apart:
    """Function of the values among its arguments, which stand in structures, or in keywords."""

    __slots__ = ("function", "tree")

    def __init__(self, function: Any, tree: TreeDef) -> None:
        self.function = function
        self.tree = tree

    def __call__(self, *leaves: Any) -> Any:
        """Put the arguments together, and call the function."""
        operands, options = unflatten(self.tree, leaves)
        return self.function(*operands, **options)


@final
class Gathered:
    """Function that gives the leaves of what another gives, in a tuple; or the only one."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, /, *operands: Any, **options: Any) -> Any:
        """Take apart what the function gives."""
        leaves = flatten(self.function(*operands, **options))[0]
        return leaves[0] if len(leaves) == 1 else tuple(leaves)


def as_now(x: Any) -> Any:
    """Return an operand; a function that sees the names around it as they are where it is given.

    A program calls it when the function that is compiled is over, and loops have gone on.
    """
    if type(x) in (list, tuple):
        return type(x)(map(as_now, x))
    around = callable(x) and getattr(x, "__closure__", x) is not None
    return settled(x) if around else x


def name_of(function: Any) -> str:
    """Return the name of a function, or of that which it stands for, as an identifier."""
    while not hasattr(function, "__name__"):
        held = getattr(function, "func", None) if isinstance(function, functools.partial) else None
        inner = getattr(function, "function", getattr(function, "__wrapped__", held))
        if inner is None:
            break
        function = inner
    name = getattr(function, "__name__", type(function).__name__)
    return name if name == identifier(name) else "call"
