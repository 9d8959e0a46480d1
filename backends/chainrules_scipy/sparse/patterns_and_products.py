"""Patterns of sparse arrays, and the operations on elements at the indices of a pattern."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, final

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from chainrules_py import (
    Array,
    LinearMap,
    NotDifferentiableError,
    bilinear_rule,
    primitive,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import static_types
from chainrules_py.ops import conj
from chainrules_scipy.composites_and_operand_conversions import added_up, reject

# Formats that store the elements in one array, each with its index.
STORED = ("csr", "csc", "coo")
_FORMS = {
    getattr(sparse, f"{form}_{kind}"): form
    for form in (*STORED, "bsr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
}
_TRANSPOSED = {"csr": "csc", "csc": "csr", "coo": "coo"}
_ARRAYS = {"csr": sparse.csr_array, "csc": sparse.csc_array, "coo": sparse.coo_array}


@final
@dataclasses.dataclass(eq=False, repr=False)
class Pattern:
    """The indices of the stored elements of a sparse array, in the order of its ``data``.

    Attributes
    ----------
    cls : type
        The class of the array, or matrix.
    format : str
        ``"csr"``, ``"csc"`` or ``"coo"``.
    places : tuple of array
        ``(indices, indptr)``, or the two coordinates.
    shape : tuple of int
        The shape of the array.
    """

    cls: type
    format: str
    places: tuple[Any, ...]
    shape: tuple[int, ...]
    factored: Any = None

    @classmethod
    def of(cls, x: Any) -> Pattern:
        """Return the pattern of a sparse array.

        Raises
        ------
        NotDifferentiableError
            If the array has another format, or does not have two axes.
        """
        if x.format not in STORED or len(x.shape) != 2:
            instead = "x.tocsr()" if len(x.shape) == 2 else "x.reshape(1, -1), or x.toarray()"
            reject(
                f"{type(x).__name__} of shape {x.shape}: derivatives are taken in the stored "
                f"elements of csr, csc and coo arrays with two axes; write {instead}, for this x"
            )
        return cls(
            type(x),
            x.format,
            tuple(x.coords if x.format == "coo" else (x.indices, x.indptr)),
            x.shape,
        )

    def array(self, data: Any) -> Any:
        """Build the sparse array, or matrix, with these elements."""
        return self._made(self.cls, data)

    def _made(self, cls: Any, data: Any) -> Any:
        if cls not in _ARRAYS.values() and self.form in ("dia", "dok", "lil"):
            return cls(self._made(_ARRAYS[self.format], data))  # not built from indices
        given = (data, self.places) if self.format == "coo" else (data, *self.places)
        return cls(given, shape=self.shape, copy=False)

    def operator(self, data: Any) -> Any:
        """Build a sparse array with these elements, never a matrix, whose operators differ."""
        return self._made(_ARRAYS[self.format], data)

    @functools.cached_property
    def T(self) -> Pattern:  # noqa: N802
        """The pattern of the transposed array, whose data are in the same order."""
        format = _TRANSPOSED[self.format]
        kind = f"{format}_{'matrix' if self.is_matrix else 'array'}"
        places = self.places[::-1] if format == "coo" else self.places
        made = Pattern(getattr(sparse, kind), format, places, self.shape[::-1])
        vars(made)["T"] = self
        return made

    @property
    def form(self) -> str:
        """The format of the class; ``places`` are those of ``"coo"`` if it is not in `STORED`."""
        return next(_FORMS[c] for c in self.cls.__mro__ if c in _FORMS)

    @functools.cached_property
    def repeats(self) -> bool:
        """Whether several elements have the same index."""
        r, c = (np.asarray(x, np.int64) for x in self.rows_columns)
        return len(np.unique(r * self.shape[1] + c)) < len(r)

    @property
    def is_matrix(self) -> bool:
        """Whether the class is one of the older ones, for which ``*`` is the matrix product."""
        return issubclass(self.cls, sparse.spmatrix)

    @functools.cached_property
    def rows_columns(self) -> tuple[Any, Any]:
        """The row and the column of each stored element."""
        if self.format == "coo":
            return self.places
        inner, starts = self.places
        outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return (outer, inner) if self.format == "csr" else (inner, outer)

    def solved(self, data: Any, b: Any) -> Any:
        """Solve A x = b; the factors are cached, and serve the transposed system as well."""
        for pattern, trans in ((self, "N"), (self.T, "T")):
            known, factors = pattern.factored or (None, None)
            if known is not None and known.dtype == data.dtype and np.array_equal(known, data):
                return _solve(factors, b, trans)
        try:  # of a copy, as SciPy sorts its indices in place
            factors = splu(self.operator(data).tocsc(copy=True))
        except RuntimeError as error:
            raise NotDifferentiableError(
                f"a sparse matrix of shape {self.shape} is singular, and its systems have no "
                f"solution, or many, of which none has a derivative: write lsqr(A, b)[0] for the "
                f"shortest one, which has"
            ) from error
        self.factored = data.copy(), factors  # a copy, as the caller may write to data
        return _solve(factors, b, "N")

    def __repr__(self) -> str:
        return f"<pattern of {self.cls.__name__}, {self.shape}>"


def _solve(factors: Any, b: Any, trans: str) -> Any:
    """Solve by SuperLU, which takes only real right-hand sides for real systems."""
    if factors.L.dtype.kind != "c" and np.iscomplexobj(b):
        return _solve(factors, b.real, trans) + 1j * _solve(factors, b.imag, trans)
    return factors.solve(np.ascontiguousarray(b, dtype=factors.L.dtype), trans)


static_types.add(Pattern)


_AT_ONCE = 1 << 20


@primitive
def sparse_product(data: Array, x: Array, /, *, pattern: Pattern) -> Any:
    """Compute A x, where A has these elements at the pattern's indices; x has one axis or two."""


