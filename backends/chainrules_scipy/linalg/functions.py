"""Matrices made of others, forms to which they are brought, their functions and equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import alias, kind_of, products_composites, varies
from chainrules_scipy.following import follow, follow_all
from chainrules_scipy.linalg.solving import qr
from chainrules_scipy.linalg.spectra import eig
from chainrules_scipy.rows import (
    adjoint,
    anchored,
    array_of,
    constant,
    nested,
    of_lapack,
    of_stacks,
    readable,
    refused,
    reject,
    stands_for,
    static,
    words,
)


def _with_axes(x: Any, n: int) -> Any:
    """Convert to an array with at least n axes; integers stay integers."""
    x = array_of(x, floating=False)
    return x if x.ndim >= n else v.reshape(x, shape=(*(1,) * (n - x.ndim), *x.shape))


def _repeated(x: Any, batch: tuple[int, ...], n: int) -> Any:
    """Broadcast an array to these axes before its last n."""
    shape = (*batch, *x.shape[-n:])
    return x if x.shape == shape else v.broadcast_to(x, shape=shape)


@stands_for(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along its diagonals."""
    c = _with_axes(c, 1)
    r = v.conj(c) if r is None else _with_axes(r, 1)
    m, n = c.shape[-1], r.shape[-1]
    return _gathered(v.flip(c, axis=-1), r, np.arange(n) - np.arange(m)[:, None] + m - 1)


