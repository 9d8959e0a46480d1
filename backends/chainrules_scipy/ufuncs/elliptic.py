"""Elliptic integrals and functions of ``scipy.special``.

Carlson's integrals are sums over the half-line of products of powers, and so are their derivatives,
of any order: 19.16 of NIST's Digital Library of Mathematical Functions.
"""

from __future__ import annotations

import math
from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.extend import WIDE, half_line
from chainrules_scipy.ufuncs.declared import stated, u


def _carlson(powers: tuple[float, ...], *xs: Any) -> Any:
    """∫ Π (t + x)^-p dt over t from 0 on."""
    scale = sum(xs) / len(xs)

    def element(t: Any) -> Any:
        y = 1.0
        for p, x in zip(powers, xs, strict=True):
            y = y * v.pow(t + x, -p)
        return y

    return half_line(element, scale, WIDE)


def _slope(factor: float, powers: tuple[float, ...], place: int) -> Any:
    """Make the partial in one operand, which raises a power by one."""
    p = powers[place]
    raised = tuple([q + (k == place) for k, q in enumerate(powers)])

    def slope(y: Any, *xs: Any) -> Any:
        """At 0 it is infinite."""
        zero, below = v.equal(xs[place], 0), xs[-1] < 0
        inside = [v.where(zero, 1.0, x) if k == place else x for k, x in enumerate(xs)]
        if 1.0 not in powers:
            return v.where(zero, -math.inf, -p * factor * _carlson(raised, *inside))
        inside[-1] = v.where(below, 1.0, inside[-1])
        above = v.where(zero, -math.inf, -p * factor * _carlson(raised, *inside))
        safe = [*xs[:-1], v.where(below, xs[-1], -1.0)]
        return v.where(below, _principal(place, v.where(below, y, 1.0), *safe), above)

    of_number: dict[int, Any] = {  # a partial has as many parameters as its word
        2: lambda y, a, b: slope(y, a, b),  # noqa: PLW0108
        3: lambda y, a, b, c: slope(y, a, b, c),  # noqa: PLW0108
        4: lambda y, a, b, c, d: slope(y, a, b, c, d),  # noqa: PLW0108
    }
    return of_number[len(powers)]


def _principal(place: int, y: Any, *xs: Any) -> Any:
    """Differentiate Cauchy's principal value, of a last operand p < 0.

    In x, 1 / ((t + x) (t + p)) is a difference of two fractions, of which the second one is the
    integral itself; in p it is what the degree of homogeneity leaves.
    """
    *roots, p = xs
    if place < len(roots):
        x, others = roots[place], roots[:place] + roots[place + 1 :]
        return (y - (u.elliprd(*others, x) if others else 1 / v.sqrt(x))) / (2 * (p - x))
    rest = [v.where(x > 0, x * _principal(k, y, *xs), 0.0) for k, x in enumerate(roots)]
    return (-0.5 * len(roots) * y - sum(rest)) / p


def _in_first(x: Any, y: Any, z: Any) -> Any:
    """∂R_G/∂x = (R_F - x R_D(y, z, x) / 3) / 4: 19.16.3 under the integral; R_G(x, 0, 0) = √x/2."""
    zero = v.equal(x, 0)
    alone = v.logical_and(v.logical_and(v.equal(y, 0), v.equal(z, 0)), x > 0)
    y = v.where(alone, 1.0, y)
    part = v.where(zero, 0.0, x * u.elliprd(y, z, v.where(zero, 1.0, x)))
    beside = 0.25 * (u.elliprf(x, y, z) - part / 3)
    return v.where(alone, 0.25 / v.sqrt(v.where(alone, x, 1.0)), beside)


def _turns(phi: Any) -> tuple[Any, Any, Any]:
    """Return how many half turns an angle is, and the sine and cosine of what is left."""
    turns = v.round(phi / math.pi)
    left = phi - turns * math.pi
    return turns, v.sin(left), v.cos(left)


def _first_in_modulus(phi: Any, m: Any) -> Any:
    """∂F/∂m = s³ R_D(c², 1, 1 - ms²) / 6, and that of the whole one for each half turn: 19.25.5."""
    turns, s, c = _turns(phi)
    part = s**3 / 6 * u.elliprd(c * c, 1.0, 1 - m * s * s)
    return part + turns / 3 * u.elliprd(0.0, 1.0, _if_turned(turns, m))


def _second_in_modulus(phi: Any, m: Any) -> Any:
    """∂E/∂m = -s³ R_D(c², 1 - ms², 1) / 6: 19.25.9."""
    turns, s, c = _turns(phi)
    part = s**3 / 6 * u.elliprd(c * c, 1 - m * s * s, 1.0)
    return -part - turns / 3 * u.elliprd(0.0, _if_turned(turns, m), 1.0)


def _if_turned(turns: Any, m: Any) -> Any:
    """1 - m, at the 0 of which the whole ones are infinite; where there are none, a number."""
    return v.where(turns == 0, 1.0, 1 - m)


def _delta(phi: Any, m: Any) -> Any:
    s = v.sin(phi)
    return v.sqrt(1 - m * s * s)


def _jacobi_in_modulus(y: Any, _u: Any, m: Any) -> Any:
    """By the amplitude φ of u = F(φ, m)."""
    sn, cn, dn, phi = y
    turn = -dn * _first_in_modulus(phi, m)
    return cn * turn, -sn * turn, -(sn * sn + 2 * m * sn * cn * turn) / (2 * dn), turn


_CARLSON: dict[str, tuple[float, ...]] = {
    "elliprf x y z": (0.5, 0.5, 0.5, 0.5),
    "elliprc x y": (0.5, 0.5, 1.0),
    "elliprd x y z": (1.5, 0.5, 0.5, 1.5),
    "elliprj x y z p": (1.5, 0.5, 0.5, 0.5, 1.0),
}
"""A factor, and the powers of the operands."""
for _key, (_constant, *_powers) in _CARLSON.items():
    stated(_key, *[_slope(_constant, tuple(_powers), k) for k in range(len(_powers))])
stated(
    "elliprg x y z",
    lambda _y, x, y, z: _in_first(x, y, z),
    lambda _y, x, y, z: _in_first(y, x, z),
    lambda _y, x, y, z: _in_first(z, x, y),
)
stated(
    "ellipkinc phi m",
    lambda _y, phi, m: 1 / _delta(phi, m),
    lambda _y, phi, m: _first_in_modulus(phi, m),
)
stated(
    "ellipeinc phi m",
    lambda _y, phi, m: _delta(phi, m),
    lambda _y, phi, m: _second_in_modulus(phi, m),
)
# 22.13.1 to 22.13.3, and the amplitude.
stated(
    "ellipj u m",
    lambda y, _u, m: (y[1] * y[2], -y[0] * y[2], -m * y[0] * y[1], y[2]),
    _jacobi_in_modulus,
)
