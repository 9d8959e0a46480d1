"""Densities that are powers of the distance to an end: x^p exp(r), which has derivatives at x = 0.

A derivative of exp(p log(x) + r) at x = 0 is 0 times infinity, and near it a difference of large
numbers. So a traced density is computed as a power near an end, and has derivatives of any order
there; away from the ends, where a power may overflow, it is an exponential of logarithms. 1 / Γ(a)
is written a / Γ(a + 1), and 1 / B(a, b) likewise, so that shapes may be 0.
"""

from typing import Any

from chainrules_py import ops as v
from chainrules_py.values.find_tracers import moves


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a - 1) exp(-x) / Γ(a): 8.8.13. Up to x = 1 no factor overflows."""
    p = a - 1
    if not moves((a, x)):
        return v.exp(v.xlogy(p, x) - x - v.gammaln(a))
    near = x * x <= x
    rest = v.exp(v.xlogy(p, v.where(near, 1.0, x)) - x - v.gammaln(a + 1))
    return v.pow(v.where(near, x, 1.0), p) * (a * rest)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b): 8.17.1.

    If B is tiny, the other factor may overflow, and the power is used only at the ends.
    """
    p, q = a - 1, b - 1
    if not moves((a, b, x)):
        return v.exp(v.xlogy(p, x) + v.xlog1py(q, -x) - v.betaln(a, b))
    scale, factor = v.betaln(a + 1, b + 1), a * b / ((a + b) * (a + b + 1))
    y, width = 1 - x, v.clip(15 + scale / 2, 0.0, 0.5)
    left, right = x * x <= width * x, y * y <= width * y
    powers = v.pow(v.where(left, x, 1.0), p) * v.pow(v.where(right, y, 1.0), q)
    logs = v.xlogy(p, v.where(left, 1.0, x)) + v.xlog1py(q, v.where(right, 0.0, -x))
    return v.strong_multiply(powers, factor * v.exp(logs - scale))
