"""Python's numbers that JAX hands on as literals of its programs, wherever they enter.

Truth: the same call with an array of JAX's for the number.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chainrules_jax import callback, export, import_rule
from chainrules_py import LinearMap, NoTangent, Tangent, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v

pytestmark = pytest.mark.usefixtures("double")

Two = Callable[[Any, Any], Any]


@primitive
def scaled(x, k):
    return x * x * k


scalar_rule(scaled, lambda _y, x, k: 2 * x * k, lambda _y, x, _k: x * x, complex="holomorphic")


@primitive
def wave(x, k):
    return np.sin(x) * k


callback(wave)
scalar_rule(wave, lambda _y, x, k: v.cos(x) * k, lambda _y, x, _k: v.sin(x))


class Pair(NamedTuple):
    x: Any
    k: Any


@primitive
def held(p):
    x, k = p.values() if isinstance(p, dict) else p
    return x * x * k


@rule(held)
def held_rule(p: object):
    names = tuple(p) if isinstance(p, dict) else getattr(p, "_fields", (0, 1))
    x, k = p.values() if isinstance(p, dict) else p

    def pull(g, x, k):
        parts = 2 * g * x * k, NoTangent() if isinstance(k, int) else g * x * x
        if isinstance(p, Pair):
            return Tangent[Pair](**dict(zip(names, parts, strict=True)))
        return dict(zip(names, parts, strict=True)) if isinstance(p, dict) else parts

    def push(t, x, k):
        return 2 * t[names[0]] * x * k + t[names[1]] * x * x

    return held(p), (LinearMap(push, pull, x, k),)


@primitive
def held_reverse(p):
    return p[0] ** 2 * p[1]


@rrule.register(held_reverse)
def held_reverse_rrule(p: tuple):
    x, k = p
    return held_reverse(p), lambda g: ((2 * g * x * k, NoTangent()),)


FUNCTIONS: dict[str, Two] = {
    "hypot": v.hypot,
    "pow": v.pow,
    "exported hypot": export(np.hypot),
    "exported power": export(np.power),
    "exported clip": lambda x, k: export(np.clip)(x, 0.1, k),
    "scalar_rule": export(scaled),
    "callback": export(wave),
    "imported": export(import_rule(lambda x, k: jnp.sin(x) * k)),
    "root": lambda x, k: v.root(lambda z: z**3 + k * z - x, jnp.asarray(1.0)),
    "root of a pair": lambda x, k: v.root(lambda z, p: z**3 + p[1] * z - p[0], 1.0, (x, k)),
    "fixed_point": lambda x, k: v.fixed_point(lambda z: v.cos(z * x) * k / 9, jnp.asarray(0.1)),
    "minimize": lambda x, k: v.minimize(lambda z: (z - x * k) ** 2, jnp.asarray(0.5)),
    "linear_solve": lambda x, k: v.linear_solve(lambda z: z * (x + k), jnp.ones(2)).sum(),
    "odeint": lambda x, k: v.odeint(lambda y, _: -x * k * y, 1.0, jnp.array([0.0, 0.5]))[-1],
    "scan": lambda x, k: v.scan(lambda c, z: (c * z * k * x, c), 1.0, jnp.ones(2))[0],
}
HELD: dict[str, Two] = {
    "tuple": lambda x, k: export(held)((x, k)),
    "dict": lambda x, k: export(held)({"x": x, "k": k}),
    "NamedTuple": lambda x, k: export(held)(Pair(x, k)),
    "rrule.register": lambda x, k: export(held_reverse)((x, k)),
}


def custom_jvp(f: Two) -> Two:
    made: Any = jax.custom_jvp(f)
    made.defjvp(lambda xs, ts: jax.jvp(f, xs, ts))
    return made  # type: ignore[no-any-return]


def custom_vjp(f: Two) -> Two:
    made: Any = jax.custom_vjp(f)
    made.defvjp(lambda *xs: (f(*xs), xs), lambda xs, g: (g * jax.grad(f)(*xs), None))
    return made  # type: ignore[no-any-return]


def cond(f: Two) -> Two:
    return lambda x, k: jax.lax.cond(x > -1, lambda: f(x, k), lambda: x)


X = np.array([0.3, 0.8])


def over(f: Two) -> Two:
    return lambda xs, k: jax.vmap(jax.grad(f), (0, None))(xs, k)


WAYS: dict[str, Callable[[Two], Two]] = {
    "vmap of custom_jvp": lambda f: over(custom_jvp(f)),
    "vmap of custom_vjp": lambda f: over(custom_vjp(f)),
    "vmap of cond": lambda f: lambda xs, k: jax.vmap(jax.grad(lambda x: cond(f)(x, k)))(xs),
    "vmap of checkpoint": lambda f: over(jax.checkpoint(f)),
    "custom_jvp": lambda f: lambda xs, k: jax.grad(custom_jvp(f))(xs[1], k),
    "vjp": lambda f: lambda xs, k: jax.vjp(f, xs[1], k)[1](jnp.ones(()))[0],
    "grad, allow_int": lambda f: lambda xs, k: jax.grad(f, (0, 1), allow_int=True)(xs[1], k)[0],
}
SHORT = ("vmap of custom_jvp", "grad, allow_int")
CASES = [
    pytest.param(
        *(f, way, k),
        marks=() if name in HELD and how in SHORT else pytest.mark.slow,
        id=f"{name}-{how}-{k}",
    )
    for name, f in (FUNCTIONS | HELD).items()
    for how, way in WAYS.items()
    for k in (2, 0.7)
]


@pytest.mark.parametrize("f, way, k", CASES)
def test_a_literal_counts_as_the_number_that_it_stands_for(f: Two, way: Any, k: Any) -> None:
    np.testing.assert_allclose(way(f)(X, k), way(f)(X, jnp.asarray(k)), rtol=1e-9)


def test_complex_numbers_and_truth_values_are_taken() -> None:
    def size(f: Two) -> Two:
        return lambda x, k: v.abs(f(x, k)) ** 2

    for k in (0.3 + 0.4j, True):
        for f in (export(scaled), functools.partial(lambda f, *xs: f(xs), export(held))):
            way = over(custom_jvp(size(f)))
            np.testing.assert_allclose(way(X, k), way(X, jnp.asarray(k)), rtol=1e-9)
