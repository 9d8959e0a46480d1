"""Stand-in for a sparse array whose elements are being differentiated."""

from __future__ import annotations

import functools
import operator
from typing import Any, NoReturn, cast

import numpy as np
from scipy import sparse

from chainrules_py import vocabulary as v
from chainrules_py.extend import Tracer, type_info
from chainrules_scipy.rows import array_of, readable
from chainrules_scipy.sparse.layout import Stored, canonical, laid
from chainrules_scipy.sparse.lines import TracedLine
from chainrules_scipy.sparse.patterns import SPARSE
from chainrules_scipy.sparse.products import (
    element_pattern,
    of_one,
    product,
    reversed_product,
)
from chainrules_scipy.sparse.words import sparse_product


class TracedSparse(Stored):
    """A sparse array whose stored elements are traced, with what SciPy's can do."""

    __slots__ = ()

    # -- what it can do

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, (TracedSparse, SPARSE)):
            return sparse_by_sparse(self, x)
        return self._vector(product(self.elements, x, self.pattern), after=True)

    def __rmatmul__(self, x: Any) -> Any:
        if isinstance(x, SPARSE):
            return sparse_by_sparse(x, self)
        return self._vector(reversed_product(x, self.elements, self.pattern), after=False)

    def _vector(self, y: Any, after: bool) -> Any:
        """Return a product, of one element as a number where SciPy's format has a number."""
        return y if self.like is None or y.shape != (1,) else of_one(type(self.plain()), y, after)

    dot = __matmul__

    @property
    def T(self) -> TracedSparse:  # noqa: N802
        """The transposed array, with the same elements."""
        y = TracedSparse(self.elements, self.pattern.T)
        return laid_like(operator.attrgetter("T"), y, self)  # type: ignore[no-any-return]

    def transpose(self) -> TracedSparse:
        """Return the transpose, as ``T`` does."""
        return self.T

    def __mul__(self, c: Any) -> Any:
        if not _is_number(c):
            if self.pattern.is_matrix:
                return self @ c
            return self.multiply(c)
        return TracedSparse(self.elements * c, self.pattern)

    def __rmul__(self, c: Any) -> Any:
        if not _is_number(c) and self.pattern.is_matrix:
            return c @ self
        return self * c

    def __truediv__(self, c: Any) -> Any:
        if not _is_number(c):
            return self.multiply(1 / c)
        if np.can_cast(np.dtype(self.dtype), np.float64):  # as SciPy does
            return TracedSparse(v.astype(self.elements, dtype=np.dtype(float)), self.pattern) * (
                1.0 / c
            )
        return TracedSparse(self.elements * (1.0 / c), self.pattern)

    def __neg__(self) -> TracedSparse:
        return TracedSparse(-self.elements, self.pattern)

    def multiply(self, other: Any) -> TracedSparse:
        """Multiply element by element."""
        if _is_number(other):
            return TracedSparse(self.elements * other, self.pattern)
        rows, columns = self.pattern.rows_columns
        if isinstance(other, TracedSparse):
            other = other.toarray()
        elif isinstance(other, SPARSE):
            return TracedSparse(self.elements * _elements(other, rows, columns), self.pattern)
        other = array_of(other)
        if np.broadcast_shapes(other.shape, self.shape) != self.shape:
            self.refuse(f"a product of shape {self.shape} with {other.shape}, which has more,")
        there = v.broadcast_to(other, shape=self.shape)
        return TracedSparse(self.elements * there[rows, columns], self.pattern)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (TracedSparse, SPARSE)):
            if _is_number(other):
                return self._with_number(other)
            self._refuse_matrix("a sum with a dense array", "toarray() + x")
            return self.toarray() + other
        (rows, columns), data = self.pattern.rows_columns, array_of(coordinates(other)[0])
        _, r, c = coordinates(other)
        pattern = element_pattern(
            self.pattern.cls, np.concatenate([rows, r]), np.concatenate([columns, c]), self.shape
        )
        return TracedSparse(v.concat(self.elements, data, axis=0), pattern)

    __radd__ = __add__

    def _with_number(self, c: Any) -> TracedSparse:
        """Add 0; of another number SciPy raises."""
        if isinstance(c, Tracer) or c != 0:
            self.refuse("a sum with a number")
        return self.copy()

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def tocsr(self, copy: bool = False) -> TracedSparse:
        """Return the array: what stands for one has one format."""
        return self

    tocsc = tocoo = tobsr = todia = tolil = todok = asformat = tocsr

    def copy(self) -> TracedSparse:
        """Return the array."""
        return self

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> TracedSparse:
        """Convert the elements to another type of floats."""
        return TracedSparse(v.astype(self.elements, dtype=np.dtype(dtype)), self.pattern)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> TracedSparse:
        """Give the array other numbers of rows and columns."""
        places = self.pattern.operator(np.arange(1, self.elements.shape[0] + 1)).tocoo()
        moved = places.reshape(*shape, order=order)
        data = v.take(self.elements, moved.data - 1, axis=0)
        rows, columns = moved.coords
        return TracedSparse(data, element_pattern(self.pattern.cls, rows, columns, moved.shape))

    def trace(self, offset: int = 0) -> Any:
        """Sum the elements in a diagonal."""
        return v.sum(self.diagonal(offset))

    def power(self, n: Any, dtype: Any = None) -> TracedSparse:
        """Raise each element to a power, which is greater than 0."""
        if np.any(np.asarray(n) <= 0):
            self.refuse("a power that is not greater than 0")
        a = canonical(self)
        return TracedSparse(a.elements**n, a.pattern)

    def conj(self, copy: bool = True) -> TracedSparse:
        """Conjugate each element."""
        return TracedSparse(v.conj(self.elements), self.pattern)

    conjugate = conj

    def _extreme(self, choose: Any, axis: Any) -> Any:
        """Return an extreme element, also of those that are not stored."""
        return choose(canonical(self).toarray(), axis=axis)

    def max(self, axis: int | None = None) -> Any:
        """Return the greatest element."""
        return self._extreme(v.max, axis) if axis is None else self.refuse("max along an axis")

    def min(self, axis: int | None = None) -> Any:
        """Return the least element."""
        return self._extreme(v.min, axis) if axis is None else self.refuse("min along an axis")

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean of all elements, or along an axis."""
        n = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / n

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """All elements, in a dense array; those that stand at one place are added up."""
        index, places = v.Index.split(self.pattern.rows_columns)
        zeros = v.full_like(self.elements, shape=self.shape, fill=0)
        return v.scatter_add(zeros, self.elements, *places, index=index)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        """All elements, as `toarray`: of an array, for those of a matrix would be a matrix."""
        self._refuse_matrix("todense()", "toarray(), and @ for * of matrices")
        return self.toarray()

    def sum(self, axis: int | None = None) -> Any:
        """Sum all elements, or those of the columns (0) or rows (1)."""
        if axis is None:
            return v.sum(self.elements)
        self._refuse_matrix(f"sum or mean along axis {axis}", "M @ np.ones(n)")
        pattern = self.pattern.T if axis % 2 == 0 else self.pattern
        ones = np.ones(pattern.shape[1], np.dtype(self.dtype))
        return sparse_product(self.elements, ones, pattern=pattern)

    def diagonal(self, k: int = 0) -> Any:
        """Return the elements in the diagonal, or in the k-th above it."""
        rows, columns = self.pattern.rows_columns
        (on,) = np.nonzero(columns - rows == k)
        index, places = v.Index.split(np.minimum(rows, columns)[on])
        n, m = self.shape
        length = max(0, min(n + min(k, 0), m - max(k, 0)))
        zeros = v.full_like(self.elements, shape=(length,), fill=0)
        return v.scatter_add(zeros, v.take(self.elements, on, axis=0), *places, index=index)

    # -- what it cannot

    def __init_subclass__(cls) -> None:
        cls.__getattr__ = cls.__getattr__  # type: ignore[method-assign]  # see `Beside`

    def _refuse_matrix(self, what: str, instead: str) -> None:
        """Refuse what SciPy gives as a ``np.matrix``, if it is of one of the older classes."""
        if self.pattern.is_matrix:
            name = self.pattern.cls.__name__
            array = name.replace("matrix", "array")
            self.refuse(f"{what}, which is a np.matrix: write {instead}, or {array} for {name};")

    def __getattr__(self, name: str) -> Any:
        if name in Stored.__slots__:  # it is being made
            raise AttributeError(name)
        if name in _PLACES:
            return getattr(laid(self).places(), name)
        return self._lacking(name)

    def _lacking(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(self.pattern.cls, name):
            msg = f"{type(self).__name__} has no attribute {name}"
            raise AttributeError(msg)
        self.refuse(f"{name}")

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.refuse("a dense copy by NumPy")

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not keywords:
            left, right = operands
            return self @ right if left is self else right.__rmatmul__(left)
        turned = _TURNED.get(ufunc)
        if turned and method == "__call__" and not keywords and operands[1] is self:
            return getattr(self, turned)(operands[0])  # an array's operator comes here
        return self.refuse(f"np.{ufunc.__name__}")

    def __array_function__(self, f: Any, types: Any, args: Any, keywords: Any) -> Any:
        self.refuse(f"np.{f.__name__}")

    def __getitem__(self, index: Any) -> Any:
        is_other = self.like is not None and self.format not in ("csr", "csc")
        theirs = self.plain()[index] if is_other else None  # most raise
        a = canonical(self)
        places: Any = a.pattern.operator(np.arange(1, a.elements.shape[0] + 1))
        is_old = a.pattern.is_matrix
        places = (sparse.csr_matrix if is_old else sparse.csr_array)(places)[index]
        if isinstance(places, np.matrix):
            self._refuse_matrix("elements at pairs of places", "A.toarray()[rows, columns]")
        if not isinstance(places, SPARSE):
            y = v.where(cast("Any", places > 0), a.elements[np.maximum(places, 1) - 1], 0.0)
            return TracedLine(y) if isinstance(theirs, SPARSE) and y.ndim == 1 else y
        found: Any = cast("Any", places).tocoo()
        data = v.take(a.elements, found.data - 1, axis=0)
        if found.ndim == 1:
            zeros = v.full_like(data, shape=found.shape, fill=0)
            at, where = v.Index.split(found.coords)
            return TracedLine(v.scatter_add(zeros, data, *where, index=at))
        return TracedSparse(data, element_pattern(a.pattern.cls, found.row, found.col, found.shape))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.refuse("a write to a part")

    def __iter__(self) -> Any:
        self.refuse("a loop over the rows")

    def __len__(self) -> int:  # noqa: PLE0303
        self.refuse("the length, which sparse arrays do not have,")

    def __bool__(self) -> bool:  # noqa: PLE0304
        self.refuse("the truth")

    def __pow__(self, other: Any) -> Any:
        if self.pattern.is_matrix:
            self.refuse("a power of matrices")
        return self.power(other)

    def __rtruediv__(self, other: Any) -> Any:
        self.refuse("a quotient")

    def __eq__(self, other: object) -> Any:
        self.refuse("a comparison")

    def __abs__(self) -> TracedSparse:
        a = canonical(self)
        return TracedSparse(v.abs(a.elements), a.pattern)

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.pattern.cls.__name__} of shape {self.shape}, elements {self.elements!r}>"


_TURNED = {np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__"}
_PLACES = ("indices", "indptr", "row", "col", "coords", "has_sorted_indices")
"""What SciPy's arrays have of places."""


