"""Whole numbers that wrap on the way to a value: the same derivative in every engine."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    NoTangent,
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


AS_IT_IS = by_rule, by_rrule, by_custom_vjp
FORMS = *AS_IT_IS, by_frule, by_custom_jvp, by_scalar_rule


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


def expected(kind, s, of_the_value):
    """The derivative for a whole number as it is, or for the real number that it is."""
    factor = NUMBERS[kind][1]
    return float(factor(np.asarray(s)[None])[0] if of_the_value else factor(float(s)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("form", FORMS)
def test_the_derivative(form, kind, engine):
    """An operand without a map is handed on as it is; partials and pushes see real numbers."""
    if engine == "torch" and kind == "uint32":
        pytest.skip("PyTorch computes little with uint32")
    number, factor = NUMBERS[kind]
    for s in (np.dtype(kind).type(number), np.dtype(kind).type(1)):
        want = expected(kind, s, form in AS_IT_IS)
        for found in ENGINES[engine](form(factor), s):
            np.testing.assert_allclose(np.asarray(found).ravel()[0], want, rtol=1e-6)


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
