"""``logsumexp`` with weights, of which those that are zero leave their exponents out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.special

from chainrules_scipy.special import logsumexp
from chainrules_tape import grad, hessian, jacobian, value_and_grad

WEIGHTED = {
    "all": (lambda x: logsumexp(x, b=np.array([1.0, 0.0])), [-1000.0, 0.0], [1.0, 0.0]),
    "axis": (
        lambda x: logsumexp(x, axis=0, b=np.array([[1.0], [0.0]])),
        [[-1000.0, 2.0], [0.0, 800.0]],
        [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]],
    ),
    "sign": (
        lambda x: logsumexp(x, b=np.array([-1.0, 0.0]), return_sign=True)[0],
        [-1000.0, 0.0],
        [1.0, 0.0],
    ),
    "infinite": (lambda x: logsumexp(x, b=np.array([1.0, 0.0])), [1.0, np.inf], [1.0, 0.0]),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_exponents_of_weight_zero_are_left_out(name):
    f, x, slope = WEIGHTED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in ("reverse", "forward"):
            assert jacobian(f, mode=mode)(np.array(x)).tolist() == slope


def test_the_hessian_leaves_out_weights_of_zero():
    x, b = np.array([-1000.0, 0.0, -1000.0]), np.array([1.0, 0.0, 2.0])
    third, two = 1.0 / 3.0, 2.0 / 9.0
    np.testing.assert_allclose(grad(lambda x: logsumexp(x, b=b))(x), [third, 0.0, 2.0 * third])
    found = hessian(lambda x: logsumexp(x, b=b))(x)
    np.testing.assert_allclose(found, [[two, 0.0, -two], [0.0] * 3, [-two, 0.0, two]])


def test_a_weight_of_zero_has_a_slope_of_its_own():
    found = grad(lambda b: logsumexp(np.array([1.0, 2.0]), b=b))(np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, [1.0, np.e])


@pytest.mark.parametrize("exponent, slope", [(-np.inf, 0.0), (50.0, None), (np.inf, np.inf)])
def test_the_slope_in_a_zero_weight_is_that_of_its_exponent(exponent, slope):
    a, b = np.array([exponent, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    found = grad(lambda b: logsumexp(a, b=b))(b)
    expected = np.exp(a) / np.sum(np.exp(a[1:]))
    np.testing.assert_allclose(found, [expected[0] if slope is None else slope, *expected[1:]])


def test_masked_exponents_have_no_slope_in_their_weights():
    """This is the logarithm of a sum of squares."""
    m = np.array([0.0, 1.0, 1.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = grad(lambda m: logsumexp(np.log(m), b=m))(m)
    np.testing.assert_allclose(found, 2 * m / np.sum(m * m))


@pytest.mark.parametrize("weights", [np.array([1.0, 2.0]), [1, 2], [1.0, 2.5], 2.5])
def test_exponents_in_single_precision_are_summed_in_the_precision_of_both(weights):
    a = np.array([1.0, 0.3], np.float32)
    expected = scipy.special.logsumexp(a, b=weights)
    value, slope = value_and_grad(lambda a: logsumexp(a, b=weights))(a)
    assert (value.dtype, slope.dtype) == (expected.dtype, np.float32)
    assert value == pytest.approx(expected, rel=1e-14)
