"""Derivatives of special functions in their shape parameters, which have no closed form.

Those of incomplete gamma and beta functions are integrals of the density times the derivative of
its logarithm, from 0 or to ∞, whichever is monotone. With t = x exp(-u), a singularity at 0 becomes
a decay; the integral over the half-line uses the trapezoidal rule after u = exp(π/2 sinh τ):
Takahasi and Mori, Publ. RIMS 9 (1974) 721. It is written in operations, one node after the other,
and so has derivatives of any order in every library.
"""

import math
from collections.abc import Callable
from typing import Any

from chainrules_py import ops as v
from chainrules_py.rules.special.orders import floating
from chainrules_py.values.find_tracers import moves

STEP = 1 / 16
FAINT = 1e-6
"""The relative amount by which an exponent is lowered, so that it is below an integer."""


def _nodes(first: int, last: int) -> tuple[tuple[float, float], ...]:
    places = [STEP * k for k in range(first, last)]
    at = [(math.exp(math.pi / 2 * math.sinh(t)), math.pi / 2 * math.cosh(t)) for t in places]
    return tuple([(u, STEP * slope * u) for u, slope in at])


NODES = _nodes(-62, 30)
"""Nodes u between 0 and ∞, and their weights."""
WIDE = _nodes(-68, 62)
"""Nodes and weights for integrands with a root or a power at an end."""


def half_line(f: Callable[[Any], Any], scale: Any, nodes: Any = NODES) -> Any:
    """Integrate over u from 0 to ∞ a function that decays within a few times the scale."""
    return scale * sum(weight * f(u * scale) for u, weight in nodes)


def gammainc_shape(a: Any, x: Any) -> Any:
    """∂P/∂a = ∫ (log t - ψ(a)) t^(a - 1) exp(-t) / Γ(a) dt to x, or minus that from x on: 8.2.4."""
    a, x = floating(a, x), floating(x, a)
    inside = v.logical_and(x > 0, x < math.inf)
    left = v.logical_and(inside, x < a + 1)
    right = v.logical_and(inside, x >= a + 1)
    below = lower_shape(v.where(left, a, 1), v.where(left, x, 1))
    above = upper_shape(v.where(right, a, 1), v.where(right, x, 2))
    return v.where(left, below, v.where(right, -above, v.where(x == 0, 0 - at_end(a, x), 0)))


def at_end(a: Any, x: Any) -> Any:
    """Return the value 0 of -x^a log(x) at x = 0, with its derivatives in x.

    They are 0 below the order a, and infinite from there on, as for a slightly lower power.
    """
    return v.pow(v.where(x == 0, x, 1), a * (1 - FAINT)) if moves((a, x)) else nothing(x)


def nothing(x: Any) -> Any:
    """Return an unsigned zero of the dtype of x: the value alone, at x = 0."""
    return v.where(x == 0, v.abs(x), 0)


def at_other_end(a: Any, b: Any, x: Any) -> Any:
    """Return the value 0 of ∂I/∂b at x = 0, with the derivatives of its first term.

    The term is x^a (ψ(a + b) - ψ(b)) / (a B(a, b)). It has derivatives up to the order a; those of
    higher order are NaN.
    """
    if not moves((a, b, x)):
        return nothing(x)
    x = v.where(x == 0, x, 1)
    beyond = [v.pow(x, (a + 1) * (1 - k * FAINT)) for k in (1, 2)]
    slope = b * (v.digamma(a + b) - v.digamma(b + 1)) + 1
    first = slope * v.exp(-v.betaln(a + 1, b + 1)) / ((a + b) * (a + b + 1))
    return v.pow(x, a) * first + (beyond[0] - beyond[1])


def lower_shape(a: Any, x: Any) -> Any:
    """Compute from P(a, x) = P(a + 1, x) + x^a exp(-x) / Γ(a + 1), 8.8.5, which is not singular."""
    b, at = a + 1, v.log(x)
    beside = v.exp(a * at - x - v.gammaln(b)) * (at - v.digamma(b))
    constant, mean = b * at - v.gammaln(b), at - v.digamma(b)

    def element(u: Any) -> Any:
        return v.exp(constant - b * u - x * v.exp(-u)) * (mean - u)

    return beside + half_line(element, 1 / (v.abs(b - x) + v.sqrt(b)))


