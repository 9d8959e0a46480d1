"""A constant that a rule adds to what is linear is refused where the rule is transposed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from chainrules_compat import augmented_rule, custom_jvp, custom_vjp
from chainrules_jax import export
from chainrules_jax.engine.zeros import adds_constant
from chainrules_py import (
    NoTangent,
    NotDifferentiableError,
    ZeroTangent,
    frule,
    linear_rule,
    primitive,
    rrule,
    scalar_rule,
)
from chainrules_py import vocabulary as v

SINGLE = jnp.float32  # whatever others have set jax_enable_x64 to
X, T = jnp.array([1.0, 2.0], SINGLE), jnp.array([1.0, 3.0], SINGLE)

ADDED = {
    "added": lambda x, g: 2 * x * g + 0.1 * x,
    "forgotten": lambda x, g: 2 * x,
    "a number": lambda x, g: 2 * x * g + 1.0,
    "times zero": lambda x, g: 2 * x + 0 * g,
    "where": lambda x, g: v.where(x > 1.5, 2 * x * g, 3.0),
    "joined": lambda x, g: v.concat(g[:1], x[1:], axis=0),
    "zeros by chance": lambda x, g: x * g + (x - X),
    "JAX's own": lambda x, g: jnp.add(jnp.multiply(x, g), x),
    "JAX's where": lambda x, g: jnp.where(x > 1.5, jnp.multiply(x, g), 3.0),
    "in JAX's scan": lambda x, g: lax.scan(lambda c, a: (c + a, c + a[0] + x), 0 * g, x * T)[1][0],
    "in JAX's branch": lambda x, g: lax.cond(
        x[0] > 0, lambda g: g + x, lambda g: g, jnp.abs(x) * g
    ),
}
KEPT = {
    "where": lambda x, g: v.where(x > 1.5, 2 * x * g, 0.0),
    "zeros": lambda x, g: x * g + v.zeros_like(x),
    "joined with zeros": lambda x, g: v.concat(g[:1], v.zeros_like(x[1:]), axis=0),
    "times zero": lambda x, g: x * g + 0.0 * x,
    "NumPy's zeros": lambda x, g: x * g + jnp.zeros(2, SINGLE),
    "no more than zeros": lambda x, g: v.zeros_like(x),
    "a ZeroTangent": lambda x, g: ZeroTangent(),
    "sums": lambda x, g: v.sum(g) * x + v.flip(g),
    "a system": lambda x, g: v.solve(v.from_diagonal(x, rows=2, columns=2), g) + 0 * x,
    "JAX's own": lambda x, g: jnp.dot(g, jnp.outer(x, x)),
    "JAX's where": lambda x, g: jnp.where(x > 1.5, jnp.multiply(x, g), 0.0),
    "in JAX's scan": lambda x, g: lax.scan(lambda c, a: (c * a, 0 * a), g, x)[0],
    "in JAX's branch": lambda x, g: lax.cond(x[0] > 0, lambda g: 2 * g, lambda g: g, x * g),
    "written to": lambda x, g: jnp.zeros(2, SINGLE).at[jnp.array([1, 0])].add(g),
    "a loop": lambda x, g: lax.fori_loop(0, 2, lambda i, c: c * x + jnp.zeros(2, SINGLE), g),
    "a system of JAX's": lambda x, g: jnp.linalg.solve(jnp.diag(x), g),
}


def by_rrule(half):
    f = primitive(lambda x: x * x)
    rrule.register(f)(lambda x: (f(x), lambda g: (half(x, g),)))
    return f


def by_vjp(half):
    f = custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: (half(x, g),))
    return f


def by_augmented(half):
    f = primitive(lambda x: x * x)
    augmented_rule(f, lambda x: (x * x, (x,)), lambda x, g: (half(x, g),))
    return f


def by_frule(half):
    f = primitive(lambda x: x * x)
    frule.register(f)(lambda ts, x: (f(x), half(x, ts[0])))
    return f


def by_jvp(half):
    f = custom_jvp(lambda x: x * x)
    f.defjvp(lambda xs, ts: (f(*xs), half(*xs, *ts)))
    return f


def pulled(f):
    return lambda x, t: jax.vjp(f, x)[1](t)[0]


def pushed(f):
    return lambda x, t: jax.jvp(f, (x,), (t,))[1]


REVERSE, FORWARD = (by_rrule, by_vjp, by_augmented), (by_frule, by_jvp)
WAYS = {
    "jit": lambda one, x, t: jax.jit(one)(x, t),
    "vmap": lambda one, x, t: jax.vmap(one)(jnp.stack([x, x]), jnp.stack([t, t]))[1],
    "jit of vmap": lambda one, x, t: jax.jit(jax.vmap(one))(x[None], t[None])[0],
    "vmap over tangents": lambda one, x, t: jax.vmap(lambda t: one(x, t))(t[None])[0],
    "scan": lambda one, x, t: lax.scan(lambda c, t: (c, one(x, t)), 0.0, t[None])[1][0],
    "checkpoint": lambda one, x, t: jax.checkpoint(one)(x, t),
    "jvp": lambda one, x, t: jax.jvp(lambda x: one(x, t), (x,), (0 * x,))[0],
}


def across(made, f):
    return pushed(f) if made in REVERSE else pulled(f)


def linearized(f):
    return lambda x, t: jax.linearize(f, x)[1](t)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("made", [*REVERSE, *FORWARD])
def test_a_constant_is_refused_wherever_a_half_is_transposed(made, how):
    f = export(made(ADDED["added"]))
    with pytest.raises(NotDifferentiableError, match="a constant is added to it"):
        WAYS[how](across(made, f), X, T)


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("made", [by_rrule, by_frule])
def test_every_constant_is_refused_in_a_program(made, name):
    f = export(made(ADDED[name]))
    for how in ("jit", "vmap"):
        with pytest.raises(NotDifferentiableError, match=r"cannot be transposed(.|\n)*rule: "):
            WAYS[how](across(made, f), X, T)


@pytest.mark.parametrize("name", [n for n in ADDED if n != "zeros by chance"])
@pytest.mark.parametrize("made", [by_rrule, by_frule])
def test_every_constant_is_refused_at_once(made, name):
    f = export(made(ADDED[name]))
    with pytest.raises(NotDifferentiableError, match="cannot be transposed"):
        across(made, f)(X, T)


@pytest.mark.parametrize("name", ["added", "forgotten", "times zero", "where", "JAX's own"])
def test_a_constant_is_refused_by_linearize_and_gradients(name):
    f, g = export(by_rrule(ADDED[name])), export(by_frule(ADDED[name]))
    for run in (
        lambda: linearized(f)(X, T),
        lambda: jax.jit(linearized(f))(X, T),
        lambda: jax.jit(jax.jacfwd(f))(X),
        lambda: jax.jit(jax.grad(lambda x: g(x).sum()))(X),
        lambda: jax.vmap(jax.grad(lambda x: g(x).sum()))(jnp.stack([X, T])),
        lambda: jax.jit(jax.hessian(lambda x: f(x).sum()))(X),
    ):
        with pytest.raises(NotDifferentiableError, match="a constant is added to it"):
            run()


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("made", [by_rrule, by_frule])
def test_zeros_are_no_constant(made, name):
    half = KEPT[name]
    f = export(made(half))
    if name == "a ZeroTangent":
        wanted = 0 * T
    else:
        (wanted,) = jax.vjp(lambda g: half(X, g), X)[1](T)
    for how in ("jit", "vmap", "jvp"):
        found = WAYS[how](across(made, f), X, T)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=how)
    np.testing.assert_allclose(across(made, f)(X, T), wanted, rtol=1e-5)


def test_the_stated_half_alone_is_not_asked():
    f = export(by_rrule(ADDED["added"]))
    found = jax.jit(pulled(f))(X, T)
    np.testing.assert_allclose(found, 2 * X * T + 0.1 * X, rtol=1e-6)


def test_zeros_that_a_rule_kept_are_no_constant():
    f = primitive(lambda x, y: x * y)

    @rrule.register(f)
    def kept(x, y):
        none = v.zeros_like(y)
        return f(x, y), lambda g: (g * y, none)

    f = export(f)
    found = jax.jit(lambda x, t: jax.jvp(f, (x, T), (t, t))[1])(X, T)
    np.testing.assert_allclose(found, T * T)


def test_whole_numbers_and_structures():
    f = primitive(lambda parts, n: {"a": parts["a"] * n, "b": parts["b"]})

    @rrule.register(f)
    def rule_of_parts(parts: dict, n):
        return f(parts, n), lambda g: ({"a": g["a"] * n, "b": g["b"]}, NoTangent())

    f = export(f)
    push = jax.jit(lambda a, n, t: jax.jvp(lambda a: f({"a": a, "b": a}, n), (a,), (t,))[1])
    found = push(X, jnp.array([2, 3]), T)
    np.testing.assert_allclose(found["a"], T * np.array([2, 3]))
    np.testing.assert_allclose(found["b"], T)


@pytest.mark.filterwarnings("ignore:.*called back")
def test_what_is_called_back_is_tried_at_zero():
    smooth = primitive(lambda x: np.convolve(x, [0.5, 0.5], "same").astype(np.float32))
    linear_rule(smooth, lambda g, x: smooth(g[::-1])[::-1])
    shifted = primitive(lambda x: np.asarray(x) + np.float32(1))
    scalar_rule(shifted, lambda y, x: 1.0)
    f, g = (export(by_frule(lambda x, g, h=h: h(x * g))) for h in (smooth, shifted))
    np.testing.assert_allclose(jax.jit(pulled(f))(X, T), X * jnp.array([2.0, 1.5]))
    with pytest.raises(NotDifferentiableError, match="a constant is added"):
        jax.jit(pulled(g))(X, T)


OPERATIONS = {
    "a product": (lambda g: g * X, False),
    "a sum": (lambda g: g + X, True),
    "rows": (lambda g: lax.map(lambda a: a * 2.0, g), False),
    "a sort": (lambda g: lax.sort((X, g), num_keys=1)[1], False),
    "a sort by it": (lambda g: lax.sort((X, g), num_keys=1)[0], True),
    "a slice written": (lambda g: lax.dynamic_update_slice(g, X[:1], (0,)), True),
    "a slice of zeros written": (lambda g: lax.dynamic_update_slice(0 * X, g[:1], (0,)), False),
    "a slice": (lambda g: lax.dynamic_slice(g, (X[0].astype(int),), (1,)), False),
    "padded": (lambda g: lax.pad(g, jnp.float32(0), [(1, 1, 0)]), False),
    "padded by one": (lambda g: lax.pad(g, jnp.float32(1), [(1, 1, 0)]), True),
    "multiplied by what is given": (lambda g: (X + 1).at[0].multiply(g[0]), True),
    "a carried constant": (
        lambda g: lax.fori_loop(0, 3, lambda i, c: (c[1], c[1]), (g, X))[0],
        True,
    ),
    "fft": (lambda g: jnp.fft.ifft(jnp.fft.fft(g) * X).real, False),
    "a condition": (lambda g: lax.cond(X[0] > 0, lambda: g, lambda: X), True),
    "a triangle": (lambda g: lax.linalg.triangular_solve(jnp.diag(X), g[None]), False),
    "a barrier": (lambda g: lax.optimization_barrier((g, X))[0], False),
    "one": (lambda g: jnp.cos(g), True),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_jax(name):
    f, adds = OPERATIONS[name]
    assert adds_constant(lambda g: [f(g)], jnp.zeros(2, SINGLE)) is adds
