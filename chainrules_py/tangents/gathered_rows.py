"""Rows: the sparse cotangent of a table from which a few rows were read."""

from __future__ import annotations

from typing import Any, NoReturn, final

from chainrules_py.errors import ProjectionError, describe
from chainrules_py.ops.creation import full_like
from chainrules_py.ops.indexing import Index, add_at, scatter_add
from chainrules_py.ops.joining import concat
from chainrules_py.tangents.space import Space, kind_of, space
from chainrules_py.tangents.zeros import Summand

_FIRST = Index((Index.HOLE,))


@final
class Rows(Summand):
    """A tangent that is zero except in some rows: their indices and values.

    If an index occurs several times, its rows are added. The sum of two is `Rows` again; a sum with
    an array is an array, as is the result of `dense`; ``table -= 0.1 * g`` writes to those rows
    alone. Any other array operation raises. In a multiple, rows that were not read stay zero.

    Parameters
    ----------
    indices : array of integers
        With one axis; none may be negative, which is not checked.
    rows : array
        One row per index, along the first axis.
    of : array or Space
        The table that it is a tangent of, or its space.

    Examples
    --------
    >>> import numpy as np
    >>> t = Rows(np.array([2, 0, 2]), np.ones((3, 1)), np.zeros((3, 1)))
    >>> t.dense().tolist(), (t + t).rows.shape
    ([[1.0], [0.0], [2.0]], (6, 1))
    """

    __slots__ = ("indices", "of", "rows")
    _by_identity = False

    def __init__(self, indices: Any, rows: Any, of: Any) -> None:
        self.indices, self.rows, self.of = indices, rows, space(of)
        fits = type(self.of) is Space and len(self.of.shape) > 0
        if not fits or tuple(rows.shape) != (*indices.shape, *self.of.shape[1:]):
            raise ProjectionError(
                f"{describe(rows)} at {describe(indices)} are no rows of {self.of!r}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table."""
        return self.of.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return self.rows.dtype

    @property
    def nbytes(self) -> int:
        """The number of bytes of indices and rows."""
        return int(self.indices.nbytes + self.rows.nbytes)

    def dense(self) -> Any:
        """Return the tangent as an array of the shape of the table."""
        zeros = full_like(self.rows, shape=self.shape, fill=0)
        return scatter_add(zeros, self.rows, self.indices, index=_FIRST)

    def added_to(self, x: Any) -> Any:
        """Return a new array: ``x`` plus the rows."""
        if not hasattr(x, "shape") and x == 0:  # the start value of `sum`
            return self
        self._check(x)
        return scatter_add(x, self.rows, self.indices, index=_FIRST)

    def add_into(self, x: Any, factor: float = 1.0) -> None:
        """Add a multiple of the rows to an array in place: ``g.add_into(table, -0.1)``."""
        self._check(x)
        if kind_of(x) not in ("real", "complex"):
            raise ProjectionError(
                f"{self!r} cannot be added to {describe(x)} in place: it holds whole numbers"
            )
        add_at(x, factor * self.rows, self.indices, index=_FIRST)

    def plus(self, other: Rows) -> Rows:
        """Return the sum with other rows of the same table."""
        if self.shape != other.shape:
            raise ProjectionError(f"{self!r} and {other!r} are no tangents of one table")
        indices = concat(self.indices, other.indices, axis=0)
        return Rows(indices, concat(self.rows, other.rows, axis=0), self.of)

    def times(self, c: Any) -> Rows:
        """Return a multiple: by a number, or by an array that broadcasts onto the table."""
        if type(c) is Rows:
            self.__refused__()
        lengths: tuple[int, ...] = tuple(getattr(c, "shape", ()))
        fits = zip(lengths[::-1], self.shape[::-1], strict=False)
        if len(lengths) > len(self.shape) or not all([a in (1, b) for a, b in fits]):
            raise ProjectionError(
                f"{describe(c)} does not broadcast onto {self.of!r}, which {self!r} is of"
            )
        if len(lengths) == len(self.shape) and len(c) > 1:
            c = c[self.indices]
        return Rows(self.indices, self.rows * c, self.of)

    def _added_in_place(self, x: Any, ufunc: Any) -> Any:
        self.add_into(x, 1.0 if ufunc.__name__ == "add" else -1.0)
        return x

    def __refused__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise where the tangent is used as an array, and say what to write instead."""
        raise ProjectionError(
            f"{self!r} is not an array: take g.dense(), the whole table, or g.rows and g.indices; "
            "it is added to a table, subtracted, and multiplied or divided by numbers and arrays"
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self!r} has no {name}: write g.dense().{name}")

    def _check(self, x: Any) -> None:
        if tuple(getattr(x, "shape", ())) != self.shape:
            raise ProjectionError(f"{self!r} is not a tangent of {describe(x)}")

    def __reduce__(self) -> Any:
        return Rows, (self.indices, self.rows, self.of)

    def __repr__(self) -> str:
        return f"Rows({len(self.indices)} of {self.shape[0]}, {describe(self.rows)})"


_REFUSED = (
    "pos floordiv rfloordiv mod rmod pow rpow matmul rmatmul lt le gt ge and rand or ror xor rxor"
    " abs invert len iter getitem setitem float int complex bool array array_function"
)
for _name in _REFUSED.split():
    setattr(Rows, f"__{_name}__", Rows.__refused__)
