"""Sparse arrays whose elements are being differentiated, and the functions that make them.

SciPy computes where elements go: its own operation runs on an array of the same form, whose
elements are indices, counted from 1, or ones.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from chainrules_py import ops as v
from chainrules_py import register_structure
from chainrules_py.extend import Tracer, advise, filled, forgets, refuse_type, type_info
from chainrules_scipy.composites_and_operand_conversions import (
    added_up,
    array_of,
    described,
    readable,
    refused,
    reject,
)
from chainrules_scipy.installation import place, place_constructor
from chainrules_scipy.sparse.patterns_and_products import STORED, Pattern, sparse_product
from chainrules_scipy.sparse_operators import NUMBERS, SPARSE, TracedElements

# What a traced sparse array supports.
CAN = (
    "it has @ and dot with arrays, + and -, multiply, power, abs and sin with its kin, products "
    "with numbers, T, sum(), diagonal(), max(), reshape(), toarray(), parts and data; "
    "scipy.sparse.linalg.spsolve is chainrules_scipy.sparse.spsolve"
)
# Attributes of SciPy's arrays that describe the pattern.
_READABLE = ("indices", "indptr", "row", "col", "coords", "nnz", "has_sorted_indices")
_standing: dict[type, type[Any]] = {}
forgets(lambda: (_standing,))


class TracedSparse(TracedElements):
    """A sparse array whose stored elements are traced, of a subclass for each of SciPy's classes.

    Parameters
    ----------
    elements : array
        The elements, in the order of the pattern.
    pattern : Pattern
        The pattern of the array.
    drops : bool
        Whether SciPy would leave out elements that have become 0.
    """

    __slots__ = ("drops", "elements", "pattern")
    ndim = 2

    def __new__(cls, elements: Any, pattern: Pattern, drops: bool = False) -> Self:
        """Make an instance of the subclass for the pattern's class, which has its tangents."""
        theirs = pattern.cls
        if theirs not in _standing:
            names = {"__slots__": (), "__stands_for__": theirs, "__dispatch_type__": theirs}
            _standing[theirs] = type(f"Traced[{theirs.__qualname__}]", (TracedSparse,), names)
        made: Self = object.__new__(_standing[theirs])
        return made

    def __init__(self, elements: Any, pattern: Pattern, drops: bool = False) -> None:
        self.elements, self.pattern, self.drops = elements, pattern, drops

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.elements.dtype

    @property
    def format(self) -> str:
        """The format of SciPy's array."""
        return self.pattern.form

    @property
    def data(self) -> Any:
        """The elements, in the order of SciPy's array."""
        self._laid()
        return self.elements

    @data.setter
    def data(self, elements: Any) -> None:
        self.elements = elements

    def _laid(self) -> Any:
        """Return an array with the indices of SciPy's; raise if they are not the same."""
        if self.format not in STORED:
            self.refuse(f"data in the format {self.format} (write tocsr())")
        if self.drops and not np.all(readable(self.elements)):
            self.refuse("data of elements that SciPy leaves out, as zeros,")
        return self.pattern.array(np.ones(self.elements.shape[0]))

    def __as_result__(self) -> Self:
        """Return the array as the result of a function, if a tangent can have its class."""
        if self.format not in STORED:
            self.refuse(f"a result in the format {self.format} (write tocsr())")
        return self

    # -- products with dense arrays

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, (TracedSparse, SPARSE)):
            return sparse_by_sparse(self, x)
        return of_one(self.pattern.cls, product(self.elements, x, self.pattern))

    def __rmatmul__(self, x: Any) -> Any:
        flipped = v.permute_dims(x) if type_info(type(x)).is_array and x.ndim == 2 else x
        y = product(self.elements, flipped, self.pattern.T)  # the transposed of Aᵀ Xᵀ
        return of_one(self.pattern.cls, v.permute_dims(y) if y.ndim == 2 else y, after=False)

    dot = __matmul__

    # -- element by element

    def _with(self, elements: Any) -> TracedSparse:
        return TracedSparse(elements, self.pattern, self.drops)

    def __mul__(self, c: Any) -> Any:
        return self.multiply(c) if _is_number(c) or not self.pattern.is_matrix else self @ c

    def __rmul__(self, c: Any) -> Any:
        return c @ self if not _is_number(c) and self.pattern.is_matrix else self * c

    def __truediv__(self, c: Any) -> Any:
        if not _is_number(c):
            return self.multiply(1 / c)
        is_double = np.can_cast(np.dtype(self.dtype), np.float64)  # as SciPy does
        return (self.astype(float) if is_double else self) * (1.0 / c)

    def __neg__(self) -> TracedSparse:
        return self._with(-self.elements)

    def __abs__(self) -> TracedSparse:
        return _of_elements(self, v.abs)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> TracedSparse:
        """Convert the elements to another floating-point dtype."""
        return self._with(v.astype(self.elements, dtype=np.dtype(dtype)))

    def conj(self, copy: bool = True) -> TracedSparse:
        """Conjugate each element."""
        return self._with(v.copy(v.conj(self.elements)))

    conjugate = conj

    def power(self, n: Any, dtype: Any = None) -> TracedSparse:
        """Raise each stored element to a power, which must not be 0."""
        if not np.all(n):
            self.refuse("the power 0, which is np.ones(A.shape) in SciPy")
        return _of_elements(self, lambda x: x**n)

    def __pow__(self, n: Any) -> TracedSparse:
        if self.pattern.is_matrix:
            self.refuse("a power of matrices")
        return self.power(n)

    def multiply(self, other: Any) -> Any:
        """Multiply element by element."""
        if _is_number(other):
            return self._with(self.elements * other)
        return pairs(lambda a, b: a.multiply(b), self, other)

    # -- sums

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (TracedSparse, SPARSE)):
            (x, i, j), (y, r, c) = coordinates(self), coordinates(other)
            union = ones_of(self) + ones_of(other)
            return onto(union, np.append(i, r), np.append(j, c), v.concat(x, y, axis=0))
        if not _is_number(other):
            self._refuse_matrix("a sum with a dense array", "toarray() + x")
            return self.toarray() + other
        if isinstance(other, Tracer) or other != 0:
            self.refuse("a sum with a number")
        return self

    def __radd__(self, other: Any) -> Any:
        return traced_of(other) + self if isinstance(other, SPARSE) else self + other

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return other + (-self)

    def sum(self, axis: int | None = None) -> Any:
        """Sum all elements, or those of the columns (0) or rows (1)."""
        if axis is None:
            return v.sum(self.elements)
        self._refuse_matrix(f"sum or mean along axis {axis}", "M @ np.ones(n)")
        pattern = self.pattern.T if axis % 2 == 0 else self.pattern
        return sparse_product(
            self.elements, np.ones(pattern.shape[1], np.dtype(self.dtype)), pattern=pattern
        )

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean of all elements, or along an axis."""
        return self.sum(axis) / (math.prod(self.shape) if axis is None else self.shape[axis])

    def trace(self, offset: int = 0) -> Any:
        """Sum the elements in a diagonal."""
        return v.sum(self.diagonal(offset))

    # -- parts, and other forms

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return all elements in a dense array; those with the same index are added up."""
        return added_up(self.elements, self.pattern.rows_columns, self.shape)

    @property
    def T(self) -> TracedSparse:  # noqa: N802
        """The transposed array, with the same elements."""
        return self.transpose()  # type: ignore[no-any-return]

    mT = T  # noqa: N815

    def copy(self) -> TracedSparse:
        """Return an array with elements of its own."""
        return self._with(v.copy(self.elements))

    def __getitem__(self, index: Any) -> Any:
        # A copy, since SciPy makes an array of indices writeable, which may fail.
        return moved(lambda a: a[copy.deepcopy(index)], self)

    # -- unsupported methods

    def refuse(self, what: str, *_: Any, **__: Any) -> NoReturn:
        """Raise for an operation that has no derivative here."""
        name = self.pattern.cls.__name__
        reject(f"{what} of a {name} that is being differentiated has no derivative here; {CAN}")

    def _refuse_matrix(self, what: str, instead: str) -> None:
        """Raise for a result that SciPy returns as a ``np.matrix``, for the older classes."""
        if self.pattern.is_matrix:
            name = self.pattern.cls.__name__
            array = name.replace("matrix", "array")
            self.refuse(f"{what}, which is a np.matrix: write {instead}, or {array} for {name};")

    def __init_subclass__(cls) -> None:
        cls.__getattr__ = cls.__getattr__  # type: ignore[method-assign]  # see `Beside`

    def __getattr__(self, name: str) -> Any:
        if name in _READABLE:
            return getattr(self._laid(), name)
        if name[0] == "_" or name in TracedSparse.__slots__ or not hasattr(self.pattern.cls, name):
            reject(f"{type(self).__name__} has no attribute {name}", AttributeError)
        return self.refuse(name)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        name = _OPERATORS.get(ufunc)
        if name is None or method != "__call__" or keywords:
            self.refuse(f"np.{ufunc.__name__}")
        left, right = operands  # operators of arrays come here
        side, other = ("", right) if left is self else ("r", left)
        return getattr(self, f"__{side}{name}__")(other)

    def __array_function__(self, f: Any, types: Any, args: Any, keywords: Any) -> Any:
        self.refuse(f"np.{f.__name__}")

    def __eq__(self, other: object) -> Any:
        self.refuse("a comparison")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.pattern.cls.__name__} of shape {self.shape}, elements {self.elements!r}>"


