"""The functions of ``scipy.sparse.linalg``; SciPy computes the solution from plain numbers.

The derivative is that of the equation that the solution fulfils; for eigenvalues, inverses and
least squares it is that of the dense matrix, up to 2,000 rows.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import linalg as native

from chainrules_py import ConvergenceError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import varies
from chainrules_scipy.composites_and_operand_conversions import (
    adjoint,
    anchored,
    array_of,
    attribute,
    complex_of,
    of_phase,
    of_precision,
    of_values,
    readable,
    refused,
    reject,
)
from chainrules_scipy.installation import is_traced, place, place_constructor, place_method
from chainrules_scipy.result_checks import answer
from chainrules_scipy.sparse.patterns_and_products import sparse_solve
from chainrules_scipy.sparse.traced_sparse import TracedSparse, moved, traced_of
from chainrules_scipy.sparse_operators import SPARSE

# SciPy's functions as of now: ours may replace them later, and would call themselves.
NATIVE: Any = types.SimpleNamespace(**vars(native))
_DENSE = 2000
# How far an iterative solver may stop from the solution, relative to it: with SciPy's default
# tolerances `minres` and `lsmr` are at 2e-2 where the condition number is a thousand.
_NEAR = 0.1


def _plain(a: Any) -> Any:
    """Return a matrix, or operator, with plain numbers; a copy, as SciPy sorts indices in place.

    SciPy computes a product for the dtype of an operator that states none.
    """
    if isinstance(a, Operator):
        adjoint = None if a.rmatvec is None else of_values(a.rmatvec)
        make: Any = native.LinearOperator
        return make(a.shape, of_values(a.matvec), adjoint, dtype=a.dtype)
    if isinstance(a, TracedSparse):
        return a.pattern.array(np.asarray(readable(a.elements))).copy()
    return a if sparse.issparse(a) or isinstance(a, native.LinearOperator) else readable(a)


def _dense(a: Any) -> Any:
    if max(a.shape) > _DENSE:
        reject(f"a matrix of more than {_DENSE} rows has no derivative here: {max(a.shape)}")
    return array_of(a.toarray() if isinstance(a, TracedSparse) or sparse.issparse(a) else a)


def _solution(a: Any, b: Any, shift: Any = 0.0) -> Any:
    """Solve (A - shift I) x = b, by the class of A."""
    is_operator = isinstance(a, (native.LinearOperator, Operator))
    return (
        v.linear_solve(
            lambda x: (_product(a, x) if is_operator else a @ x) - shift * x,
            v.astype(b, dtype=np.result_type(b.dtype, _plain(a).dtype)),  # as SciPy
        )
        if is_operator or is_traced((shift,)) or shift
        else spsolve(a, b)
    )


@functools.partial(place, native.spsolve)
def spsolve(A: Any, b: Any, *args: Any, **options: Any) -> Any:
    """Solve A x = b, by a sparse LU factorization that derivatives share."""
    if isinstance(b, (TracedSparse, SPARSE)):
        if not is_traced((A, b)):
            return NATIVE.spsolve(A, b, *args, **options)
        reject("spsolve with a sparse right side has no derivative: write spsolve(A, b.toarray())")
    b = array_of(b)
    b = v.reshape(b, shape=(b.shape[0],)) if b.ndim == 2 and b.shape[1] == 1 else b
    if not (isinstance(A, TracedSparse) or sparse.issparse(A)):
        return v.solve(array_of(A), b)
    a = traced_of(A)
    if a.shape[0] != a.shape[1] or b.shape[0] != a.shape[0]:
        reject(f"spsolve of arrays of shapes {a.shape} and {b.shape}", ValueError)
    data = array_of(a.elements)
    if isinstance(data.dtype, np.dtype) and isinstance(b.dtype, np.dtype):
        dtype = np.result_type(data.dtype, b.dtype)  # as SciPy
        data, b = of_precision(data, dtype), of_precision(b, dtype)
    return sparse_solve(data, b, pattern=a.pattern)


def _least_squares(A: Any, b: Any, damp: float = 0.0, *_: Any, x0: Any = None, **__: Any) -> Any:
    a, n = _dense(A), A.shape[1]
    start = array_of(np.zeros(n) if x0 is None else x0)
    b = b - v.matmul(a, start)  # the step from x0 is the shortest, and is damped
    if damp:
        a, b = v.concat(a, damp * np.eye(n), axis=0), v.concat(b, np.zeros(n), axis=0)
    return start + v.lstsq(a, b)[0]


def _approached(name: str, exact: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with SciPy's approximation and the derivatives of the exact solution."""
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(A: Any, b: Any, *args: Any, **options: Any) -> Any:
        moving = exact(A, array_of(b), *args, **options)
        found = theirs(
            _plain(A), *map(readable, (b, *args)), **{k: readable(x) for k, x in options.items()}
        )
        solution = readable(moving)
        apart = np.linalg.norm(found[0] - solution)
        if varies(moving) and not apart <= _NEAR * np.linalg.norm(solution):
            reject(
                f"{name} stopped {apart:.1e} from the solution of norm "
                f"{np.linalg.norm(solution):.1e}, whose derivative this is: lower its tolerance "
                "or raise its limit of iterations",
                ConvergenceError,
            )
        return answer(f"{name}(...)", found, _0=anchored(found[0], moving))

    return place(theirs, function)


