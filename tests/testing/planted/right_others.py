"""Right rules as others write them: for NumPy alone, of fixed entries, at the ends of precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from chainrules_py import Array, LinearMap, NoTangent, bilinear_rule, linear_rule, primitive, rule
from chainrules_py import ops as v
from tests.testing.planted.build import (
    Right,
    acting,
    alone,
    back,
    both,
    halves,
    mt,
    of_gradients,
    right_sum,
    scaled,
    slope,
    summed,
    with_pull_into,
)
from tests.testing.planted.draws import given, normal, positive
from tests.testing.planted.structures import AT, Line, line_with


def put_back(t, x, i):
    x_bar = np.zeros(x.shape)
    np.add.at(x_bar, i, t)
    return x_bar


def first_of_the_largest(x):
    alone(x, axes=1)
    y = np.maximum.accumulate(np.asarray(x))
    return np.asarray([np.flatnonzero(x[: k + 1] == y[k])[0] for k in range(len(x))], int)


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


def steps_of_euler(y, k, /, *, n=50):
    for _ in range(n):
        y = y - k * y / 100
    return y


def of_start(t, y, k, n):
    return t * (1 - k / 100) ** n


def of_rate(t, y, k, n):
    return t * -n * y * (1 - k / 100) ** (n - 1) / 100


def largest_sum(x, /, *, k):
    return np.sum(np.sort(x)[len(x) - k :])


def largest_sum_pull(t, x, k):
    return t * np.isin(np.arange(len(x)), np.argsort(x)[len(x) - k :])


@primitive
def solution(a, b, /):
    return np.linalg.lstsq(a, b, rcond=None)[0]


@rule(solution)
def solution_rule(a: Array, b: Array):
    """The value is another formula's: equal, and not to the last bit."""
    p = v.inv(mt(a) @ a)
    x = p @ (mt(a) @ b)
    rest = b - a @ x
    push = lambda t: p @ (mt(t) @ rest - mt(a) @ (t @ x))
    pull = lambda t: v.outer(rest, p @ t) - v.outer(a @ (p @ t), x)
    second = LinearMap(lambda t: p @ (mt(a) @ t), lambda t: a @ (p @ t))
    return x, (LinearMap(push, pull), second)


def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def polar(x, y):
    return np.hypot(x, y), np.arctan2(y, x)


def inverse_push(t, m):
    return -np.linalg.inv(m) @ t @ np.linalg.inv(m)


@primitive
def sine_of_sum(a, b, /):
    return v.sin(a + b)


@rule(sine_of_sum)
def sine_of_sum_rule(a: Array, b: Array):
    """One array for the cotangents of both operands."""
    slope, kept = v.cos(a + b), [None, None]

    def pull(y_bar, slope):
        if kept[0] is not y_bar:
            kept[:] = y_bar, y_bar * slope
        return kept[1]

    return v.sin(a + b), (LinearMap(scaled, pull, slope), LinearMap(scaled, pull, slope))


def adding_into(buffer, y_bar, slope):
    buffer += y_bar * slope


def radiation(a, b):
    return 1 / (a**5 * np.expm1(0.0144 / (a * b)))


def radiation_at(y, a, b):
    ratio = 0.0144 / (a * b)
    return y * ratio * v.exp(ratio) / v.expm1(ratio)


def large_and_small(rng):
    return (np.asarray([1e6 + 0.125 + 0.25 * rng.random(), 2.25]),)


def far_rows(rng):
    return (np.asarray([[3e8], [2e-8]]) * (4.0 * np.eye(2) + rng.random((2, 2))),)


def offset(far: float) -> Any:
    return lambda rng: (far + np.cumsum(rng.random(4)),)


SUM = summed(right_sum)
VARIANCE = both(
    lambda x: np.mean((x - np.mean(x)) ** 2), *of_gradients(lambda x: 2 * (x - v.mean(x)) / x.size)
)

