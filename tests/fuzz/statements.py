"""Rules stated in part: every constructor, for some types, through every door and engine.

The body of each function is the square, and every rule states 7 x for its derivative: so an answer
tells whose derivative it is. It is the stated one, or an error; the body's never.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    Array,
    ChainRulesError,
    ForwardMode,
    LinearMap,
    ReverseMode,
    Scalar,
    Tangent,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, linearize, vjp

SLOPE = 7.0
"""What every rule states, where the body has 2."""


@dataclasses.dataclass
class Box:
    """A structure of one field."""

    a: Any


# ------------------------------------------------------------------------------- the statements


def both(f: Any, types: Any) -> None:
    """Both halves."""

    @rule(f, types=types)
    def f_rule(x):  # type: ignore[no-untyped-def]
        push = lambda t, a: SLOPE * a * entry(t)
        pull = lambda t, a: wrapped(x, SLOPE * a * t)
        return f(x), (LinearMap(push, pull, entry(x)),)


def push_alone(f: Any, types: Any) -> None:
    """A map without its pull."""

    @rule(f, types=types)
    def f_rule(x):  # type: ignore[no-untyped-def]
        return f(x), (LinearMap(lambda t, a: SLOPE * a * entry(t), None, entry(x)),)


def pull_alone(f: Any, types: Any) -> None:
    """A map without its push."""

    @rule(f, types=types)
    def f_rule(x):  # type: ignore[no-untyped-def]
        return f(x), (LinearMap(None, lambda t, a: wrapped(x, SLOPE * a * t), entry(x)),)


def reverse(f: Any, types: Any, requires: Any = ()) -> None:
    """A pullback alone."""
    if requires:

        @rrule.register(f, types=types, requires=requires)
        def f_asking(config, x):  # type: ignore[no-untyped-def]
            return f(x), lambda y_bar: (wrapped(x, SLOPE * entry(x) * y_bar),)

    else:

        @rrule.register(f, types=types)
        def f_rrule(x):  # type: ignore[no-untyped-def]
            return f(x), lambda y_bar: (wrapped(x, SLOPE * entry(x) * y_bar),)


def forward(f: Any, types: Any, requires: Any = ()) -> None:
    """A pushforward alone."""
    if requires:

        @frule.register(f, types=types, requires=requires)
        def f_asking(config, tangents, x):  # type: ignore[no-untyped-def]
            return f(x), SLOPE * entry(x) * entry(tangents[0])

    else:

        @frule.register(f, types=types)
        def f_frule(tangents, x):  # type: ignore[no-untyped-def]
            return f(x), SLOPE * entry(x) * entry(tangents[0])


def halves(f: Any, types: Any) -> None:
    """Both modes, each by itself."""
    reverse(f, types)
    forward(f, types)


def partial(f: Any, types: Any) -> None:
    """A partial derivative, for arrays and numbers."""
    scalar_rule(f, lambda _y, x: SLOPE * x)


def pair(f: Any, types: Any) -> None:
    """Forward and backward functions."""
    backward = lambda x, y_bar: (wrapped(x, SLOPE * entry(x) * y_bar),)
    augmented_rule(f, lambda x: (f(x), (x,)), backward, types=types)


CONSTRUCTORS: dict[str, Callable[[Any, Any], None]] = {
    "rule": both,
    "rule without pull": push_alone,
    "rule without push": pull_alone,
    "rrule": reverse,
    "frule": forward,
    "rrule and frule": halves,
    "rrule, requires reverse": lambda f, types: reverse(f, types, ReverseMode),
    "frule, requires forward": lambda f, types: forward(f, types, ForwardMode),
    "scalar_rule": partial,
    "augmented_rule": pair,
}
CUSTOM = ("custom_vjp", "custom_jvp")
TYPES: dict[str, Any] = {
    "no types": None,
    "float": (float,),
    "ndarray": (np.ndarray,),
    "Array": (Array,),
    "Scalar": (Scalar,),
    "dict": (dict,),
    "list": (list,),
    "Box": (Box,),
    "object": (object,),
}


def stated(constructor: str, types: Any) -> Any:
    """Make a square for which 7 x is stated."""

    def square(x, /):  # type: ignore[no-untyped-def]
        return entry(x) * entry(x)

    if constructor in CUSTOM:
        f: Any = (custom_vjp if constructor == "custom_vjp" else custom_jvp)(square)
        if constructor == "custom_vjp":
            f.defvjp(lambda x: (f(x), x), lambda x, b: (wrapped(x, SLOPE * entry(x) * b),))
        else:
            f.defjvp(lambda xs, ts: (f(*xs), SLOPE * entry(xs[0]) * entry(ts[0])))
        return f
    f = primitive(square)
    CONSTRUCTORS[constructor](f, types)
    return f


# -------------------------------------------------------------------------------- the operands


def entry(x: Any) -> Any:
    """Return the one array or number in an operand, or in its tangent."""
    if isinstance(x, Tangent):
        return next(t for _, t in x.fields())
    if isinstance(x, Box):
        return x.a
    return x["a"] if isinstance(x, dict) else x[0] if isinstance(x, list) else x


def wrapped(x: Any, t: Any) -> Any:
    """Return a tangent of an operand with this entry."""
    if isinstance(x, Box):
        return Tangent[Box](a=t)
    if isinstance(x, dict):
        return Tangent[dict[Any, Any]]({"a": t})
    return Tangent[list[Any]](t) if isinstance(x, list) else t


POINTS: dict[str, Callable[[Any], Any]] = {
    "float": lambda a: 3.0,
    "float64": lambda a: np.float64(3.0),
    "0-d": lambda a: a(3.0),
    "vector": lambda a: a([3.0, 5.0]),
    "float32": lambda a: np.array([3.0, 5.0], np.float32),
    "dict": lambda a: {"a": a([3.0, 5.0])},
    "list": lambda a: [3.0],
    "Box": lambda a: Box(a([3.0, 5.0])),
}


def _like(x: Any, t: Any) -> Any:
    return (
        Box(t) if type(x) is Box else {"a": t} if type(x) is dict else [t] if type(x) is list else t
    )


def _ones(x: Any) -> Any:
    one = np.ones_like(entry(x))
    return _like(x, one if np.ndim(entry(x)) or isinstance(entry(x), np.ndarray) else 1.0)


# ----------------------------------------------------------------------------------- the doors
# Each gives what stands in the place of 7 x: in second order of x * f(x), where 21 x is due, a
# third of it.


def _sum(f: Any) -> Any:
    return lambda x: np.sum(f(x))


def _bent(f: Any) -> Any:
    return lambda x: np.sum(entry(x) * f(x))


def _taped(f: Any, x: Any, **keywords: Any) -> Any:
    with Tape(**keywords) as tape:
        v = tape.variable(x)
        y = np.sum(f(v))
        return tape.grad(y, v)


def _inner(t: Any) -> Any:
    while isinstance(t, (Tangent, Box, dict, list, tuple)):
        t = t[0] if isinstance(t, tuple) else entry(t)
    return np.asarray(t)


def _diagonal(rows: Any) -> Any:
    rows = _inner(rows)
    return rows if rows.ndim < 2 else np.diag(rows)


def _third(t: Any) -> Any:
    return _inner(t) / 3


TAPE: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: entry(grad(_sum(f))(x)),
    "vjp": lambda f, x: entry(vjp(f, x)[1](np.ones_like(entry(x)))[0]),
    "jvp": lambda f, x: jvp(f, (x,), (_ones(x),))[1],
    "linearize": lambda f, x: linearize(f, x)[1](_ones(x)),
    "jacobian forward": lambda f, x: _diagonal(jacobian(f, mode="forward")(x)),
    "jacobian reverse": lambda f, x: _diagonal(jacobian(f, mode="reverse")(x)),
    "Tape": lambda f, x: entry(_taped(f, x)),
    "Tape(differentiable)": lambda f, x: getattr(
        r := entry(_taped(f, x, differentiable=True)), "value", r
    ),
    "rrule": lambda f, x: entry(rrule(f, x)[1](np.ones_like(entry(x)))[0]),
    "frule": lambda f, x: frule((wrapped(x, entry(_ones(x))),), f, x)[1],
    "hvp": lambda f, x: _third(hvp(_bent(f), (x,), (_ones(x),))),
    "hessian": lambda f, x: _third(_diagonal(hessian(_bent(f))(x))),
    "grad of jvp": lambda f, x: _third(grad(lambda x: jvp(_bent(f), (x,), (_ones(x),))[1])(x)),
    "jvp of jvp": lambda f, x: _third(
        jvp(lambda x: jvp(_bent(f), (x,), (_ones(x),))[1], (x,), (_ones(x),))[1]
    ),
}


def _torch(f: Any, x: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")

    g, a = export(f, to="torch"), torch.tensor(np.asarray(entry(x), np.float64))
    h: Any = lambda a: g(_like(x, a))
    if door == "jvp":
        return torch.func.jvp(h, (a,), (torch.ones_like(a),))[1].numpy()
    if door == "dual":
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            y = h(forward_ad.make_dual(a, torch.ones_like(a)))
            return forward_ad.unpack_dual(y).tangent.numpy()
    if door == "backward":
        h(a.requires_grad_()).sum().backward()
        return a.grad.numpy()
    return torch.func.grad(lambda a: h(a).sum())(a).numpy()


def _jax(f: Any, x: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")

    g, a = export(f, to="jax"), jax.numpy.asarray(np.asarray(entry(x), np.float64))
    h: Any = lambda a: g(_like(x, a))
    push = lambda a: jax.jvp(h, (a,), (jax.numpy.ones_like(a),))[1]
    pull = jax.grad(lambda a: jax.numpy.sum(h(a)))
    run = push if "jvp" in door else pull
    return np.asarray(jax.jit(run)(a) if "jit" in door else run(a))


def _autograd(f: Any, x: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")

    g, a = export(f, to="autograd"), np.asarray(entry(x), np.float64)
    h: Any = lambda a: g(_like(x, a))
    if door == "jvp":
        return autograd.make_jvp(h)(a)(np.ones_like(a))[1]
    return autograd.grad(lambda a: importlib.import_module("autograd.numpy").sum(h(a)))(a)


def _mlx(f: Any, x: Any, door: str) -> Any:
    mx: Any = importlib.import_module("mlx.core")

    g, a = export(f, to="mlx"), mx.array(np.asarray(entry(x), np.float32))
    h: Any = lambda a: g(_like(x, a))
    push = lambda a: mx.jvp(h, [a], [mx.ones_like(a)])[1][0]
    pull = mx.grad(lambda a: mx.sum(h(a)))
    run = push if "jvp" in door else pull
    return np.asarray((mx.compile(run) if "compile" in door else run)(a))


DOORS: dict[tuple[str, str], Callable[[Any, Any], Any]] = {
    **{("tape", door): run for door, run in TAPE.items()},
    **{
        (engine, door): functools.partial(run, door=door)
        for engine, run, doors in (
            ("torch", _torch, ("grad", "jvp", "dual", "backward")),
            ("jax", _jax, ("grad", "jvp", "jit grad", "jit jvp")),
            ("autograd", _autograd, ("grad", "jvp")),
            ("mlx", _mlx, ("grad", "jvp", "compile grad", "compile jvp")),
        )
        for door in doors
    },
}


# ------------------------------------------------------------------------------------ the judge


def everything() -> list[tuple[str, str, str, tuple[str, str]]]:
    """List all draws: constructor, types, operand and door."""
    constructors = [*CONSTRUCTORS, *CUSTOM]
    return list(itertools.product(constructors, TYPES, POINTS, DOORS))


def sample(seed: int, n: int, engines: tuple[str, ...] = ("tape",)) -> Iterator[Any]:
    """Draw some of them, without return."""
    among = [draw for draw in everything() if draw[3][0] in engines]
    yield from random.Random(seed).sample(among, min(n, len(among)))


def verdict(constructor: str, types: str, point: str, door: tuple[str, str]) -> str:
    """Tell what a draw gives: "stated", "error: ...", or what is wrong."""
    f, x = stated(constructor, TYPES[types]), POINTS[point](np.array)
    try:
        found = DOORS[door](f, x)
    except ChainRulesError as error:
        return f"error: {type(error).__name__}"
    except Exception as error:  # which says nothing of rules
        return f"wrong: {type(error).__name__}: {error}"
    due: Any = SLOPE * np.asarray(entry(x), np.float64)
    if door[1] == "jvp of jvp":
        due = np.sum(due)
    return "stated" if np.allclose(_inner(found), due) else f"wrong: {found} for {due}"


def wrong(constructor: str, types: str, point: str, door: tuple[str, str]) -> str:
    """Tell what is wrong: neither what is stated nor an error; or an error where a rule fits."""
    said = verdict(constructor, types, point, door)
    halves = ("scalar_rule", "rule without pull", "rule without push")
    fits = types == "object" and constructor not in halves
    if "requires" in constructor and door[1] in ("frule", "rrule"):
        fits = False  # they name no engine
    return said if said.startswith("wrong") or (fits and said != "stated") else ""
