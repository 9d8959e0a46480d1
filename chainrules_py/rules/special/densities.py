"""Densities that are powers of the distance to an end: x^p exp(r), which has derivatives at x = 0.

Of exp(p log(x) + r) a derivative at x = 0 is 0 times infinity, and near it a difference of large
numbers. So what is differentiated again is a power near an end, and has its derivatives, of any
order; away from ends, where a power may be beyond all numbers, it is an exponential of logarithms.
"""

from typing import Any

from chainrules_py.values.tracers import varies
from chainrules_py.vocabulary import (
    betaln,
    clip,
    exp,
    gammaln,
    greater_equal,
    less,
    less_equal,
    logical_and,
    pow,
    strong_multiply,
    where,
    xlog1py,
    xlogy,
)


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a - 1) exp(-x) / Γ(a): 8.8.13. Below x = 1 no factor is beyond all numbers."""
    p = a - 1
    if not (varies(a) or varies(x)):
        return exp(xlogy(p, x) - x - gammaln(a))
    near = logical_and(greater_equal(x, 0), less(x, 1))
    rest = exp(xlogy(p, where(near, 1.0, x)) - x - gammaln(a))
    return strong_multiply(pow(where(near, x, 1.0), p), rest)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b): 8.17.1.

    Where B is tiny the other factor may be beyond all numbers, and a power is taken at ends alone.
    """
    p, q, scale = a - 1, b - 1, betaln(a, b)
    if not (varies(a) or varies(b) or varies(x)):
        return exp(xlogy(p, x) + xlog1py(q, -x) - scale)
    y, width = 1 - x, clip(15 + scale / 2, 0.0, 0.5)
    left = logical_and(greater_equal(x, 0), less_equal(x, width))
    right = logical_and(greater_equal(y, 0), less_equal(y, width))
    powers = pow(where(left, x, 1.0), p) * pow(where(right, y, 1.0), q)
    logs = xlogy(p, where(left, 1.0, x)) + xlog1py(q, where(right, 0.0, -x))
    return strong_multiply(powers, exp(logs - scale))
