"""Plants that write where they must not, remember, branch, or leave the library or the tracing."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rrule, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    Plant,
    X,
    Z,
    cube,
    frozen,
    halves,
    numpy_rule,
    scaled,
    times,
    with_pull_into,
)


def mutating(y_bar, c):
    y_bar *= c
    return y_bar


class Buffered:
    """A pull that always answers in the same array."""

    def __init__(self):
        self.buffer = np.zeros((2, 3))

    def __call__(self, y_bar, c):
        return np.multiply(y_bar, c, out=self.buffer)


class Memo:
    """A derivative that was computed once, and is taken from a table after that."""

    def __init__(self):
        self.slopes = {}

    def __call__(self, y, x):
        plain = frozen(x)
        return self.slopes.setdefault(plain.tobytes(), 3 * plain * plain)


def through_single(t, c):
    return v.astype(v.astype(t, dtype=np.float32) * v.astype(c, dtype=np.float32), dtype=np.float64)


def in_single() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x):
        return v.astype(v.sin(x), dtype=np.float32), (LinearMap(scaled, scaled, v.cos(x)),)

    return f


def overwriting_into(buffer, y_bar, slope):
    buffer[...] = y_bar * slope


def rrule_giving(second: Any) -> Any:
    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    @rrule.register(f)
    def f_rrule(a: Array, b: Array):
        return v.multiply(a, b), lambda y_bar: (y_bar * b, second)

    return f


def clearing() -> Any:
    """A pull that uses the operand's memory for its answer."""
    return halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: np.multiply(t, np.cos(x), out=x))


def numpy_captured(y_bar, x):
    return y_bar * 3.0 * frozen(x) ** 2


WRONG: dict[str, Plant] = {
    "NumPy: second order": Plant(
        numpy_rule(lambda x: x * x * x, numpy_captured),
        (X,),
        "second order wrong (a constant was captured)",
    ),
    "NumPy: float32": Plant(
        numpy_rule(np.sin, lambda t, x: (t * np.cos(x)).astype(np.float32)),
        (X,),
        "float32 result for float64 input",
    ),
    "float32 in the halves": Plant(
        times(through_single, through_single), (X, Z), "float32 result for float64 input"
    ),
    "float32 value": Plant(in_single(), (X,), "float32 result for float64 input"),
    "mutates the cotangent": Plant(
        times(scaled, mutating), (X, Z), "cotangent mutated", cites="linkedin/Liger-Kernel#254"
    ),
    "mutates the tangent": Plant(times(mutating, scaled), (X, Z), "tangent mutated"),
    "second order": Plant(
        cube(lambda _y, x: 3.0 * frozen(x) ** 2),
        (X,),
        "second order wrong (a constant was captured)",
        cites="pytorch/pytorch#104040",
    ),
    "second order from a table": Plant(
        cube(Memo()), (X,), "second order wrong (a constant was captured)"
    ),
    "aliased cotangent": Plant(
        times(scaled, Buffered()), (X, Z), "aliased cotangent | what was saved is written to"
    ),
    "not linear": Plant(
        times(scaled, lambda t, c: t * v.abs(t) * c), (X, Z), "not linear in the cotangent"
    ),
    "push is not linear": Plant(
        times(lambda t, c: t * c + 1.0, scaled), (X, Z), "not linear in the tangent"
    ),
    "pulls twice something else": Plant(
        halves(
            v.sin,
            lambda t, x: t * v.cos(x),
            lambda t, x, n=[0]: n.append(0) or t * v.cos(x) * len(n),
        ),
        (X,),
        "pulling back twice gives two answers | what was saved is written to",
    ),
    "overwrites the buffer": Plant(
        with_pull_into(overwriting_into), (X,), "in-place accumulation is not addition"
    ),
    "writes to the operand": Plant(
        clearing(), (X,), "operand mutated | what was saved is written to"
    ),
    "None": Plant(rrule_giving(None), (X, Z), "None for a tangent", cites="pytorch/pytorch#5871"),
    "NumPy: ignores the cotangent": Plant(
        numpy_rule(lambda x: np.sum(x * x), lambda t, x: 2 * x), (X,), "ignores the cotangent"
    ),
    "ignores the cotangent": Plant(
        halves(
            v.sum, lambda t, x: v.sum(t), lambda y_bar, x: v.full_like(x, shape=x.shape, fill=1.0)
        ),
        (X,),
        "ignores the cotangent",
    ),
    "ignores the cotangent of an array": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda y_bar, x: v.cos(x)),
        (X,),
        "ignores the cotangent",
    ),
}
