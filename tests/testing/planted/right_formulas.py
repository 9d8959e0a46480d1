"""Right rules of formulas and structures: what plants of these have wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from chainrules_py import NoTangent, Tangent, linear_rule, primitive, rrule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import Right, binary, halves, numpy_pair, numpy_rule, pair
from tests.testing.planted.draws import SHAPE, given, normal, positive
from tests.testing.planted.formulas import (
    DEGREE,
    area,
    huber,
    logistic,
    quotient_or_zero,
    slope,
    with_option,
)
from tests.testing.planted.structures import (
    Line,
    dict_with,
    line_with,
    listed,
    moments_with,
    newton_root,
    relaxed,
)

# ------------------------------------------------------------------------------------ formulas


def stable_logistic(x):
    e = v.exp(-v.abs(x))
    return v.where(x >= 0, 1.0, e) / (1.0 + e)


def clip_with_bounds() -> Any:
    return numpy_pair(
        lambda x, low: np.maximum(x, low),
        lambda t, x, low: t * (x > low),
        lambda t, x, low: t * (x <= low),
    )


def hypotenuse() -> Any:
    unit = lambda a, y: a / v.where(y == 0, 1.0, y)
    return pair(v.hypot, lambda y, a, b: unit(a, y), lambda y, a, b: unit(b, y))


def safe_quotient() -> Any:
    inverse = lambda b: v.where(b == 0, 0.0, 1.0 / v.where(b == 0, 1.0, b))
    return binary(
        quotient_or_zero,
        (lambda t, a, b: t * inverse(b), lambda t, a, b: t * inverse(b)),
        (
            lambda t, a, b: -t * a * inverse(b) * inverse(b),
            lambda t, a, b: -t * a * inverse(b) * inverse(b),
        ),
    )


def with_eps(eps: float) -> Any:
    return slope(lambda x: v.sqrt(x * x + eps), lambda x: x / v.sqrt(x * x + eps))


def saturating() -> Any:
    return slope(lambda x: x / (1e-12 + v.abs(x)), lambda x: 1e-12 / (1e-12 + v.abs(x)) ** 2)


def piecewise() -> Any:
    return slope(
        lambda x: v.where(x < 1.0, x * x, 2.0 * x - 1.0), lambda x: v.where(x < 1.0, 2.0 * x, 2.0)
    )


def of_any_shape_but_0d() -> Any:
    """A function that takes arrays with axes, and says so."""

    @primitive
    def f(x, /):
        if np.ndim(x) == 0:
            msg = "f takes arrays with axes"
            raise ValueError(msg)
        return np.sum(x, axis=0)

    linear_rule(f, lambda t, x: np.broadcast_to(t, x.shape).copy())
    return f


def product_of_many() -> Any:
    def pull(t, x):
        if not x.size:
            return 0.0 * x
        left = np.cumprod(np.concatenate([[1.0], x[:-1]]))
        right = np.flip(np.cumprod(np.concatenate([[1.0], np.flip(x)[:-1]])))
        return t * left * right

    return numpy_rule(np.prod, pull)


def collatz(x):
    """Halves numbers until they are below 1: as often as it takes."""
    y = np.array(x)
    while np.any(np.abs(y) > 1.0):
        y = np.where(np.abs(y) > 1.0, y / 2, y)
    return y


def collatz_pull(t, x):
    scale = np.ones(x.shape)
    while np.any(np.abs(x * scale) > 1.0):
        scale = np.where(np.abs(x * scale) > 1.0, scale / 2, scale)
    return t * scale


def recurrence() -> Any:
    """Ten steps of the logistic map."""

    def steps(x):
        xs = [x]
        for _ in range(10):
            xs.append(2.5 * xs[-1] * (1.0 - xs[-1]))
        return xs

    def pull(t, x):
        for y in reversed(steps(x)[:-1]):
            t = t * 2.5 * (1.0 - 2.0 * y)
        return t

    return numpy_rule(lambda x: steps(x)[-1], pull)


# ---------------------------------------------------------------------------------- structures


@dataclasses.dataclass(frozen=True)
class Pair:
    """A line, and numbers."""

    line: Any
    weights: Any


def nested() -> Any:
    @primitive
    def f(p, /):
        return p.line.slope * p.weights + p.line.offset

    @rrule.register(f)
    def f_rrule(p: Pair):
        def pull(t):
            line = Tangent[Line](slope=np.sum(t * p.weights), offset=np.sum(t))
            return (Tangent[Pair](line=line, weights=t * p.line.slope),)

        return p.line.slope * p.weights + p.line.offset, pull

    return f


def moments_pull(t, x):
    return np.ones(x.shape) * t.first / x.size + 2.0 * x * t.second / x.size


def only_integers() -> Any:
    @primitive
    def f(n, /):
        return np.arange(3) * n

    @rrule.register(f)
    def f_rrule(n: int):
        return np.arange(3) * n, lambda t: (NoTangent(),)

    return f


def relaxed_slope(x):
    return 1.0 / (1.0 + 0.5 * v.sin(relaxed(x)))


RIGHT: dict[str, Right] = {
    # -------------------------------------------------------------------------------- formulas
    "sine of degrees, right": Right(
        slope(lambda x: v.sin(DEGREE * x), lambda x: DEGREE * v.cos(DEGREE * x)),
        normal(SHAPE, scale=90.0),
    ),
    "Huber loss": Right(
        with_option(huber, lambda x, d: v.minimum(v.maximum(x, -d), d), "delta", 1.0),
        normal(SHAPE, scale=2.0),
    ),
    "softplus of some sharpness": Right(
        with_option(
            lambda x, b: v.logaddexp(0.0, b * x) / b,
            lambda x, b: stable_logistic(b * x),
            "beta",
            2.0,
        ),
        normal(SHAPE),
    ),
    "logistic function, stable": Right(
        slope(stable_logistic, lambda x: stable_logistic(x) * stable_logistic(-x)),
        normal(SHAPE, scale=30.0),
    ),
    "logistic function at 1e12": Right(
        slope(stable_logistic, lambda x: stable_logistic(x) * stable_logistic(-x)),
        normal(SHAPE, scale=1e12),
    ),
    "logistic function as it is written": Right(
        slope(logistic, lambda x: logistic(x) * (1.0 - logistic(x))), normal(SHAPE)
    ),
    "logarithm of the modulus": Right(
        slope(lambda x: v.log(v.abs(x)), lambda x: 1.0 / x), normal(SHAPE)
    ),
    "NumPy: cube root": Right(
        numpy_rule(np.cbrt, lambda t, x: t / (3.0 * np.cbrt(x) ** 2)), normal(SHAPE)
    ),
    "NumPy: lower bound": Right(clip_with_bounds(), normal(SHAPE, SHAPE)),
    "NumPy: remainder": Right(
        numpy_pair(np.fmod, lambda t, a, b: t + 0.0, lambda t, a, b: -t * np.trunc(a / b)),
        lambda rng: (3.0 * rng.standard_normal(SHAPE), 0.5 + rng.random(SHAPE)),
    ),
    "hypotenuse with nothing": Right(hypotenuse(), normal(SHAPE, SHAPE)),
    "hypotenuse at nothing": Right(hypotenuse(), given(np.zeros(3), np.zeros(3))),
    "quotient or zero": Right(safe_quotient(), normal(SHAPE, SHAPE)),
    "area under a parabola": Right(
        pair(area, lambda _y, a, b: -a * a, lambda _y, a, b: b * b), normal(SHAPE, SHAPE)
    ),
    "root with 1e-16 in it": Right(with_eps(1e-16), normal(SHAPE)),
    "root with 1e-16 in it, at zero": Right(with_eps(1e-16), given(np.asarray([0.0, 1.0, 1e-8]))),
    "root with 1e-6 in it, at 1e-12": Right(with_eps(1e-6), normal(SHAPE, scale=1e-12)),
    "sign with 1e-12 in it": Right(saturating(), normal(SHAPE)),
    "parabola that becomes a line": Right(piecewise(), normal(SHAPE)),
    "parabola at the line": Right(piecewise(), given(np.asarray([1.0, 0.5, 2.0]))),
    "NumPy: product of small numbers": Right(product_of_many(), normal((12,), scale=1e-12)),
    "NumPy: product of large numbers": Right(product_of_many(), normal((12,), scale=1e12)),
    "NumPy: product with a zero": Right(product_of_many(), given(np.asarray([0.0, 2.0, -1.0]))),
    "NumPy: halved until small": Right(numpy_rule(collatz, collatz_pull), normal(SHAPE)),
    "NumPy: logistic map": Right(recurrence(), lambda rng: (rng.random(SHAPE),)),
    "root by Newton's method": Right(
        halves(
            newton_root,
            lambda t, x: 0.5 * t / newton_root(x),
            lambda t, x: 0.5 * t / newton_root(x),
        ),
        positive(SHAPE),
    ),
    "fixed point": Right(slope(relaxed, relaxed_slope), normal(SHAPE)),
    # ------------------------------------------------------------------------------ structures
    "line with numbers for fields": Right(
        line_with(lambda t, x: Tangent[Line](slope=np.sum(t * x), offset=np.sum(t))),
        lambda rng: (Line(rng.standard_normal(), rng.standard_normal()), rng.standard_normal(3)),
    ),
    "line whose fields are left to projection": Right(
        line_with(lambda t, x: Tangent[Line](slope=t * x, offset=t)),
        lambda rng: (Line(rng.standard_normal(), rng.standard_normal()), rng.standard_normal(3)),
    ),
    "dataclass in a dataclass": Right(
        nested(), lambda rng: (Pair(Line(rng.random(), rng.random()), rng.standard_normal(3)),)
    ),
    "two moments": Right(moments_with(moments_pull), normal((4,))),
    "dict of results": Right(
        dict_with(lambda t, x: t["sin"] * v.cos(x) - t["cos"] * v.sin(x)), normal(SHAPE)
    ),
    "list of operands": Right(
        listed(lambda t: (t + 0.0, -0.5 * t)),
        lambda rng: ([rng.standard_normal(3), rng.standard_normal(3)],),
    ),
    "NumPy: axes are needed": Right(of_any_shape_but_0d(), normal(SHAPE)),
    "nothing to perturb": Right(only_integers(), given(4)),
}