_OPERATORS = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.matmul: "matmul"}


def _moved(a: TracedSparse, name: str, *args: Any, **options: Any) -> Any:
    """Call a method of SciPy that moves elements."""
    return moved(lambda x: getattr(x, name)(*args, **options), a)


def _of_elements(a: TracedSparse, operation: Callable[[Any], Any]) -> TracedSparse:
    """Apply a function that is 0 at 0 to each element."""
    a = once(a)
    return a._with(operation(a.elements))


def _extreme(a: TracedSparse, name: str, axis: int | None = None) -> Any:
    """Return the greatest or least element, including those that are not stored."""
    return getattr(v, name)(a.toarray()) if axis is None else a.refuse(f"{name} along an axis")


_METHODS: dict[str, tuple[Callable[..., Any], Any]] = {
    **{
        name: (_of_elements, getattr(np, name))
        for name in (
            *("arcsin", "arcsinh", "arctan", "arctanh", "expm1", "log1p", "sin", "sinh", "sqrt"),
            *("tan", "tanh", "deg2rad", "rad2deg"),
        )
    },
    **{
        name: (_moved, name)
        for name in (
            *("asformat", "diagonal", "reshape", "transpose", "tocsr", "tocsc", "tocoo", "tobsr"),
            *("todia", "tolil", "todok"),
        )
    },
    "max": (_extreme, "max"),
    "min": (_extreme, "min"),
    "__array__": (TracedSparse.refuse, "a dense copy by NumPy"),
    "__bool__": (TracedSparse.refuse, "the truth"),
    "__iter__": (TracedSparse.refuse, "a loop over the rows"),
    "__rtruediv__": (TracedSparse.refuse, "a quotient"),
    "__setitem__": (TracedSparse.refuse, "a write to a part"),
}
for _name, (_function, _what) in _METHODS.items():
    setattr(TracedSparse, _name, functools.partialmethod(_function, _what))