def upper_shape(a: Any, x: Any) -> Any:
    """Use 1 / Γ(a) = a / Γ(a + 1) and ψ(a) = ψ(a + 1) - 1 / a, to avoid the pole at a = 0."""
    constant, mean = v.gammaln(a + 1), 1 - a * v.digamma(a + 1)

    def element(u: Any) -> Any:
        at = v.log(x + u)
        return v.exp((a - 1) * at - (x + u) - constant) * (a * at + mean)

    return half_line(element, v.where(x < 4 * a + 10, v.sqrt(x), 1))


def betainc_shape(a: Any, b: Any, x: Any, place: int) -> Any:
    """Compute ∂I/∂a or ∂I/∂b, depending on the side of the mean that x is on: 8.17.4."""
    a, b, x = floating(a, x), floating(b, x), floating(x, a)
    inside = v.logical_and(x > 0, x < 1)
    left = v.logical_and(inside, x * (a + b) <= a)
    right = v.logical_and(inside, x * (a + b) > a)
    y = 1 - x
    below = part_shape(left, a, b, x, y, place)
    above = part_shape(right, b, a, y, x, 1 - place)
    low, high = (
        (0 - at_end(a, x), 0 - at_other_end(b, a, y))
        if place == 0
        else (at_other_end(a, b, x), at_end(b, y))
    )
    ends = v.where(x == 0, low, v.where(y == 0, high, 0))
    return v.where(left, below, v.where(right, -above, ends))


def _log(x: Any, y: Any) -> Any:
    """Return log(x), where x + y = 1, by the lesser of the two: the other one has lost digits."""
    less = x < y
    return v.where(less, v.log(x), v.log1p(-v.where(less, x, y)))


def part_shape(there: Any, a: Any, b: Any, x: Any, y: Any, place: int) -> Any:
    """Compute from I(a, b) = I(a + 1, b) + x^a y^b / (a B(a, b)), where y = 1 - x: 8.17.20.

    Poles at 0 are taken out: a B(a, b) = (a + b) B(a + 1, b), so in b, and ψ(b) = ψ(b + 1) - 1/b.
    """
    a, b = v.where(there, a, 1), v.where(there, b, 1)
    x, y = v.where(there, x, 0.5), v.where(there, y, 0.5)
    c, at, rest, ratio = a + 1, _log(x, y), _log(y, x), x / y
    scale = v.log(c + b) + v.betaln(c, b + 1)
    inside, beyond, slope, shift = (
        (1, b, at, v.digamma(c)) if place == 0 else (b, 1, b * rest, b * v.digamma(b + 1) - 1)
    )
    beside = v.exp(a * at + b * rest - v.log(a + b) - scale)
    beside = beside * (slope + inside * v.digamma(a + b) - shift)
    constant, mean = c * at - scale, inside * v.digamma(c + b) - shift

    def element(u: Any) -> Any:
        remains = rest + v.log1p(-ratio * v.expm1(-u))
        slope = b * remains if place else at - u
        return v.exp(constant - c * u + (b - 1) * remains) * (slope + mean)

    # Below b = 1 there is a pole near u = 0, and no narrow peak.
    bend = v.where(b > 1, (b - 1) * ratio, 0)
    return beyond * (beside + half_line(element, 1 / (v.abs(c - bend) + v.sqrt(c))))


# ----------------------------------------------------------------------------- Riemann's zeta

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def zeta_shape(s: Any, q: Any) -> Any:
    """Compute ∂ζ(s, q)/∂s term by term from the Euler-Maclaurin formula, 25.11.5."""
    s, q = floating(s, q), floating(q, s)
    logs, end = [v.log(q + k) for k in range(10)], q + 10
    total = -sum(at * v.exp(-s * at) for at in logs)
    at, rest = v.log(end), 1 / (s - 1)
    power = v.exp(-s * at)
    total = total - end * power * rest * (at + rest) - 0.5 * at * power
    factor, slope = s, 1.0  # of s (s + 1) ... (s + 2j - 2)
    for j, b in enumerate(BERNOULLI, 1):
        scale = b / math.factorial(2 * j) * power * end ** (1 - 2 * j)
        total = total + scale * (slope - at * factor)
        for i in (2 * j - 1, 2 * j):
            factor, slope = factor * (s + i), slope * (s + i) + factor
    return total
