"""Right rules as others write them: for NumPy alone, of fixed entries, at the ends of precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from chainrules_py import (
    Array,
    LinearMap,
    NoTangent,
    Numeric,
    bilinear_rule,
    linear_rule,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v
from tests.testing.planted.build import Right, alone, pair, slope
from tests.testing.planted.draws import given, normal, positive


def times(t, c):
    return t * c


def dotted(*gradients: Any) -> tuple[LinearMap, ...]:
    """The maps of a function with one number for a result, of its gradients."""
    push, pull = lambda t, c: v.sum(t * c), lambda t, c: t * c
    return tuple([LinearMap(push, pull, c) for c in gradients])


@primitive
def looked_up(x, i, /):
    return x[i]


@rule(looked_up)
def looked_up_rule(x: Array, i: Array):
    def pull(t):
        given = np.zeros(x.shape)
        np.add.at(given, i, t)
        return given

    return x[i], (LinearMap(lambda t: t[i], pull), NoTangent())


@primitive
def running_maximum(x, /):
    return np.maximum.accumulate(x)


@rule(running_maximum)
def running_maximum_rule(x: Array):
    y = np.maximum.accumulate(np.asarray(x))
    i = np.asarray([np.flatnonzero(x[: k + 1] == y[k])[0] for k in range(len(x))], int)

    def pull(t):
        given = np.zeros(len(x))
        np.add.at(given, i, t)
        return given

    return y, (LinearMap(lambda t: t[i], pull),)


@primitive
def cross(a, b, /):
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


bilinear_rule(
    cross,
    lambda t, a, b: alone(a, b, axes=1) or np.cross(b, t),
    lambda t, a, b: alone(a, b, axes=1) or np.cross(t, a),
)


@primitive
def skew(w, /):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


linear_rule(skew, lambda t, w: v.stack(t[2, 1] - t[1, 2], t[0, 2] - t[2, 0], t[1, 0] - t[0, 1]))


@primitive
def held_matrix(S, x, /):
    return S @ x


@rule(held_matrix, types=(scipy.sparse.csr_matrix, Array))
def held_matrix_rule(S, x):
    return S @ x, (NoTangent(), LinearMap(lambda t: S @ t, lambda t: S.T @ t))


@primitive
def steps_of_euler(y, k, /, *, n=50):
    for _ in range(n):
        y = y - k * y / 100
    return y


@rule(steps_of_euler)
def steps_of_euler_rule(y: Numeric, k: Numeric, *, n):
    q = 1 - k / 100
    maps = LinearMap(times, times, q**n), LinearMap(times, times, -n * y * q ** (n - 1) / 100)
    return steps_of_euler(y, k, n=n), maps


@primitive
def powers(x, n, /):
    return x**n


@rule(powers)
def powers_rule(x: Numeric, n: Numeric):
    return x**n, (LinearMap(times, times, n * x ** (n - 1)), NoTangent())


@primitive
def largest_sum(x, /, *, k):
    return np.sum(np.sort(x)[len(x) - k :])


@rule(largest_sum)
def largest_sum_rule(x: np.ndarray, *, k):
    mask = np.zeros(len(x))
    mask[np.argsort(x)[len(x) - k :]] = 1.0
    return largest_sum(x, k=k), dotted(mask)


@primitive
def solution(a, b, /):
    return np.linalg.lstsq(a, b, rcond=None)[0]


@rule(solution)
def solution_rule(a: Array, b: Array):
    """The value is another formula's: equal, and not to the last bit."""
    mt = v.matrix_transpose
    p = v.inv(mt(a) @ a)
    x = p @ (mt(a) @ b)
    rest = b - a @ x
    push = lambda t: p @ (mt(t) @ rest - mt(a) @ (t @ x))
    pull = lambda t: v.outer(rest, p @ t) - v.outer(a @ (p @ t), x)
    second = LinearMap(lambda t: p @ (mt(a) @ t), lambda t: a @ (p @ t))
    return x, (LinearMap(push, pull), second)


@primitive
def length_of_three(x, y, z, /):
    return math.sqrt(x * x + y * y + z * z)


scalar_rule(
    length_of_three, lambda r, x, y, z: x / r, lambda r, x, y, z: y / r, lambda r, x, y, z: z / r
)


@primitive
def distance(x, y, /):
    return np.sqrt(np.sum((x - y) ** 2))


@rule(distance)
def distance_rule(x: Array, y: Array):
    u = (x - y) / distance(x, y)
    return distance(x, y), dotted(u, -u)


@primitive
def polar(x, y, /):
    return np.hypot(x, y), np.arctan2(y, x)


