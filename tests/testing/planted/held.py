"""Plants that are wrong for values that nobody gave: whole numbers, texts, members, None, slices.

Each stands as an operand without a derivative, and as an option.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import LinearMap, NoTangent, primitive, rule
from tests.testing.planted.build import Plant, Right

X = np.array([0.5, -1.25, 2.0])
LONG = np.arange(1.0, 9.0) ** 1.5
Value = Callable[[Any, Any], Any]


def times(t, c):
    return t * c


def positional(value: Value, push: Any, pull: Any) -> Any:
    """A function whose second operand has no derivative; of None there is a default."""

    @primitive
    def f(a, n=None):
        return value(a, n)

    @rule(f)
    def f_rule(a, n: object):
        halves = LinearMap(lambda t: push(t, a, n), lambda b: pull(b, a, n))
        return value(a, n), (halves, NoTangent())

    return f


def keyword(value: Value, push: Any, pull: Any) -> Any:
    """The same as an option."""

    @primitive
    def f(a, *, n=None):
        return value(a, n)

    @rule(f)
    def f_rule(a, *, n):
        return value(a, n), (LinearMap(lambda t: push(t, a, n), lambda b: pull(b, a, n)),)

    return f


def scaling(value: Value, slope: Value) -> Any:
    """The value, and both halves of a function of single numbers."""
    half = lambda t, a, n: t * slope(a, n)
    return value, half, half


def power(a, n):
    return a**n


def power_slope(a, n):
    return n * a ** (n - 1.0)


class Shape(enum.Enum):
    SQUARE = 1
    CUBE = 2


FACTORS = {"once": 1.0, "twice": 2.0}


def by_text(a, n):
    if n == "square":
        return a**2
    if n == "cube":
        return a**3
    raise ValueError(n)


def text_slope(a, n):
    return 2 * a if n == "square" else 3 * a * a


def by_member(a, n):
    return a**2 if n is Shape.SQUARE else a**3


def member_slope(a, n):
    return 2 * a if n is Shape.SQUARE else 3 * a * a


def by_none(a, n):
    return a * (1.0 if n is None else n)


def none_slope(a, n):
    return 0.0 * a + (1.0 if n is None else n)


def by_key(a, n):
    return a * FACTORS[n]


def key_slope(a, n):
    return 0.0 * a + FACTORS[n]


def lag(a, n):
    return a[n:] - a[:-n]


def lag_push(t, _a, n):
    return t[n:] - t[:-n]


def lag_pull(b, a, n, second=1.0):
    out = np.zeros_like(a)
    out[n:] += b
    out[:-n] -= second * b
    return out


def part(a, n):
    return a[n]


def part_push(t, _a, n):
    return t[n]


def part_pull(b, a, n):
    out = np.zeros_like(a)
    out[n] = b
    return out


def part_without_step(b, a, n):
    out = np.zeros_like(a)
    n = n[0] if isinstance(n, tuple) else n
    room = out[n.start : n.stop]
    room[...] = b if n.step is None else np.resize(b, room.shape)
    return out


def padded(a, n):
    return np.pad(a, n)


def pad_push(t, _a, n):
    return np.pad(t, n)


def pad_pull(b, _a, n):
    return b[n[0] : len(b) - n[1]]


def pad_pull_turned(b, _a, n):
    return b[n[1] : len(b) - n[0]]


WRONG_ONES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "power below eight": (
        scaling(power, lambda a, n: power_slope(a, n) * (1.0 if n < 8 else 0.5)),
        X,
        (1, 3, 6),
    ),
    "power but five": (
        scaling(power, lambda a, n: power_slope(a, n) * (1.0 if n != 5 else 0.5)),
        X,
        (2, 3),
    ),
    "power of some": (
        scaling(power, lambda a, n: power_slope(a, n) * (1.0 if n in (1, 2, 3, 4) else 0.5)),
        X,
        (2, 3),
    ),
    "lag below four": (
        (lag, lag_push, lambda b, a, n: lag_pull(b, a, n, 1.0 if n < 4 else 0.5)),
        LONG,
        (1, 2),
    ),
    "a text": (scaling(by_text, lambda a, n: 2 * a), X, ("square",)),
    "a text of a table": (scaling(by_key, lambda a, n: 1.0 + 0.0 * a), X, ("once",)),
    "a member": (scaling(by_member, lambda a, n: 2 * a), X, (Shape.SQUARE,)),
    "none of them": (scaling(by_none, lambda a, n: 1.0 + 0.0 * a), X, (None,)),
    "a step": ((part, part_push, part_without_step), LONG, (slice(1, 5), (slice(1, 5),))),
    "widths in turn": ((padded, pad_push, pad_pull_turned), X, ((1, 1), (2, 2))),
}
RIGHT_ONES: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "power": (scaling(power, power_slope), X, (1, 2, 3)),
    "lag": ((lag, lag_push, lag_pull), LONG, (1, 2)),
    "a text": (scaling(by_text, text_slope), X, ("square", "cube")),
    "a text of a table": (scaling(by_key, key_slope), X, ("once",)),
    "a member": (scaling(by_member, member_slope), X, tuple(Shape)),
    "none or a factor": (scaling(by_none, none_slope), X, (None,)),
    "a slice": ((part, part_push, part_pull), LONG, (slice(1, 5), (slice(1, 5),), slice(None))),
    "widths": ((padded, pad_push, pad_pull), X, ((1, 1), (2, 1))),
}


def _calls(ones: Any) -> Any:
    for (name, (made, x, values)), given in itertools.product(ones.items(), (False, True)):
        for n in values:
            if given:
                yield f"{name}, {n!r} as an option", keyword(*made), (x,), {"n": n}
            else:
                yield f"{name}, {n!r}", positional(*made), (x, n), {}


WRONG: dict[str, Plant] = {
    name: Plant(f, operands, "wrong only for", options)
    for name, f, operands, options in _calls(WRONG_ONES)
}
RIGHT: dict[str, Right] = {
    f"right: {name}": Right(f, lambda _, operands=operands: operands, options)
    for name, f, operands, options in _calls(RIGHT_ONES)
}
