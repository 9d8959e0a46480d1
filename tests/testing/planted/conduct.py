"""Plants that keep something between calls, draw numbers, share memory, or leave the tracing."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, frule, primitive, rrule, rule
from chainrules_py import ops as v
from tests.testing.planted.build import (
    POSITIVE,
    Plant,
    X,
    Z,
    adjoint_scaled,
    back,
    both,
    frozen,
    halves,
    scaled,
    sine,
    slope,
    times,
    with_pull_into,
)


class Memo:
    """A derivative that was computed once, and is taken from a table after that."""

    def __init__(self):
        self.slopes = {}

    def __call__(self, y, x):
        plain = frozen(x)
        return self.slopes.setdefault(plain.tobytes(), 3 * plain * plain)


def overwriting_into(buffer, y_bar, slope):
    buffer[...] = y_bar * slope


def doubling_into(buffer, y_bar, slope):
    y_bar *= slope
    buffer += y_bar


def of_the_last_call() -> Any:
    """A rule for both modes that reads where the function was called last."""
    last = {}
    f = primitive(lambda x, /: x * x)

    @rule(f)
    def square(x):
        last["x"] = x
        return x * x, (LinearMap(lambda t: 2 * last["x"] * t, lambda t: 2 * last["x"] * t),)

    return f


def sine_by(rrule_of: Any) -> Any:
    """The sine with this for its reverse rule, of NumPy's arrays."""
    f = primitive(lambda x, /: np.sin(x))
    rrule.register(f, types=(np.ndarray,))(rrule_of)
    return f


def one_workspace() -> Any:
    """Slopes of all calls of one shape lie in one array: a later call writes over an earlier."""
    rooms: dict[Any, Any] = {}

    def f_rrule(x):
        slope = np.cos(x, out=rooms.setdefault((x.shape, x.dtype), np.empty_like(x)))
        return np.sin(x), lambda y_bar: (y_bar * slope,)

    return sine_by(f_rrule)


def eats_what_it_saved(x):
    slope = np.cos(x)

    def pull(y_bar):
        np.multiply(slope, y_bar, out=slope)
        return (slope.copy(),)

    return np.sin(x), pull


LAST: dict[str, Any] = {}


def keeps_its_operand_in_a_global(x):
    LAST["x"] = x
    return np.sin(x), lambda y_bar: (y_bar * np.cos(LAST["x"]),)


def seeds_the_generator(x):
    np.random.seed(0)  # noqa: NPY002
    return np.sin(x), lambda y_bar: (y_bar * np.cos(x),)


def shifted_by_one(rrule_of: Any) -> Any:
    """One more than each number, with this for its reverse rule."""
    f = primitive(lambda x, /: x + 1.0)
    rrule.register(f, types=(np.ndarray,))(rrule_of)
    return f


def writes_to_its_operand(x):
    x += 1.0
    return np.array(x), lambda y_bar: (np.array(y_bar),)


def value_is_the_operand() -> Any:
    f = primitive(lambda x, /: np.array(x))
    rrule.register(f, types=(np.ndarray,))(lambda x: (x, lambda y_bar: (np.array(y_bar),)))
    return f


def noise(draw: Any) -> Any:
    """A function that adds what is drawn anew at each call."""
    return both(lambda x: x + 0.1 * draw(np.shape(x)), (lambda t, x: t, lambda t, x: t))


def every_second(x):
    return x * (np.arange(x.size).reshape(x.shape) % 2)


GENERATOR = np.random.default_rng(6)


@primitive
def orphan(x, /):
    """A function without a rule, which is not looked into."""
    return np.sin(x)


def asks_the_orphan(t, x):
    return frule((t,), orphan, x)[1]


def right(t, x):
    return t * v.cos(x)


SAVED = "pulling back twice gives two answers | what was saved is written to"

