"""Numbers of eight and sixteen bits that NumPy has not, in bodies that compute with NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chainrules_jax import export
from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import ops as v
from chainrules_py import rrule
from tests.engines.rules_by_numpy import RULES
from tests.engines.test_results_that_hide import FORMS, by_custom_vjp, by_scalar_rule

DTYPES = ["bfloat16", "float8_e4m3fn"]
X = [0.5, 1.0, 2.0]
WAYS = {
    "grad": lambda f, x: jax.grad(lambda x: f(x).sum())(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1],
    "linearize": lambda f, x: jax.linearize(f, x)[1](jnp.ones_like(x)),
    "jit": lambda f, x: jax.jit(jax.grad(lambda x: f(x).sum()))(x),
    "vmap": lambda f, x: jax.vmap(jax.grad(f))(x),
}


def is_right(found, dtype):
    eps = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(found, float), np.cos(X), rtol=2 * eps, atol=eps)


@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=() if f is by_custom_vjp else pytest.mark.slow) for f in FORMS]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_form_has_its_derivative(form, dtype):
    for run in WAYS.values():
        is_right(run(export(form(np.sin)), jnp.asarray(X, dtype)), dtype)


def test_a_rule_that_gives_numpys_numbers_gives_those_of_jax():
    f = custom_vjp(lambda x: np.sin(x))
    f.defvjp(lambda x: (np.sin(np.asarray(x)), v.cos(x)), lambda c, g: (c * g,))
    x = jnp.asarray(X, "bfloat16")
    is_right(jax.grad(lambda x: export(f)(x).sum())(x), "bfloat16")
    is_right(rrule(by_scalar_rule(np.sin), x)[1](jnp.ones_like(x))[0], "bfloat16")


@pytest.mark.parametrize("name", ["both_np", "rrule_np", "vjp_np64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rules_that_compute_with_numpy_get_float32(name, dtype):
    f, _ = RULES[name]()
    for way in WAYS if name == "both_np" else ("grad", "jit", "vmap"):
        is_right(WAYS[way](export(f), jnp.asarray(X, dtype)), dtype)