ITERATIVE = {
    name: _approached(
        name, lambda A, b, *_, shift=0.0, **__: _solution(A, v.reshape(b, shape=(-1,)), shift)
    )
    for name in (
        *("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"),
    )
    if hasattr(native, name)
}
lsqr, lsmr = (_approached(name, _least_squares) for name in ("lsqr", "lsmr"))


class Factors:
    """SciPy's factors of a sparse matrix, for traced matrices and right-hand sides too.

    Parameters
    ----------
    a : sparse array
        The matrix, which may be traced.
    found : SuperLU
        SciPy's factors of the plain matrix.
    """

    def __init__(self, a: Any, found: Any) -> None:
        self.a, self.found = a, found

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U") and isinstance(self.a, TracedSparse):
            return self._triangle(name)
        return getattr(self.found, name)

    def _triangle(self, name: str) -> Any:
        """Compute L or U: L⁻¹ A U⁻¹ of known ones is I, whose own factors vary without pivots."""
        lower, upper = self.found.L.toarray(), self.found.U.toarray()
        a = _dense(self.a)[np.argsort(self.found.perm_r)][:, np.argsort(self.found.perm_c)]
        flipped = v.solve_triangular(upper.T, v.matrix_transpose(v.solve_triangular(lower, a)))
        near = anchored(np.eye(len(lower)), v.matrix_transpose(flipped))
        factors = v.lu_factor(near).lu
        left = v.tril(factors, k=-1) + np.eye(len(lower))
        factor = lower @ left if name == "L" else v.triu(factors) @ upper
        return moved(sparse.csc_array, factor)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve a system with the matrix, its transpose or its adjoint."""
        if not (is_traced((rhs,)) or isinstance(self.a, TracedSparse)):
            return self.found.solve(rhs, trans)
        if trans == "H" and (self.a.dtype.kind == "c"):
            return v.conj(self.solve(v.conj(array_of(rhs)), "T"))
        return _solution(self.a if trans == "N" else self.a.T, rhs)


@functools.partial(place, native.splu, always=True)
def splu(A: Any, *args: Any, **options: Any) -> Factors:
    """Factor a sparse matrix: as ``scipy.sparse.linalg.splu``."""
    return Factors(A, NATIVE.splu(_plain(A), *args, **options))


@functools.partial(place, native.factorized, always=True)
def factorized(A: Any) -> Any:
    """Return the function that solves a system: as ``scipy.sparse.linalg.factorized``."""
    return splu(_plain(A).tocsc() if not isinstance(A, TracedSparse) else A).solve


# ------------------------------------------------------------------------------------- spectra


def _matched(values: Any, known: Any) -> Any:
    """Return the indices of known values among all values, each only once."""
    return linear_sum_assignment(np.abs(values - known[:, None]))[1]


def _eigen(name: str) -> Callable[..., Any]:
    theirs = getattr(native, name)
    operation = v.eigh if name == "eigsh" else v.eig

    @functools.wraps(theirs)
    def function(A: Any, k: int = 6, M: Any = None, **options: Any) -> Any:
        if M is not None or options.get("mode", "normal") != "normal":
            reject(
                f"{name}(M=..., mode=...) has no derivative here; take scipy.linalg.eigh",
                UnsupportedKeywordError,
            )
        found = theirs(_plain(A), k, **options)
        wants = options.get("return_eigenvectors", True)
        known, vectors = found if wants else (found, None)
        w, u = operation(_dense(A))
        at = _matched(readable(w), known)
        w = w[at] if name == "eigsh" else complex_of(w[at])
        return (w, of_phase(u[:, at], vectors)) if wants else w

    return place(theirs, function)


eigsh, eigs = map(_eigen, ("eigsh", "eigs"))


@functools.partial(place, native.svds)
def svds(A: Any, k: int = 6, *args: Any, **options: Any) -> Any:
    """Compute some singular values: as ``scipy.sparse.linalg.svds``."""
    found = NATIVE.svds(_plain(A), k, *args, **options)
    u, s, vh = v.svd(_dense(A), full_matrices=False)
    if not isinstance(found, tuple):
        return s[_matched(readable(s), found)]
    known, values, other = found
    at = _matched(readable(s), values)
    if known is None or other is None:
        reject(
            "svds(return_singular_vectors=...) of one side has no derivative here; take both",
            UnsupportedKeywordError,
        )
    return of_phase(u[:, at], known), s[at], adjoint(of_phase(adjoint(vh[at]), adjoint(other)))


# --------------------------------------------------------------------------- functions of matrices


@functools.partial(place, native.expm_multiply)
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: Any = None,
    endpoint: Any = None,
    traceA: Any = None,
) -> Any:
    """Multiply by the exponential of a matrix, by Taylor's series: as SciPy's function."""
    b = array_of(B)
    if start is not None:
        times = np.linspace(start, stop, 50 if num is None else num, endpoint=endpoint is not False)
        return v.stack(*[_exponential(A, b, t) for t in times])  # float64, as SciPy's
    return _exponential(A, b, 1.0)


def _exponential(a: Any, y: Any, t: float) -> Any:
    parts = max(1, int(np.ceil(_norm_of(a) * abs(t))))
    for _ in range(parts):
        term, k = y, 0
        while k < 60 and np.any(np.abs(readable(term)) > 1e-18 * np.max(np.abs(readable(y)))):
            k += 1
            term = (a @ term) * (t / (parts * k))
            y = y + term
    return y


def _norm_of(a: Any) -> float:
    """Estimate the norm of a matrix from above."""
    if isinstance(a, Operator):
        return float(np.sqrt(a.shape[0])) * 10.0
    a = _plain(a)
    return float(
        abs(a).sum(axis=0).max() if sparse.issparse(a) else cast("float", native.onenormest(a))
    )


@functools.partial(place, native.onenormest)
def onenormest(A: Any, t: int = 2, itmax: int = 5, *which: bool, **wants: bool) -> Any:
    """Estimate the 1-norm by ‖A v‖/‖v‖ for a vector v that SciPy finds, which is constant."""
    if any(which) or any(wants.values()):
        reject(
            "onenormest(compute_v=True, compute_w=True) has no derivative here; leave them out",
            UnsupportedKeywordError,
        )
    known, vector = NATIVE.onenormest(_plain(A), t, itmax, True)
    a = A if isinstance(A, TracedSparse) or sparse.issparse(A) else array_of(A)
    return anchored(known, v.sum(v.abs(a @ vector)) / np.sum(np.abs(vector)))


# ------------------------------------------------------------------------------------ operators


@functools.partial(place_constructor, native.LinearOperator)
class Operator:
    """A linear operator of functions that hold traced values."""

    def __init__(
        self,
        shape: Any,
        matvec: Any,
        rmatvec: Any = None,
        matmat: Any = None,
        dtype: Any = None,
        **_: Any,
    ) -> None:
        self.shape, self.matvec, self.rmatvec, self.dtype = tuple(shape), matvec, rmatvec, dtype

    def dot(self, x: Any) -> Any:
        """Multiply by a vector, or by a matrix column by column."""
        return _product(self, x)

    __matmul__ = __mul__ = __call__ = matmat = dot


def _product(a: Any, x: Any, of_vectors: bool = False) -> Any:
    """Multiply by an operator of ours, or by one of SciPy; an array may be one of vectors."""
    x = array_of(x)
    if x.ndim == 0:
        return type(2 * a)(a, x)  # SciPy's class for it
    is_matrix = x.shape == (a.shape[-1], 1) or (x.ndim > 1 and not of_vectors)
    if getattr(type(a), "_matvec", None) is native.LinearOperator._matvec:  # it has _matmat
        y = x if is_matrix else x[..., None]
        # Other operators, as SciPy's of transposes, have something else in their attribute A.
        has_matrix = type(a).__name__ in ("MatrixLinearOperator", "_AdjointMatrixOperator")
        y = array_of(a.A @ y if has_matrix else a._matmat(y))
        return y if is_matrix else y[..., 0]
    if is_matrix:
        return v.stack(*[_product(a, x[..., i], True) for i in range(x.shape[-1])], axis=-1)
    if type(a).__name__ == "_PowerLinearOperator":  # SciPy's copies x into an array of NumPy
        return functools.reduce(lambda y, _: _product(a.args[0], y, True), range(a.args[1]), x)
    y = array_of((a.matvec if isinstance(a, Operator) else a._matvec)(x))
    return v.reshape(y, shape=(*np.broadcast_shapes(a.shape[:-2], x.shape[:-1]), a.shape[-2]))


def _product_from_left(a: Any, x: Any) -> Any:
    """Multiply x by an operator: the adjoint of the adjoint's product."""
    turned = v.conj if np.ndim(x) < 2 else adjoint
    return turned(_product(a.H, turned(array_of(x)))) if np.ndim(x) else _product(a, x)


# SciPy's @, * and () call these.
_PRODUCTS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("matmat", "dot"), _product),
    "matvec": functools.partial(_product, of_vectors=True),
    "rmatvec": lambda a, x: _product(a.H, x, of_vectors=True),
    "rmatmat": lambda a, x: _product(a.H, x),
    "rdot" if hasattr(native.LinearOperator, "rdot") else "_rdot": _product_from_left,
}
for _name, _function in _PRODUCTS.items():
    place_method(native.LinearOperator, _function, _name)
refused(
    native,
    {
        "aslinearoperator": "write A itself, which has @ and A.T",
        "expm": "write scipy.linalg.expm(A.toarray())",
        "inv": "write np.linalg.inv(A.toarray()), or spsolve for what it is multiplied with",
        "matrix_power": "write A @ A for the power 2, A @ A @ A for 3, and so on",
        "norm": "write np.linalg.norm(A.toarray()), or np.sqrt(A.multiply(A).sum())",
        "spilu": "it is an approximation: write splu",
        "spsolve_triangular": "write spsolve(scipy.sparse.tril(A), b)",
    },
)


__getattr__ = functools.partial(attribute, __name__, ITERATIVE)
