"""Stand-in for a sparse array whose elements are being differentiated."""

from __future__ import annotations

from typing import Any, NoReturn, final

import numpy as np
from scipy.sparse._base import _spbase

from chainrules_py import NotDifferentiableError, register_structure
from chainrules_py import vocabulary as v
from chainrules_py.extend import refuse_type, type_info
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.words import sparse_product

CAN = (
    "it has @ and dot with dense arrays from both sides, products with numbers, T, transpose(), "
    "sum(), diagonal(), toarray() and data; scipy.sparse.linalg.spsolve is "
    "chainrules_scipy.sparse.spsolve"
)
"""What stands for a sparse array can do."""


@final
class TracedSparse:
    """A sparse array whose stored elements are traced.

    Attributes
    ----------
    data : array
        The elements; a traced array with one axis.
    pattern : Pattern
        Where they stand.
    """

    __slots__ = ("data", "pattern")

    def __init__(self, data: Any, pattern: Pattern) -> None:
        self.data = data
        self.pattern = pattern

    # -- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self.data.dtype

    @property
    def format(self) -> str:
        """The format in which it is stored."""
        return self.pattern.format

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return int(self.data.shape[0])

    ndim = 2

    # -- what it can do

    def __matmul__(self, x: Any) -> Any:
        return product(self.data, x, self.pattern)

    def __rmatmul__(self, x: Any) -> Any:
        return _reversed_product(x, self.data, self.pattern)

    dot = __matmul__

    @property
    def T(self) -> TracedSparse:  # noqa: N802
        """The transposed array, with the same elements."""
        return TracedSparse(self.data, self.pattern.T)

    def transpose(self) -> TracedSparse:
        """Return the transpose, as ``T`` does."""
        return self.T

    def __mul__(self, c: Any) -> Any:
        if not _is_number(c):
            if self.pattern.is_matrix:
                return self @ c
            self._refuse("the product element by element")
        return TracedSparse(self.data * c, self.pattern)

    def __rmul__(self, c: Any) -> Any:
        if not _is_number(c) and self.pattern.is_matrix:
            return c @ self
        return self * c

    def __truediv__(self, c: Any) -> Any:
        if not _is_number(c):
            self._refuse("the quotient element by element")
        return TracedSparse(self.data / c, self.pattern)

    def __neg__(self) -> TracedSparse:
        return TracedSparse(-self.data, self.pattern)

    def toarray(self) -> Any:
        """All elements, in a dense array; those that stand at one place are added up."""
        index, places = v.Index.split(self.pattern.rows_columns)
        zeros = v.full_like(self.data, shape=self.shape, fill=0)
        return v.scatter_add(zeros, self.data, *places, index=index)

    def sum(self, axis: int | None = None) -> Any:
        """Sum all elements, or those of the columns (0) or rows (1)."""
        if axis is None:
            return v.sum(self.data)
        way = self.T if axis % 2 == 0 else self
        return way @ np.ones(way.shape[1], np.dtype(self.dtype))

    def diagonal(self, k: int = 0) -> Any:
        """Return the elements in the diagonal, or in the k-th above it."""
        rows, columns = self.pattern.rows_columns
        (on,) = np.nonzero(columns - rows == k)
        index, places = v.Index.split(np.minimum(rows, columns)[on])
        n, m = self.shape
        length = max(0, min(n + min(k, 0), m - max(k, 0)))
        zeros = v.full_like(self.data, shape=(length,), fill=0)
        return v.scatter_add(zeros, v.take(self.data, on, axis=0), *places, index=index)

    # -- what it cannot

    def _refuse(self, what: str) -> NoReturn:
        kind = self.pattern.cls.__name__
        msg = f"{what} of a {kind} that is being differentiated has no derivative here; {CAN}"
        raise NotDifferentiableError(msg)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self.pattern.cls, name):
            msg = f"{type(self).__name__} has no attribute {name}"
            raise AttributeError(msg)
        self._refuse(f"{name}")

    def __array__(self, *_: Any, **__: Any) -> Any:
        self._refuse("a dense copy by NumPy")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not keywords:
            left, right = operands
            return self @ right if left is self else right.__rmatmul__(left)
        return self._refuse(f"np.{ufunc.__name__}")

    def __array_function__(self, f: Any, types: Any, args: Any, keywords: Any) -> Any:
        self._refuse(f"np.{f.__name__}")

    def __getitem__(self, index: Any) -> Any:
        self._refuse("a part")

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse("a write to a part")

    def __iter__(self) -> Any:
        self._refuse("a loop over the rows")

    def __len__(self) -> int:  # noqa: PLE0303
        self._refuse("the length, which sparse arrays do not have,")

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._refuse("the truth")

    def __add__(self, other: Any) -> Any:
        self._refuse("a sum")

    def __pow__(self, other: Any) -> Any:
        self._refuse("a power")

    def __rtruediv__(self, other: Any) -> Any:
        self._refuse("a quotient")

    def __eq__(self, other: object) -> Any:
        self._refuse("a comparison")

    def __abs__(self) -> Any:
        self._refuse("the absolute value")

    __radd__ = __sub__ = __rsub__ = __add__
    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.pattern.cls.__name__} of shape {self.shape}, elements {self.data!r}>"


