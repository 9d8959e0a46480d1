"""Stand-in for a sparse array of one axis, as a row or column that is taken from a traced one."""

from __future__ import annotations

from typing import Any, NoReturn, final

import numpy as np
from scipy import sparse

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v


@final
class TracedLine:
    """A sparse array of one axis, whose elements are traced: all of them, in a dense array.

    Attributes
    ----------
    dense : array
        All elements.
    """

    __slots__ = ("dense",)
    __stands_for__ = sparse.coo_array
    __array_ufunc__ = None
    ndim = 1

    def __init__(self, dense: Any) -> None:
        self.dense = dense

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements there are."""
        return self.dense.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self.dense.dtype

    @property
    def T(self) -> TracedLine:  # noqa: N802
        """The same."""
        return self

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """All elements, in a dense array."""
        return self.dense

    todense = toarray

    def sum(self, axis: Any = None) -> Any:
        """Sum the elements."""
        return v.sum(self.dense)

    def mean(self, axis: Any = None) -> Any:
        """Return the mean of all elements."""
        return v.mean(self.dense)

    def max(self) -> Any:
        """Return the greatest element, also of those that are not stored."""
        return v.max(self.dense)

    def min(self) -> Any:
        """Return the least element, also of those that are not stored."""
        return v.min(self.dense)

    def __matmul__(self, x: Any) -> Any:
        x = _dense(x)
        return v.matmul(self.dense, np.asarray(x) if isinstance(x, list) else x)

    def __rmatmul__(self, x: Any) -> Any:
        return v.matmul(x, self.dense)

    dot = __matmul__

    def multiply(self, x: Any) -> TracedLine:
        """Multiply element by element."""
        found = self.dense * _dense(x)
        if found.ndim != 1:
            self._refuse("a product that has more axes")
        return TracedLine(found)

    __mul__ = __rmul__ = multiply

    def __truediv__(self, c: Any) -> TracedLine:
        return self.multiply(1 / c)

    def __neg__(self) -> TracedLine:
        return TracedLine(-self.dense)

    def __add__(self, x: Any) -> Any:
        if np.ndim(_dense(x)) == 0:
            self._refuse("a sum with a number")
        return TracedLine(self.dense + x.dense) if type(x) is TracedLine else self.dense + _dense(x)

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        return self + (-x)

    def __rsub__(self, x: Any) -> Any:
        return -self + x

    def __getitem__(self, index: Any) -> Any:
        found = self.dense[index]
        return TracedLine(found) if found.ndim == 1 else found

    def __as_result__(self) -> NoReturn:
        """Refuse to be the result of a function, whose tangent would have one axis as well."""
        msg = (
            "a function that is differentiated gives a sparse array of one axis: give one of two, "
            "A[[0]] or A[:, [0]] for A[0] or A[:, 0], or toarray()"
        )
        raise NotDifferentiableError(msg)

    def _refuse(self, what: str) -> NoReturn:
        msg = (
            f"{what} of a sparse array of one axis that is being differentiated has no derivative "
            "here; it has @, products, sums with arrays, sum(), mean(), max(), min() and toarray()"
        )
        raise NotDifferentiableError(msg)

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or name == "dense":  # it is being made
            raise AttributeError(name)
        self._refuse(name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._refuse("a dense copy by NumPy")

    def __array_function__(self, f: Any, types: Any, args: Any, keywords: Any) -> Any:
        self._refuse(f"np.{f.__name__}")

    def __iter__(self) -> Any:
        self._refuse("a loop")

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._refuse("the truth")

    def __repr__(self) -> str:
        return f"<sparse array of one axis, elements {self.dense!r}>"


def _dense(x: Any) -> Any:
    return x.toarray() if hasattr(x, "toarray") else x