# ------------------------------------------------------------------ where elements are, and go


def pattern_of(y: Any) -> Pattern:
    """Return the pattern of a SciPy sparse array, in any format."""
    if y.format in STORED:
        return Pattern.of(y)
    places = y.tocoo()
    return Pattern(type(y), "coo", (places.row, places.col), y.shape)


def traced_of(a: Any) -> TracedSparse:
    """Return a SciPy sparse array as a traced one."""
    return a if isinstance(a, TracedSparse) else TracedSparse(_numbers(a), pattern_of(a))


def _numbers(a: Any) -> Any:
    return (a if a.format in STORED else a.tocoo()).data


def coordinates(a: Any) -> tuple[Any, Any, Any]:
    """Return the elements of a sparse array, with rows and columns."""
    a = traced_of(a)
    rows, columns = [np.asarray(x, np.int64) for x in a.pattern.rows_columns]
    return array_of(a.elements), rows, columns


def ones_of(a: Any) -> Any:
    """Return a SciPy array with ones at the elements of a sparse array; of a dense one, ones."""
    if not _is_sparse(a):
        return np.ones(a.shape)
    pattern = traced_of(a).pattern
    return pattern.array(np.ones(len(pattern.rows_columns[0]))).copy()  # SciPy sorts operands


def _found(pattern: Pattern, rows: Any, columns: Any) -> Any:
    """Return which of a pattern's elements are at some rows and columns."""
    r, c = (np.asarray(x, np.int64) for x in pattern.rows_columns)
    keys = r * pattern.shape[1] + c
    order = np.argsort(keys, kind="stable")
    return order[
        np.searchsorted(keys[order], np.asarray(rows, np.int64) * pattern.shape[1] + columns)
    ]


