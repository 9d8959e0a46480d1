"""Stand-in for a sparse array whose elements are being differentiated."""

from __future__ import annotations

from typing import Any, NoReturn, final

import numpy as np
from scipy.sparse._base import _spbase

from chainrules_py import NotDifferentiableError, register_structure
from chainrules_py import vocabulary as v
from chainrules_py.extend import refuse_type, type_info
from chainrules_scipy.rows import array_of
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.words import sparse_product

CAN = (
    "it has @ and dot with arrays, + and -, multiply, power, abs and sin with its kin, products "
    "with numbers, T, sum(), diagonal(), max(), reshape(), toarray(), parts and data; "
    "scipy.sparse.linalg.spsolve is chainrules_scipy.sparse.spsolve"
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
        if isinstance(x, (TracedSparse, _spbase)):
            return sparse_by_sparse(self, x)
        return product(self.data, x, self.pattern)

    def __rmatmul__(self, x: Any) -> Any:
        if isinstance(x, _spbase):
            return sparse_by_sparse(x, self)
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
            return self.multiply(c)
        return TracedSparse(self.data * c, self.pattern)

    def __rmul__(self, c: Any) -> Any:
        if not _is_number(c) and self.pattern.is_matrix:
            return c @ self
        return self * c

    def __truediv__(self, c: Any) -> Any:
        if not _is_number(c):
            return self.multiply(1 / c)
        return TracedSparse(self.data / c, self.pattern)

    def __neg__(self) -> TracedSparse:
        return TracedSparse(-self.data, self.pattern)

    def multiply(self, other: Any) -> TracedSparse:
        """Multiply element by element."""
        if _is_number(other):
            return TracedSparse(self.data * other, self.pattern)
        rows, columns = self.pattern.rows_columns
        if isinstance(other, TracedSparse):
            other = other.toarray()
        elif isinstance(other, _spbase):
            return TracedSparse(self.data * _elements(other, rows, columns), self.pattern)
        there = v.broadcast_to(array_of(other), shape=self.shape)
        return TracedSparse(self.data * there[rows, columns], self.pattern)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (TracedSparse, _spbase)):
            return self.toarray() + other
        (rows, columns), data = self.pattern.rows_columns, array_of(coordinates(other)[0])
        _, r, c = coordinates(other)
        pattern = element_pattern(
            self.pattern.cls, np.concatenate([rows, r]), np.concatenate([columns, c]), self.shape
        )
        return TracedSparse(v.concat(self.data, data, axis=0), pattern)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def tocsr(self, copy: bool = False) -> TracedSparse:
        """Return the array: what stands for one has one format."""
        return self

    tocsc = tocoo = tobsr = todia = asformat = tocsr

    def copy(self) -> TracedSparse:
        """Return the array."""
        return self

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> TracedSparse:
        """Convert the elements to another type of floats."""
        return TracedSparse(v.astype(self.data, dtype=np.dtype(dtype)), self.pattern)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> TracedSparse:
        """Give the array other numbers of rows and columns."""
        places = self.pattern.operator(np.arange(1, self.nnz + 1)).tocoo()
        moved = places.reshape(*shape, order=order)
        data = v.take(self.data, moved.data - 1, axis=0)
        rows, columns = moved.coords
        return TracedSparse(data, element_pattern(self.pattern.cls, rows, columns, moved.shape))

    def trace(self, offset: int = 0) -> Any:
        """Sum the elements in a diagonal."""
        return v.sum(self.diagonal(offset))

    def power(self, n: Any, dtype: Any = None) -> TracedSparse:
        """Raise each element to a power, which is greater than 0."""
        if np.any(np.asarray(n) <= 0):
            self._refuse("a power that is not greater than 0")
        a = canonical(self)
        return TracedSparse(a.data**n, a.pattern)

    def conj(self, copy: bool = True) -> TracedSparse:
        """Conjugate each element."""
        return TracedSparse(v.conj(self.data), self.pattern)

    conjugate = conj

    def _extreme(self, choose: Any, axis: Any) -> Any:
        """Return an extreme element, also of those that are not stored."""
        return choose(canonical(self).toarray(), axis=axis)

    def max(self, axis: int | None = None) -> Any:
        """Return the greatest element."""
        return self._extreme(v.max, axis) if axis is None else self._refuse("max along an axis")

    def min(self, axis: int | None = None) -> Any:
        """Return the least element."""
        return self._extreme(v.min, axis) if axis is None else self._refuse("min along an axis")

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean of all elements, or along an axis."""
        n = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / n

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """All elements, in a dense array; those that stand at one place are added up."""
        index, places = v.Index.split(self.pattern.rows_columns)
        zeros = v.full_like(self.data, shape=self.shape, fill=0)
        return v.scatter_add(zeros, self.data, *places, index=index)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        """All elements, as `toarray`: of an array, for those of a matrix would be a matrix."""
        if self.pattern.is_matrix:
            self._refuse("todense(), which is a matrix: write toarray(), and @ for * of matrices;")
        return self.toarray()

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
        a = canonical(self)
        places = a.pattern.operator(np.arange(1, a.nnz + 1)).tocsr()[index]
        if not isinstance(places, _spbase):
            return v.where(places > 0, a.data[np.maximum(places, 1) - 1], 0.0)
        found = places.tocoo()
        data = v.take(a.data, found.data - 1, axis=0)
        if found.ndim == 1:
            zeros = v.full_like(data, shape=found.shape, fill=0)
            at, where = v.Index.split(found.coords)
            return v.scatter_add(zeros, data, *where, index=at)
        return TracedSparse(data, element_pattern(a.pattern.cls, found.row, found.col, found.shape))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._refuse("a write to a part")

    def __iter__(self) -> Any:
        self._refuse("a loop over the rows")

    def __len__(self) -> int:  # noqa: PLE0303
        self._refuse("the length, which sparse arrays do not have,")

    def __bool__(self) -> bool:  # noqa: PLE0304
        self._refuse("the truth")

    def __pow__(self, other: Any) -> Any:
        if self.pattern.is_matrix:
            self._refuse("a power of matrices")
        return self.power(other)

    def __rtruediv__(self, other: Any) -> Any:
        self._refuse("a quotient")

    def __eq__(self, other: object) -> Any:
        self._refuse("a comparison")

    def __abs__(self) -> TracedSparse:
        a = canonical(self)
        return TracedSparse(v.abs(a.data), a.pattern)

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.pattern.cls.__name__} of shape {self.shape}, elements {self.data!r}>"


def _of_elements(word: Any) -> Any:
    """Make a method that computes a function of each element, which is 0 at 0."""

    def method(self: TracedSparse) -> TracedSparse:
        a = canonical(self)
        return TracedSparse(word(a.data), a.pattern)

    method.__name__ = word.__name__
    return method


for _name in (
    *("arcsin", "arcsinh", "arctan", "arctanh", "expm1", "log1p", "sin", "sinh", "sqrt", "tan"),
    *("tanh", "deg2rad", "rad2deg"),
):
    setattr(TracedSparse, _name, _of_elements(getattr(np, _name)))


def element_pattern(cls: type, rows: Any, columns: Any, shape: Any) -> Pattern:
    """Return the pattern of elements at these places, in this order."""
    places = (np.asarray(rows), np.asarray(columns))
    return Pattern(cls, "coo", places, tuple(map(int, shape)))


def coordinates(a: Any) -> tuple[Any, Any, Any]:
    """Return the elements of a sparse array, with rows and columns."""
    if isinstance(a, TracedSparse):
        return a.data, *a.pattern.rows_columns
    a = a.tocoo()
    return a.data, a.row, a.col


def canonical(a: TracedSparse) -> TracedSparse:
    """Add up the elements that stand at one place."""
    rows, columns = a.pattern.rows_columns
    keys, where = np.unique(rows * a.shape[1] + columns, return_inverse=True)
    if len(keys) == len(rows):
        return a
    index, places = v.Index.split((where,))
    zeros = v.full_like(a.data, shape=keys.shape, fill=0)
    data = v.scatter_add(zeros, a.data, *places, index=index)
    return TracedSparse(
        data, element_pattern(a.pattern.cls, keys // a.shape[1], keys % a.shape[1], a.shape)
    )


def sparse_by_sparse(a: Any, b: Any) -> TracedSparse:
    """Multiply two sparse arrays: every element of a by those of b in the row of its column."""
    (x, i, k), (y, r, j) = coordinates(a), coordinates(b)
    order = np.argsort(r, kind="stable")
    starts = np.searchsorted(r[order], np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[k]
    left = np.repeat(np.arange(len(k)), counts)
    inner = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[starts[k[left]] + inner]
    data = v.take(array_of(x), left, axis=0) * v.take(array_of(y), right, axis=0)
    cls = a.pattern.cls if isinstance(a, TracedSparse) else b.pattern.cls
    return TracedSparse(data, element_pattern(cls, i[left], j[right], (a.shape[0], b.shape[1])))


def _elements(a: Any, rows: Any, columns: Any) -> Any:
    return np.asarray(a.tocsr()[rows, columns]).reshape(-1)


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
