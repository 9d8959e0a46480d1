"""Programs in which some values are taken to be constant, differentiated by every engine.

`ignore_derivatives` stands at random places of random programs: around values, in structures, as a
decorator. The derivative is that of the program whose constants were computed before, which
differences tell; exported to an engine it is the same, by each of its transformations.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import export, ignore_derivatives
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

X, U = np.array([0.3, 1.2, 0.7]), np.array([1.0, -0.5, 2.0])

_UNARY = (v.sin, v.cos, v.exp, v.tanh, v.square, v.negative)
_BINARY = (v.add, v.subtract, v.multiply)
Program = Callable[[Any, dict[float, Any]], Any]


def program(seed: int) -> Callable[..., Any]:
    """Make a function of x, and of the constants in it: they are computed where there are none."""
    draw = random.Random(seed)

    def held(x: Any, how: int) -> Any:
        if how == 0:
            return ignore_derivatives(x)
        if how == 1:
            return ignore_derivatives({"a": [x], "b": (2.0, x)})["a"][0]
        return ignore_derivatives(lambda y: v.add(y, 0.0))(x)

    def made(depth: int) -> Program:
        kind = draw.random()
        if depth == 0:
            return lambda x, _: x
        if kind < 0.35:
            inner, how, place = made(depth - 1), draw.randrange(3), draw.random()

            def constant(x: Any, kept: dict[float, Any]) -> Any:
                if place not in kept:
                    kept[place] = held(inner(x, kept), how)
                return kept[place]

            return constant
        if kind < 0.55:
            operation, of = draw.choice(_UNARY), made(depth - 1)
            return lambda x, kept: operation(of(x, kept))
        both, left, right = draw.choice(_BINARY), made(depth - 1), made(depth - 1)
        return lambda x, kept: both(left(x, kept), right(x, kept))

    body, constant = made(3), made(2)
    whole: Program = lambda x, kept: v.multiply(body(x, kept), v.add(v.sin(x), constant(x, kept)))

    return lambda x, kept=None: v.sum(whole(x, {} if kept is None else kept))


def differences(f: Any) -> Any:
    """Return the gradient by differences, of the function whose constants stay what they are."""
    known: dict[float, Any] = {}
    f(X, known)
    h = 1e-6
    steps = h * np.eye(3)
    return np.array([(f(X + e, known) - f(X - e, known)) / (2 * h) for e in steps])


def _torch(f: Any, door: str) -> Any:
    torch: Any = importlib.import_module("torch")
    g, x = export(f, to="torch"), torch.tensor(X)
    if door == "backward":
        y = g(x.requires_grad_())
        found = torch.autograd.grad(y, x, allow_unused=True)[0] if y.requires_grad else None
        return np.zeros(3) if found is None else found
    if door == "jvp":
        return torch.func.jvp(g, (x,), (torch.tensor(U),))[1]
    if door == "vmap":
        return torch.func.vmap(torch.func.grad(g))(torch.stack([2 * x, x]))[1]
    return getattr(torch.func, door)(g)(x)


def _jax(f: Any, door: str) -> Any:
    jax: Any = importlib.import_module("jax")
    g, x = export(f, to="jax"), jax.numpy.asarray(X)
    if door == "jvp":
        return jax.jvp(g, (x,), (jax.numpy.asarray(U),))[1]
    if door == "vmap":
        return jax.vmap(jax.grad(g))(jax.numpy.stack([2 * x, x]))[1]
    if door == "staged":
        traced = jax.make_jaxpr(jax.grad(g))(x)
        return jax.core.eval_jaxpr(traced.jaxpr, traced.consts, x)[0]
    return jax.jit(jax.grad(g))(x) if door == "jit" else getattr(jax, door)(g)(x)


def _autograd(f: Any, door: str) -> Any:
    autograd: Any = importlib.import_module("autograd")
    g = export(f, to="autograd")
    return autograd.make_jvp(g)(X)(U)[1] if door == "jvp" else autograd.grad(g)(X)


DOORS: dict[tuple[str, str], Any] = {
    ("tape", "grad"): lambda f: grad(f)(X),
    ("tape", "jvp"): lambda f: jvp(f, (X,), (U,))[1],
    **{
        (engine, door): functools.partial(run, door=door)
        for engine, run, doors in (
            ("torch", _torch, "backward grad jacfwd jacrev jvp vmap"),
            ("jax", _jax, "grad jacfwd jvp jit vmap staged"),
            ("autograd", _autograd, "grad jvp"),
        )
        for door in doors.split()
    },
}


def sample(start: int, n: int) -> Iterator[tuple[int, tuple[str, str]]]:
    """Draw programs, each with the next of the doors."""
    yield from zip(range(start, start + n), itertools.cycle(DOORS), strict=False)


EAGER = [door for door in DOORS if door != ("jax", "jit")]
"""All but the one by which each program is compiled: that takes 30 ms, of which ours is none.

In its place stands the program that JAX would compile, run as it is.
"""


def verdict(seed: int, door: tuple[str, str]) -> str:
    """Tell what is wrong with a derivative; the empty text if nothing is."""
    f = program(seed)
    due = differences(f)
    due = due @ U if door[1] == "jvp" else due
    found = np.asarray(DOORS[door](f), float)
    close = np.allclose(found, due, rtol=1e-5, atol=1e-6)
    return "" if close else f"{found} for {due}"
