"""Whole numbers that wrap on the way to a value: derivatives are of the value, in any program."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_compat import custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, jvp

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.usefixtures("double"),
]
NUMBERS = {
    "uint8": (200, lambda s: s * 77 + 33),
    "uint32": (2**31 + 5, lambda s: s * 1664525 + 1013904223),
    "int32": (2**30 + 5, lambda s: s * 1664525 + 1013904223),
}


def by_rule(factor):
    @primitive
    def f(x, s):
        return x * factor(s)

    @rule(f)
    def f_rule(x, s):
        k = factor(s)
        return f(x, s), (LinearMap(lambda t, k: t * k, lambda g, k: g * k, k), NoTangent())

    return f


def by_rrule(factor):
    @primitive
    def f(x, s):
        return x * factor(s)

    @rrule.register(f)
    def f_rrule(x, s):
        return f(x, s), lambda y_bar: (y_bar * factor(s), NoTangent())

    return f


def by_frule(factor):
    @primitive
    def f(x, s):
        return x * factor(s)

    @frule.register(f)
    def f_frule(dots, x, s):
        return f(x, s), dots[0] * factor(s)

    return f


def by_custom_vjp(factor):
    f = custom_vjp(lambda x, s: x * factor(s))
    f.defvjp(lambda x, s: (f(x, s), s), lambda s, g: (g * factor(s), None))
    return f


def by_custom_jvp(factor):
    f = custom_jvp(lambda x, s: x * factor(s))
    f.defjvp(lambda xs, ts: (f(*xs), ts[0] * factor(xs[1])))
    return f


def by_scalar_rule(factor):
    f = primitive(lambda x, s: x * factor(s))
    scalar_rule(f, lambda _y, x, s: factor(s) + 0.0 * x, None)
    return f


FORMS = by_rule, by_rrule, by_frule, by_custom_vjp, by_custom_jvp


def in_tape(f, s):
    return grad(lambda x: f(x, s))(np.float64(1.0)), jvp(lambda x: f(x, s), (1.0,), (1.0,))[1]


def in_torch(f, s):
    torch = pytest.importorskip("torch")
    x, s = torch.tensor(1.0, dtype=torch.float64), torch.tensor(s)
    g = export(f, to="torch")
    slope = torch.func.grad(g)
    push = lambda x, s: torch.func.jvp(lambda x: g(x, s), (x,), (torch.ones_like(x),))[1]
    found = [slope(x, s), push(x, s), torch.vmap(slope)(x[None], s[None])]
    if s.dtype == torch.uint8:
        found.append(torch.compile(slope, backend="aot_eager")(x, s))
    return found


def in_jax(f, s):
    jax = pytest.importorskip("jax")
    s, x, g = jax.numpy.asarray(s), jax.numpy.asarray(1.0), export(f, to="jax")
    slope = jax.grad(g)
    turn = lambda total, s: (total + slope(x, s), None)
    return [
        slope(x, s), jax.jit(slope)(x, s), jax.grad(jax.jit(g))(x, s), jax.jit(jax.jacfwd(g))(x, s),
        jax.vmap(slope, (None, 0))(x, s[None]), jax.lax.scan(turn, 0.0 * x, s[None])[0],
        jax.grad(jax.checkpoint(g))(x, s), jax.linearize(jax.jit(lambda x: g(x, s)), x)[1](x),
    ]  # fmt: skip


ENGINES = {"tape": in_tape, "torch": in_torch, "jax": in_jax}


def test_partials_are_of_real_numbers_so_that_it_is_refused():
    number, factor = NUMBERS["uint8"]
    f, s = by_scalar_rule(factor), np.uint8(number)
    for call in (lambda: grad(lambda x: f(x, s))(1.0), lambda: jvp(f, (1.0, s), (1.0, 0.0))):
        with pytest.raises(NotDifferentiableError, match=r"which wrap, and 15433\.0 of the real"):
            call()
    assert grad(lambda x: f(x, np.uint8(1)))(1.0) == 110.0


def test_so_it_is_nan_where_nobody_can_look():
    jax = pytest.importorskip("jax")
    number, factor = NUMBERS["uint8"]
    slope = jax.jit(jax.grad(export(by_scalar_rule(factor), to="jax")))
    assert np.isnan(slope(1.0, jax.numpy.uint8(number)))
    assert slope(1.0, jax.numpy.uint8(1)) == 110.0


def test_a_key_keeps_its_bits():
    jax = pytest.importorskip("jax")

    @primitive
    def noisy(x, key):
        return x * jax.random.normal(key, x.shape)

    @rule(noisy)
    def noisy_rule(x, key):
        n = jax.random.normal(key, x.shape)
        return noisy(x, key), (LinearMap(lambda t, n: t * n, lambda g, n: g * n, n), NoTangent())

    f, key, x = export(noisy, to="jax"), jax.random.PRNGKey(0), jax.numpy.ones(3)
    slope = jax.grad(lambda x: f(x, key).sum())
    for found in (slope(x), jax.jit(slope)(x)):
        np.testing.assert_allclose(found, jax.random.normal(key, (3,)), rtol=1e-6)
