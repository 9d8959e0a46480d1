"""The functions of ``scipy.integrate``, of traced values too.

What is integrated may hold traced values, as a closure does, or take them as ``args``.
"""

from typing import Any

import scipy.integrate

from chainrules_scipy.following import follow_all
from chainrules_scipy.integrate.adaptive import dblquad, nquad, quad, quad_vec, tplquad
from chainrules_scipy.integrate.equations import odeint, solve_bvp, solve_ivp
from chainrules_scipy.integrate.known import (
    cumulative_trapezoid,
    fixed_quad,
    romb,
    simpson,
    trapezoid,
)

__all__ = [
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_bvp",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]

_FOLLOWED: dict[str, Any] = follow_all(scipy.integrate, "cubature", "cumulative_simpson")


def __getattr__(name: str) -> Any:
    if name in _FOLLOWED:
        return _FOLLOWED[name]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
