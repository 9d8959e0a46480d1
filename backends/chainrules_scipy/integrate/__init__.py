"""The functions of ``scipy.integrate``, of traced values too.

What is integrated may hold traced values, as a closure does, or take them as ``args``.
"""

from chainrules_scipy.integrate.adaptive import dblquad, quad, quad_vec
from chainrules_scipy.integrate.equations import odeint, solve_ivp
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
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "trapezoid",
]
