"""Derivatives of NumPy programs against finite differences, in both modes and to second order."""

import numpy as np
import pytest

import chainrules_tape
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.testing.checks.nesting import Loss
from chainrules_tape import grad, jvp, vjp

STEP = 1e-6


def flat(x):
    """The real numbers that an array is made of."""
    x = np.asarray(x)
    return np.stack([x.real, x.imag]).ravel() if np.iscomplexobj(x) else x.ravel()


def inner(a, b):
    return float(flat(a) @ flat(b))


def random_like(x, rng):
    x = np.asarray(x)
    t = rng.standard_normal(x.shape)
    return (t + 1j * rng.standard_normal(x.shape) if np.iscomplexobj(x) else t).astype(x.dtype)


def differences(f, xs, ts, step=STEP):
    """The central difference in a direction."""
    ahead = f(*[x + step * t for x, t in zip(xs, ts, strict=True)])
    behind = f(*[x - step * t for x, t in zip(xs, ts, strict=True)])
    return (np.asarray(ahead) - np.asarray(behind)) / (2 * step)


def check(f, *xs, second=True, exact=True, rtol=1e-6, atol=1e-7):
    """Value, push, pull, and the derivative of the gradient in both nestings."""
    rng = np.random.default_rng(0)
    xs = tuple([np.asarray(x) for x in xs])
    ts = tuple([random_like(x, rng) for x in xs])
    expected = f(*xs)
    y, y_dot = jvp(f, xs, ts)
    y_again, pullback = vjp(f, *xs)
    for value in (y, y_again):
        np.testing.assert_allclose(value, expected, rtol=0 if exact else 1e-14)
        assert np.asarray(value).dtype == np.asarray(expected).dtype
    assert np.shape(y_dot) == np.shape(y)
    np.testing.assert_allclose(y_dot, differences(f, xs, ts), rtol=rtol, atol=atol)
    y_bar = random_like(y, rng)
    bars = pullback(y_bar)
    for bar, x in zip(bars, xs, strict=True):
        assert bar.shape == x.shape
        assert bar.dtype == x.dtype
    pulled = sum(inner(bar, t) for bar, t in zip(bars, ts, strict=True))
    np.testing.assert_allclose(pulled, inner(y_bar, y_dot), rtol=1e-9, atol=1e-9)
    if second and not any(map(np.iscomplexobj, (y, *xs))):
        agree_second(f, xs, ts, rng, rtol, atol)


def agree_second(f, xs, ts, rng, rtol, atol):
    weights = random_like(f(*xs), rng)

    def loss(*xs):
        y = f(*xs)
        return np.sum(weights * y * y + weights * y)

    everywhere = tuple(range(len(xs)))
    gradient = grad(loss, argnums=everywhere)
    expected = [differences(lambda *at, i=i: gradient(*at)[i], xs, ts) for i in everywhere]
    forward = jvp(lambda *at: gradient(*at), xs, ts)[1]
    backward = grad(
        lambda *at: sum(np.sum(g * t) for g, t in zip(gradient(*at), ts, strict=True)),
        argnums=everywhere,
    )(*xs)
    for i in everywhere:
        scale = max(1.0, np.max(np.abs(expected[i]), initial=0.0))
        np.testing.assert_allclose(forward[i], expected[i], rtol=1e-5, atol=1e-6 * scale)
        np.testing.assert_allclose(backward[i], expected[i], rtol=1e-5, atol=1e-6 * scale)


@pytest.fixture
def agree():
    """``agree(f, *xs)``: a program of NumPy calls is differentiated rightly at a point."""
    return check


def check_program(f, *operands, rtol=1e-8, second=True, second_rtol=1e-6):
    """As `check`, of structures and complex numbers too, by differences of five points."""
    rng = np.random.default_rng(0)
    y = f(*operands)
    of, out = Coordinates(operands), Coordinates(y)
    u = rng.standard_normal(of.size)
    t = of.tangent(u)
    tangents = tuple([t[i] for i in range(len(operands))])
    pushed, y_dot = jvp(f, operands, tangents)
    pulled, pullback = vjp(f, *operands)
    for value in (pushed, pulled):
        np.testing.assert_array_equal(out.vector(value), out.vector(y))
    expected, _ = derivative(lambda step: out.vector(f(*of.moved(step * u))))
    close(out.vector(y_dot), expected, rtol)
    y_bar = rng.standard_normal(out.size)
    bars = pullback(out.tangent(y_bar))
    close(of.vector(bars) @ u, y_bar @ out.vector(y_dot), rtol)
    if not second:
        return
    loss = Loss(f, operands, None, rng)
    v, w = rng.standard_normal((2, loss.inputs.size))
    bend, _ = derivative(lambda step: loss.gradient(chainrules_tape, loss.inputs.moved(step * w)))
    for nesting, found in loss.products(chainrules_tape, v, w).items():
        close(found, bend if nesting.startswith("reverse") else v @ bend, second_rtol, nesting)


def close(have, want, rtol, what=""):
    scale = max(1.0, np.max(np.abs(want), initial=0.0))
    np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol * scale, err_msg=what)


@pytest.fixture
def right():
    """``right(f, *operands)``: as ``agree``, for programs whose operands are structures as well."""
    return check_program
