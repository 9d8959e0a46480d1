"""Right rules where differences are hard: huge, tiny, mixed magnitudes, bad conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    Right,
    adjoint_scaled,
    binary,
    cube,
    halves,
    numpy_rule,
    one,
    scaled,
    sine,
    slope,
    times,
)
from tests.testing.planted.draws import SHAPE


def at(scale: float, *shapes: tuple[int, ...]) -> Any:
    """Draw normal numbers times a scale."""
    return lambda rng: tuple([scale * rng.standard_normal(s) for s in shapes or (SHAPE,)])


def positive(scale: float, *shapes: tuple[int, ...]) -> Any:
    """Draw numbers between once and twice a scale."""
    return lambda rng: tuple([scale * rng.uniform(1.0, 2.0, s) for s in shapes or (SHAPE,)])


def mixed(rng: Any) -> Any:
    """Draw six numbers over eighteen orders of magnitude."""
    return (rng.uniform(1.0, 2.0, 6) * np.asarray([1e-9, 1e-6, 1e-3, 1.0, 1e4, 1e9]),)


def root() -> Any:
    return slope(v.sqrt, lambda y, _x: 0.5 / y, singular=True)


def plus_zero() -> Any:
    return slope(lambda x: x + 0, lambda _y, x: one(x))


def same() -> Any:
    return halves(lambda x: 1.0 * x, lambda t, x: 1.0 * t, lambda t, x: 1.0 * t)


def product_of_two() -> Any:
    return times(scaled, adjoint_scaled)


def quotient() -> Any:
    return binary(
        lambda a, b: a / b,
        (lambda t, a, b: t / b, lambda t, a, b: t / b),
        (lambda t, a, b: -t * a / b / b, lambda t, a, b: -t * a / b / b),
    )


def squares() -> Any:
    return halves(lambda x: v.sum(x * x), lambda t, x: v.sum(2.0 * x * t), lambda t, x: 2.0 * x * t)


def logarithm_of_sums() -> Any:
    @primitive
    def f(x, /):
        return v.logsumexp(x)

    @rule(f)
    def f_rule(x: Array):
        y = v.logsumexp(x)
        w = v.exp(x - y)
        return y, (LinearMap(lambda t, w: v.sum(t * w), lambda t, w: t * w, w),)

    return f


def hilbert(rng: Any, n: int) -> Any:
    i = np.arange(n)
    return 1.0 / (1.0 + i[:, None] + i) + 1e-12 * rng.standard_normal((n, n))


def between(*diagonal: float) -> Any:
    """Draw a matrix with these singular values."""

    def draw(rng):
        n = len(diagonal)
        u = np.linalg.qr(rng.standard_normal((n, n)))[0]
        w = np.linalg.qr(rng.standard_normal((n, n)))[0]
        return ((u * np.asarray(diagonal)) @ w,)

    return draw


def definite(*eigenvalues: float) -> Any:
    """Draw a symmetric matrix with these eigenvalues."""

    def draw(rng):
        u = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))[0]
        x = (u * np.asarray(eigenvalues)) @ u.T
        return ((x + x.T) / 2.0,)

    return draw


def with_vector(draw: Any) -> Any:
    return lambda rng: (*draw(rng), rng.standard_normal(3))


RIGHT: dict[str, Right] = {
    # ------------------------------------------------------------------------ huge operands
    "sine at 1e6": Right(sine(lambda _y, x: v.cos(x)), at(1e6)),
    "sine at 1e9": Right(sine(lambda _y, x: v.cos(x)), at(1e9)),
    "sine at 1e12": Right(sine(lambda _y, x: v.cos(x)), at(1e12)),
    "x + 0 at 1": Right(plus_zero(), at(1.0)),
    "x + 0 at 1e6": Right(plus_zero(), at(1e6)),
    "x + 0 at 1e12": Right(plus_zero(), at(1e12)),
    "1 x at 1e12": Right(same(), at(1e12)),
    "cube at 1e6": Right(cube(lambda _y, x: 3.0 * x * x), at(1e6)),
    "product at 1e6": Right(product_of_two(), at(1e6, SHAPE, SHAPE)),
    "product at 1e12": Right(product_of_two(), at(1e12, SHAPE, SHAPE)),
    "product of 1e9 and 1e-9": Right(
        product_of_two(),
        lambda rng: (1e9 * rng.standard_normal(SHAPE), 1e-9 * rng.standard_normal(SHAPE)),
    ),
    "quotient at 1e6": Right(quotient(), positive(1e6, SHAPE, SHAPE)),
    "quotient of 1 by 1e12": Right(
        quotient(), lambda rng: (rng.standard_normal(SHAPE), 1e12 * rng.uniform(1, 2, SHAPE))
    ),
    "squares at 1e6": Right(squares(), at(1e6)),
    "squares at 1e12": Right(squares(), at(1e12)),
    "logarithm at 1e12": Right(slope(v.log, lambda _y, x: 1.0 / x), positive(1e12)),
    "square root at 1e12": Right(root(), positive(1e12)),
    "hyperbolic tangent at 1e6": Right(slope(v.tanh, lambda y, x: 1.0 - y * y), at(1e6)),
    "hyperbolic tangent at 20": Right(slope(v.tanh, lambda y, x: 1.0 - y * y), at(20.0)),
    "exponential at 300": Right(slope(v.exp, lambda y, _x: y), lambda rng: (300 + rng.random(4),)),
    "exponential at -300": Right(
        slope(v.exp, lambda y, _x: y), lambda rng: (-300 - rng.random(4),)
    ),
    "logarithm of sums at 1e3": Right(logarithm_of_sums(), at(1e3)),
    "logarithm of sums at 1e6": Right(logarithm_of_sums(), at(1e6)),
    "number at 1e6": Right(plus_zero(), lambda rng: (1e6 * rng.random(),)),
    "sine of a number at 1e6": Right(
        sine(lambda _y, x: v.cos(x)), lambda rng: (1e6 * rng.random(),)
    ),
    "word hypot at 1e12": Right(v.hypot, at(1e12, SHAPE, SHAPE)),
    "word sum at 1e12": Right(v.sum, at(1e12)),
    "word mean at 1e6": Right(v.mean, at(1e6), {"axis": 0}),
    "word var at 1e6": Right(v.var, at(1e6)),
    "word cumulative_sum at 1e12": Right(v.cumulative_sum, at(1e12), {"axis": -1}),
    "word matmul at 1e6": Right(v.matmul, at(1e6, (3, 3), (3, 3))),
    "word atan2 at 1e12": Right(v.atan2, at(1e12, SHAPE, SHAPE)),
    "word max at 1e12": Right(v.max, at(1e12)),
    "word abs at 1e12": Right(v.abs, at(1e12)),
    "word logaddexp at 1e6": Right(v.logaddexp, at(1e6, SHAPE, SHAPE)),
    "word fft at 1e6": Right(v.fft, at(1e6)),
    "NumPy: sine at 1e6": Right(numpy_rule(np.sin, lambda t, x: t * np.cos(x)), at(1e6)),
    "NumPy: x + 0 at 1e12": Right(numpy_rule(lambda x: x + 0, lambda t, x: t + 0), at(1e12)),
    # ------------------------------------------------------------------------ tiny operands
    "sine at 1e-9": Right(sine(lambda _y, x: v.cos(x)), at(1e-9)),
    "sine at 1e-12": Right(sine(lambda _y, x: v.cos(x)), at(1e-12)),
    "x + 0 at 1e-12": Right(plus_zero(), at(1e-12)),
    "cube at 1e-9": Right(cube(lambda _y, x: 3.0 * x * x), at(1e-9)),
    "product at 1e-12": Right(product_of_two(), at(1e-12, SHAPE, SHAPE)),
    "quotient at 1e-9": Right(quotient(), positive(1e-9, SHAPE, SHAPE)),
    "logarithm at 1e-9": Right(slope(v.log, lambda _y, x: 1.0 / x), positive(1e-9)),
    "logarithm at 1e-12": Right(slope(v.log, lambda _y, x: 1.0 / x), positive(1e-12)),
    "square root at 1e-12": Right(root(), positive(1e-12)),
    "squares at 1e-9": Right(squares(), at(1e-9)),
    "reciprocal at 1e-6": Right(slope(lambda x: 1.0 / x, lambda y, x: -y * y), positive(1e-6)),
    "word hypot at 1e-12": Right(v.hypot, at(1e-12, SHAPE, SHAPE)),
    "word expm1 at 1e-12": Right(v.expm1, at(1e-12)),
    "word log1p at 1e-9": Right(v.log1p, positive(1e-9)),
    "word vector_norm at 1e-9": Right(v.vector_norm, at(1e-9)),
    "word prod at 1e-6": Right(v.prod, at(1e-6)),
    "word std at 1e-9": Right(v.std, at(1e-9)),
    # ------------------------------------------------------------------ tiny and huge values
    "1e-10 sine": Right(slope(lambda x: 1e-10 * v.sin(x), lambda _y, x: 1e-10 * v.cos(x)), at(1.0)),
    "1e-30 exponential": Right(slope(lambda x: 1e-30 * v.exp(x), lambda y, _x: y), at(1.0)),
    "1e12 sine": Right(slope(lambda x: 1e12 * v.sin(x), lambda _y, x: 1e12 * v.cos(x)), at(1.0)),
    "1e6 and sine": Right(slope(lambda x: 1e6 + v.sin(x), lambda _y, x: v.cos(x)), at(1.0)),
    "1e12 and sine": Right(slope(lambda x: 1e12 + v.sin(x), lambda _y, x: v.cos(x)), at(1.0)),
    # ------------------------------------------------------------------------------- mixed
    "squares of mixed magnitudes": Right(squares(), mixed),
    "cube of mixed magnitudes": Right(cube(lambda _y, x: 3.0 * x * x), mixed),
    "sine of mixed magnitudes": Right(sine(lambda _y, x: v.cos(x)), mixed),
    "logarithm of mixed magnitudes": Right(slope(v.log, lambda _y, x: 1.0 / x), mixed),
    "x + 0 of mixed magnitudes": Right(plus_zero(), mixed),
    # ------------------------------------------------------------------------- ill-conditioned
    "inverse of a Hilbert matrix": Right(v.inv, lambda rng: (hilbert(rng, 4),)),
    "determinant of a Hilbert matrix": Right(v.det, lambda rng: (hilbert(rng, 5),)),
    "solution with a Hilbert matrix": Right(
        v.solve, lambda rng: (hilbert(rng, 4), rng.standard_normal(4))
    ),
    "solution, condition 1e6": Right(v.solve, with_vector(between(1.0, 1e-3, 1e-6))),
    "inverse at 1e6": Right(v.inv, between(1e6, 2e6, 3e6)),
    "inverse at 1e-6": Right(v.inv, between(1e-6, 2e-6, 3e-6)),
    "determinant, nearly singular": Right(v.det, between(1.0, 1.0, 1e-9)),
    "logarithm of a determinant at 1e-6": Right(v.slogdet, between(1e-6, 2e-6, 3e-6)),
    "Cholesky, nearly singular": Right(v.cholesky, definite(1.0, 0.1, 1e-6)),
    "singular values close to each other": Right(v.svdvals, between(1.0, 1.001, 2.0)),
    "exponential of a large matrix": Right(v.expm, between(6.0, 4.0, 2.0)),
    "long array at 1e6": Right(squares(), at(1e6, (2000,))),
    "long array of mixed magnitudes": Right(
        sine(lambda _y, x: v.cos(x)), lambda rng: (10.0 ** rng.uniform(-6, 4, 2000),)
    ),
}
