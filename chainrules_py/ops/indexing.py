"""Indexing operations: reading elements and writing them.

An index is split into a static pattern, which is an option, and the arrays in it, which are
operands: they may be data, but are not differentiated.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import describe
from chainrules_py.ops.elementwise import lift
from chainrules_py.ops.joining import stack
from chainrules_py.primitives.primitive import primitive, static_types
from chainrules_py.values.array_conversion import as_array, is_read, is_table
from chainrules_py.values.dispatch_types import Array, Numeric, Tracer
from chainrules_py.values.find_tracers import varies
from chainrules_py.values.type_info import type_info

__all__ = [
    "Index",
    "add_along_axis",
    "add_at",
    "getitem",
    "index",
    "put_along_axis_add",
    "put_at",
    "scatter_add",
    "take",
    "take_along_axis",
]


class Index(tuple[Any, ...]):  # noqa: SLOT001 (it remembers what it was split from)
    """The static part of an index: hashable, with a hole for each array.

    Slices are unhashable before Python 3.12, and ``True == 1`` though they index differently; so an
    entry is an integer, None, Ellipsis, or a tuple that starts with its kind.

    Examples
    --------
    >>> pattern, arrays = Index.split((slice(1, 3), None, 0))
    >>> pattern, arrays
    (Index[1:3, None, 0], ())
    >>> pattern.join(())
    (slice(1, 3, None), None, 0)
    """

    HOLE = ("array",)
    where: Any

    @classmethod
    def split(
        cls, index: Any, asarray: Callable[[Any], Any] = lambda entry: entry
    ) -> tuple[Index, tuple[Any, ...]]:
        """Separate the static part of an index from the arrays in it.

        Parameters
        ----------
        index
            The index, as in ``x[index]``.
        asarray : callable
            Converts a list to an array; lists are operands as well.

        Raises
        ------
        IndexError
            If an entry is not valid in an index.
        """
        entries = tuple(index) if isinstance(index, tuple) else (index,)
        pattern: list[Any] = []
        joined = True  # whether the index equals its pattern and need not be joined
        arrays: list[Any] = []
        for entry in entries:
            kind = type(entry)
            if kind is int or entry is None or entry is Ellipsis:
                pattern.append(entry)
            elif kind is slice:
                start, stop, step = entry.start, entry.stop, entry.step
                if type(start) in _BOUND and type(stop) in _BOUND and type(step) in _BOUND:
                    pattern.append((slice, start, stop, step))
                else:
                    bounds = [None if n is None else operator.index(n) for n in (start, stop, step)]
                    pattern.append((slice, *bounds))
                    joined = False
            elif kind is bool or kind.__name__ in ("bool_", "bool"):
                pattern.append((bool, bool(entry)))
                joined = False
            elif issubclass(kind, Tracer) or type_info(kind).is_array:
                pattern.append(cls.HOLE)
                arrays.append(entry)
            elif is_table(kind) and not type_info(kind).is_number:
                pattern.append(cls.HOLE)
                arrays.append(as_array(entry))
            elif isinstance(entry, (list, tuple)) or is_read(kind):
                pattern.append(cls.HOLE)
                arrays.append(asarray(entry))
            elif stands_for_place(kind) or type_info(kind).is_array:  # may be registered by now
                pattern.append(cls.HOLE)
                arrays.append(entry)
            else:
                pattern.append(_place(entry))
                joined = False
        made = cls(pattern)
        if arrays:
            made.is_basic = False
        elif joined:
            made.where = entries
            made.is_basic = True
        return made, tuple(arrays)

    def join(self, arrays: tuple[Any, ...]) -> Any:
        """Rebuild the index with these arrays in the holes."""
        if not arrays:
            try:
                return self.where
            except AttributeError:
                pass
        elif len(arrays) == len(self):
            return arrays
        rest = iter(arrays)
        return tuple([_entry(e, rest) if type(e) is tuple else e for e in self])

    def below(self, first: slice) -> Index:
        """Return the index of parts of an array: a slice of its first axis, then this index."""
        made = Index(((slice, first.start, first.stop, first.step), *self))
        if self.is_basic:
            made.where, made.is_basic = (first, *self.join(())), True
        return made

    @functools.cached_property
    def is_basic(self) -> bool:
        """Whether it has only integers, slices, None and Ellipsis, so picks no element twice."""
        return not [e for e in self if type(e) is tuple and e[0] is not slice]

    def __repr__(self) -> str:
        return f"Index[{', '.join(map(_text, self))}]"


static_types.add(Index)
_BOUND = frozenset((int, type(None)))


def _entry(e: tuple[Any, ...], arrays: Any) -> Any:
    if e[0] == "array":
        return next(arrays)
    return slice(*e[1:]) if e[0] is slice else e[1]


def _text(e: Any) -> str:
    """Return an entry as it is written in an index, and ``array`` for a hole."""
    if type(e) is not tuple:
        return "..." if e is Ellipsis else repr(e)
    if e[0] is slice:
        start, stop, step = ("" if v is None else str(v) for v in e[1:])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "array" if e == Index.HOLE else repr(e[1])


def stands_for_place(kind: type) -> bool:
    """Return whether a class represents a library's integer that may differ in each run."""
    number = type_info(kind).dispatch_type
    return number is not kind and hasattr(number, "__index__")


