"""The functions of ``scipy.linalg``, for traced values too.

They take the arguments of SciPy's functions of the same names. ``overwrite_a`` and the like permit
an argument to be overwritten: here nothing is. NumPy's routines are called where they exist,
because the thread pools of NumPy and SciPy interfere with each other; SciPy's are called too where
its vectors have other phases.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy
import scipy.linalg as native

from chainrules_py import Array, LinearMap, UnsupportedKeywordError, extend, primitive, rule
from chainrules_py import ops as v
from chainrules_py.extend import advise, kind_of, namespace_of, untraced, varies
from chainrules_py.ops.linalg import resolution
from chainrules_scipy.composites_and_operand_conversions import (
    added_up,
    adjoint,
    anchored,
    array_of,
    asked,
    attribute,
    checked,
    complex_of,
    constant,
    nested,
    of_lapack,
    of_phase,
    of_stacks,
    one_of,
    operations,
    permutation_of,
    readable,
    reject,
    stands_for,
    static,
    undifferentiated,
)
from chainrules_scipy.source_copies import follow, follow_all

__all__ = [
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky_banded",
    "circulant",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "hessenberg",
    "ldl",
    "lstsq",
    "lu",
    "lu_solve",
    "matrix_balance",
    "norm",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "schur",
    "signm",
    "solve",
    "solve_banded",
    "solve_continuous_lyapunov",
    "solve_toeplitz",
    "solve_triangular",
    "toeplitz",
]


# -------- systems of linear equations, inverses, and factors of matrices


def _mirrored(a: Any, lower: bool, turn: Any, diagonal: Any) -> Any:
    """Complete a matrix from one triangle; ``turn`` maps that to the other one."""
    half, n = v.tril(a, k=-1) if lower else v.triu(a, k=1), a.shape[-1]
    return half + turn(half) + v.from_diagonal(diagonal(v.diagonal(a)), rows=n, columns=n)


_READ: dict[str, Any] = {
    "general": lambda a, _: a,
    "diagonal": lambda a, _: v.from_diagonal(v.diagonal(a), rows=a.shape[-2], columns=a.shape[-1]),
    "tridiagonal": lambda a, _: v.triu(v.tril(a, k=1), k=-1),
    "upper triangular": lambda a, _: v.triu(a),
    "lower triangular": lambda a, _: v.tril(a),
    "symmetric": lambda a, lower: _mirrored(a, lower, v.matrix_transpose, lambda d: d),
    "hermitian": lambda a, lower: _mirrored(a, lower, adjoint, v.real),
    "positive definite": lambda a, lower: _mirrored(a, lower, adjoint, v.real),
}
_READ |= {
    "gen": _READ["general"],
    "banded": _READ["general"],
    "sym": _READ["symmetric"],
    "her": _READ["hermitian"],
    "pos": _READ["positive definite"],
}


def read(a: Any, structure: str | None, lower: bool) -> Any:
    """Complete a matrix from the part that SciPy reads."""
    structure = structure or "general"
    one_of("assume_a", structure, _READ)
    return _READ[structure](a, lower)


def solve_twice(factor: Any, b: Any) -> Any:
    """Solve with L Lᴴ, for one lower triangle, or for several with the same vector."""
    is_vector = b.ndim == 1 and factor.ndim > 2
    y = v.solve_triangular(factor, b[:, None] if is_vector else b)
    x = v.solve_triangular(adjoint(factor), y, upper=True)
    return x[..., 0] if is_vector else x


@stands_for(native.solve, finite="a b")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Solve ``a @ x == b``."""
    if assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(
            a, b, int(transposed), assume_a == "lower triangular", check_finite=False
        )
    if assume_a in ("pos", "positive definite"):
        factor = v.cholesky(a) if lower else adjoint(v.cholesky(a, upper=True))
        return solve_twice(v.conj(factor) if transposed else factor, b)
    a = read(a, assume_a, lower)
    return v.solve(v.matrix_transpose(a) if transposed else a, b)


@stands_for(native.solve_triangular, finite="a b")
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x == b``, reading one triangle of a."""
    one_of("trans", trans, (0, 1, 2, "N", "T", "C"))
    if trans not in (0, "N"):
        a = v.matrix_transpose(a) if trans in (1, "T") else adjoint(a)
        lower = not lower
    return v.solve_triangular(a, b, upper=not lower, unit_diagonal=bool(unit_diagonal))


def _residuals(y: Any, a: Any, b: Any, rank: int) -> Any:
    if _SINCE_1_18 and rank < a.shape[1] < a.shape[0]:
        return np.full(b.shape[1:], np.nan, y.dtype)
    return v.reshape(y, shape=()) if b.ndim == 1 and y.shape == (1,) else y


# The residuals of a matrix without full rank are NaN; before SciPy 1.18 there are none.
_SINCE_1_18 = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"


@stands_for(native.lstsq, finite="a b")
@of_stacks(a=2, b=0)
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """Find the shortest x that minimises ``norm(a @ x - b)``."""
    x, residuals, rank, s = v.lstsq(
        a, b, rcond=resolution(a) if cond is None else float(untraced(cond))
    )
    rank, none = int(untraced(rank)), v.full_like(x, shape=(0,), fill=0)
    if lapack_driver == "gelsy":
        return x, none, rank, None
    return x, _residuals(none if residuals.shape == (0,) else residuals, a, b, rank), rank, s


def _pinv(a: Any, atol: Any, rtol: Any, return_rank: bool, hermitian: bool = False) -> Any:
    """Compute the pseudoinverse; both tolerances become a share of the largest singular value."""
    share = eps = max(a.shape[-2:]) * resolution(a)
    s = np.zeros(1)
    if atol or return_rank:
        s = np.linalg.svd(readable(a), compute_uv=False, hermitian=hermitian)
    largest = s.max(initial=0.0)
    if atol is not None or rtol is not None:
        share = (0.0 if atol is not None else eps) if rtol is None else float(rtol)
        share += float(atol or 0.0) / largest if largest else 0.0
    y = v.pinv(a, rtol=None if atol is rtol is None else share, hermitian=hermitian)
    return (y, int(np.sum(s > share * largest))) if return_rank else y


# ---------------------------------------------------------------- Cholesky


@stands_for(native.cho_factor, finite="a")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Factor positive definite matrices, for `cho_solve`."""
    factor = v.cholesky(a, upper=not lower)
    if not _SINCE_1_18:  # SciPy leaves the other triangle unchanged
        factor = factor + (v.triu(a, k=1) if lower else v.tril(a, k=-1))
    return factor, np.full(a.shape[:-2], lower) if a.ndim > 2 else lower


