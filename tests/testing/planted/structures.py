"""Plants with several results, dicts, dataclasses, loops and halves that answer otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import Tangent, frule, linear_rule, primitive, rrule
from chainrules_py import ops as v
from tests.testing.planted.build import (
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    back,
    both,
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
    f = primitive(lambda line, x, /: line.slope * x + line.offset)

    @rrule.register(f)
    def f_rrule(line: Line, x: np.ndarray):
        return line.slope * x + line.offset, lambda t: (pull(t, x), t * line.slope)

    return f


def moments_with(pull: Any) -> Any:
    """Two moments, with a pull of ``(t, x)``."""
    return back(lambda x: Moments(np.mean(x), np.mean(x * x)), pull)


def dict_with(pull: Any) -> Any:
    """Two results by name, with a pull of ``(t, x)``."""
    push = lambda t, x: {"sin": t * v.cos(x), "cos": -t * v.sin(x)}
    return halves(lambda x: {"sin": v.sin(x), "cos": v.cos(x)}, push, pull)


def listed(pull: Any) -> Any:
    """The first element of a list less half of the second, with a pull of ``t``."""
    f = primitive(lambda xs, /: xs[0] - 0.5 * xs[1])

    @rrule.register(f)
    def f_rrule(xs: list):
        return xs[0] - 0.5 * xs[1], lambda t: (Tangent[list](*pull(t)),)

    return f


def forward(tangent: Any, value: Any = v.sin) -> Any:
    """The sine with a forward rule alone, that gives this of ``(t, x)``."""
    f = primitive(lambda x, /: v.sin(x))
    frule.register(f, types=(np.ndarray,))(lambda ts, x: (value(x), tangent(ts[0], x)))
    return f


def of_any_number(value: Any, pulls: Any) -> Any:
    """A function of any number of operands, with these pulls of the operands."""
    f = primitive(lambda *xs: value(xs))

    @rrule.register(f)
    def f_rrule(*xs: np.ndarray):
        return value(xs), lambda t: tuple([pull(t) for pull in pulls(xs)])

    return f


def weighted(xs):
    return sum([(k + 1) * x for k, x in enumerate(xs)], start=0.0)


def last_of_a_loop(xs):
    """The pulls see the variable of the loop when they are called."""
    pulls = []
    for k in range(len(xs)):
        pulls += [lambda t: (k + 1) * t]  # noqa: B023
    return pulls


def triangle() -> Any:
    """The upper triangle from a diagonal on, pulled back from the main one."""

    @primitive
    def f(x, /, *, k=0):
        return v.triu(x, k=k)

    linear_rule(f, lambda t, x, *, k: v.triu(t))
    return f


def scan(x, /, *, reverse=False):
    return np.flip(np.cumsum(np.flip(x))) if reverse else np.cumsum(x)


def norm_of_order(x, /, *, p=2):
    return v.sum(v.abs(x) ** p) ** (1 / p)


def euclidean(sum_of: Any) -> Any:
    return lambda t, x, p: sum_of(t * x) / norm_of_order(x, p=p)


def newton_root(x):
    y = 0.5 * (1.0 + x)
    for _ in range(30):
        y = 0.5 * (y + x / y)
    return y


def kept_tanh(t, x):
    """The slope with a value that was computed outside of the tracing."""
    y = frozen(v.tanh(x))
    return t * (1.0 - y * y)


AT = (Line(0.7, -0.2), VECTOR)

WRONG: dict[str, Plant] = {
    "results swapped": Plant(
        two_outputs(lambda t, s, c: -s * t[0] + c * t[1]),
        (X,),
        "swapped fields 0 and 1 of the result",
    ),
    "forgets an output": Plant(
        two_outputs(lambda t, s, c: c * t[0]), (X,), "zero for output 1 of the result in the pull"
    ),
    "second moment forgotten": Plant(
        moments_with(lambda t, x: t.first / x.size + 0.0 * x),
        (VECTOR,),
        "zero for second of the result",
    ),
    "key with the other sign": Plant(
        dict_with(lambda t, x: t["sin"] * v.cos(x) + t["cos"] * v.sin(x)), (X,), "wrong sign"
    ),
    "fields swapped": Plant(
        line_with(lambda t, x: Tangent[Line](slope=np.sum(t), offset=np.sum(t * x))),
        AT,
        "swapped fields slope and offset of the operand",
    ),
    "list in the other order": Plant(
        listed(lambda t: (-0.5 * t, t + 0.0)), ([X, Z],), "swapped | wrong numbers"
    ),
    "primal for a tangent": Plant(
        forward(lambda t, x: v.sin(x)), (X,), "ignores the tangent | not linear in the tangent"
    ),
    "tangent of the value of another": Plant(
        forward(lambda t, x: t * v.cos(x), v.cos), (X,), "wrong value"
    ),
    "variable of a loop": Plant(of_any_number(weighted, last_of_a_loop), (X, Z, X + Z), "factor 3"),
    "operands in the other order": Plant(
        of_any_number(
            lambda xs: sum([x * x for x in xs], start=0.0),
            lambda xs: [lambda t, x=x: 2.0 * t * x for x in reversed(xs)],
        ),
        (X, Z, X + Z),
        "swapped operands",
    ),
    "diagonal that is not passed on": Plant(triangle(), (X,), "wrong only for k="),
    "direction that is not passed on": Plant(
        back(scan, lambda t, x, reverse: np.flip(np.cumsum(np.flip(t)))),
        (VECTOR,),
        "wrong only for reverse=True",
    ),
    "order that is not passed on": Plant(
        both(norm_of_order, (euclidean(v.sum), euclidean(lambda y: y))),
        (VECTOR,),
        "wrong only for p=",
    ),
    "one step of an iteration": Plant(
        halves(newton_root, lambda t, x: 0.5 * t / newton_root(x), lambda t, x: t / newton_root(x)),
        (POSITIVE,),
        "factor 2",
    ),
    "second derivative of a value that is kept": Plant(
        halves(v.tanh, kept_tanh, kept_tanh), (X,), "second order wrong"
    ),
}