def onto(y: Any, rows: Any, columns: Any, data: Any, drops: bool = True) -> TracedSparse:
    """Add numbers up at their rows and columns, in the pattern of a SciPy array."""
    pattern = pattern_of(y)
    places = (_found(pattern, rows, columns),)
    return TracedSparse(added_up(data, places, pattern.rows_columns[0].shape), pattern, drops)


def once(a: TracedSparse) -> TracedSparse:
    """Add up elements with the same index, and sort them as SciPy does."""
    if a.format not in STORED:
        return a
    y = ones_of(a)
    if y.has_canonical_format:
        return a
    if a.format != "coo" and a.pattern.repeats:
        a.refuse("elements of which several stand at one place (sum_duplicates() adds them up)")
    y.sum_duplicates()
    return onto(y, *a.pattern.rows_columns, a.elements, a.drops)


class Places:
    """Indices of the elements of arrays, on which SciPy's operations run in place of elements.

    Parameters
    ----------
    apart : bool
        Whether elements with the same row and column have separate indices.
    """

    def __init__(self, apart: bool = True) -> None:
        self.apart, self.drops, self.repeats, self.count = apart, False, False, 0
        self.parts: list[Any] = []

    def of(self, x: Any) -> Any:
        """Return the indices of the elements of an array, or of several, in its form."""
        if x is None:
            return None
        if isinstance(x, (list, tuple)):
            return type(x)([self.of(item) for item in x])
        if isinstance(x, (TracedSparse, SPARSE)):
            a = traced_of(x) if self.apart else once(traced_of(x))
            self.drops |= a.drops or a.format in ("dia", "dok", "lil")
            self.repeats |= a.pattern.repeats
            return a.pattern.array(self._counted(array_of(a.elements))).copy()
        x = array_of(x)
        self.drops |= x.ndim == 2  # dense, of which SciPy stores nonzero elements
        return self._counted(x)

    def _counted(self, data: Any) -> Any:
        start, self.count = self.count, self.count + math.prod(data.shape)
        self.parts.append(v.reshape(data, shape=(-1,)))
        return np.arange(start + 1, self.count + 1).reshape(data.shape)

    def made(self, y: Any) -> Any:
        """Return the result of SciPy's operation on indices, with the elements in their place."""
        data = v.concat(*self.parts, axis=0)
        if not sparse.issparse(y):
            if isinstance(y, np.matrix):
                reject(
                    "elements at pairs of places, which are a np.matrix: write "
                    "A.toarray()[rows, columns], or csr_array for csr_matrix"
                )
            return _chosen(data, y)
        if y.ndim != 2:
            reject(
                f"a sparse array of shape {y.shape}, with one axis or more than two, has no "
                f"derivative here: write A[[0]] or A[:, [0]] for A[0] or A[:, 0], or "
                f"A.toarray()[0], and coo_array((d, (0 * i, i))) for coo_array((d, (i,)))"
            )
        return TracedSparse(_chosen(data, _numbers(y)), pattern_of(y), self.drops)


def _chosen(data: Any, places: Any) -> Any:
    """Return the elements at indices; those that SciPy filled in are 0."""
    places = np.asarray(places, np.int64)
    found = v.take(data, np.maximum(places, 1) - 1, axis=0)
    return found if np.all(places) else v.where(places > 0, found, 0.0)


class _Ones(Places):
    """Ones in place of the elements: they show which elements an operation adds up."""

    def _counted(self, data: Any) -> Any:
        return np.ones(data.shape, int)


def moved(operation: Callable[..., Any], array: Any) -> Any:
    """Run a SciPy operation that moves the elements of an array or of a list of arrays."""
    places = Places()
    y = operation(places.of(array))
    if places.repeats:
        ones = operation(_Ones().of(array))
        if np.max(_numbers(ones) if sparse.issparse(ones) else ones, initial=0) > 1:
            places = Places(apart=False)
            y = operation(places.of(array))
    return places.made(y)


# -------------------------------------------------------------------------------- products


@functools.cache
def _shape_of_one(cls: Any, after: bool) -> tuple[int, ...]:
    """Return the shape of SciPy's product with a vector that has one element."""
    row = cls(np.ones((1, 2)) if after else np.ones((2, 1)))
    return np.shape(row @ np.ones(2) if after else np.ones(2) @ row)


def of_one(cls: Any, y: Any, after: bool = True) -> Any:
    """Return a product with a vector; one element gets the shape that SciPy's class gives it."""
    return v.reshape(y, shape=_shape_of_one(cls, after)) if y.shape == (1,) else y