def plain_of(x: Any) -> Any:
    """Return what SciPy is given in place of traced values."""
    if isinstance(x, TracedSparse):
        return x.plain().copy()  # SciPy's methods sort what they are given
    if type(x) in (list, tuple):
        return type(x)([plain_of(item) for item in x])
    return np.array(readable(x)) if isinstance(x, Tracer) else x


def laid_like(theirs: Any, y: Any, *operands: Any, **options: Any) -> Any:
    """Have SciPy's function say, when that is asked for, how the elements of a result lie."""
    if not isinstance(y, TracedSparse):
        return y

    def like() -> Any:
        return theirs(*plain_of(operands), **{k: plain_of(x) for k, x in options.items()})

    return TracedSparse(y.elements, y.pattern, like)


def _laid_method(name: str, theirs: Any = None) -> None:
    method: Any = getattr(TracedSparse, name)
    theirs = theirs or (lambda a, *args, **options: getattr(a, name)(*args, **options))

    @functools.wraps(method)
    def function(self: TracedSparse, *args: Any, **options: Any) -> Any:
        return laid_like(theirs, method(self, *args, **options), self, *args, **options)

    setattr(TracedSparse, name, function)


def _of_elements(word: Any) -> Any:
    """Make a method that computes a function of each element, which is 0 at 0."""

    def method(self: TracedSparse) -> TracedSparse:
        a = canonical(self)
        return TracedSparse(word(a.elements), a.pattern)

    method.__name__ = word.__name__
    return method