@stands_for(native.cho_solve)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve ``a @ x == b`` with the factor of a."""
    c, lower = c_and_lower
    lower = bool(np.all(lower))  # SciPy returns one for each matrix
    c, b = checked(check_finite, c, b)
    return solve_twice(c if lower else adjoint(c), b)


# ---------------------------------------------------------------- Gauss


def _packed(a: Any) -> tuple[Any, Any, Any]:
    """Factor a matrix of any shape; triangular systems with the square part give the rest."""
    m, n = a.shape[-2:]
    if m == n:
        return v.lu_factor(a)
    pivots = np.asarray(native.lu_factor(readable(a))[1])
    rows, k = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)), min(m, n)
    p = permutation_of(np.concatenate((pivots, rows[..., k:]), -1))
    a = _rows(a, p)
    square = v.lu_factor(a[..., :k, :k]).lu
    if m < n:
        right = v.solve_triangular(square, a[..., :, k:], unit_diagonal=True)
        return v.concat(square, right, axis=-1), pivots, p
    below = adjoint(v.solve_triangular(adjoint(square), adjoint(a[..., k:, :])))
    return v.concat(square, below, axis=-2), pivots, p


def _rows(a: Any, p: Any) -> Any:
    """Reorder the rows of each matrix, in an order of its own."""
    if p.ndim == 1:
        return v.take(a, p, axis=-2)
    batch = np.broadcast_shapes(a.shape[:-2], p.shape[:-1])
    a = v.broadcast_to(a, shape=(*batch, *a.shape[-2:]))
    return v.take_along_axis(a, np.broadcast_to(p, (*batch, p.shape[-1]))[..., None], axis=-2)


@stands_for(native.lu_solve)
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x == b`` with the factors of a."""
    factors, pivots = lu_and_piv
    factors, b = checked(check_finite, factors, b)
    p, vector = permutation_of(readable(pivots)), b.ndim == 1
    y = v.expand_dims(b, axis=-1) if vector else b
    one_of("trans", trans, (0, 1, 2))
    if trans == 0:
        y = v.solve_triangular(factors, _rows(y, p), unit_diagonal=True)
        y = v.solve_triangular(factors, y, upper=True)
    else:
        turned = v.matrix_transpose(factors) if trans == 1 else adjoint(factors)
        y = v.solve_triangular(turned, y)
        y = v.solve_triangular(turned, y, upper=True, unit_diagonal=True)
        y = _rows(y, np.argsort(p, axis=-1))
    return v.squeeze(y, axis=-1) if vector else y


@stands_for(native.lu, finite="a")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Factor matrices into a permutation and two triangular ones."""
    factors, _, p = _packed(a) if 0 not in a.shape[:-2] else (a, 0, np.zeros(a.shape[:-1], int))
    m, k = a.shape[-2], min(a.shape[-2:])
    lower = v.tril(factors[..., :, :k], k=-1) + v.eye_like(a, rows=m, columns=k)
    upper, back = v.triu(factors[..., :k, :]), np.argsort(readable(p), axis=-1)
    if permute_l:
        return _rows(lower, back), upper
    # SciPy's permutation has no rows if there are no elements, and the dtype of a single number.
    is_number, back = a.shape[-2:] == (1, 1), back[..., : 0 if 0 in a.shape else m]
    if p_indices:
        return back.astype(int if is_number else np.int32), lower, upper
    identity = v.eye_like(a if is_number else v.real(a), rows=back.shape[-1])
    return v.take(identity, back, axis=0), lower, upper


# ---------------------------------------------------------------- orthogonal


@stands_for(native.qr, finite="a")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Factor a matrix into a unitary and a triangular one."""
    if mode not in ("full", "r", "economic"):
        reject(
            f"qr(mode={mode!r}) has no derivative here; it is 'full', 'r' or 'economic'",
            UnsupportedKeywordError,
        )
    last: tuple[Any, ...] = ()
    if pivoting:
        last = (np.asarray(native.qr(readable(a), mode="r", pivoting=True)[-1]),)
        a = v.take_along_axis(a, last[0][..., None, :], axis=-1)
    y = v.qr(a, mode="reduced" if mode == "economic" else "complete")
    return (y.R, *last) if mode == "r" else (y.Q, y.R, *last)


