"""Functions that name an axis (`lax.pmean(x, "i")`), with a rule, under `vmap` and `shard_map`.

Truth: the same function in JAX's own operations, differentiated by JAX.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from chainrules_jax import export
from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)

pytestmark = pytest.mark.usefixtures("double")

X = np.array([0.3, -1.2, 2.0])
M = np.array([[0.3, -1.2, 2.0], [1.0, 0.5, -0.4]])

ASKED = {
    "mean": lambda x: x - lax.pmean(x, "i"),
    "sum": lambda x: jnp.sin(x) * lax.psum(x**2, "i"),
    "index": lambda x: x**2 * (1.0 + lax.axis_index("i")),
    "gathered": lambda x: (x * lax.all_gather(x, "i", axis=0)[0]).sum(),
    "shifted": lambda x: x * lax.ppermute(x, "i", [(0, 1), (1, 0)]),
    "size": lambda x: x**2 / lax.psum(1.0, "i"),
    "none": jnp.tanh,
}


def by_rule(g):
    f = primitive(lambda x: g(x))

    @rule(f)
    def _(x):
        push = lambda t: jax.jvp(g, (x,), (t,))[1]
        return f(x), (LinearMap(push, lambda y_bar: jax.vjp(g, x)[1](y_bar)[0]),)

    return f


def by_two_rules(g):
    f = primitive(lambda x: g(x))
    frule.register(f)(lambda ts, x: jax.jvp(g, (x,), ts))

    @rrule.register(f)
    def _(x):
        y, pull = jax.vjp(g, x)
        return y, lambda y_bar: pull(y_bar)

    return f


def by_jvp(g):
    f = custom_jvp(lambda x: g(x))
    f.defjvp(lambda primals, tangents: jax.jvp(g, primals, tangents))
    return f


def by_vjp(g):
    f = custom_vjp(lambda x: g(x))
    f.defvjp(lambda x: (g(x), x), lambda x, y_bar: jax.vjp(g, x)[1](y_bar))
    return f


def by_slope(g):
    f = primitive(lambda x: g(x))
    scalar_rule(f, lambda y, x: jax.jvp(g, (x,), (jnp.ones_like(x),))[1])
    return f


FORMS = {
    "rule": by_rule,
    "two rules": by_two_rules,
    "jvp": by_jvp,
    "vjp": by_vjp,
    "slope": by_slope,
}
over = functools.partial(jax.vmap, axis_name="i")
WAYS = {
    "value": lambda f, x: over(f)(x),
    "jit": lambda f, x: jax.jit(over(f))(x),
    "jit within": lambda f, x: over(jax.jit(f))(x),
    "jvp": lambda f, x: jax.jvp(over(f), (x,), (jnp.cos(x),)),
    "vjp": lambda f, x: jax.vjp(over(f), x)[1](jnp.cos(over(f)(x))),
    "grad within": lambda f, x: over(jax.grad(lambda a: jnp.sum(f(a) ** 2)))(x),
    "grad within, jit": lambda f, x: jax.jit(over(jax.grad(lambda a: jnp.sum(f(a) ** 2))))(x),
    "jacobian": lambda f, x: jax.jacobian(over(f))(x),
    "hessian": lambda f, x: jax.hessian(lambda x: (over(f)(x) ** 3).sum())(x),
    "linearize": lambda f, x: jax.linearize(over(f), x)[1](x**2),
    "rematerialised": lambda f, x: over(jax.grad(jax.checkpoint(lambda a: jnp.sum(f(a) ** 2))))(x),
    "in scan": lambda f, x: over(lambda a: lax.scan(lambda c, _: (f(c), c), a, None, length=2))(x),
    "in a batch": lambda f, x: jax.vmap(over(f))(jnp.stack([x, 2 * x])),
    "a batch within": lambda f, x: over(jax.vmap(f))(jnp.stack([x, 2 * x], 1)),
    "two names": lambda f, x: over(jax.vmap(f, axis_name="j"))(jnp.stack([x, 2 * x], 1)),
    "another axis": lambda f, x: over(f, in_axes=-1, out_axes=-1)(x),
    "shared": lambda f, x: over(lambda a: a + jnp.sum(f(jnp.ones(3))))(x),
    "shared, jit": lambda f, x: jax.jit(
        over(lambda a: a + jnp.sum(jax.grad(lambda b: jnp.sum(f(b)))(jnp.ones(3))))
    )(x),
}
CASES = [*itertools.product(ASKED, FORMS, WAYS)]


def check(cases, *xs):
    for asked, form, way in cases:
        if form == "slope" and asked not in ("index", "size", "none"):  # element by element
            continue
        g, run = ASKED[asked], WAYS[way]
        f = export(FORMS[form](g))
        for x in xs:
            if asked == "gathered" and way == "in scan":
                continue
            try:
                truth = run(g, x)
            except Exception:  # JAX itself does not take it
                continue
            jax.tree.map(
                functools.partial(
                    np.testing.assert_allclose,
                    rtol=1e-6,
                    atol=1e-9,
                    err_msg=f"{asked}, {form}, {way}",
                ),
                run(f, x),
                truth,
            )


def test_a_rule_may_name_an_axis():
    check(CASES[::101], X[:2])


def test_a_rule_may_name_an_axis_that_its_operands_do_not_vary_along():
    check([("size", "rule", "shared, jit")], X[:2])
    inner = export(by_rule(ASKED["mean"]))
    f, g = export(by_jvp(lambda x: 2 * inner(x))), lambda x: 2 * ASKED["mean"](x)
    found, truth = [WAYS["shared, jit"](h, X[:2]) for h in (f, g)]
    np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_every_rule_may_name_an_axis_in_every_way(asked):
    check([case for case in CASES if case[0] == asked], X[:2], M)


def test_an_error_of_jax_is_no_reason_to_call_a_body_back():
    f = primitive(lambda x: lax.psum(x, "no such name"))
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: t, lambda g: g),)))
    with pytest.raises(NameError, match="no such name"):
        jax.vmap(export(f), axis_name="i")(X)


@pytest.mark.parametrize(
    "form", ["rule", *[pytest.param(f, marks=pytest.mark.slow) for f in FORMS]]
)
def test_an_axis_of_a_mesh(form):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    own = jax.sharding.PartitionSpec("i")
    for asked in ("mean", "size", "none") if form != "slope" else ("size", "none"):
        g = ASKED[asked]
        f = export(FORMS[form](g))
        sharded = functools.partial(
            jax.shard_map, mesh=mesh, in_specs=own, out_specs=own, check_vma=False
        )
        each = [
            jax.jit(jax.grad(lambda x, h=h: (h(x) ** 2).sum()))(X) for h in (sharded(f), sharded(g))
        ]
        np.testing.assert_allclose(*each, atol=1e-12, err_msg=asked)
        with pytest.raises(NotDifferentiableError, match="check_vma=False"):
            jax.shard_map(f, mesh=mesh, in_specs=own, out_specs=own)(X)


def test_what_is_the_same_along_a_named_axis_may_have_no_axis():
    """As the statistics of a batch are."""
    square = primitive(lambda x: x * x)
    scalar_rule(square, lambda _y, x: 2 * x)
    square = export(square)
    mean = over(lambda x: square(lax.pmean(x, "i")), out_axes=None)
    wanted = float(jnp.mean(X)) ** 2
    for way in (mean, jax.jit(mean)):
        np.testing.assert_allclose(way(X), wanted)
    np.testing.assert_allclose(jax.grad(mean)(X), 2 * jnp.mean(X) / len(X))
    both = over(lambda x, m: (square(x), square(m)), in_axes=(0, None), out_axes=(0, None))
    np.testing.assert_allclose(both(X, 2.0)[1], 4.0)
    tangent = jax.jvp(lambda m: both(X, m), (2.0,), (1.0,))[1]
    np.testing.assert_allclose(tangent[1], 4.0)
