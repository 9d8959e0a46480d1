"""Plants of slips that no list had: structures, spellings, axes of vectors, exchanged operands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import Tangent, primitive, rrule
from tests.testing.planted.build import Plant, Right, numpy_pair, numpy_rule

V = np.array([0.7, -1.3, 0.4])
POSITIVE = np.array([0.7, 1.3, 0.4])
M = np.array([[0.9, 0.3, 1.4], [0.5, 2.1, 0.8]])
LONG = np.arange(1.0, 7.0) ** 1.3


@dataclasses.dataclass
class Spring:
    """A stiffness and a length."""

    k: float
    l: float  # noqa: E741


def of_object(value: Callable[..., Any], pull: Callable[..., Any]) -> Any:
    """A function of one operand of any class, with a reverse rule alone."""
    f = primitive(lambda p, /: value(p))

    @rrule.register(f)
    def f_rrule(p: object):
        return value(p), lambda t: (pull(t, p),)

    return f


def with_option(value: Callable[..., Any], pull: Callable[..., Any], default: Any) -> Any:
    """A function of an array with an option, with a reverse rule alone."""

    @primitive
    def f(x, /, *, n=default):
        return value(x, n)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, n):
        return value(x, n), lambda t: (pull(t, x, n),)

    return f


def along(value: Callable[..., Any], pull: Callable[..., Any]) -> Any:
    """The same with an axis, the last by default."""

    @primitive
    def f(x, /, *, axis=-1):
        return value(x, axis)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, axis):
        return value(x, axis), lambda t: (pull(t, x, axis),)

    return f


def seeding() -> Any:
    """Twice x, and the generator that all share is seeded."""

    @primitive
    def f(x, /):
        return x * 2

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        np.random.seed(0)  # noqa: NPY002
        return x * 2, lambda t: (t * 2,)

    return f


def softmax(x, axis):
    e = np.exp(x - x.max())
    return e / e.sum(axis=axis, keepdims=True)


def softmax_pull(t, x, axis, of=None):
    y = softmax(x, axis)
    return y * (t - np.sum(t * y, axis=axis if of is None else of, keepdims=True))


def spread(t, x, axis):
    return np.broadcast_to(np.expand_dims(t, axis), x.shape) + 0.0


def convolved(a, b):
    return np.convolve(a, b, "same")


def convolved_pull(t, a, b):
    return np.array([np.sum(t * convolved(e, b)) for e in np.eye(len(a))])


def kernel_pull(t, a, b):
    return np.array([np.sum(t * convolved(a, e)) for e in np.eye(len(b))])


def half_of_long_kernels(t, a, b):
    return convolved_pull(t, a, b) * (1.0 if len(a) >= len(b) else 0.5)


def leaky(x, n):
    return np.maximum(x, n * x)


def spring_pull(slope):
    return lambda t, p: Tangent[Spring](k=t * p.l * slope(p.k), l=t * abs(p.k))


WRONG: dict[str, Plant] = {
    "a dictionary below zero": Plant(
        of_object(
            lambda p: np.sum(np.abs(p["w"])) * p["b"],
            lambda t, p: {"w": t * p["b"] * (1.0 + 0.0 * p["w"]), "b": t * np.sum(np.abs(p["w"]))},
        ),
        ({"w": POSITIVE, "b": 1.5},),
        "wrong only for",
    ),
    "a list below zero": Plant(
        of_object(lambda p: abs(p[0]) * p[1], lambda t, p: [t * p[1], t * abs(p[0])]),
        ([2.0, 3.0],),
        "wrong only for",
    ),
    "a dataclass below zero": Plant(
        of_object(lambda p: abs(p.k) * p.l, spring_pull(lambda k: 1.0)),
        (Spring(2.0, 3.0),),
        "wrong only for",
    ),
    "a number of NumPy's below zero": Plant(
        of_object(lambda a: np.abs(a) * a, lambda t, a: 2 * t * a),
        (np.float64(2.0),),
        "wrong only for",
    ),
    "an axis of a matrix, of a vector": Plant(
        along(softmax, lambda t, x, axis: softmax_pull(t, x, axis, -1)), (V,), "axis=0"
    ),
    "an axis that NumPy gave": Plant(
        along(
            lambda x, axis: x.mean(axis=axis),
            lambda t, x, axis: (
                spread(t, x, axis) / (x.shape[axis] if isinstance(axis, int) else x.size)
            ),
        ),
        (M,),
        "int64",
    ),
    "a word in capitals": Plant(
        with_option(
            lambda x, n: x**2 if n.lower() == "square" else x**3,
            lambda t, x, n: 2 * t * x if n == "square" else 3 * t * x * x,
            "square",
        ),
        (V,),
        "SQUARE",
    ),
    "a leak above one": Plant(
        with_option(leaky, lambda t, x, n: t * np.where(x > 0, 1.0, n), 0.1), (V,), "wrong only for"
    ),
    "an exponent that is not whole": Plant(
        with_option(
            lambda x, n: np.sum(np.abs(x) ** n),
            lambda t, x, n: t * n * np.abs(x) ** (n - 1) * (np.sign(x) if n == int(n) else 1.0),
            2,
        ),
        (V,),
        "n=2.5",
    ),
    "a longer kernel": Plant(
        numpy_pair(convolved, half_of_long_kernels, kernel_pull),
        (LONG, V),
        "exchanged|another",
    ),
    "the sharing generator is seeded": Plant(seeding(), (V,), "random state"),
    "a mean of what is a number": Plant(
        numpy_rule(lambda x: np.nanmean(x), lambda t, x: np.where(np.isnan(x), 0.0, t / x.size)),
        (V,),
        "beside a NaN",
    ),
    "a sum of what is a number": Plant(
        numpy_rule(lambda x: np.nansum(x), lambda t, x: t * np.ones_like(x)), (V,), "of a NaN"
    ),
    "nothing over nothing at zero": Plant(
        numpy_rule(lambda x: x**2.0, lambda t, x: 2 * t * x**2 / x), (V,), "zero|NaN"
    ),
}
RIGHT: dict[str, Right] = {
    "right: a dictionary of any sign": Right(
        of_object(
            lambda p: np.sum(np.abs(p["w"])) * p["b"],
            lambda t, p: {"w": t * p["b"] * np.sign(p["w"]), "b": t * np.sum(np.abs(p["w"]))},
        ),
        lambda rng: ({"w": rng.random(3) + 0.5, "b": 1.5},),
    ),
    "right: a dataclass of any sign": Right(
        of_object(lambda p: abs(p.k) * p.l, spring_pull(np.sign)),
        lambda rng: (Spring(2.0, 3.0),),
    ),
    "right: a number of NumPy's": Right(
        of_object(lambda a: np.abs(a) * a, lambda t, a: 2 * t * np.abs(a)),
        lambda rng: (np.float64(2.0),),
    ),
    "right: an axis of any": Right(along(softmax, softmax_pull), lambda rng: (V,)),
    "right: kernels of any length": Right(
        numpy_pair(convolved, convolved_pull, kernel_pull), lambda rng: (LONG, V)
    ),
    "right: a leak": Right(
        with_option(leaky, lambda t, x, n: t * np.where(x > n * x, 1.0, n), 0.1), lambda rng: (V,)
    ),
    "right: a mean of what is a number": Right(
        numpy_rule(
            lambda x: np.nanmean(x),
            lambda t, x: np.where(np.isnan(x), 0.0, t / np.sum(~np.isnan(x))),
        ),
        lambda rng: (V,),
    ),
}