@stands_for(native.polar, arrays="a")
def polar(a: Any, side: str = "right") -> Any:
    """Factor a matrix into a unitary and a positive semidefinite one."""
    one_of("side", side, ("right", "left"))
    u = v.unitary_factor(a)
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, 0.5 * (p + adjoint(p))


def _is_narrow(a: Any) -> bool:
    """Find whether SciPy computes in single precision, where NumPy computes in double."""
    return namespace_of(untraced(a).__class__) is np and a.dtype.char in "fF"


def _of_routine(name: str, a: Any, full: bool, u: Any, s: Any, vh: Any) -> tuple[Any, Any, Any]:
    """Return singular values and vectors, with the phases of a routine of LAPACK."""
    # They are free: NumPy's are those of gesdd in double precision; other libraries keep theirs.
    if namespace_of(untraced(a).__class__) is not np or (name == "gesdd" and not _is_narrow(a)):
        return u, s, vh
    known = undifferentiated(native.svd, a, full, lapack_driver=name)
    return u @ (adjoint(asked(u)) @ known[0]), s, (known[2] @ adjoint(asked(vh))) @ vh


def _matrix(x: Any) -> Any:
    """Return a number, or a vector, as a matrix of one row, as SciPy does."""
    return x if getattr(x, "ndim", 0) > 1 else np.atleast_2d(x)


OF_SYSTEMS = operations(
    native,
    finite="a",
    cholesky=lambda a, lower: v.cholesky(_matrix(a), upper=not lower),
    det=lambda a: v.det(a),  # noqa: PLW0108 - the parameters are SciPy's
    inv=lambda a, assume_a, lower: (
        v.inv(read(a, assume_a, lower))
        if assume_a != "diagonal" or not np.any(np.where(np.eye(a.shape[-1]), 0, readable(a)))
        else reject(
            "inv(assume_a='diagonal') gives what is beside the diagonal back as it is, and that is "
            "not 0 here: give it a * np.eye(n)"
        )
    ),
    lu_factor=lambda a: _packed(a)[:2],
    pinv=lambda a, atol, rtol, return_rank: (
        of_stacks(a=2)(_pinv) if atol or return_rank else _pinv
    )(a, atol, rtol, return_rank),
    pinvh=of_stacks(a=2)(
        lambda a, atol, rtol, lower, return_rank: _pinv(
            a if lower else adjoint(a), atol, rtol, return_rank, hermitian=True
        )
    ),
    svd=lambda a, full_matrices, compute_uv, lapack_driver: (
        _of_routine(lapack_driver, a, full_matrices, *v.svd(a, full_matrices=bool(full_matrices)))
        if compute_uv
        else v.svdvals(a)
    ),
    svdvals=lambda a: v.svdvals(a),  # noqa: PLW0108 - the parameters are SciPy's
)


# -------- eigenvalues and eigenvectors


def _wanted(w: Any, by_index: Any, by_value: Any) -> slice:
    """Return the slice of the selected eigenvalues; in an interval, their number is constant."""
    if by_index is not None and by_value is not None:
        reject("Either index or value subset can be requested.", ValueError)
    if by_index is not None:
        return slice(int(by_index[0]), int(by_index[1]) + 1)
    ends = [None] if by_value is None else [int(np.sum(readable(w) <= end)) for end in by_value]
    return slice(*ends)


