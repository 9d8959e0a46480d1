"""Riccati's equations: SciPy's solution, and a step of Newton's to its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as native

from chainrules_py import vocabulary as v
from chainrules_scipy.linalg.sylvester import solve_continuous_lyapunov, solve_discrete_lyapunov
from chainrules_scipy.rows import adjoint, anchored, array_of, nested, readable, stands_for


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
