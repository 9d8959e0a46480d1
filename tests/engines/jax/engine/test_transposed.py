"""Rules of one mode that are written in JAX's own operations, and transposed by JAX.

Truth: the matrix of the linear function, made column by column.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from chainrules_jax import export
from chainrules_kit.custom_derivatives import custom_jvp
from chainrules_py import NotDifferentiableError, frule, linear_rule, primitive, rrule
from chainrules_py import ops as v

SINGLE = jnp.float32  # whatever others have set jax_enable_x64 to
X = jnp.array([0.3, -1.2, 2.0], SINGLE)
W = jnp.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0], [2.0, 2.0, 1.0]], SINGLE)
LINEAR = {
    "dot": lambda g: jnp.dot(g, W),
    "einsum": lambda g: jnp.einsum("i,ij->j", g, W),
    "lax.dot": lambda g: lax.dot(g, W),
    "sum": lambda g: jnp.sum(g) * jnp.ones(3, SINGLE),
    "method": lambda g: g.sum() * jnp.ones(3, SINGLE),
    "where": lambda g: jnp.where(jnp.array([True, False, True]), g, 0.0),
    "stack": lambda g: jnp.stack([g[1], g[0], g[2]]),
    "cumsum": jnp.cumsum,
    "at": lambda g: jnp.zeros(3, SINGLE).at[0].set(g[1]),
    "vjp": lambda g: jax.vjp(lambda a: jnp.dot(W, a), jnp.ones(3, SINGLE))[1](g)[0],
    "scan": lambda g: lax.scan(lambda c, x: (c * 0.5 + x, c + x), 0.0, g)[1],
    "jit": jax.jit(lambda g: jnp.dot(g, W)),
    "convolve": lambda g: jnp.convolve(g, jnp.array([1.0, 2.0, 3.0], SINGLE), "same"),
    "operator": lambda g: g @ W,
    "operation": lambda g: v.matmul(g, W),
    "zero": lambda g: jnp.multiply(g, 0.0),
}
OTHERS = {
    "abs": jnp.abs,
    "where": lambda g: jnp.where(g > 0, g, 0.0),
    "square": jnp.square,
    "floor": jnp.floor,
    "whole": lambda g: lax.convert_element_type(g, int).astype(g.dtype),
    "whole, within": jax.jit(lambda g: g + jnp.asarray(g, int)),
    "shifted": lambda g: jnp.add(g, 1.0),
}


def by_rrule(half):
    f = primitive(lambda x: half(x))
    rrule.register(f)(lambda x: (f(x), lambda g: (half(g),)))
    return export(f)


def by_frule(half):
    f = primitive(lambda x: half(x))
    frule.register(f)(lambda ts, x: (f(x), half(ts[0])))
    return export(f)


def by_jvp(half):
    f = custom_jvp(lambda x: half(x))
    f.defjvp(lambda primals, tangents: (f(*primals), half(*tangents)))
    return export(f)


near = functools.partial(np.testing.assert_allclose, rtol=1e-5)
FORMS = {"rrule": by_rrule, "frule": by_frule, "jvp": by_jvp}


def pulled(f, x, t):
    return jax.vjp(f, x)[1](t)[0]


def pushed(f, x, t):
    return jax.jvp(f, (x,), (t,))[1]


def ways(form):
    """What needs the mode that is not stated."""
    one = pushed if form == "rrule" else pulled
    yield lambda f: one(f, X, X**2)
    yield lambda f: jax.jit(functools.partial(one, f))(X, X**2)
    yield lambda f: jax.vmap(functools.partial(one, f))(jnp.stack([X, -X]), jnp.stack([X**2] * 2))[
        1
    ]
    yield lambda f: (jax.jacfwd if form == "rrule" else jax.jacrev)(f)(X) @ X**2 * 1.0


def check(forms, names):
    for form in forms:
        for name in names:
            half = LINEAR[name]
            matrix = np.stack([half(e) for e in jnp.eye(3, dtype=SINGLE)])
            f = FORMS[form](half)
            *some, jacobian = ways(form)
            for way in some:
                near(way(f), matrix @ np.asarray(X**2), err_msg=f"{form} {name}")
            wanted = (matrix if form == "rrule" else matrix.T) @ np.asarray(X**2)
            near(jacobian(f), wanted, err_msg=f"{form} {name}")


def test_what_jax_transposes():
    check(["rrule"], ["einsum", "where", "vjp"])
    check(["frule"], ["at", "jit"])
    check(["jvp"], ["scan"])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_all_that_jax_transposes(form):
    check([form], LINEAR)


@pytest.mark.parametrize("form", ["rrule", pytest.param("frule", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_linear_is_refused(form, name):
    f = FORMS[form](OTHERS[name])
    with pytest.raises(NotDifferentiableError, match=r"register(.|\n)*rule: .*test_transposed"):
        next(iter(ways(form)))(f)


def weigh(x):
    return v.matmul(W, x)


weighed = primitive(weigh)
linear_rule(weighed, lambda g, x: v.matmul(v.matrix_transpose(W), g))


@pytest.mark.parametrize("way", [lambda f: f, jax.jit, lambda f: lambda x: jax.vmap(f)(x[None])[0]])
def test_a_function_that_is_stated_as_linear(way):
    f = way(export(weighed))
    (bar,) = jax.linear_transpose(f, X)(X**2)
    near(bar, W.T @ X**2)
    near(jax.jit(jax.linear_transpose(f, X))(X**2)[0], W.T @ X**2)
    near(jax.linear_transpose(lambda x: 2 * f(x) + f(3 * x), X)(X)[0], 5 * W.T @ X)


def test_a_function_that_is_not_stated_as_linear():
    f = by_rrule(jnp.tanh)
    with pytest.raises(NotDifferentiableError, match="state it by linear_rule"):
        jax.linear_transpose(f, X)(X)
