"""Sylvester's, Lyapunov's and Riccati's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.linalg.functions import FOLLOWED
from chainrules_scipy.rows import adjoint, anchored, array_of, nested, readable, reject, stands_for

_SYLVESTER, _LYAPUNOV = native.solve_sylvester, native.solve_continuous_lyapunov


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


@stands_for(native.solve_sylvester, arrays="a b q")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b == q``."""
    return _as_scipy(_SYLVESTER, v.solve_sylvester(a, b, q), a, b, q)


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
