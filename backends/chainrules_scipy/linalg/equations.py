"""Sylvester's, Lyapunov's and Riccati's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.rows import adjoint, anchored, array_of, nested, readable, reject, stands_for

_solve_sylvester, _solve_lyapunov = (
    scipy.linalg.solve_sylvester,
    scipy.linalg.solve_continuous_lyapunov,
)


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


@stands_for(scipy.linalg.solve_sylvester, arrays="a b q")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b == q``."""
    return _as_scipy(_solve_sylvester, v.solve_sylvester(a, b, q), a, b, q)


@stands_for(scipy.linalg.solve_continuous_lyapunov, arrays="a")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T == q``."""
    q = array_of(q)
    return _as_scipy(_solve_lyapunov, v.solve_sylvester(a, adjoint(a), q), a, q)


@stands_for(scipy.linalg.solve_discrete_lyapunov, arrays="a q")
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a @ x @ a.conj().T - x + q == 0``."""
    n = a.shape[-1]
    method = ("direct" if n < 10 else "bilinear") if method is None else method.lower()
    if method == "direct":
        shape = (*np.broadcast_shapes(a.shape[:-2], q.shape[:-2]), n, n)
        rows = v.expand_dims(a, axis=(-3, -1)) * v.expand_dims(v.conj(a), axis=(-4, -2))
        system = v.eye_like(a, rows=n * n) - v.reshape(rows, shape=(*a.shape[:-2], n * n, n * n))
        column = v.reshape(q, shape=(*q.shape[:-2], n * n, 1))
        return v.reshape(v.solve(system, column), shape=shape)
    if method != "bilinear":
        reject(
            f"solve_discrete_lyapunov(method={method!r}): there are 'direct' and 'bilinear'",
            UnsupportedKeywordError,
        )
    ah, one = adjoint(a), v.eye_like(a, rows=n)
    inverse = v.inv(ah + one)
    b = adjoint((ah - one) @ inverse)
    return solve_continuous_lyapunov(b, -2 * (v.inv(a + one) @ q @ inverse))


def _operands(*xs: Any) -> tuple[Any, ...]:
    """Return matrices: SciPy takes a number for one of a row and a column."""
    return tuple(None if x is None else np.atleast_2d(array_of(x)) for x in xs)


def _steps(*xs: Any) -> int:
    return max(nested(x) for x in xs if x is not None).bit_length()


@stands_for(native.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᴴ X + X A - (X B + S) R⁻¹ (Bᴴ X + Sᴴ) + Q = 0.

    D. Kleinman, "On an iterative technique for Riccati equation computations" (1968).
    """
    plain = [x if x is None else readable(x) for x in (e, s)]
    a, b, q, r, e, s = operands = _operands(a, b, q, r, e, s)
    solve: Any = native.solve_continuous_are
    x = known = solve(*map(readable, (a, b, q, r)), *plain, balanced)
    if e is not None:  # X of the equation that is multiplied by E⁻ᴴ and E⁻¹
        under = v.inv(e)
        a, q = a @ under, adjoint(under) @ q @ under
        s = None if s is None else adjoint(under) @ s
    s = np.zeros(b.shape) if s is None else s
    for _ in range(_steps(*operands)):
        k = v.solve(r, adjoint(b) @ x + adjoint(s))
        closed = a - b @ k
        rest = q + adjoint(k) @ r @ k - s @ k - adjoint(k) @ adjoint(s)
        x = solve_continuous_lyapunov(adjoint(closed), -rest)
    return anchored(known, x)


@stands_for(native.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solve Aᴴ X A - X - (Aᴴ X B + S) (R + Bᴴ X B)⁻¹ (Bᴴ X A + Sᴴ) + Q = 0.

    G. Hewer, "An iterative technique for the computation of the steady state gains for the
    discrete optimal regulator" (1971).
    """
    plain = [x if x is None else readable(x) for x in (e, s)]
    a, b, q, r, e, s = operands = _operands(a, b, q, r, e, s)
    solve: Any = native.solve_discrete_are
    x = known = solve(*map(readable, (a, b, q, r)), *plain, balanced)
    if e is not None:
        under = v.inv(e)
        a, q = a @ under, adjoint(under) @ q @ under
        s = None if s is None else adjoint(under) @ s
    s = np.zeros(b.shape) if s is None else s
    for _ in range(_steps(*operands)):
        k = v.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a + adjoint(s))
        closed = a - b @ k
        rest = q + adjoint(k) @ r @ k - s @ k - adjoint(k) @ adjoint(s)
        x = solve_discrete_lyapunov(adjoint(closed), rest)
    return anchored(known, x)