def _place(entry: Any) -> int:
    try:
        return operator.index(entry)
    except TypeError:
        raise IndexError(
            f"{describe(entry)} is not an index; "
            f"an index is made of integers, slices, None, Ellipsis, and arrays or lists "
            f"of integers or booleans"
        ) from None


@primitive
def getitem(x: Array, /, *arrays: Numeric, index: Index) -> Any:
    """Return the elements x[index], where the arrays fill the holes of the pattern."""


@primitive
def scatter_add(x: Array, y: Numeric, /, *arrays: Numeric, index: Index) -> Any:
    """Copy x and add y at the index; elements that occur twice are added to twice."""


@primitive
def put_at(x: Array, y: Numeric, /, *arrays: Numeric, index: Index) -> Any:
    """Copy x and write y at the index, in the dtype of x.

    If an element occurs several times in the index, the last value written stays.
    """


@primitive
def take(x: Array, indices: Numeric, /, *, axis: int | None = None) -> Any:
    """Return the slices of x at these indices along an axis; of x in C order if it is None."""


@primitive
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Any:
    """Take an element of x for each entry of indices, which is its index along the axis."""


@primitive
def put_along_axis_add(x: Array, y: Numeric, indices: Array, /, *, axis: int = -1) -> Any:
    """Copy x and add y where `take_along_axis` would read."""


@primitive
def add_at(buffer: Array, y: Numeric, /, *arrays: Numeric, index: Index) -> None:
    """Add y to the buffer in place at the index, twice where an element occurs twice.

    For the ``pull_into`` of rules: no other operation writes to its operands.
    """


@primitive
def add_along_axis(buffer: Array, y: Numeric, indices: Array, /, *, axis: int = -1) -> None:
    """Add y to the buffer in place where `take_along_axis` would read; for ``pull_into`` alone."""


def index(x: Any, where: Any) -> Any:
    """Return the elements x[where], for an index as written in Python."""
    pattern, arrays = Index.split(where, lambda entry: place(entry, x))
    return getitem(x, *arrays, index=pattern)


def stacked(values: Any, like: Any) -> Any:
    """Convert a value to an array: usually a nested list of tracers and numbers.

    Parameters
    ----------
    values
        A list or tuple, a number, or anything that the library converts to an array.
    like : array or tracer
        An array of the library.
    """
    xp: Any = type_info(type(like)).namespace
    cls = type(values)
    if not varies(values):
        return values if xp is None else xp.asarray(values)
    if issubclass(cls, Tracer):
        return lift(values, to=xp)
    if type_info(cls).is_array or type_info(cls).is_number:
        return values
    return stack(*[stacked(value, like) for value in values])


def place(entry: Any, like: Any) -> Any:
    """Convert a list in an index, or what a library reads as one, to an array."""
    xp: Any = type_info(type(like)).namespace
    if xp is None:
        return _place(entry)
    made = stacked(entry, like)
    return made if math.prod(made.shape) else xp.zeros(made.shape, dtype=xp.int64)