def _is_number(x: Any) -> bool:
    cls = type(x)
    return type_info(cls).is_number or (type_info(cls).is_array and x.ndim == 0)


def product(data: Any, x: Any, pattern: Pattern) -> Any:
    """Compute A x, for a dense x."""
    if not type_info(type(x)).is_array:
        if isinstance(x, (list, tuple)):
            x = np.asarray(x)
        else:
            TracedSparse(data, pattern)._refuse(f"the product with a {type(x).__name__}")
    if x.ndim not in (1, 2) or x.shape[0] != pattern.shape[1]:
        msg = f"matmul: a sparse array of shape {pattern.shape} and an array of shape {x.shape}"
        raise ValueError(msg)
    return sparse_product(data, x, pattern=pattern)


def _reversed_product(x: Any, data: Any, pattern: Pattern) -> Any:
    """X A, as the transposed of Aᵀ Xᵀ."""
    flipped = v.permute_dims(x) if type_info(type(x)).is_array and x.ndim == 2 else x
    y = product(data, flipped, pattern.T)
    return v.permute_dims(y) if y.ndim == 2 else y


def _made(pattern: Pattern, data: Any) -> Any:
    """Build the sparse array with these elements, or its stand-in if they are no plain array."""
    return pattern.array(data) if type(data) is np.ndarray else TracedSparse(data, pattern)


def with_data(x: Any, data: Any) -> Any:
    """Build a sparse array with the pattern of another and new elements, which may be traced.

    Parameters
    ----------
    x : sparse array or matrix
        In csr, csc or coo format.
    data : array of shape (x.nnz,)
        The elements, in the order of ``x.data``.

    Returns
    -------
    sparse array or matrix
        Of the class of x; of a traced ``data``, what stands for one.

    Raises
    ------
    ValueError
        If there are more elements, or fewer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from chainrules_tape import grad
    >>> laplace = csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> u = np.array([1.0, 3.0])
    >>> grad(lambda c: u @ (with_data(laplace, c * laplace.data) @ u))(1.0)
    np.float64(14.0)
    """
    pattern = x.pattern if isinstance(x, TracedSparse) else Pattern.of(x)
    if data.shape != x.data.shape:
        msg = f"a sparse array with {x.data.shape[0]} elements, and data of shape {data.shape}"
        raise ValueError(msg)
    return _made(pattern, data)


def _fields(x: Any) -> list[tuple[str, Any]]:
    Pattern.of(x)  # raises for what is stored in another way
    return [("data", x.data)]


register_structure(_spbase, _fields, lambda x, values: _made(Pattern.of(x), *values))
register_structure(
    TracedSparse, lambda x: [("data", x.data)], lambda x, values: _made(x.pattern, *values)
)
refuse_type(
    "scipy.sparse._base._spbase",
    "write Tangent[type(x)](data=...), with one number for each stored element of x",
)
