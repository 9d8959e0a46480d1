"""Functions in recorded calls that are neither operations nor library functions, such as guards.

Each is a function of plain arrays, which a program may call, or which a writer may write in another
way.
"""

from __future__ import annotations

import dataclasses
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
    """A guard of a program fails."""


def expect(x: Any, answer: Any, *, kind: Callable[[Any], Any]) -> None:
    """Raise `MissError` unless a function of a value gives the recorded answer."""
    if kind(x) != answer:
        raise MissError


def made_again(_begins: bool, /) -> None:
    """Mark where a checkpoint begins, or ends, to recompute calls."""


def expect_form(x: Any, form: Any) -> None:
    """Raise `MissError` unless an array has the recorded shape and dtype.

    If the form has a third entry, check the layout as well: its strides, or None for C order.
    """
    if (getattr(x, "shape", None), getattr(x, "dtype", None)) != form[:2] or (
        len(form) > 2 and (None if x.flags.c_contiguous else x.strides) != form[2]
    ):
        raise MissError


def is_finite(t: Any, *, like: type) -> bool:
    """Return whether all elements are finite, by the library of a class; False if unsure."""
    test = type_info(like).library.finite
    return test is not None and test(t)


def plain_number(x: Any) -> float:
    """Return a NumPy number, or the only element of an array, as a Python number."""
    return float(x)


def double(x: float) -> Any:
    """Return a Python number as a NumPy number."""
    return np.float64(x)


def over(x: float, y: float) -> Any:
    """Divide Python numbers with the result and warnings of NumPy."""
    return x / y if y else np.divide(x, y)


def over_silently(x: float, y: float) -> Any:
    """Divide Python numbers as the operation `divide` does, without warnings."""
    return x / y if y else divide(np.float64(x), np.float64(y))


def root(x: float) -> Any:
    """Take the square root of a Python number with the result and warnings of NumPy."""
    return math.sqrt(x) if x >= 0.0 else np.sqrt(x)


@functools.cache
def _sums(cls: type, result: Shape, shape: Shape) -> Any:
    return type_info(cls).library.sums(result, shape)  # type: ignore[misc]


@functools.cache
def _dots(cls: type, result: Shape, shape: Shape, other: Shape) -> Any:
    return type_info(cls).library.dots(result, shape, other)  # type: ignore[misc]


def sum_to(t: Any, *, result: Shape, shape: Shape) -> Any:
    """Sum an array to a shape that was broadcast to its own, with its library's function."""
    cls: Any = type(t)
    return _sums(cls, result, shape)(t)


def dot_to(t: Any, p: Any, *, result: Shape, shape: Shape) -> Any:
    """Sum a product of arrays to a shape, as `sum_to` does."""
    cls: Any = type(t)
    return _dots(cls, result, shape, p.shape)(t, p)


def copied(x: Any) -> Any:
    """Copy an array, of any library."""
    return np.array(x) if isinstance(x, (np.ndarray, np.generic)) else x.copy()


def subtract_at(x: Any, y: Any, *, index: Any) -> Any:
    """Return an array from a part of which another is subtracted."""
    z = np.array(x)
    z[index.join(())] -= y
    return z


def laid_out(x: Any, *, axes: tuple[int, ...]) -> Any:
    """Copy an array to memory with the given order of axes, outermost first."""
    inverse = sorted(range(len(axes)), key=axes.__getitem__)
    return x.transpose(axes).copy(order="C").transpose(inverse)


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Through:
    """Function that returns an array with other elements in a view of it.

    It takes the array, the elements, and the other operands of the function that makes the view.
    """

    function: Any
    place: int
    index: int | None

    def operands(self, x: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the operands of the function that makes the view."""
        return (*rest[: self.place], x, *rest[self.place :])

    def __call__(self, x: Any, y: Any, /, *rest: Any, **options: Any) -> Any:
        """Copy the array, and write to a view of the copy."""
        z = copied(x)
        view = self.function(*self.operands(z, rest), **options)
        view = view if self.index is None else view[self.index]
        view[...] = y
        return z


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Written:
    """Function that returns a copy of an array that another function has written to.

    It takes the array, the other operands of that function, and the values of its keywords.
    """

    function: Any
    keywords: tuple[str, ...] = ()

    def __call__(self, x: Any, *rest: Any) -> Any:
        """Copy the array, and apply the function to the copy."""
        z = copied(x)
        n = len(rest) - len(self.keywords)
        self.function(z, *rest[:n], **dict(zip(self.keywords, rest[n:], strict=True)))
        return z


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Function of the leaves of the operands and options of another function."""

    function: Any
    tree: TreeDef

    def __call__(self, *leaves: Any) -> Any:
        """Rebuild the arguments, and call the function."""
        operands, options = unflatten(self.tree, leaves)
        return self.function(*operands, **options)


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Function that returns the leaves of another's result as a tuple, or the only leaf."""

    function: Any

    def __call__(self, /, *operands: Any, **options: Any) -> Any:
        """Flatten the result of the function."""
        leaves = flatten(self.function(*operands, **options))[0]
        return leaves[0] if len(leaves) == 1 else tuple(leaves)


def as_now(x: Any) -> Any:
    """Return an operand; a closure with its current cell values.

    A program calls closures after the compiled function has returned and rebound the cells.
    """
    if type(x) in (list, tuple):
        return type(x)(map(as_now, x))
    return settled(x) if callable(x) and getattr(x, "__closure__", x) is not None else x


def name_of(function: Any) -> str:
    """Return the name of a function, or of the function that it wraps, as an identifier."""
    held = getattr(function, "func", None) if isinstance(function, functools.partial) else None
    inner = getattr(function, "function", getattr(function, "__wrapped__", held))
    if inner is not None and not hasattr(function, "__name__"):
        return name_of(inner)
    name = getattr(function, "__name__", type(function).__name__)
    return name if name == identifier(name) else "call"
