"""Check every rule of the package, as it is installed."""

import numpy as np
import scipy.special

from chainrules_py.testing import check_module
from chainrules_tape import grad, hessian


def test_rules():
    assert check_module("agm_rules.rules", backends=["numpy"]).passed


def test_nobody_imports_it():
    a, b = np.array([2.0, 1.0]), np.array([0.5, 1.0])
    slope = grad(lambda a: np.sum(scipy.special.agm(a, b)))(a)
    h = 1e-6
    differences = (scipy.special.agm(a + h, b) - scipy.special.agm(a - h, b)) / (2 * h)
    np.testing.assert_allclose(slope, differences, rtol=1e-8)
    np.testing.assert_allclose(slope[1], 0.5)  # at a = b it is the arithmetic mean
    second = hessian(lambda p: scipy.special.agm(p[0], p[1]))(np.array([2.0, 0.5]))
    # It is homogeneous of degree one, so that its Hessian has the point in its kernel.
    np.testing.assert_allclose(second @ np.array([2.0, 0.5]), 0.0, atol=1e-12)