@rule(polar)
def polar_rule(x: Numeric, y: Numeric):
    r, angle = polar(x, y)
    of_x = (
        lambda t: (t * x / r, -t * y / r**2),
        lambda t: t[0] * x / r - t[1] * y / r**2,
    )
    of_y = (lambda t: (t * y / r, t * x / r**2), lambda t: t[0] * y / r + t[1] * x / r**2)
    return (r, angle), (LinearMap(*of_x), LinearMap(*of_y))


@primitive
def mean_of_means(a, b, /):
    for _ in range(8):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


@rule(mean_of_means)
def mean_of_means_rule(a: Numeric, b: Numeric):
    of_a, of_b, p, q = (1.0, 0.0), (0.0, 1.0), a, b
    for _ in range(8):
        s = v.sqrt(p * q)
        of_a, of_b = (((dp + dq) / 2, (dp * q + p * dq) / (2 * s)) for dp, dq in (of_a, of_b))
        p, q = (p + q) / 2, s
    maps = LinearMap(times, times, of_a[0]), LinearMap(times, times, of_b[0])
    return mean_of_means(a, b), maps


@primitive
def variance(x, /):
    return np.mean((x - np.mean(x)) ** 2)


@rule(variance)
def variance_rule(x: Array):
    return variance(x), dotted(2 * (x - v.mean(x)) / x.size)


@primitive
def inverse(m, /):
    return np.linalg.inv(m)


@rule(inverse)
def inverse_rule(m: Array):
    y = inverse(m)
    yt = v.matrix_transpose(y)
    return y, (LinearMap(lambda t: -y @ t @ y, lambda t: -yt @ t @ yt),)


def large_and_small(rng):
    return (np.asarray([1e6 + 0.125 + 0.25 * rng.random(), 2.25]),)


def far_rows(rng):
    return (np.asarray([[3e8], [2e-8]]) * (4.0 * np.eye(2) + rng.random((2, 2))),)


def offset(far: float) -> Any:
    return lambda rng: (far + np.cumsum(rng.random(4)),)


RIGHT: dict[str, Right] = {
    "NumPy alone: rows by a buffer": Right(
        looked_up, lambda rng: (rng.random(3), np.array([2, 0, 2]))
    ),
    "NumPy alone: running maximum": Right(running_maximum, normal((5,))),
    "NumPy alone: sum of the largest": Right(largest_sum, normal((5,)), {"k": 2}),
    "cross product of fixed entries": Right(cross, normal((3,), (3,))),
    "skew matrix of three": Right(skew, normal((3,))),
    "sparse matrix held constant": Right(
        held_matrix, given(scipy.sparse.csr_matrix(np.eye(2, 3)), np.arange(3.0))
    ),
    "steps by their count": Right(steps_of_euler, positive((2,), (2,))),
    "power of a whole number that is none to differentiate": Right(
        powers, lambda rng: (1.0 + rng.random(3), 3)
    ),
    "least squares by another formula": Right(solution, normal((4, 2), (4,))),
    "length of three numbers": Right(
        length_of_three, lambda rng: tuple((1.0 + rng.random(3).round(3)).tolist())
    ),
    "distance that is not guarded": Right(distance, normal((2,), (2,))),
    "polar coordinates": Right(polar, normal((2,), (2,))),
    "mean of two means": Right(mean_of_means, positive((2,), (2,))),
    "variance far from zero": Right(variance, offset(1e8)),
    "variance not so far from zero": Right(variance, offset(1e6)),
    "rounded, large and small": Right(slope(np.round, lambda _y, x: 0.0 * x), large_and_small),
    "stairs, large and small": Right(
        slope(lambda x: np.floor(x) + x, lambda _y, x: 0.0 * x + 1.0), large_and_small
    ),
    "inverse with rows of two sizes": Right(inverse, far_rows),
    "tangent far out in single precision": Right(
        slope(np.tanh, lambda y, _x: 1 - y * y), given(np.asarray([0.3, -2.0, 8.0], np.float32))
    ),
    "density of radiation": Right(
        pair(
            lambda a, b: 1 / (a**5 * np.expm1(0.0144 / (a * b))),
            lambda y, a, b: (
                -5 * y / a
                + y * (0.0144 / (a * b)) / a * v.exp(0.0144 / (a * b)) / v.expm1(0.0144 / (a * b))
            ),
            lambda y, a, b: (
                y * (0.0144 / (a * b)) / b * v.exp(0.0144 / (a * b)) / v.expm1(0.0144 / (a * b))
            ),
        ),
        given(np.asarray([5e-7, 1e-6]), np.asarray([5000.0, 3000.0])),
    ),
}
