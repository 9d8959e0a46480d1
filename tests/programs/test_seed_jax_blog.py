"""The post "Custom autodiff part 1: the basics": one function under both decorators."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py.testing import check_rule
from chainrules_tape import grad, jvp, vjp

POINTS = [(0.5, 2.0), (np.float32(0.5), np.float32(2.0)), (np.array([0.5, -1.0]), 2.0)]


@custom_jvp
def f_pushed(x, y):
    return np.sin(x) * y


@f_pushed.defjvp
def f_jvp(primals, tangents):
    x, y = primals
    x_dot, y_dot = tangents
    primal_out = f_pushed(x, y)
    tangent_out = np.cos(x) * x_dot * y + np.sin(x) * y_dot
    return primal_out, tangent_out


@custom_vjp
def f_pulled(x, y):
    return np.sin(x) * y


def f_fwd(x, y):
    # Returns primal output and residuals to be used in backward pass by f_bwd.
    return f_pulled(x, y), (np.cos(x), np.sin(x), y)


def f_bwd(res, w):
    cos_x, sin_x, y = res  # Gets residuals computed in f_fwd
    return (cos_x * w * y, sin_x * w)


f_pulled.defvjp(f_fwd, f_bwd)

FUNCTIONS = pytest.mark.parametrize("f", [f_pushed, f_pulled], ids=["custom_jvp", "custom_vjp"])


@FUNCTIONS
@pytest.mark.parametrize("x, y", POINTS)
def test_both_modes_of_both_decorators(f, x, y):
    check_rule(f, x, y)
    z, z_dot = jvp(f, (x, y), (np.ones_like(x), np.zeros_like(y)))
    np.testing.assert_allclose(z_dot, np.cos(x) * y, rtol=1e-6)
    z, pullback = vjp(f, x, y)
    x_bar, y_bar = pullback(np.ones_like(z))
    np.testing.assert_allclose(x_bar, np.cos(x) * y, rtol=1e-6)
    np.testing.assert_allclose(y_bar, np.sum(np.sin(x)), rtol=1e-6)


@FUNCTIONS
def test_what_the_engine_of_the_post_gives(f):
    """JAX itself, on the same two definitions."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    want = {}

    @jax.custom_jvp
    def g(x, y):
        return jnp.sin(x) * y

    @g.defjvp
    def g_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return g(x, y), jnp.cos(x) * x_dot * y + jnp.sin(x) * y_dot

    want["grad"] = [float(t) for t in jax.grad(g, (0, 1))(0.5, 2.0)]
    want["second"] = float(jax.grad(jax.grad(g))(0.5, 2.0))
    want["jvp"] = float(jax.jvp(g, (0.5, 2.0), (1.0, -3.0))[1])
    np.testing.assert_allclose(grad(f, (0, 1))(0.5, 2.0), want["grad"], rtol=1e-6)
    np.testing.assert_allclose(grad(grad(f))(0.5, 2.0), want["second"], rtol=1e-6)
    np.testing.assert_allclose(jvp(f, (0.5, 2.0), (1.0, -3.0))[1], want["jvp"], rtol=1e-6)


def test_complex_code_of_that_engine_keeps_its_meaning():
    """Its cotangents are the conjugates of ours; the backward function stays as it is."""
    jax = pytest.importorskip("jax")
    z, y_bar = np.complex64(0.5 + 2.0j), np.complex64(1.0 - 3.0j)
    fwd, bwd = (lambda z: (z * z, z)), (lambda z, g: (2.0 * z * g,))
    theirs, ours = jax.custom_vjp(lambda z: z * z), custom_vjp(lambda z: z * z)
    theirs.defvjp(fwd, bwd)
    ours.defvjp(fwd, bwd, complex="jax")
    there = np.asarray(jax.vjp(theirs, z)[1](jax.numpy.asarray(np.conj(y_bar)))[0])
    np.testing.assert_allclose(vjp(ours, z)[1](y_bar)[0], np.conj(there), rtol=1e-6)
    np.testing.assert_allclose(vjp(lambda z: z * z, z)[1](y_bar)[0], np.conj(there), rtol=1e-6)
    check_rule(ours, 0.5 + 2.0j)


@FUNCTIONS
def test_every_nesting(f):
    """∂²(y sin x)/∂x² = -y sin x, and the mixed one is cos x."""
    x, y = 0.5, 2.0
    assert grad(grad(f))(x, y) == pytest.approx(-y * math.sin(x))
    assert grad(grad(f), 1)(x, y) == pytest.approx(math.cos(x))
    assert jvp(grad(f), (x, y), (1.0, 0.0))[1] == pytest.approx(-y * math.sin(x))
    pushed = lambda x: jvp(lambda x: f(x, y), (x,), (1.0,))[1]
    assert jvp(pushed, (x,), (1.0,))[1] == pytest.approx(-y * math.sin(x))
    assert grad(pushed)(x) == pytest.approx(-y * math.sin(x))


# ------------------------------------------------------------------------- the text of the post


def test_jacobian_products():
    """∂f(x) v forward, wᵀ ∂f(x) backward: seeds of the input and of the output space."""
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f = lambda x: a @ x
    x, v, w = np.ones(3), np.array([1.0, 0.0, -1.0]), np.array([2.0, 1.0])
    np.testing.assert_array_equal(jvp(f, (x,), (v,))[1], a @ v)
    np.testing.assert_array_equal(vjp(f, x)[1](w)[0], w @ a)


def test_one_backward_pass_gives_what_n_forward_passes_give():
    cost = lambda x: np.sum(np.sin(x) ** 2)
    theta = np.array([0.3, -1.0, 2.0])
    forward = [jvp(cost, (theta,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(grad(cost)(theta), forward)


def test_static_and_dynamic_data():
    """f(x) = A x has one derivative, f(A, x) = A x has two."""
    a, x, w = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0]), np.array([1.0, -1.0])

    @custom_vjp(nondiff_argnums=0)
    def static(a, x):
        return a @ x

    static.defvjp(lambda a, x: (a @ x, None), lambda a, _, w: (w @ a,))

    @custom_vjp
    def dynamic(a, x):
        return a @ x

    dynamic.defvjp(lambda a, x: (a @ x, (a, x)), lambda ax, w: (w[:, None] * ax[1], w @ ax[0]))
    np.testing.assert_array_equal(vjp(lambda x: static(a, x), x)[1](w)[0], w @ a)
    a_bar, x_bar = vjp(dynamic, a, x)[1](w)
    np.testing.assert_array_equal(x_bar, w @ a)
    np.testing.assert_array_equal(a_bar, np.outer(w, x))
    check_rule(dynamic, a, x, vary=False)


@pytest.mark.parametrize("outer", [f_pushed, f_pulled])
@pytest.mark.parametrize("inner", [f_pushed, f_pulled])
def test_composing_functions(outer, inner):
    """∂f(x) v = ∂g(h(x)) ∂h(x) v, whichever mode each of the two was stated in."""
    x, y = 0.5, 2.0
    composed = lambda x: outer(inner(x, y), y)
    want = math.cos(math.sin(x) * y) * y * math.cos(x) * y
    assert jvp(composed, (x,), (1.0,))[1] == pytest.approx(want)
    assert grad(composed)(x) == pytest.approx(want)