def product(data: Any, x: Any, pattern: Pattern) -> Any:
    """Compute A x, for a dense x."""
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    if not type_info(type(x)).is_array:
        TracedSparse(data, pattern).refuse(f"the product with a {type(x).__name__}")
    if x.ndim not in (1, 2) or x.shape[0] != pattern.shape[1]:
        reject(
            f"matmul: a sparse array of shape {pattern.shape} and an array of shape {x.shape}",
            ValueError,
        )
    return sparse_product(data, x, pattern=pattern)


def sparse_by_sparse(a: Any, b: Any) -> TracedSparse:
    """Multiply two sparse arrays: every element of a by those of b in the row of its column."""
    (x, i, k), (y, r, j) = coordinates(a), coordinates(b)
    order = np.argsort(r, kind="stable")
    starts = np.searchsorted(r[order], np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[k]
    left = np.repeat(np.arange(len(k)), counts)
    inner = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[starts[k[left]] + inner]
    return onto(
        *(ones_of(a) @ ones_of(b), i[left], j[right]),
        v.take(x, left, axis=0) * v.take(y, right, axis=0),
    )


def _is_number(x: Any) -> bool:
    cls = type(x)
    return type_info(cls).is_number or (type_info(cls).is_array and x.ndim == 0)


def with_data(x: Any, data: Any) -> Any:
    """Build a sparse array with the pattern of another and new elements, which may be traced.

    Parameters
    ----------
    x : sparse array or matrix
        In the format csr, csc or coo.
    data : array, shape (x.nnz,)
        The elements, in the order of ``x.data``.

    Returns
    -------
    sparse array or matrix
        A SciPy array if data is a NumPy array, else a traced one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> print(with_data(sparse.csr_array([[0.0, 2.0]]), np.array([3.0])).toarray())
    [[0. 3.]]
    """
    if data.shape != x.data.shape:
        reject(
            f"a sparse array with {x.data.shape[0]} elements, and data of shape {data.shape}",
            ValueError,
        )
    return _made(x.pattern if isinstance(x, TracedSparse) else Pattern.of(x), data)


def _made(pattern: Pattern, data: Any, drops: bool = False) -> Any:
    """Build the sparse array with these elements, a traced one if they are no NumPy array."""
    return pattern.array(data) if type(data) is np.ndarray else TracedSparse(data, pattern, drops)


def _fields(x: Any) -> list[tuple[str, Any]]:
    if x.format not in ("dia", "bsr"):  # a constant one of these keeps its data
        Pattern.of(x)  # raises for other formats
    return [("data", x.data)]


register_structure(
    SPARSE,
    _fields,
    lambda x, values: x if values[0] is x.data else _made(Pattern.of(x), values[0]),
)
register_structure(
    TracedSparse,
    lambda x: [("data", x.elements)],
    lambda x, values: _made(x.pattern, values[0], x.drops),
    hollow=True,
)
refuse_type(
    f"{SPARSE.__module__}.{SPARSE.__qualname__}",
    "write Tangent[type(x)](data=...), with one number for each stored element of x",
)


# -------------------------------------------------------------------------- SciPy's constructors


def _constructor(cls: Any, format: str) -> Callable[..., Any]:
    def function(given: Any, *args: Any, **options: Any) -> Any:
        options.pop("dtype", None)
        data, *where = given if isinstance(given, tuple) else (given,)
        # An array, parts, or places that are not rows and columns.
        if len(where) != 1 or format not in STORED or len(where[0]) != 2:
            return moved(lambda x: cls((x, *where) if where else x, *args, **options), data)
        rows, columns = map(np.asarray, where[0])
        y = cls((np.ones(len(rows)), (rows, columns)), *args, **options)
        return (
            TracedSparse(array_of(data), pattern_of(y))
            if format == "coo"
            else onto(y, rows, columns, array_of(data), drops=False)
        )

    function.__name__ = cls.__name__
    return function


for _format in (*STORED, "dia", "bsr", "lil", "dok"):
    for _kind in ("array", "matrix"):
        _cls: Any = getattr(sparse, f"{_format}_{_kind}")
        place_constructor(_cls, _constructor(_cls, _format))


def _structural(name: str) -> Any:
    """Return a function that only moves elements, of arrays or of lists of them."""
    theirs = getattr(sparse, name)

    @functools.wraps(theirs)
    def function(given: Any, *args: Any, **options: Any) -> Any:
        if name in ("diags_array", "diags"):
            options["dtype"] = int
        return moved(lambda x: theirs(x, *args, **options), given)

    return place(theirs, function)


MAKING: dict[str, Any] = {
    name: _structural(name)
    for name in (
        *("bmat", "block_array", "block_diag", "diags", "diags_array", "hstack", "spdiags"),
        *("tril", "triu", "vstack"),
    )
}


def pairs(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> TracedSparse:
    """Multiply the elements of two arrays that meet in an operation of SciPy, where they meet."""
    a, b = (traced_of(x) if _is_sparse(x) else array_of(x) for x in (a, b))
    if _is_sparse(b) or getattr(a, "format", "") == "coo":  # else the order stays
        a, b = (once(x) if _is_sparse(x) else x for x in (a, b))
    left = moved(lambda x: operation(x, ones_of(b)), a)
    others = moved(lambda x: operation(ones_of(a), x), b).elements
    return TracedSparse(left.elements * others, left.pattern, drops=True)


def kron(A: Any, B: Any, format: Any = None) -> TracedSparse:
    """Compute the Kronecker product."""
    return pairs(lambda a, b: _kron(a, b, format), A, B)


def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Compute the Kronecker sum."""
    of_a, of_b = (sparse.eye_array(x.shape[0]) for x in (A, B))
    return (kron(of_b, A, "coo") + kron(B, of_a, "coo")).asformat(format)


_kron = sparse.kron


def _is_sparse(x: Any) -> bool:
    return isinstance(x, (TracedSparse, SPARSE))


for _function in (kron, kronsum):
    _theirs: Any = getattr(sparse, _function.__name__)
    MAKING[_function.__name__] = place(_theirs, described(_function, _theirs))
place(sparse.issparse, functools.wraps(sparse.issparse)(_is_sparse), home="scipy.sparse")
place(
    sparse.isspmatrix,
    functools.wraps(sparse.isspmatrix)(
        lambda x: isinstance(x, TracedSparse) and x.pattern.is_matrix
    ),
    home="scipy.sparse",
)
refused(
    sparse,
    {
        "find": "write A.tocoo(), its data, row and col",
        "permute_dims": "write A.T",
        "swapaxes": "write A.T",
    },
)
refused(
    sparse.csgraph,
    dict.fromkeys(
        (
            *("breadth_first_order", "connected_components", "depth_first_order", "maximum_flow"),
            *("maximum_bipartite_matching", "min_weight_full_bipartite_matching"),
            *("reverse_cuthill_mckee", "structural_rank"),
        ),
        "its result jumps: call it with ignore_derivatives(A)",
    )
    | dict.fromkeys(
        ("bellman_ford", "dijkstra", "floyd_warshall", "johnson", "shortest_path", "yen"),
        "call it with ignore_derivatives(A) and return_predecessors=True, and add up A[i, j] along "
        "a path",
    )
    | dict.fromkeys(
        ("breadth_first_tree", "depth_first_tree", "minimum_spanning_tree"),
        "call it with ignore_derivatives(A), and write A[t.row, t.col], with t = tree.tocoo()",
    )
    | {
        "laplacian": "write scipy.sparse.diags(A.sum(axis=0)) - A",
        "csgraph_from_dense": "write scipy.sparse.csr_array(A)",
        "csgraph_to_dense": "write A.toarray()",
        "csgraph_to_masked": "write A.toarray()",
    },
)


# ------------------------------------------------ hints for functions that make values plain


for _cls in (sparse.csr_array, sparse.coo_array):
    advise(_cls.__init__, NUMBERS)
advise(
    SPARSE.setdiag,
    lambda line: filled(
        "use {A} = {A} + diags({0} - {A}.diagonal({k}), {k}), after "
        "'from chainrules_scipy.sparse import diags'",
        line.arguments[0],
        A=(line.called or "A.setdiag").rpartition(".")[0],
        k=line.option("k") or ", ".join(line.arguments[1:]) or "0",
    ),
)
for _f, _name in [
    (linalg.SuperLU.solve, "splu"),
    *(
        (getattr(linalg if hasattr(linalg, name) else sparse, name), name)
        for name in (
            *("bicg", "bicgstab", "cg", "cgs", "eigs", "eigsh", "expm_multiply", "factorized"),
            *("gcrotmk", "gmres", "lgmres", "lsmr", "lsqr", "minres", "onenormest", "qmr"),
            *("splu", "spsolve", "svds", "tfqmr", *MAKING),
        )
    ),
]:
    advise(
        _f,
        f"use {_name}, which takes the same, after 'from chainrules_scipy.sparse import {_name}'",
    )