@stands_for(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """Make a matrix whose columns are one vector, turned."""
    c = _with_axes(c, 1)
    places = np.arange(c.shape[-1])
    return v.take(c, (places[:, None] - places) % max(c.shape[-1], 1), axis=-1)


@stands_for(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along the diagonals from the right to the left."""
    c = v.reshape(array_of(c, floating=False), shape=(-1,))
    r = v.zeros_like(c) if r is None else v.reshape(array_of(r, floating=False), shape=(-1,))
    return _gathered(c, r, np.arange(c.shape[0])[:, None] + np.arange(r.shape[0]))


def _gathered(c: Any, r: Any, places: Any) -> Any:
    """Elements of c, and of r behind its first, where the places say."""
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = _repeated(c, batch, 1), _repeated(r, batch, 1)
    return v.take(v.concat(c, r[..., 1:], axis=-1), places, axis=-1)


@stands_for(scipy.linalg.norm, finite="a")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Compute a norm of vectors or matrices."""
    if varies(ord):
        reject("norm(ord=...) has no derivative in the order; write np.sum(abs(x)**p)**(1 / p)")
    return products_composites.norm(a, ord, static(axis), keepdims)


_SYLVESTER: Any = native.solve_sylvester
_LYAPUNOV: Any = native.solve_continuous_lyapunov
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("block_diag", "companion", "convolution_matrix", "coshm", "cosm", "diagsvd", "expm_cond"),
    *("fiedler", "khatri_rao", "leslie", "matmul_toeplitz", "null_space", "orth"),
    *("orthogonal_procrustes", "sinhm", "sinm", "solve_circulant", "subspace_angles", "tanhm"),
    *("tanm", "eigvals_banded", "eigvalsh_tridiagonal", "solve_discrete_lyapunov"),
) | {
    name: follow(getattr(native, name), range=np.arange)
    for name in ("cdf2rdf", "fiedler_companion")
}


FOLLOWED |= words(
    native,
    arrays="A a b q",
    expm=lambda A: v.expm(A),  # noqa: PLW0108 - the parameters are SciPy's
    logm=lambda A: v.logm(A),  # noqa: PLW0108 - the parameters are SciPy's
    sqrtm=lambda A: v.sqrtm(of_lapack(A)),
    solve_sylvester=lambda a, b, q: _as_scipy(_SYLVESTER, v.solve_sylvester(a, b, q), a, b, q),
)
FOLLOWED |= words(
    native,
    finite="A E",
    expm_frechet=lambda A, E, compute_expm: (
        (v.expm(A), v.expm_frechet(A, E)) if compute_expm else v.expm_frechet(A, E)
    ),
)
refused(
    native,
    {
        "hessenberg": "write eigvals, or schur",
        "ldl": "write cho_factor for a definite matrix, or lu_factor",
        "matrix_balance": "write ignore_derivatives(matrix_balance(A)): the scales are constant",
    },
)


for _block_diag in (native.block_diag, FOLLOWED["block_diag"]):
    alias(
        _block_diag,
        to=lambda arrs: FOLLOWED["block_diag"](*arrs),
        parameters={"arrs": ()},
        gather="arrs",
    )


@stands_for(native.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Compute a power of a matrix: as ``scipy.linalg.fractional_matrix_power``, in both."""
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
    y = (u * func(w)) @ v.inv(u)
    known = readable(y)
    size = 1e6 * np.finfo(known.dtype).eps * np.max(np.abs(known), initial=0.0)
    is_real = kind_of(A) != "complex" and np.allclose(known.imag, 0, atol=size)
    return v.real(y) if is_real else y


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
    diagonal = np.diagonal(known[0][:, n - m :])
    sign = np.where(diagonal == 0, 1, diagonal)
    sign = np.where(diagonal == 0, 1, sign / np.where(diagonal == 0, 1, np.diagonal(readable(r))))
    r, q = r * sign, q * np.conj(sign)[:, None]
    if mode != "economic":
        r = v.pad(r, 0.0, widths=((0, 0), (n - m, 0)))
    if mode == "full" and m < n:  # rows that SciPy chose, turned as those are
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
    q, *rest = qr(a, mode="economic", pivoting=pivoting)
    q = v.conj(q) if conjugate else q
    return (c @ q if mode == "right" else q @ c, *rest)


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

    With F = Zᵀ A Z, the strictly lower L that makes the one of F + T L - L T vanish turns Z by
    L - Lᵀ. Every step brings one order more.
    """
    known, z = native.schur(readable(a), output, sort=sort)[:2]
    n, w = a.shape[0], np.diagonal(known)
    near = np.abs(w[:, None] - w) + np.eye(n) < 1e-10 * np.max(np.abs(w), initial=1e-300)
    if np.iscomplexobj(known) or np.any(np.tril(known, -1)) or near.any():
        reject(
            "schur is differentiated for real matrices with different real eigenvalues: at others "
            "phases and rotations are free"
        )
    rows, columns = np.tril_indices(n, -1)
    units = np.zeros((len(rows), n, n))
    units[np.arange(len(rows)), rows, columns] = 1
    moved = np.linalg.inv((known @ units - units @ known)[:, rows, columns].T)
    index, places = v.Index.split((rows, columns))
    for _ in range(nested(a)):
        f = v.matrix_transpose(z) @ a @ z
        lower = moved @ -f[rows, columns]
        half = v.scatter_add(
            v.full_like(f, shape=(n, n), fill=0), 0.5 * lower, *places, index=index
        )
        half = half - v.matrix_transpose(half)
        z = z @ v.solve(np.eye(n) - half, np.eye(n) + half)
    t = v.triu(v.matrix_transpose(z) @ a @ z)
    return t, z


FOLLOWED |= {
    name: constant(getattr(native, name)) for name in ("bandwidth", "ishermitian", "issymmetric")
}

# ------------------------------------------------- Sylvester's, Lyapunov's, Riccati's equations


def _as_scipy(theirs: Any, found: Any, *operands: Any) -> Any:
    """Return a solution, if SciPy's is one: beside complex matrices it misreads real ones."""
    if len({kind_of(x) == "complex" for x in operands}) == 2:
        known = theirs(*map(readable, operands))
        if not np.allclose(readable(found), known, rtol=1e-3, atol=1e-3 * np.max(np.abs(known))):
            reject(
                f"{theirs.__name__} of real matrices beside complex ones gives in SciPy what does "
                "not solve the equation; make all of them complex"
            )
    return found


@stands_for(native.solve_continuous_lyapunov, arrays="a")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T == q``."""
    q = array_of(q)
    return _as_scipy(_LYAPUNOV, v.solve_sylvester(a, adjoint(a), q), a, q)


def _riccati(
    solve: Any, gain: Any, equation: Any, sign: int, *operands: Any, balanced: bool
) -> Any:
    """Solve by SciPy, and by a step of Newton's method for each order of derivatives.

    A step solves Lyapunov's equation of the closed loop A - B K.
    """
    x = known = solve(*[y if y is None else readable(y) for y in operands], balanced)
    arrays: list[Any] = [y if y is None else np.atleast_2d(array_of(y)) for y in operands]
    a, b, q, r, e, s = arrays
    s = np.zeros(b.shape) if s is None else s
    if e is not None:  # X of the equation that is multiplied by E⁻ᴴ and E⁻¹
        under = v.inv(e)
        a, q, s = a @ under, adjoint(under) @ q @ under, adjoint(under) @ s
    for _ in range(max(map(nested, arrays)).bit_length()):
        k = gain(x, a, b, r, s)
        rest = q + adjoint(k) @ r @ k - s @ k - adjoint(k) @ adjoint(s)
        x = equation(adjoint(a - b @ k), sign * rest)
    return anchored(known, x)


@stands_for(native.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᴴ X + X A - (X B + S) R⁻¹ (Bᴴ X + Sᴴ) + Q = 0.

    D. Kleinman, "On an iterative technique for Riccati equation computations" (1968).
    """
    gain = lambda x, _a, b, r, s: v.solve(r, adjoint(b) @ x + adjoint(s))
    of = native.solve_continuous_are, gain, solve_continuous_lyapunov, -1
    return _riccati(*of, a, b, q, r, e, s, balanced=balanced)


@stands_for(native.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᴴ X A - X - (Aᴴ X B + S) (R + Bᴴ X B)⁻¹ (Bᴴ X A + Sᴴ) + Q = 0.

    G. Hewer, "An iterative technique for the computation of the steady state gains for the
    discrete optimal regulator" (1971).
    """
    gain = lambda x, a, b, r, s: v.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a + adjoint(s))
    of = native.solve_discrete_are, gain, FOLLOWED["solve_discrete_lyapunov"], 1
    return _riccati(*of, a, b, q, r, e, s, balanced=balanced)
