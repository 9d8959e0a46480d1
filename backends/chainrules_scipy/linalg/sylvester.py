"""Sylvester's and Lyapunov's equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.rows import adjoint, array_of, readable, reject, stands_for

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


@stands_for(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b == q``."""
    a, b, q = array_of(a), array_of(b), array_of(q)
    return _as_scipy(_solve_sylvester, v.solve_sylvester(a, b, q), a, b, q)


@stands_for(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a.conj().T == q``."""
    a = array_of(a)
    q = array_of(q)
    return _as_scipy(_solve_lyapunov, v.solve_sylvester(a, adjoint(a), q), a, q)


@stands_for(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a @ x @ a.conj().T - x + q == 0``."""
    a, q = array_of(a), array_of(q)
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
