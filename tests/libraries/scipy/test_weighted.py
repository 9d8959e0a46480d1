"""``logsumexp`` with weights, of which those that are zero leave their exponents out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_scipy.special import logsumexp
from chainrules_tape import grad, hessian, jacobian

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
