"""Plants that keep something between calls, draw numbers, share memory, or leave a half out."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import (
    LinearMap,
    NoTangent,
    frule,
    primitive,
    rrule,
    rule,
)
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    POSITIVE,
    Plant,
    X,
    Z,
    adjoint_scaled,
    frozen,
    halves,
    scaled,
)


def first_call_decides() -> Any:
    """A slope that is kept from the first call, for all operands of the same shape."""
    kept: dict[Any, Any] = {}

    @primitive
    def f(x, /):
        return v.sin(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        slope = kept.setdefault(x.shape, np.cos(x))
        return np.sin(x), lambda y_bar: (y_bar * slope,)

    return f


def one_workspace() -> Any:
    """Slopes of all calls of one shape lie in one array: a later call writes over an earlier."""
    rooms: dict[Any, Any] = {}

    @primitive
    def f(x, /):
        return v.sin(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        room = rooms.setdefault((x.shape, x.dtype), np.empty(x.shape, x.dtype))
        slope = np.cos(x, out=room)
        return np.sin(x), lambda y_bar: (y_bar * slope,)

    return f


def eats_what_it_saved() -> Any:
    """A pull that multiplies what it saved in place."""

    @primitive
    def f(x, /):
        return v.sin(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        slope = np.cos(x)

        def pull(y_bar):
            np.multiply(slope, y_bar, out=slope)
            return (slope.copy(),)

        return np.sin(x), pull

    return f


LAST: dict[str, Any] = {}


def keeps_its_operand_in_a_global() -> Any:
    """A pull that reads a global, which the next call changes."""

    @primitive
    def f(x, /):
        return np.sin(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        LAST["x"] = x
        return np.sin(x), lambda y_bar: (y_bar * np.cos(LAST["x"]),)

    return f


def noisy_half(half: str) -> Any:
    """A half that draws from the generator that all share."""
    noisy = lambda t, x: t * v.cos(x) * (1.0 + 0.1 * np.random.random())  # noqa: NPY002
    right = lambda t, x: t * v.cos(x)
    return halves(v.sin, *[noisy if half == name else right for name in ("push", "pull")])


def scratch_half(half: str) -> Any:
    """A half that gives the same array at each call."""
    room = np.empty(X.shape)
    scratch = lambda t, x: np.multiply(t, np.cos(x), out=room)
    right = lambda t, x: t * np.cos(x)
    return halves(np.sin, *[scratch if half == name else right for name in ("push", "pull")])


def value_is_the_operand() -> Any:
    @primitive
    def f(x, /):
        return np.array(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        return x, lambda y_bar: (np.array(y_bar),)

    return f


def writes_to_its_operand() -> Any:
    @primitive
    def f(x, /):
        return x + 1.0

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        x += 1.0
        return np.array(x), lambda y_bar: (np.array(y_bar),)

    return f


def noise(draw: Any) -> Any:
    """A function that adds what is drawn anew at each call."""

    def value(x):
        return x + 0.1 * draw(np.shape(x))

    @primitive
    def f(x, /):
        return value(x)

    @rule(f)
    def f_rule(x):
        return value(x), (LinearMap(lambda t: t, lambda t: t),)

    return f


def own_generator() -> Any:
    return np.random.default_rng(5).standard_normal


def dropped_anew() -> Any:
    """Some elements are kept, by a mask that is drawn for the pull once more."""
    generator = np.random.default_rng(6)

    @primitive
    def f(x, /):
        return x * (np.arange(x.size).reshape(x.shape) % 2)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        pull = lambda y_bar: (y_bar * (generator.random(x.shape) < 0.5),)
        return x * (np.arange(x.size).reshape(x.shape) % 2), pull

    return f


@primitive
def orphan(x, /):
    """A function without a rule, which is not looked into."""
    return np.sin(x)


def asks_the_orphan(t, x):
    return frule((t,), orphan, x)[1]


def half_without_a_rule(half: str) -> Any:
    right = lambda t, x: t * v.cos(x)
    push = asks_the_orphan if half == "push" else right
    pull = asks_the_orphan if half == "pull" else right
    return halves(v.sin, push, pull)


def nothing_for_a_float() -> Any:
    @primitive
    def f(a, b, /):
        return a * b

    @rule(f)
    def f_rule(a, b):
        return a * b, (LinearMap(scaled, adjoint_scaled, b), NoTangent())

    return f


def unconnected(t, x):
    return frozen(t) * 2.0 * x


WRONG: dict[str, Plant] = {
    "first call decides": Plant(
        first_call_decides(),
        (X,),
        "wrong only for another point",
        cites="PumasAI/SimpleChains.jl#144",
    ),
    "one workspace for all calls": Plant(
        one_workspace(),
        (X,),
        "state between calls | memory written after",
        cites="linkedin/Liger-Kernel#254",
    ),
    "eats what it saved": Plant(
        eats_what_it_saved(),
        (X,),
        "pulling back twice gives two answers | what was saved is written to",
        cites="linkedin/Liger-Kernel#254",
    ),
    "keeps its operand in a global": Plant(
        keeps_its_operand_in_a_global(), (X,), "state between calls"
    ),
    "push that draws": Plant(noisy_half("push"), (X,), "state between calls"),
    "pull that draws": Plant(noisy_half("pull"), (X,), "pulling back twice gives two answers"),
    "push in scratch": Plant(scratch_half("push"), (X,), "aliased tangent"),
    "pull in scratch": Plant(scratch_half("pull"), (X,), "aliased cotangent"),
    "value is the operand": Plant(
        value_is_the_operand(), (X,), "alias", cites="pytorch/pytorch#31258"
    ),
    "operand changed in place": Plant(
        writes_to_its_operand(), (X,), "operand mutated", cites="pytorch/pytorch#5871"
    ),
    "noise of the global generator": Plant(
        noise(lambda shape: np.random.standard_normal(shape)),  # noqa: NPY002
        (X,),
        "random function",
        cites="jax-ml/jax#27349",
    ),
    "noise of a generator of its own": Plant(
        noise(own_generator()), (X,), "random function", cites="allenai/OLMo-core#828"
    ),
    "mask drawn anew": Plant(
        dropped_anew(),
        (X,),
        "pulling back twice gives two answers | random",
        cites="openai/guided-diffusion#167",
    ),
    "push that meets a function without a rule": Plant(
        half_without_a_rule("push"), (X,), "NoRuleError", cites="jax-ml/jax#38610"
    ),
    "pull that meets a function without a rule": Plant(
        half_without_a_rule("pull"), (X,), "NoRuleError", cites="jax-ml/jax#38610"
    ),
    "nothing for a float": Plant(
        nothing_for_a_float(), (X, Z), "zero for argument 2", cites="FluxML/Zygote.jl#1121"
    ),
    "not connected to its cotangent": Plant(
        halves(lambda x: x * x, lambda t, x: t * 2.0 * x, unconnected),
        (POSITIVE,),
        "second order wrong",
        cites="pytorch/pytorch#1712",
    ),
}
