"""Words that pick elements out, and put them back.

An index is split into a static pattern, which is an option, and the arrays in it, which are
operands: they may be data, though no derivative is taken in them.
"""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Array, is_array_type
from chainrules_py.primitive import primitive

__all__ = ["Index", "getitem", "index", "scatter_add"]


class Index(tuple[Any, ...]):
    """The static part of an index: hashable, with a hole for each array.

    Examples
    --------
    >>> pattern, arrays = Index.split((slice(1, 3), None, 0))
    >>> pattern, arrays
    (Index[1:3, None, 0], ())
    >>> pattern.join(())
    (slice(1, 3, None), None, 0)
    """

    __slots__ = ()
    HOLE = ("array",)

    @classmethod
    def split(cls, index: Any) -> tuple[Index, tuple[Any, ...]]:
        """Separate what is static in an index from the arrays in it; lists become operands as well."""
        entries = index if type(index) is tuple else (index,)
        pattern: list[Any] = []
        arrays: list[Any] = []
        for entry in entries:
            kind = type(entry)
            if kind is slice:
                pattern.append((slice, *map(_static, (entry.start, entry.stop, entry.step))))
            elif is_array_type(kind) or kind is list:
                pattern.append(cls.HOLE)
                arrays.append(entry)
            else:
                pattern.append(entry)
        return cls(pattern), tuple(arrays)

    def join(self, arrays: tuple[Any, ...]) -> Any:
        """The index again, with these arrays in the holes."""
        rest = iter(arrays)
        return tuple(
            next(rest) if e is Index.HOLE else slice(*e[1:]) if type(e) is tuple else e for e in self
        )

    def __repr__(self) -> str:
        shown = []
        for e in self:
            if e is Index.HOLE:
                shown.append("array")
            elif type(e) is tuple:
                start, stop, step = ("" if v is None else str(v) for v in e[1:])
                shown.append(f"{start}:{stop}" + (f":{step}" if step else ""))
            else:
                shown.append("..." if e is Ellipsis else repr(e))
        return f"Index[{', '.join(shown)}]"


def _static(bound: Any) -> Any:
    return bound if bound is None else bound.__index__()


@primitive
def getitem(x: Array, /, *arrays: Array, index: Index) -> Any:
    """The elements x[index], where the arrays fill the holes of the pattern."""


@primitive
def scatter_add(x: Array, y: Array, /, *arrays: Array, index: Index) -> Any:
    """A copy of x with y added at the index; an element that occurs twice is added to twice."""


def index(x: Any, where: Any) -> Any:
    """The elements x[where], for an index as Python writes it."""
    pattern, arrays = Index.split(where)
    return getitem(x, *arrays, index=pattern)
