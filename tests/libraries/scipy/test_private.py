"""What is done where a version of SciPy lacks the private names that are used: it is not missed."""

import subprocess
import sys

import pytest

from chainrules_scipy._private import PLACES, private

WITHOUT = """
import numpy as np
import chainrules_scipy._private as names

names.PLACES = dict.fromkeys(names.PLACES, "scipy.no_such_module")


import scipy.special
from chainrules_py import ops as v
from chainrules_scipy import linalg, ndimage, rotation, signal, sparse, stats
from chainrules_tape import grad

x = np.array([0.5, 2.0, 1.0])
w = np.array([1.0, 2.0, 3.0])
b, a = [0.2, 0.3], [1.0, -0.4]


def check(f):
    slope = grad(f)(x)
    steps = 1e-6 * np.eye(3)
    wanted = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)


check(lambda x: scipy.special.erf(x) @ w)
check(lambda x: v.zeta(1.5 + x, 2.0) @ w)
check(lambda x: v.lambertw(x, 0).real @ w)
check(lambda x: linalg.solve_banded((0, 0), x[None], w) @ w)
check(lambda x: stats.norm.logpdf(x, 0.3, x[0]) @ w)
check(lambda x: stats.kurtosis(x))
check(lambda x: stats.yeojohnson(x, 0.5) @ w)
check(lambda x: signal.filtfilt(b, a, x, padlen=1) @ w)
check(lambda x: ndimage.gaussian_filter1d(x, 1.0) @ w)
laplace = scipy.sparse.csr_array(np.diag(w))
check(lambda x: (sparse.with_data(laplace, x) @ w) @ w)
check(lambda x: signal.filtfilt(b, a, x, method="gust") @ w)
"""


@pytest.mark.parametrize("name", PLACES)
def test_the_names_are_there_in_the_versions_that_are_tested(name):
    assert private(name) is not None


def test_a_scipy_without_these_names_is_differentiated():
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", WITHOUT], check=True)
