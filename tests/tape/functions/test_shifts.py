"""Extremes that a function subtracts and puts back: what flows to them is zero up to rounding."""

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ignore_derivatives
from chainrules_tape import Tape, hessian, hvp, jacobian, value_and_grad, vjp


def _largest(x, axis, stop):
    m = np.max(x, axis=axis, keepdims=True)
    return ignore_derivatives(m) if stop else m


def _logsumexp(x, axis=-1, stop=False):
    m = _largest(x, axis, stop)
    return (m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True))).squeeze(axis)


def _softmax(x, axis=-1, stop=False):
    e = np.exp(x - _largest(x, axis, stop))
    return e / np.sum(e, axis=axis, keepdims=True)


def _scalar(x, stop=False):
    m = ignore_derivatives(np.max(x)) if stop else np.max(x)
    return np.log(np.mean(np.exp(x - m))) + m


def _without_axes(x, stop=False):
    m = ignore_derivatives(x.max(1)) if stop else x.max(1)
    return m + np.log(np.exp(x - m[:, None]).sum(1))


def _from_below(x, stop=False):
    m = np.min(x, axis=0, keepdims=True)
    m = ignore_derivatives(m) if stop else m
    return m - np.log(np.sum(np.exp(m - x), axis=0, keepdims=True))


def _twice(x, stop=False):
    return _logsumexp(_logsumexp(x, 0, stop)[:, None] + x, 1, stop)


def _log_softmax(x, stop=False):
    z = x - _largest(x, 1, stop)
    return z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))


IDIOMS = {
    "logsumexp": _logsumexp,
    "softmax": lambda x, stop=False: _softmax(x, stop=stop) ** 2,
    "softmax of columns": lambda x, stop=False: np.sin(_softmax(x, 0, stop)),
    "of all": _scalar,
    "without axes": _without_axes,
    "from below": _from_below,
    "twice": _twice,
    "log softmax": lambda x, stop=False: _log_softmax(x, stop)[np.arange(4), [1, 0, 3, 2]],
}
X = np.random.default_rng(5).standard_normal((4, 4))


@pytest.mark.parametrize("name", IDIOMS)
def test_a_shift_is_as_one_that_is_stopped(name):
    f = IDIOMS[name]
    got = value_and_grad(lambda x: np.sum(f(x)))(X)
    want = value_and_grad(lambda x: np.sum(f(x, stop=True)))(X)
    assert got[0] == want[0]
    np.testing.assert_allclose(got[1], want[1], atol=1e-14)


@pytest.mark.parametrize("name", IDIOMS)
def test_derivatives_of_derivatives_know_no_shift(name):
    f = IDIOMS[name]
    loss, stopped = lambda x: np.sum(f(x)), lambda x: np.sum(f(x, stop=True))
    np.testing.assert_allclose(
        hvp(loss, (X,), (X.T,))[-1], hvp(stopped, (X,), (X.T,))[-1], atol=1e-13
    )
    np.testing.assert_allclose(hessian(loss)(X), hessian(stopped)(X), atol=1e-13)
    np.testing.assert_allclose(jacobian(f)(X), jacobian(lambda x: f(x, stop=True))(X), atol=1e-13)


@pytest.mark.parametrize("name", IDIOMS)
def test_compiled_they_keep_the_bits(name):
    f = value_and_grad(lambda x: np.sum(IDIOMS[name](x)))
    compiled = compile(f)
    for x in (X, X.T.copy(), np.round(X), np.zeros((4, 4))):
        for got, want in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_pullback_takes_cotangents_of_each_output():
    y, pullback = vjp(lambda x: (_logsumexp(x), np.max(x, axis=1)), X)
    (got,) = pullback((np.ones(4), np.ones(4)))
    want = _softmax(X) + (X.max(1, keepdims=True) == X)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    assert y[0].shape == (4,)


def test_people_may_ask_a_tape_for_the_extreme():
    with Tape(persistent=True) as tape:
        x = tape.variable(X)
        m = np.max(x)
        y = m + np.log(np.sum(np.exp(x - m)))
    np.testing.assert_allclose(tape.grad(y, x), _softmax(X, (0, 1)), rtol=1e-12)
    np.testing.assert_array_equal(tape.grad(m, x), (X.max() == X) * 1.0)
    assert abs(tape.grad(y, m)) < 1e-14
