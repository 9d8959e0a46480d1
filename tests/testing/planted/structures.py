"""Plants with several results, dicts, dataclasses, loops and halves that answer otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import Array, LinearMap, Tangent, frule, linear_rule, primitive, rrule, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    frozen,
    halves,
    two_outputs,
)


@dataclasses.dataclass(frozen=True)
class Line:
    """A line, by two numbers."""

    slope: Any
    offset: Any


class Moments(NamedTuple):
    """The mean of some numbers, and of their squares."""

    first: Any
    second: Any


def line_with(pull: Any) -> Any:
    """A line at a place, with this pull to the line, of ``(t, x)``."""

    @primitive
    def f(line, x, /):
        return line.slope * x + line.offset

    @rrule.register(f)
    def f_rrule(line: Line, x: np.ndarray):
        return line.slope * x + line.offset, lambda t: (pull(t, x), t * line.slope)

    return f


def moments_with(pull: Any) -> Any:
    """Two moments, with a pull of ``(t, x)``."""

    @primitive
    def f(x, /):
        return Moments(np.mean(x), np.mean(x * x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        return Moments(np.mean(x), np.mean(x * x)), lambda t: (pull(t, x),)

    return f


def dict_with(pull: Any) -> Any:
    """Two results by name, with a pull of ``(t, x)``."""

    @primitive
    def f(x, /):
        return {"sin": v.sin(x), "cos": v.cos(x)}

    @rule(f)
    def f_rule(x: Array):
        push = lambda t, x: {"sin": t * v.cos(x), "cos": -t * v.sin(x)}
        return {"sin": v.sin(x), "cos": v.cos(x)}, (LinearMap(push, pull, x),)

    return f


def listed(pull: Any) -> Any:
    """The first element of a list less half of the second, with a pull of ``t``."""

    @primitive
    def f(xs, /):
        return xs[0] - 0.5 * xs[1]

    @rrule.register(f)
    def f_rrule(xs: list):
        return xs[0] - 0.5 * xs[1], lambda t: (Tangent[list](*pull(t)),)

    return f


def forward(tangent: Any, value: Any = None) -> Any:
    """The sine with a forward rule alone, that gives this of ``(t, x)``."""

    @primitive
    def f(x, /):
        return v.sin(x)

    @frule.register(f)
    def f_frule(tangents, x: Array):
        return (value or v.sin)(x), tangent(tangents[0], x)

    return f


def last_of_a_loop() -> Any:
    """The pulls are made in a loop, and see its variable when they are called."""

    @primitive
    def f(*xs):
        total = 0.0
        for k, x in enumerate(xs):
            total = total + (k + 1) * x
        return total

    @rrule.register(f)
    def f_rrule(*xs: Array):
        pulls = []
        for k in range(len(xs)):
            pulls += [lambda t: (k + 1) * t]  # noqa: B023
        return f(*xs), lambda t: tuple([pull(t) for pull in pulls])

    return f


def first_of_three() -> Any:
    """The sum of squares of any number of operands, with their order reversed in the pull."""

    @primitive
    def f(*xs):
        total = 0.0
        for x in xs:
            total = total + x * x
        return total

    @rrule.register(f)
    def f_rrule(*xs: Array):
        return f(*xs), lambda t: tuple([2.0 * t * x for x in reversed(xs)])

    return f


def triangle() -> Any:
    """The upper triangle from a diagonal on, pulled back from the main one."""

    @primitive
    def f(x, /, *, k=0):
        return v.triu(x, k=k)

    linear_rule(f, lambda t, x, *, k: v.triu(t))
    return f


def scan() -> Any:
    """Sums from the beginning or from the end, always pulled back from the end."""

    @primitive
    def f(x, /, *, reverse=False):
        return np.flip(np.cumsum(np.flip(x))) if reverse else np.cumsum(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, reverse):
        return f(x, reverse=reverse), lambda t: (np.flip(np.cumsum(np.flip(t))),)

    return f


def norm_of_order() -> Any:
    """The p-norm, with the gradient of the Euclidean one."""

    @primitive
    def f(x, /, *, p=2):
        return v.sum(v.abs(x) ** p) ** (1 / p)

    @rule(f)
    def f_rule(x: Array, *, p):
        y = f(x, p=p)
        push = lambda t, x, y: v.sum(t * x) / y
        return y, (LinearMap(push, lambda t, x, y: t * x / y, x, y),)

    return f


def newton_root(x):
    y = 0.5 * (1.0 + x)
    for _ in range(30):
        y = 0.5 * (y + x / y)
    return y


def tanh_slope(x):
    """The slope with a value that was computed outside of the tracing."""
    y = frozen(v.tanh(x))
    return 1.0 - y * y


def swapped_results(t, s, c):
    return -s * t[0] + c * t[1]


WRONG: dict[str, Plant] = {
    "results swapped": Plant(
        two_outputs(swapped_results), (X,), "swapped fields 0 and 1 of the result"
    ),
    "second moment forgotten": Plant(
        moments_with(lambda t, x: t.first / x.size + 0.0 * x),
        (VECTOR,),
        "zero for second of the result",
    ),
    "second moment without its factor": Plant(
        moments_with(lambda t, x: (t.first + x * t.second) / x.size),
        (VECTOR,),
        "factor 1/2 for second of the result",
    ),
    "key that is forgotten": Plant(dict_with(lambda t, x: t["sin"] * v.cos(x)), (X,), "zero"),
    "key with the other sign": Plant(
        dict_with(lambda t, x: t["sin"] * v.cos(x) + t["cos"] * v.sin(x)), (X,), "wrong sign"
    ),
    "fields swapped": Plant(
        line_with(lambda t, x: Tangent[Line](slope=np.sum(t), offset=np.sum(t * x))),
        (Line(0.7, -0.2), VECTOR),
        "swapped fields slope and offset of the operand",
    ),
    "field that is forgotten": Plant(
        line_with(lambda t, x: Tangent[Line](slope=np.sum(t * x))),
        (Line(0.7, -0.2), VECTOR),
        "zero for offset of the operand",
    ),
    "line for a tangent": Plant(
        line_with(lambda t, x: Line(np.sum(t * x), np.sum(t))),
        (Line(0.7, -0.2), VECTOR),
        "write Tangent[Line]",
    ),
    "list in the other order": Plant(
        listed(lambda t: (-0.5 * t, t + 0.0)), ([X, Z],), "swapped | wrong numbers"
    ),
    "primal for a tangent": Plant(
        forward(lambda t, x: v.sin(x)), (X,), "ignores the tangent | not linear in the tangent"
    ),
    "derivative for a tangent": Plant(forward(lambda t, x: v.cos(x)), (X,), "ignores the tangent"),
    "tangent of the value of another": Plant(
        forward(lambda t, x: t * v.cos(x), v.cos), (X,), "wrong value"
    ),
    "push alone is wrong": Plant(
        halves(v.sin, lambda t, x: t * v.sin(x), lambda t, x: t * v.cos(x)),
        (X,),
        "in the push",
    ),
    "pull alone is wrong": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: t * v.sin(x)),
        (X,),
        "in the pull",
    ),
    "variable of a loop": Plant(last_of_a_loop(), (X, Z, X + Z), "factor 3"),
    "operands in the other order": Plant(first_of_three(), (X, Z, X + Z), "swapped operands"),
    "diagonal that is not passed on": Plant(triangle(), (X,), "wrong only for k="),
    "direction that is not passed on": Plant(scan(), (VECTOR,), "wrong only for reverse=True"),
    "order that is not passed on": Plant(norm_of_order(), (VECTOR,), "wrong only for p="),
    "one step of an iteration": Plant(
        halves(newton_root, lambda t, x: 0.5 * t / newton_root(x), lambda t, x: t / newton_root(x)),
        (POSITIVE,),
        "factor 2",
    ),
    "second derivative of a value that is kept": Plant(
        halves(v.tanh, lambda t, x: t * tanh_slope(x), lambda t, x: t * tanh_slope(x)),
        (X,),
        "second order wrong",
    ),
}
