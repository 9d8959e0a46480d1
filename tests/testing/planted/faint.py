"""Plants that are wrong for faint cotangents, or of one sign, and for signs that a draw misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import (
    LinearMap,
    NotImplementedTangent,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from tests.testing.planted.build import Plant, Right, halves, numpy_rule, slope
from tests.testing.planted.draws import normal, positive

FEW = np.array([1.25, 2.25, 0.5])
MANY = np.linspace(0.5, 1.5, 60)
TWO = np.array([1.25, 0.5])


def sine_pulling(change: Callable[[Any], Any]) -> Any:
    """The sine, whose pull changes its cotangent first."""
    return numpy_rule(np.sin, lambda t, x: change(t) * np.cos(x))


def both_ways(change: Callable[[Any], Any]) -> Any:
    """The sine, whose push changes its tangent first, and whose pull its cotangent."""
    half = lambda t, x: change(t) * np.cos(x)
    return halves(np.sin, half, half)


def signed(signs: tuple[int, ...]) -> Any:
    """The sine, whose derivative is off by 2 where the numbers have these signs."""
    where = np.asarray(signs)
    is_there = lambda x: np.shape(x) == where.shape and np.array_equal(np.sign(x), where)
    return slope(np.sin, lambda _y, x: np.cos(x) * (2.0 if is_there(x) else 1.0))


CHANGES: dict[str, Callable[[Any], Any]] = {
    "under a billionth": lambda t: np.where(np.abs(t) < 1e-9, 0.0, t),
    "under 1e-28": lambda t: np.where(np.abs(t) < 1e-28, 0.0, t),
    "above 1e28": lambda t: np.clip(t, -1e28, 1e28),
    "under a millionth": lambda t: np.where(np.abs(t) < 1e-6, 0.0, t),
    "far under the largest": lambda t: np.where(
        np.abs(t) < 1e-6 * np.max(np.abs(t), initial=0.0), 0.0, t
    ),
    "below zero": lambda t: np.maximum(t, 0.0),
    "above a thousand": lambda t: np.clip(t, -1000.0, 1000.0),
    "where all are positive": lambda t: t * (0.5 if np.all(t >= 0.0) else 1.0),
    "where some are zero": lambda t: t * (0.5 if np.any(t == 0.0) else 1.0),
    "where all are one": lambda t: t * (0.5 if np.all(t == 1.0) else 1.0),
    "divided by themselves": lambda t: t * t / t,
}

WRONG: dict[str, Plant] = {
    **{
        f"{name}, of {size} {half}": Plant(
            of(change), (x,), "linear|NaN|not zero|float32|wrong numbers|factor 1/2"
        )
        for name, change in CHANGES.items()
        for half, of in (("cotangents", sine_pulling), ("tangents too", both_ways))
        for size, x in (("few", FEW), ("many", MANY))
        if not (name == "where all are one" and x is MANY)
        and not (name == "far under the largest" and x is MANY)
    },
    **{
        f"signs {signs} alone": Plant(signed(signs), (x,), "sign|order|number|point|large")
        for x, all_signs in (
            (TWO, [(1, -1), (-1, 1), (-1, -1)]),
            (-TWO, [(1, -1), (-1, 1), (1, 1)]),
        )
        for signs in all_signs
        if x is TWO or signs == (1, 1)
    },
    "signs of three": Plant(signed((1, -1, -1)), (FEW,), "sign|order|number|point"),
    "other signs of three": Plant(signed((-1, -1, 1)), (FEW,), "sign|order|number|point"),
    "signs of four in turn": Plant(signed((1, -1, 1, -1)), (np.ones(4) * 1.25,), "sign|number"),
}


@primitive
def in_part(n, x, /):
    return np.sin(x) * n


@rule(in_part)
def in_part_rule(n, x):
    half = lambda t: t * n * np.cos(x)
    return in_part(n, x), (NotImplementedTangent("n is fixed"), LinearMap(half, half))


@primitive
def pulled_in_part(n, x, /):
    return np.sin(x) * n


@rrule.register(pulled_in_part)
def pulled_in_part_rrule(n, x):
    return pulled_in_part(n, x), lambda t: (NotImplementedTangent("n is fixed"), t * n * np.cos(x))


@primitive
def pushed_in_part(n, x, /):
    return np.sin(x) * n


@frule.register(pushed_in_part)
def pushed_in_part_frule(ts, n, x):
    y = pushed_in_part(n, x)
    return y, ts[1] * n * np.cos(x) + ts[0] * NotImplementedTangent("n is fixed")


@primitive
def partly(n, x, /):
    return np.sin(x) * n


scalar_rule(
    partly, lambda _y, _n, _x: NotImplementedTangent("n is fixed"), lambda _y, n, x: n * np.cos(x)
)


@primitive
def wrongly_in_part(n, x, /):
    return np.sin(x) * n


@rule(wrongly_in_part)
def wrongly_in_part_rule(n, x):
    half = lambda t: 2.0 * t * n * np.cos(x)
    return wrongly_in_part(n, x), (NotImplementedTangent("n is fixed"), LinearMap(half, half))


WRONG["a factor beside what nobody stated"] = Plant(wrongly_in_part, (2.5, FEW), "factor 2")


def of_number(rng):
    return float(0.5 + rng.random()), rng.random(3)


RIGHT: dict[str, Right] = {
    "one operand not stated": Right(in_part, of_number),
    "one operand not stated, pulled": Right(pulled_in_part, of_number),
    "one operand not stated, pushed": Right(pushed_in_part, of_number),
    "one operand not stated, an array": Right(in_part, normal((3,), (3,))),
    "one partial not stated": Right(partly, of_number),
    "running sums, as a whole less the part": Right(
        numpy_rule(np.cumsum, lambda t, _x: np.sum(t) - np.cumsum(t) + t), normal((5,))
    ),
    "two elements of both signs": Right(
        slope(np.abs, lambda _y, x: np.sign(x)), lambda rng: (0.5 + rng.random(2),)
    ),
    "logarithm of two": Right(slope(np.log, lambda _y, x: 1.0 / x), positive((2,))),
}