RIGHT: dict[str, Right] = {
    "NumPy alone: rows by a buffer": Right(
        both(lambda x, i: x[i], (lambda t, x, i: t[i], put_back), None),
        lambda rng: (rng.random(3), np.array([2, 0, 2])),
    ),
    "NumPy alone: running maximum": Right(
        back(np.maximum.accumulate, lambda t, x: put_back(t, x, first_of_the_largest(x))),
        normal((5,)),
    ),
    "NumPy alone: sum of the largest": Right(
        back(largest_sum, largest_sum_pull), normal((5,)), {"k": 2}
    ),
    "cross product of fixed entries": Right(cross, normal((3,), (3,))),
    "skew matrix of three": Right(skew, normal((3,))),
    "structure like the operand in place of its tangent": Right(
        line_with(lambda t, x: Line(np.sum(t * x), np.sum(t))), given(*AT)
    ),
    "sparse matrix held constant": Right(
        held_matrix, given(scipy.sparse.csr_matrix(np.eye(2, 3)), np.arange(3.0))
    ),
    "rows by a list": Right(np.take, given(np.eye(3), [0, 2])),
    "steps by their count": Right(
        both(steps_of_euler, (of_start,) * 2, (of_rate,) * 2), positive((2,), (2,))
    ),
    "power of a whole number that is none to differentiate": Right(
        both(lambda x, n: x**n, (lambda t, x, n: t * n * x ** (n - 1),) * 2, None),
        lambda rng: (1.0 + rng.random(3), 3),
    ),
    "least squares by another formula": Right(solution, normal((4, 2), (4,))),
    "length of three numbers": Right(
        slope(
            lambda x, y, z: math.sqrt(x * x + y * y + z * z),
            lambda r, x, y, z: x / r,
            lambda r, x, y, z: y / r,
            lambda r, x, y, z: z / r,
        ),
        lambda rng: tuple((1.0 + rng.random(3).round(3)).tolist()),
    ),
    "distance that is not guarded": Right(
        both(
            distance,
            *of_gradients(
                lambda x, y: (x - y) / distance(x, y), lambda x, y: (y - x) / distance(x, y)
            ),
        ),
        normal((2,), (2,)),
    ),
    "polar coordinates": Right(
        both(
            polar,
            (
                lambda t, x, y: (t * x / v.hypot(x, y), -t * y / v.hypot(x, y) ** 2),
                lambda t, x, y: t[0] * x / v.hypot(x, y) - t[1] * y / v.hypot(x, y) ** 2,
            ),
            (
                lambda t, x, y: (t * y / v.hypot(x, y), t * x / v.hypot(x, y) ** 2),
                lambda t, x, y: t[0] * y / v.hypot(x, y) + t[1] * x / v.hypot(x, y) ** 2,
            ),
        ),
        normal((2,), (2,)),
    ),
    "sum of all": Right(SUM, normal((2, 3))),
    "sum along an axis": Right(SUM, normal((2, 3)), {"axis": 0}),
    "sum with keepdims": Right(SUM, normal((2, 3)), {"axis": -1, "keepdims": True}),
    "buffer": Right(with_pull_into(adding_into), normal((2, 3))),
    "one array for two operands": Right(sine_of_sum, normal((2, 3), (2, 3))),
    "variance far from zero": Right(VARIANCE, offset(1e8)),
    "variance not so far from zero": Right(VARIANCE, offset(1e6)),
    "rounded, large and small": Right(slope(np.round, lambda _y, x: 0.0 * x), large_and_small),
    "stairs, large and small": Right(
        slope(lambda x: np.floor(x) + x, lambda _y, x: 0.0 * x + 1.0), large_and_small
    ),
    "inverse with rows of two sizes": Right(
        halves(np.linalg.inv, inverse_push, lambda t, m: inverse_push(t, mt(m))), far_rows
    ),
    "tangent far out in single precision": Right(
        slope(np.tanh, lambda y, _x: 1 - y * y), given(np.asarray([0.3, -2.0, 8.0], np.float32))
    ),
    "density of radiation": Right(
        slope(
            radiation,
            lambda y, a, b: (radiation_at(y, a, b) - 5 * y) / a,
            lambda y, a, b: radiation_at(y, a, b) / b,
        ),
        given(np.asarray([5e-7, 1e-6]), np.asarray([5000.0, 3000.0])),
    ),
    "logarithm in parts": Right(
        both(np.log, *acting(lambda x: 1.0 / x)), lambda rng: (0.5 + rng.random((2, 3)),)
    ),
}
