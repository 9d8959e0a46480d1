"""Even functions of roots, as smooth functions of the square.

cos √s = Σ (-s)ᵏ / (2k)!, cosh √s = Σ sᵏ / (2k)!, sin √s / √s = Σ (-s)ᵏ / (2k + 1)!: Abramowitz and
Stegun, Handbook of Mathematical Functions (1964), 4.3.65, 4.3.66 and 4.5.63.
"""

import functools
import math

from chainrules_py.ops import (
    abs,
    conj,
    cos,
    cosh,
    divide,
    hypot,
    lift,
    multiply,
    negative,
    pow,
    real,
    sinc,
    sqrt,
    square,
    std,
    sum,
    var,
    vector_norm,
    where,
)
from chainrules_py.registry.constructors import scalar_rule
from chainrules_py.tracing.roots import even_functions, multiples, square_of_root, squares, valued

scalar_rule(valued, lambda _y, _z, _value: 1, None)


def square_of(x):
    """Compute |x|², for a root without the root."""
    known = square_of_root(x)
    return real(conj(x) * x) if known is None else known


def square_of_norm(x, *, axis, keepdims, ord):
    return sum(square_of(x), axis=axis, keepdims=keepdims) if ord == 2 else None


def power(y, p):
    """Compute yᵖ for an even number p."""
    s, known = square_of(y), type(p) in (int, float) and p > 0 and p % 2 == 0
    return s if known and p == 2 else pow(s, p / 2) if known else None


def by_series(f, coefficients, y):
    """Compute f(√s) from s, by a series near 0."""
    s = square_of(y)
    near = s < 1
    small = where(near, s, 0)
    series = functools.reduce(lambda total, c: total * small + c, reversed(coefficients))
    return where(near, series, f(sqrt(where(near, 1, s))))


TERMS = range(15)

squares |= {
    sqrt: lambda x: x,
    pow: lambda x, p: x if type(p) is float and p == 0.5 else None,
    abs: square_of,
    hypot: lambda x, y: square_of(x) + square_of(y),
    vector_norm: square_of_norm,
    std: var,
}
multiples |= {
    abs: square_of,
    multiply: lambda x, y: square_of(x) * square_of(y),
    divide: lambda x, y: divide(square_of(x), square_of(y)),
    negative: square_of,
    lift: lambda x, *, to: lift(square_of(x), to=to),
}
even_functions |= {
    square: square_of,
    multiply: lambda x, y: square_of(x) if x is y else None,
    pow: power,
    cos: functools.partial(by_series, cos, [(-1) ** k / math.factorial(2 * k) for k in TERMS]),
    cosh: functools.partial(by_series, cosh, [1 / math.factorial(2 * k) for k in TERMS]),
    sinc: functools.partial(
        by_series, sinc, [(-(math.pi**2)) ** k / math.factorial(2 * k + 1) for k in TERMS]
    ),
}
