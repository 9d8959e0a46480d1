"""Taylor series by `jax.experimental.jet`: of every form of rule, along curves that are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.jet import jet

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import LinearMap, export, frule, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v

pytestmark = pytest.mark.usefixtures("double")

X = np.array([0.3, -1.2, 2.0])
SERIES = np.array([[1.0, 0.5, -2.0], [0.2, -0.7, 1.5], [3.0, 0.0, -1.0]])
ORDERS = np.array([1.0, 2.0, 6.0])[:, None]


def by_frule(f):
    frule.register(f)(lambda dots, x: (f(x), 3 * x**2 * dots[0]))
    return f


def by_rrule(f):
    rrule.register(f)(lambda x: (f(x), lambda g: (3 * x**2 * g,)))
    return f


def by_rule(f):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 3 * x**2 * t, lambda g: 3 * x**2 * g),)))
    return f


def by_scalar_rule(f):
    scalar_rule(f, lambda y, x: 3 * x**2)
    return f


def by_custom_jvp(f):
    f = custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, dots: (f(*primals), 3 * primals[0] ** 2 * dots[0]))
    return f


def by_custom_vjp(f):
    f = custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (3 * x**2 * g,))
    return f


FORMS = [by_frule, by_rrule, by_rule, by_scalar_rule, by_custom_jvp, by_custom_vjp]


def cube_along_the_curve():
    """The derivatives of the cube of a polynomial, by products of polynomials."""
    found = []
    for x, *terms in zip(X, *(SERIES / ORDERS), strict=True):
        curve = np.polynomial.Polynomial([x, *terms])
        found.append((curve**3).coef[:4])
    return np.transpose(found) * [[1.0], *ORDERS]


def jet_of(f, *xs):
    """The value and the terms, in one array."""
    y, terms = jet(f, xs, ([*SERIES],) * len(xs))
    return np.array([y, *terms])


@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=[] if f is by_rule else pytest.mark.slow) for f in FORMS]
)
def test_every_form_has_a_series(form, near):
    f = export(form(primitive(lambda x: x**3)), to="jax")
    near(jet_of(f, X), cube_along_the_curve())
    near(jet_of(jax.jit(f), X), cube_along_the_curve())
    near(jet_of(jax.grad(lambda x: f(x).sum() / 3), X)[1], 2 * X * SERIES[0])
    near(jet_of(lambda x: jax.jvp(f, (x,), (x,))[1], X)[1], 9 * X**2 * SERIES[0])


OPERATIONS = ["expm1", "sin", "exp", "tanh", "log1p"]


@pytest.mark.parametrize(
    "name", [OPERATIONS[0], *[pytest.param(w, marks=pytest.mark.slow) for w in OPERATIONS[1:]]]
)
def test_an_operation_has_the_series_of_jaxs_function(name, near):
    x = np.abs(X)
    near(jet_of(export(getattr(v, name), to="jax"), x), jet_of(getattr(jnp, name), x))


def test_several_operands_and_structures(near):
    product = export(v.multiply, to="jax")
    near(jet_of(product, X, X**2), jet_of(jnp.multiply, X, X**2))
    both = export(np.divmod, to="jax")
    y, terms = jet(lambda x: both(x, 1.0), (X,), ([X, X],))
    near((y[0], *terms[0], terms[1][0]), (np.floor(X), 0 * X, 0 * X, X))


@pytest.mark.slow
def test_what_is_normed_and_what_is_solved(near):
    norm = export(np.linalg.norm, to="jax")
    near(jet_of(norm, X), jet_of(lambda x: jnp.sqrt(jnp.sum(x * x)), X))
    root = export(lambda a: v.root(lambda z: z**2 - a, jnp.ones(3)), to="jax")
    near(jet_of(root, np.abs(X)), jet_of(jnp.sqrt, np.abs(X)), 1e-9)


def test_what_does_not_move_is_constant(near):
    f = export(primitive(lambda x, n: x * n), to="jax")
    scaled = lambda x: f(x, jnp.asarray([2, 3, 4]))
    near(jet_of(scaled, X)[1:], SERIES * [2, 3, 4])
    argmax = export(v.argmax, to="jax")
    near(jet_of(argmax, X), [2, 0, 0, 0])