_ELEMENTWISE = (
    *("arcsin", "arcsinh", "arctan", "arctanh", "expm1", "log1p", "sin", "sinh", "sqrt", "tan"),
    *("tanh", "deg2rad", "rad2deg"),
)
for _name in _ELEMENTWISE:
    setattr(TracedSparse, _name, _of_elements(getattr(np, _name)))


for _name in (
    *("dot", "transpose", "multiply", "tocsr", "tocsc", "tocoo", "tobsr", "todia", "asformat"),
    *("tolil", "todok"),
    *("copy", "astype", "reshape", "power", "conj", "conjugate", "__getitem__"),
    *_ELEMENTWISE,
):
    _laid_method(_name)
for _name in ("matmul", "mul", "add", "sub"):
    _operator = getattr(operator, _name)
    _laid_method(f"__{_name}__", _operator)
    _laid_method(f"__r{_name}__", lambda a, x, _operator=_operator: _operator(x, a))
for _name in ("truediv", "neg", "abs", "pow"):
    _laid_method(f"__{_name}__", getattr(operator, _name))


def coordinates(a: Any) -> tuple[Any, Any, Any]:
    """Return the elements of a sparse array, with rows and columns."""
    if isinstance(a, TracedSparse):
        return a.elements, *a.pattern.rows_columns
    a = a.tocoo()
    return a.data, a.row, a.col


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