def _hermitian(a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """Return a Hermitian matrix with equal eigenvalues, and a function to map eigenvectors back."""
    factor = v.cholesky(b) if lower else adjoint(v.cholesky(b, upper=True))
    whole = read(a, "hermitian", lower)
    one_of("type", type, (1, 2, 3))  # a v = w b v, a b v = w v, b a v = w v
    inner = (
        v.solve_triangular(factor, adjoint(v.solve_triangular(factor, whole)))
        if type == 1
        else adjoint(factor) @ whole @ factor
    )
    return (
        inner,
        lambda y: factor @ y if type == 3 else v.solve_triangular(adjoint(factor), y, upper=True),
    )


@stands_for(native.eigh, finite="a b")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Compute eigenvalues and eigenvectors of Hermitian matrices."""
    back: Any = lambda y: y
    matrix, below = a, lower
    if b is not None:
        (matrix, back), below = _hermitian(a, b, lower, type), True
    if eigvals_only:
        w = v.eigvalsh(matrix, upper=not below)
        return w[..., _wanted(w, subset_by_index, subset_by_value)]
    w, V = v.eigh(matrix, upper=not below)
    wanted = _wanted(w, subset_by_index, subset_by_value)
    w, V = w[..., wanted], back(V)[..., wanted]
    if namespace_of(untraced(a).__class__) is not np:  # the phases are those of its library
        return w, V
    _, known = undifferentiated(
        *(native.eigh, a, b),
        lower=lower,
        type=type,
        check_finite=False,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
        driver=driver,
    )
    return w, of_phase(V, known)


@stands_for(native.eig, finite="a b", without="homogeneous_eigvals")
def eig(a: Any, b: Any = None, left: bool = False, right: bool = True) -> Any:
    """Compute eigenvalues and right eigenvectors of matrices."""
    if b is None and not left and not _is_narrow(a):
        w, *vectors = v.eig(a) if right else (v.eigvals(a),)
        return (complex_of(w), *vectors) if right else complex_of(w)
    return _eig_of_lapack(a, b, left, right)


@of_stacks(a=2, b=2)
def _eig_of_lapack(a: Any, b: Any, left: bool, right: bool) -> Any:
    """Compute eigenvalues and eigenvectors with the order and the phases of SciPy's."""
    given = None if b is None else readable(b)  # without b, another routine has other phases
    b = np.eye(a.shape[-1]) if b is None else b
    if given is not None and left and not right:
        reject(
            "eig(a, b, left=True, right=False) has no derivative, as SciPy leaves some of its "
            "vectors without a scale: write eig(a, b, left=True)[:2], of length one",
            UnsupportedKeywordError,
        )
    theirs: Any = native.eig(readable(a), given, left=True, right=True)
    if not np.isfinite(theirs[0]).all():
        reject(
            "eig(a, b) of a singular b has infinite eigenvalues, which have no derivative; those "
            "of eig(b, a) are the reciprocals"
        )
    if left and np.any(
        np.abs(np.sum(np.conj(theirs[1]) * (readable(b) @ theirs[2]), axis=0))
        < np.finfo(theirs[0].dtype).tiny ** 0.5
    ):
        reject("eig(left=True) has no derivative where the eigenvectors form no basis")
    w, V = v.eig(v.solve(b, a))
    # An import at the top of the file would be slow.
    order = scipy.optimize.linear_sum_assignment(np.abs(theirs[0][:, None] - readable(w)))[1]
    w, V = complex_of(w[order]), V[:, order]
    vectors = (left and adjoint(v.inv(b @ V)), right and V)
    found = [
        _of_length_one(y, known, given is None)
        for y, known in zip(vectors, theirs[1:], strict=True)
        if y is not False
    ]
    return (w, *found) if found else w


def _of_length_one(y: Any, known: Any, is_real: bool) -> Any:
    """Give vectors length one and the phases of SciPy's, with the same real elements if any."""
    y = y / v.sqrt(v.sum(v.real(y) ** 2 + v.imag(y) ** 2, axis=0))
    if is_real and y.shape[0]:  # LAPACK makes the largest element real: rounding decides which
        at = np.argmax(np.abs(known) * (np.imag(known) == 0), axis=0)
        largest = y[at, np.arange(len(at))]
        y = y * v.abs(largest) / (largest + (readable(largest) == 0))
    y = of_phase(y, known)
    return y if is_real or kind_of(y) != "complex" else of_free_phase(y)


@primitive
def of_free_phase(V: Any, /) -> Any:
    """Return vectors; the derivative of a loss that depends on their phases is reported."""
    return V


@rule(of_free_phase)
def of_free_phase_rule(V: Array) -> Any:
    """Differentiate the identity."""
    return V, (LinearMap(_phase_push, _phase_pull, V),)


def _phase_push(V_dot: Any, V: Any) -> Any:
    return V_dot


def _phase_pull(V_bar: Any, V: Any) -> Any:
    """Return V̄; a loss depends on a phase if Im vᴴ v̄ is not 0, up to √ε of the mean column."""
    turn, limit = v.imag(v.sum(v.conj(V) * V_bar, axis=-2)), resolution(V) ** 0.5
    v.report(v.abs(turn) > limit * v.mean(v.sum(v.abs(V_bar), axis=-2)), message=_FREE)
    return V_bar


_FREE = (
    "eig(a, b): the loss depends on the phases of complex eigenvectors, and others are as right: "
    "LAPACK turns them in a way that its derivative leaves out. Differentiate what does not depend "
    "on it, such as V / V[0]"
)


OF_SPECTRA = operations(
    native,
    finite="a b",
    without="homogeneous_eigvals",
    eigvals=lambda a, b: eig(a, b, right=False),
) | operations(
    native,
    finite="a b",
    eigvalsh=lambda a, b, lower, type, subset_by_index, subset_by_value: eigh(  # noqa: A006
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        check_finite=False,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    ),
)


# -------- structured matrices, canonical forms, functions of matrices, and equations

_at_least_1d: Any = extend.manipulation_composites.atleast_1d


@stands_for(native.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along its diagonals."""
    c = _at_least_1d(array_of(c, floating=False))
    r = v.conj(c) if r is None else _at_least_1d(array_of(r, floating=False))
    m, n = c.shape[-1], r.shape[-1]
    return _gathered(v.flip(c, axis=-1), r, np.arange(n) - np.arange(m)[:, None] + m - 1)


@stands_for(native.circulant)
def circulant(c: Any) -> Any:
    """Make a matrix whose columns are rotations of one vector."""
    c = _at_least_1d(array_of(c, floating=False))
    places = np.arange(c.shape[-1])
    return v.take(c, (places[:, None] - places) % max(c.shape[-1], 1), axis=-1)


@stands_for(native.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along its antidiagonals."""
    c = v.reshape(array_of(c, floating=False), shape=(-1,))
    r = v.zeros_like(c) if r is None else v.reshape(array_of(r, floating=False), shape=(-1,))
    return _gathered(c, r, np.arange(c.shape[0])[:, None] + np.arange(r.shape[0]))


def _gathered(c: Any, r: Any, places: Any) -> Any:
    """Take elements of c, followed by r without its first element, at some indices."""
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (v.broadcast_to(x, shape=(*batch, x.shape[-1])) for x in (c, r))
    return v.take(v.concat(c, r[..., 1:], axis=-1), places, axis=-1)


@stands_for(native.norm, finite="a")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Compute a norm of vectors or matrices."""
    if varies(ord):
        reject("norm(ord=...) has no derivative in the order; write np.sum(abs(x)**p)**(1 / p)")
    if a.ndim == 1 and a.shape[0] and axis is None and ord in (None, 2) and not keepdims:
        size, far = v.max(v.abs(asked(a))), float(np.finfo(a.dtype).max) ** 0.25
        if 0 < size < np.inf and not 1 / far < size < far:  # BLAS scales what cannot be squared
            return size * extend.products_composites.norm(a / size)
    return extend.products_composites.norm(a, ord, static(axis), keepdims)


FOLLOWED: dict[str, Any] = follow_all(
    native,
    *(
        "block_diag",
        "clarkson_woodruff_transform",
        "companion",
        "convolution_matrix",
        "coshm",
        "cosm",
        "diagsvd",
        "expm_cond",
    ),
    *("fiedler", "khatri_rao", "leslie", "matmul_toeplitz", "null_space", "orth"),
    *("orthogonal_procrustes", "sinhm", "sinm", "solve_circulant", "subspace_angles", "tanhm"),
    *("tanm", "eigvals_banded", "eigvalsh_tridiagonal", "solve_discrete_lyapunov"),
) | {
    name: follow(getattr(native, name), range=np.arange)
    for name in ("cdf2rdf", "fiedler_companion")
}


def _with_error(y: Any, disp: Any, theirs: Any, A: Any, *how: Any) -> Any:
    """Add SciPy's estimate of the error, which is constant, where it is returned."""
    return y if disp is None or disp else (y, theirs(readable(A), *how, disp=False)[1])


FOLLOWED |= (
    operations(
        native,
        arrays="A a b q",
        expm=lambda A: v.expm(_matrix(A)),
        logm=lambda A, disp: _with_error(v.logm(A), disp, native.logm, A),
        sqrtm=lambda A, disp: _with_error(v.sqrtm(of_lapack(A)), disp, native.sqrtm, A),
        solve_sylvester=lambda a, b, q: _as_scipy(
            native.solve_sylvester, v.solve_sylvester(a, b, q), a, b, q
        ),
    )
    | operations(
        native,
        finite="A E",
        expm_frechet=lambda A, E, compute_expm: (
            (
                v.broadcast_to(v.expm(A), shape=np.broadcast_shapes(A.shape, E.shape)),
                v.expm_frechet(A, E),
            )
            if compute_expm
            else v.expm_frechet(A, E)
        ),
    )
    | {
        name: constant(getattr(native, name))
        for name in ("bandwidth", "ishermitian", "issymmetric")
    }
)


@stands_for(native.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Compute a power of a matrix, in both arguments: as SciPy's function of this name."""
    a, known = array_of(A), native.fractional_matrix_power(readable(A), readable(t))
    if type(t) is int or (type(t) is float and t == int(t)):
        return np.linalg.matrix_power(a, int(t))
    y = v.expm(t * v.logm(a))
    return anchored(known, y if np.iscomplexobj(known) else v.real(y))


@stands_for(native.signm, arrays="A")
def signm(A: Any, disp: Any = None) -> Any:
    """Compute the sign of a matrix, A (A²)^(-1/2): as ``scipy.linalg.signm``."""
    y = A @ v.inv(v.sqrtm(of_lapack(A @ A)))
    return y if kind_of(A) == "complex" else v.real(y)


@stands_for(native.funm, arrays="A")
@of_stacks(A=2)
def funm(A: Any, func: Any, disp: Any = True) -> Any:
    """Compute a function of a matrix by its eigenvectors: as ``scipy.linalg.funm``."""
    w, u = eig(A)
    sizes = np.linalg.svd(readable(u), compute_uv=False)
    if np.any(sizes < np.finfo(sizes.dtype).eps ** 0.5):
        reject(
            "funm has no derivative here at a matrix whose eigenvectors form no basis, as a "
            "defective one; where func is np.exp, np.cos or np.sin, write expm, cosm or sinm"
        )
    y = (u * func(w)) @ v.inv(u)
    known = readable(y)
    size = 1e6 * np.finfo(known.dtype).eps * np.max(np.abs(known), initial=0.0)
    is_real = kind_of(A) != "complex" and np.allclose(known.imag, 0, atol=size)
    return _with_error(v.real(y) if is_real else y, disp, native.funm, A, func)


@stands_for(native.rq, finite="a")
@of_stacks(a=2)
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Factor a matrix into R Q, by `qr` from the other end: as ``scipy.linalg.rq``."""
    m, n = a.shape
    if m > n:  # the last rows are square, and have the same Q
        r, q = rq(a[m - n :])
        r = v.concat(a[: m - n] @ adjoint(q), r, axis=0)
        return r if mode == "r" else (r, q)
    q, r = qr(adjoint(a[::-1]), mode="full" if mode == "full" else "economic")
    r, q, more = adjoint(r[:m])[::-1, ::-1], adjoint(q[:, :m])[::-1], adjoint(q[:, m:])
    known = native.rq(readable(a), mode="full")
    phase = np.sum(known[1][n - m :] * np.conj(readable(q)), axis=1)
    if not np.allclose(np.abs(phase), 1):
        reject("rq of a matrix without full rank has no derivative here: Q is not unique")
    r, q = r * np.conj(phase), q * phase[:, None]
    if mode != "economic":
        r = v.pad(r, 0.0, widths=((0, 0), (n - m, 0)))
    if mode == "full" and m < n:  # SciPy's choice of rows, in the space of ours
        q = v.concat((known[1][: n - m] @ adjoint(readable(more))) @ more, q, axis=0)
    return r if mode == "r" else (r, q)


@stands_for(native.qr_multiply, arrays="a c")
@of_stacks(a=2, c=0)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Multiply by the Q of `qr`: as ``scipy.linalg.qr_multiply``."""
    # Where SciPy may overwrite the c of Q @ c, it takes as many rows as a has, for all of Q.
    q, r, *order = qr(
        a, mode="full" if overwrite_c and mode == "left" else "economic", pivoting=pivoting
    )
    q = v.conj(q) if conjugate else q
    return (c @ q if mode == "right" else q @ c, r[: a.shape[1]], *order)


@stands_for(native.matrix_balance, arrays="A")
@of_stacks(A=2)
def matrix_balance(
    A: Any,
    permute: bool = True,
    scale: bool = True,
    separate: bool = False,
    overwrite_a: bool = False,
) -> Any:
    """Scale rows and columns by powers of two, which are constant: as SciPy's function."""
    _, change = native.matrix_balance(readable(A), permute, scale)
    parts = native.matrix_balance(readable(A), permute, scale, True)[1] if separate else change
    return np.linalg.inv(change) @ A @ change, parts


@stands_for(native.hessenberg, finite="a")
@of_stacks(a=2)
def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Bring a real matrix to Hessenberg's form by reflections: as ``scipy.linalg.hessenberg``."""
    if not varies(a):
        return native.hessenberg(readable(a), calc_q)
    n = a.shape[0]
    h, q = a, np.eye(n)
    for k in range(n - 2):
        x = v.pad(h[k + 1 :, k], 0.0, widths=((k + 1, 0),))
        if kind_of(a) == "complex" or not np.any(readable(x)[k + 2 :]):
            reject("hessenberg of a complex matrix, or of one that has the form, has no derivative")
        normal = x + np.eye(n)[k + 1] * np.copysign(1.0, readable(x)[k + 1]) * v.sqrt(
            v.vecdot(x, x)
        )
        mirror = np.eye(n) - 2 * v.outer(normal, normal) / v.vecdot(normal, normal)
        h, q = mirror @ h @ mirror, q @ mirror
    h = v.triu(h, k=-1)
    return (h, q) if calc_q else h


@stands_for(native.ldl, finite="A")
@of_stacks(A=2)
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """Factor a symmetric matrix, with the blocks and the order of LAPACK."""
    if not lower:
        flipped = ldl(A[::-1, ::-1], True, hermitian, False, False)  # refuses what is not SciPy's
        _, _, order = native.ldl(readable(A), False, hermitian)
        if not np.array_equal(native.ldl(readable(A)[::-1, ::-1], True, hermitian)[2], order):
            reject("ldl(lower=False) of a matrix that LAPACK reorders has no derivative here")
        return flipped[0][::-1, ::-1], flipped[1][::-1, ::-1], order
    s = read(A, "hermitian" if hermitian else "symmetric", True)
    _, blocks, order = native.ldl(readable(A), True, hermitian)
    s, n, k = s[order][:, order], A.shape[0], 0
    factors, d = s[:, :0], v.zeros_like(s)
    while k < n:
        m = 2 if k + 1 < n and blocks[k + 1, k] != 0 else 1
        block = s[k : k + m, k : k + m]
        turned = v.matrix_transpose(s[:, k : k + m])  # not by an inverse: that may overflow
        left = v.matrix_transpose(v.solve(v.matrix_transpose(block), turned))
        factors = v.concat(factors, left, axis=1)
        d = d + v.pad(block, 0.0, widths=((k, n - k - m), (k, n - k - m)))
        s = s - left @ block @ (adjoint(left) if hermitian else v.matrix_transpose(left))
        k += m
    return factors[np.argsort(order)], d, order


@stands_for(native.schur, finite="a")
@of_stacks(a=2)
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """Bring a real matrix with real and different eigenvalues to Schur's form.

    With F = Zᵀ A Z, let L be strictly lower so that the lower part of F + T L - L T vanishes; then
    L - Lᵀ rotates Z. Each step adds one order.
    """
    known, z, *count = native.schur(readable(a), output, sort=sort)
    if not varies(a):
        return known, z, *count
    n, w = a.shape[0], np.diagonal(known)
    near = np.abs(w[:, None] - w) + np.eye(n) < 1e-10 * np.max(np.abs(w), initial=1e-300)
    if np.iscomplexobj(known) or np.any(np.tril(known, -1)) or near.any():
        reject(
            "schur is differentiated for real matrices with different real eigenvalues: at others "
            "phases and rotations are free"
        )
    rows, columns = np.tril_indices(n, -1)
    units = np.eye(n * n)[rows * n + columns].reshape(len(rows), n, n)
    moved = np.linalg.inv((known @ units - units @ known)[:, rows, columns].T)
    for _ in range(nested(a)):
        lower = moved @ -(v.matrix_transpose(z) @ a @ z)[rows, columns]
        half = added_up(0.5 * lower, (rows, columns), (n, n))
        half = half - v.matrix_transpose(half)
        z = z @ v.solve(np.eye(n) - half, np.eye(n) + half)
    return v.triu(v.matrix_transpose(z) @ a @ z), z, *count


# ------------------------------------------------- Sylvester's, Lyapunov's, Riccati's equations


def _agreed(found: Any, known: Any, theirs: Any, remedy: str) -> Any:
    """Return a solution if SciPy's is the same."""
    if not np.allclose(
        readable(found), known, rtol=1e-5, atol=1e-5 * np.max(np.abs(known), initial=0.0)
    ):
        reject(f"SciPy's {theirs.__name__} does not solve the equation here: {remedy}")
    return found


def _as_scipy(theirs: Any, found: Any, *operands: Any) -> Any:
    """Compare with SciPy, which misreads real matrices beside complex ones."""
    return (
        _agreed(found, theirs(*map(readable, operands)), theirs, "make all matrices complex")
        if len({kind_of(x) == "complex" for x in operands}) == 2
        else found
    )


@stands_for(native.solve_continuous_lyapunov, arrays="a")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T == q``."""
    q = array_of(q)
    return _as_scipy(native.solve_continuous_lyapunov, v.solve_sylvester(a, adjoint(a), q), a, q)


def _riccati(
    solve: Any, gain: Any, equation: Any, sign: int, *operands: Any, balanced: bool
) -> Any:
    """Solve by SciPy, and differentiate by steps of Newton's method, which double the order.

    A step solves Lyapunov's equation of the closed loop A - B K.
    """
    x = known = solve(*[y if y is None else readable(y) for y in operands], balanced)
    arrays: list[Any] = [y if y is None else np.atleast_2d(array_of(y)) for y in operands]
    a, b, q, r, e, s = arrays
    s = np.zeros(b.shape) if s is None else s
    if e is not None:  # X solves the equation that is multiplied by E⁻ᴴ and E⁻¹
        under = v.inv(e)
        a, q, s = a @ under, adjoint(under) @ q @ under, adjoint(under) @ s
    for _ in range(nested(*arrays).bit_length()):
        k = gain(x, a, b, r, s)
        rest = q + adjoint(k) @ r @ k - s @ k - adjoint(k) @ adjoint(s)
        x = equation(adjoint(a - b @ k), sign * rest)
    # SciPy 1.17 balances as if e were symmetric.
    return anchored(known, _agreed(x, known, solve, "write balanced=False"))


FOLLOWED |= operations(
    native,
    # D. Kleinman, "On an iterative technique for Riccati equation computations" (1968):
    # Aᴴ X + X A - (X B + S) R⁻¹ (Bᴴ X + Sᴴ) + Q = 0.
    solve_continuous_are=lambda a, b, q, r, e, s, balanced: _riccati(
        native.solve_continuous_are,
        lambda x, _a, b, r, s: v.solve(r, adjoint(b) @ x + adjoint(s)),
        *(solve_continuous_lyapunov, -1, a, b, q, r, e, s),
        balanced=balanced,
    ),
    # G. Hewer, "An iterative technique for the computation of the steady state gains for the
    # discrete optimal regulator" (1971):
    # Aᴴ X A - X - (Aᴴ X B + S) (R + Bᴴ X B)⁻¹ (Bᴴ X A + Sᴴ) + Q = 0.
    solve_discrete_are=lambda a, b, q, r, e, s, balanced: _riccati(
        native.solve_discrete_are,
        lambda x, a, b, r, s: v.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a + adjoint(s)),
        *(FOLLOWED["solve_discrete_lyapunov"], 1, a, b, q, r, e, s),
        balanced=balanced,
    ),
)


# -------- matrices that are given by their diagonals, or by one row and column

# Banded systems are solved on the pattern of their diagonals: nothing dense is made, and
# cotangents have the shape of the diagonals.


def _elements(ab: Any, above: int) -> tuple[Any, Any, Any]:
    """Return elements with rows and columns, from diagonals of which some are above the main."""
    n, of = ab.shape[-1], [(i, above - i) for i in range(ab.shape[0])]
    columns = [np.arange(max(k, 0), max(n + min(k, 0), k, 0)) for _, k in of]
    data = [
        ab[i, c[0] : c[-1] + 1] if c.size else ab[i, :0]
        for (i, _), c in zip(of, columns, strict=True)
    ]
    rows = np.concatenate([c - k for (_, k), c in zip(of, columns, strict=True)])
    return v.concat(*data, axis=0), rows, np.concatenate(columns)


def _solved(data: Any, rows: Any, columns: Any, b: Any) -> Any:
    import scipy.sparse  # takes as long to import as everything else here

    from chainrules_scipy.sparse import patterns_and_products

    n = b.shape[0]
    pattern = patterns_and_products.Pattern(scipy.sparse.coo_array, "coo", (rows, columns), (n, n))
    return patterns_and_products.sparse_solve(data, b, pattern=pattern)


def _both_sides(ab: Any, lower: bool) -> tuple[Any, Any, Any]:
    """Return the elements of a Hermitian matrix, of which one side is given."""
    data, rows, columns = _elements(ab, 0 if lower else ab.shape[0] - 1)
    other = rows != columns
    if kind_of(data) == "complex":  # LAPACK reads the real part of the main diagonal
        data = v.where(other, data, v.real(data) + 0j)
    mirrored = v.conj(v.take(data, np.flatnonzero(other), axis=0))
    return (
        v.concat(data, mirrored, axis=0),
        np.concatenate([rows, columns[other]]),
        np.concatenate([columns, rows[other]]),
    )


def _dense(ab: Any, lower: bool) -> Any:
    data, *places = _both_sides(ab, lower)
    return added_up(data, tuple(places), (ab.shape[-1],) * 2)


@stands_for(native.solve_banded, finite="ab b")
@of_stacks(ab=2, b=0)
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system whose matrix is given by its diagonals."""
    below, above = l_and_u
    if ab.shape[0] != below + above + 1:
        reject(f"{ab.shape[0]} diagonals, where l + u + 1 = {below + above + 1}", ValueError)
    return _solved(*_elements(ab, above), b)


@stands_for(native.cho_solve_banded)
def cho_solve_banded(
    cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a system whose matrix has a Cholesky factor that is given by its diagonals."""
    cb, lower = cb_and_lower
    return _cho_solved(*checked(check_finite, cb, b), lower)


@of_stacks(cb=2, b=0)
def _cho_solved(cb: Any, b: Any, lower: bool) -> Any:
    data, rows, columns = _elements(cb, 0 if lower else cb.shape[0] - 1)
    outer, inner = ((data, rows, columns), (v.conj(data), columns, rows))
    first, second = (outer, inner) if lower else (inner, outer)
    return _solved(*second, _solved(*first, b))


@stands_for(native.cholesky_banded, finite="ab")
@of_stacks(ab=2)
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Compute the Cholesky factor of a matrix that is given by its diagonals."""
    n, count = ab.shape[-1], ab.shape[0]
    factor = v.cholesky(_dense(ab, lower), upper=not lower)
    offsets = range(0, -count, -1) if lower else range(count - 1, -1, -1)
    rows = [v.diagonal(factor, offset=k) for k in offsets]
    rests = [ab[i, n - abs(k) :] if lower else ab[i, : abs(k)] for i, k in enumerate(offsets)]
    return v.stack(
        *[
            v.concat(*((row, rest) if lower else (rest, row)), axis=0)
            for row, rest in zip(rows, rests, strict=True)
        ]
    )


def _spectrum(a: Any, theirs: Any, eigvals_only: bool, select: Any, select_range: Any) -> Any:
    """Compute eigenvalues, and eigenvectors with SciPy's signs, of a dense matrix."""
    kind = {"v": "subset_by_value", "1": "subset_by_value", "a": "", "0": ""}.get(str(select)[0])
    subset = {} if kind == "" else {kind or "subset_by_index": select_range}
    if eigvals_only:
        return eigh(a, eigvals_only=True, **subset)
    w, u = eigh(a, **subset)
    return w, of_phase(u, theirs(select=select, select_range=select_range)[1])


@stands_for(native.eig_banded, finite="a_band")
@of_stacks(a_band=2)
def eig_banded(a_band: Any, lower: bool, eigvals_only: bool, select: Any, select_range: Any) -> Any:
    """Compute the spectrum of a Hermitian matrix that is given by its diagonals."""
    return _spectrum(
        # Of one column, LAPACK takes the first number if all eigenvalues are wanted.
        _dense(a_band[:1] if a_band.shape[1] == 1 and str(select)[0] in "a0" else a_band, lower),
        functools.partial(native.eig_banded, readable(a_band), lower),
        *(eigvals_only, select, select_range),
    )


@stands_for(native.eigh_tridiagonal, finite="d e")
@of_stacks(d=1, e=1)
def eigh_tridiagonal(d: Any, e: Any, eigvals_only: bool, select: Any, select_range: Any) -> Any:
    """Compute the spectrum of a symmetric tridiagonal matrix."""
    n, theirs = d.shape[0], functools.partial(native.eigh_tridiagonal, readable(d), readable(e))
    beside = [v.from_diagonal(e, rows=n, columns=n, offset=k) for k in (-1, 1)]
    a = v.from_diagonal(d, rows=n, columns=n) + beside[0] + beside[1]
    return _spectrum(a, theirs, eigvals_only, select, select_range)


@stands_for(native.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve a system whose matrix is constant along its diagonals."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    if np.ndim(c) != 1:
        reject(
            "solve_toeplitz of several columns has no derivative here; solve one after another",
            UnsupportedKeywordError,
        )
    return solve(toeplitz(c, r), b, check_finite=check_finite)


OF_BANDS = operations(
    native,
    finite="ab b",
    solveh_banded=of_stacks(ab=2, b=0)(lambda ab, b, lower: _solved(*_both_sides(ab, lower), b)),
)
advise(
    native.cossin,
    "write np.linalg.svd(x[:p, :q], compute_uv=False) for the cosines; the vectors are not unique",
)


__getattr__ = functools.partial(attribute, __name__, FOLLOWED | OF_BANDS | OF_SPECTRA | OF_SYSTEMS)