@primitive
def sampled(y: Array, x: Array, /, *, pattern: Pattern) -> Any:
    """Compute the elements of y xᵀ at the indices of the pattern only."""


@primitive
def sparse_solve(data: Array, b: Array, /, *, pattern: Pattern) -> Any:
    """Solve A x = b, where A has these elements at the indices of the pattern."""


sparse_solve.instead = "write v.solve(A.toarray(), b), which is dense"


@sparse_product.implement
def sparse_product_numpy(data: np.ndarray, x: np.ndarray, *, pattern: Pattern) -> Any:
    """Compute the product by SciPy, which may drop the axis of a single row times a vector."""
    return np.reshape(pattern.operator(data) @ x, (pattern.shape[0], *x.shape[1:]))


@sampled.implement
def sampled_numpy(y: np.ndarray, x: np.ndarray, *, pattern: Pattern) -> Any:
    """Compute in parts, so that the rows read from y and x need no more memory than these."""
    rows, columns = pattern.rows_columns
    if y.ndim == 1:
        return y[rows] * x[columns]
    s = np.empty(len(rows), np.result_type(y, x))
    step = max(1, _AT_ONCE // max(1, y.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        s[part] = np.einsum("kj,kj->k", y[rows[part]], x[columns[part]])
    return s


@sparse_product.implement
def sparse_product_operations(data: Array, x: Array, *, pattern: Pattern) -> Any:
    """Compute the product by operations, for arrays of any library, as sums over rows."""
    rows, columns = pattern.rows_columns
    data = data if len(x.shape) == 1 else v.expand_dims(data, axis=1)
    return added_up(data * v.take(x, columns, axis=0), rows, (pattern.shape[0], *x.shape[1:]))


@sampled.implement
def sampled_operations(y: Array, x: Array, *, pattern: Pattern) -> Any:
    """Compute the elements by operations, for arrays of any library."""
    rows, columns = pattern.rows_columns
    s = v.take(y, rows, axis=0) * v.take(x, columns, axis=0)
    return s if len(s.shape) == 1 else v.sum(s, axis=1)


@sparse_solve.implement
def sparse_solve_numpy(data: np.ndarray, b: np.ndarray, *, pattern: Pattern) -> Any:
    """Solve by SuperLU."""
    return pattern.solved(data, b)


# y = A x is linear in the elements of A and in x: Ā = ȳ xᴴ on the pattern, x̄ = Aᴴ ȳ.
bilinear_rule(
    sparse_product,
    lambda y_bar, data, x, *, pattern: sampled(y_bar, conj(x), pattern=pattern),
    lambda y_bar, data, x, *, pattern: sparse_product(conj(data), y_bar, pattern=pattern.T),
)
# s = (y xᵀ on the pattern): with S̄ the sparse array of the elements s̄, ȳ = S̄ conj(x).
bilinear_rule(
    sampled,
    lambda s_bar, y, x, *, pattern: sparse_product(s_bar, conj(x), pattern=pattern),
    lambda s_bar, y, x, *, pattern: sparse_product(s_bar, conj(y), pattern=pattern.T),
)


@rule(sparse_solve)
def sparse_solve_rule(data: Array, b: Array, *, pattern: Pattern) -> Any:
    """Differentiate A y = b: ẏ = A⁻¹ (ḃ - Ȧ y), b̄ = A⁻ᴴ ȳ, Ā = -b̄ yᴴ on the pattern.

    M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
    algorithmic differentiation" (2008), section 2.3.1.
    """
    y = sparse_solve(data, b, pattern=pattern)
    return y, (
        LinearMap(elements_push, elements_pull, data, y, pattern),
        LinearMap(right_push, right_pull, data, pattern),
    )


def elements_push(data_dot: Any, data: Any, y: Any, pattern: Pattern) -> Any:
    """Compute -A⁻¹ Ȧ y."""
    return -right_push(sparse_product(data_dot, y, pattern=pattern), data, pattern)


def elements_pull(y_bar: Any, data: Any, y: Any, pattern: Pattern) -> Any:
    """Compute -b̄ yᴴ, on the pattern."""
    return -sampled(right_pull(y_bar, data, pattern), conj(y), pattern=pattern)


def right_push(b_dot: Any, data: Any, pattern: Pattern) -> Any:
    """Compute A⁻¹ ḃ."""
    return sparse_solve(data, b_dot, pattern=pattern)


def right_pull(y_bar: Any, data: Any, pattern: Pattern) -> Any:
    """Compute A⁻ᴴ ȳ."""
    return sparse_solve(conj(data), y_bar, pattern=pattern.T)