WRONG: dict[str, Plant] = {
    "second order from a table": Plant(
        slope(lambda x: x * x * x, Memo()), (X,), "second order wrong (a constant was captured)"
    ),
    "constant slope of a cube": Plant(
        slope(lambda x: x * x * x, lambda _y, x: 3.0 * frozen(x) ** 2),
        (X,),
        "second order wrong (a constant was captured)",
        "pytorch/pytorch#104040",
    ),
    "not connected to its cotangent": Plant(
        halves(lambda x: x * x, lambda t, x: t * 2.0 * x, lambda t, x: frozen(t) * 2.0 * x),
        (POSITIVE,),
        "second order wrong",
        "pytorch/pytorch#1712",
    ),
    "value in single precision": Plant(
        sine_by(lambda x: (np.float32(np.sin(x)), lambda t: (t * np.cos(x),))),
        (X,),
        "float32 result for float64 input",
    ),
    "value in double precision": Plant(
        sine_by(lambda x: (np.float64(np.sin(x)), lambda t: (t * np.cos(x),))),
        (X.astype(np.float32),),
        "float64 result for float32 input",
        "JuliaMath/SpecialFunctions.jl#307",
    ),
    "halves in single precision": Plant(
        times(*[lambda t, c: v.astype(v.astype(t * c, dtype="float32"), dtype="float64")] * 2),
        (X, Z),
        "float32 result for float64 input",
    ),
    "overwrites the buffer": Plant(
        with_pull_into(overwriting_into), (X,), "in-place accumulation is not addition"
    ),
    "writes to the cotangent that it adds": Plant(
        with_pull_into(doubling_into), (X,), "writes to what it was given"
    ),
    "operand of the last call": Plant(of_the_last_call(), (X,), "state between calls"),
    "writes to what it saved": Plant(
        halves(v.sin, right, lambda t, x: np.multiply(t, np.cos(x), out=x)),
        (X,),
        "operand mutated | what was saved is written to",
    ),
    "one workspace for all calls": Plant(
        one_workspace(),
        (X,),
        "state between calls | memory written after",
        "linkedin/Liger-Kernel#254",
    ),
    "eats what it saved": Plant(
        sine_by(eats_what_it_saved), (X,), SAVED, "PumasAI/SimpleChains.jl#144"
    ),
    "keeps its operand in a global": Plant(
        sine_by(keeps_its_operand_in_a_global), (X,), "state between calls"
    ),
    "seeds the generator": Plant(sine_by(seeds_the_generator), (X,), "random state changed"),
    "value is the operand": Plant(value_is_the_operand(), (X,), "alias", "pytorch/pytorch#31258"),
    "operand changed in place": Plant(
        shifted_by_one(writes_to_its_operand), (X,), "operand mutated", "pytorch/pytorch#5871"
    ),
    "noise of the global generator": Plant(
        noise(lambda shape: np.random.standard_normal(shape)),  # noqa: NPY002
        (X,),
        "random function",
        "jax-ml/jax#27349",
    ),
    "noise of a generator of its own": Plant(
        noise(np.random.default_rng(5).standard_normal), (X,), "random", "allenai/OLMo-core#828"
    ),
    "mask drawn anew": Plant(
        back(every_second, lambda t, x: t * (GENERATOR.random(x.shape) < 0.5)),
        (X,),
        "pulling back twice gives two answers | random",
        "openai/guided-diffusion#167",
    ),
    "push that meets a function without a rule": Plant(
        halves(v.sin, asks_the_orphan, right), (X,), "NoRuleError", "jax-ml/jax#38610"
    ),
    "pull that meets a function without a rule": Plant(
        halves(v.sin, right, asks_the_orphan), (X,), "NoRuleError", "jax-ml/jax#38610"
    ),
    "nothing for a float": Plant(
        both(
            v.multiply, (lambda t, a, b: scaled(t, b), lambda t, a, b: adjoint_scaled(t, b)), None
        ),
        (X, Z),
        "zero for argument 2",
        "FluxML/Zygote.jl#1121",
    ),
    "holomorphic, and conjugated": Plant(
        sine(lambda _y, x: v.conj(v.cos(x)), complex="holomorphic"), (X,), "conjugated"
    ),
}
