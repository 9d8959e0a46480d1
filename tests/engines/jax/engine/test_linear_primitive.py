"""Pulls of what is mapped over, or differentiated: as they are written, and no program around them.

Truth: the derivative by hand, call by call.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.bench_jax import wave
from benchmarks.counts import calls
from chainrules_jax import export
from chainrules_jax.engine import linear_primitive
from chainrules_kit.custom_derivatives import augmented_rule, custom_vjp
from chainrules_py import NotDifferentiableError, ZeroTangent, primitive, rrule
from chainrules_py import ops as v
from chainrules_py.primitives.closures import convert

SINGLE = jnp.float32  # whatever others have set jax_enable_x64 to
X = jnp.linspace(0.1, 2.3, 12, dtype=SINGLE).reshape(3, 4)
W = jnp.array([0.5, -1.0, 2.0, 0.25], SINGLE)


@primitive
def bent(x, w):
    """A function of two arrays: one may be shared by all calls of a batch."""
    return v.sum(v.sin(x) * w)


@rrule.register(bent)
def bent_rrule(x, w):
    return bent(x, w), lambda c: (c * v.cos(x) * w, c * v.sin(x))


@primitive
def still(x, w):
    """A function whose pull gives nothing of its second operand."""
    return v.sum(v.sin(x))


@rrule.register(still)
def still_rrule(x, w):
    return still(x, w), lambda c: (c * v.cos(x), ZeroTangent())


SLOPES = {"bent": lambda x, w: (np.cos(x) * w, np.sin(x)), "still": lambda x, w: (np.cos(x), 0 * w)}
MAPS = {
    "one": (lambda g: jax.vmap(g, (0, None)), X, W),
    "both": (jax.vmap, X, jnp.stack([W, 2 * W, 3 * W])),
    "last axis": (lambda g: jax.vmap(g, (1, None)), X.T, W),
    "nested": (lambda g: jax.vmap(jax.vmap(g, (0, None)), (0, None)), X[None], W),
    "named": (lambda g: jax.vmap(g, (0, None), axis_name="i"), X, W),
    "compiled": (lambda g: jax.jit(jax.vmap(g, (0, None))), X, W),
}


@pytest.mark.parametrize("over", MAPS)
@pytest.mark.parametrize("f", [bent, still], ids=lambda f: f.__name__)
def test_gradients_are_mapped_over(f, over):
    mapped, x, w = MAPS[over]
    found = mapped(jax.grad(export(f), (0, 1)))(x, w)
    x = np.asarray(x).T if over == "last axis" else np.asarray(x)
    for y, want in zip(found, SLOPES[f.__name__](x, np.asarray(w)), strict=True):
        np.testing.assert_allclose(y, np.broadcast_to(want, x.shape), rtol=1e-5)


def test_gradients_that_are_mapped_over_are_differentiated():
    f = export(bent)

    def total(x, w):
        return jnp.sum(jax.vmap(jax.grad(f), (0, None))(x, w) ** 2)

    by_x, by_w = jax.grad(total, (0, 1))(X, W)
    x, w = np.asarray(X), np.asarray(W)
    np.testing.assert_allclose(by_x, -2 * np.cos(x) * np.sin(x) * w**2, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_w, np.sum(2 * np.cos(x) ** 2 * w, 0), rtol=1e-4)
    moved = jax.jvp(lambda w: total(X, w), (W,), (jnp.ones_like(W),))[1]
    np.testing.assert_allclose(moved, np.sum(by_w), rtol=1e-4)


def test_a_gradient_that_is_mapped_over_costs_no_program_and_no_search(monkeypatch):
    """It took 1.4 of the same rule by hand: one more map per pull, and a search of the push."""
    run, x = jax.vmap(jax.grad(export(wave))), jnp.ones(4, SINGLE)
    run(x)
    pulled, looked = [], []
    bind, search = linear_primitive.linear_p.bind, convert._search
    monkeypatch.setattr(
        linear_primitive.linear_p, "bind", lambda *xs, **p: pulled.append(xs) or bind(*xs, **p)
    )
    monkeypatch.setattr(convert, "_search", lambda *xs, **p: looked.append(xs) or search(*xs, **p))
    np.testing.assert_allclose(run(x), np.cos(1.0) * np.ones(4), rtol=1e-5)
    # Where JAX notes the derivative, and since 0.11.1 where it maps; not where it pulls.
    assert len(pulled) == (1 if jax.__version_info__ < (0, 11, 1) else 2)
    assert not looked
    assert calls(lambda: run(x)) <= 280  # with the door of results


# What is all that is stated of a function is differentiated as it is written: with JAX's own
# custom_vjp of the same functions for the truth.

HALVES = {
    "clipped": (lambda g, x: v.clip(g, -1.0, 1.0), lambda g, x: jnp.clip(g, -1.0, 1.0)),
    "clipped with x": (lambda g, x: v.clip(g * x, -1, 1), lambda g, x: jnp.clip(g * x, -1, 1)),
    "shifted": (lambda g, x: g * x + 1.0, lambda g, x: g * x + 1.0),
    "bent": (lambda g, x: v.tanh(g) * x, lambda g, x: jnp.tanh(g) * x),
    "in JAX": (lambda g, x: jnp.tanh(g) * x, lambda g, x: jnp.tanh(g) * x),
    "linear": (lambda g, x: 2 * g * v.sin(x), lambda g, x: 2 * g * jnp.sin(x)),
}


def squared(x):
    return x * x


def by_rrule(half):
    f = primitive(lambda x: squared(x))
    rrule.register(f)(lambda x: (f(x), lambda g: (half(g, x),)))
    return export(f)


def by_custom_vjp(half):
    f = custom_vjp(lambda x: squared(x))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (half(g, x),))
    return export(f)


def by_augmented_rule(half):
    f = primitive(lambda x: squared(x))
    augmented_rule(f, lambda x: (f(x), (x,)), lambda x, g: (half(g, x),))
    return export(f)


def of_jax(half):
    f = jax.custom_vjp(squared)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (half(g, x),))
    return f


def loss(f):
    return lambda x: f(x) ** 3 + jnp.sin(f(x)) * x


def over(f, xs):
    return jnp.sum(jax.vmap(loss(f))(xs))


XS = jnp.array([0.3, 0.8, 1.3], SINGLE)
TWICE = {
    "grad": lambda f: jax.grad(jax.grad(loss(f)))(0.3),
    "jit": lambda f: jax.jit(jax.grad(jax.grad(loss(f))))(1.3),
    "vmap": lambda f: jax.vmap(jax.grad(jax.grad(loss(f))))(XS),
    "of vmap": lambda f: jax.jacrev(jax.grad(functools.partial(over, f)))(XS),
    "checkpoint": lambda f: jax.grad(jax.grad(jax.checkpoint(loss(f))))(0.4),
    "third": lambda f: jax.grad(jax.grad(jax.grad(loss(f))))(0.7),
    "in the seed": lambda f: jax.grad(lambda t: jax.vjp(f, 0.9)[1](t)[0])(1.7),
    "along the seed": lambda f: jax.jvp(lambda t: jax.vjp(f, 0.9)[1](t)[0], (1.7,), (0.5,))[1],
}


@pytest.mark.parametrize("form", [by_rrule, by_custom_vjp, by_augmented_rule])
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("clipped", "in JAX") else pytest.param(name, marks=pytest.mark.slow)
        for name in HALVES
    ],
)
def test_a_pull_is_differentiated_as_it_is_written(name, form):
    ours, theirs = HALVES[name]
    f, truth = form(ours), of_jax(theirs)
    for way, derivative in TWICE.items():
        wanted = derivative(truth)
        np.testing.assert_allclose(derivative(f), wanted, rtol=2e-5, err_msg=f"{way} of {name}")


@pytest.mark.parametrize("form", [by_rrule, by_custom_vjp, by_augmented_rule])
def test_what_needs_the_push_of_a_pull_that_is_not_linear_is_refused(form):
    f = form(HALVES["clipped"][0])
    for derivative in (jax.hessian, jax.jacfwd):
        with pytest.raises(NotDifferentiableError, match=r"not linear(.|\n)*@frule.register"):
            derivative(loss(f))(0.4)
    assert jax.hessian(loss(form(HALVES["linear"][0])))(0.4).shape == ()
