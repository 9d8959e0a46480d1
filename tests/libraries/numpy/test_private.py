"""A NumPy without the private names that are used: public ones do the same, more slowly."""

import shutil
import subprocess
import sys

WITHOUT = """
import importlib

found = importlib.import_module
GONE = (
    "numpy._core.umath",
    "numpy._core._multiarray_umath",
    "numpy.linalg._umath_linalg",
)


def import_module(name, package=None):
    if name in GONE:
        raise ImportError(name)
    return found(name, package)


importlib.import_module = import_module

import numpy as np
from chainrules_compile import compile
from chainrules_tape import grad


def f(a, b):
    x = np.linalg.solve(a, b) @ np.linalg.inv(a) + np.sort(b)
    triangle = np.linalg.cholesky(a @ a.T)
    return np.sum(np.clip(x, -1, 1)) + np.linalg.slogdet(a)[1] + np.linalg.det(triangle)


a, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([0.3, -0.2])
slope = grad(f)(a, b)
steps = [1e-6 * np.array([[1.0 * (i == k) for i in range(4)]]).reshape(2, 2) for k in range(4)]
wanted = np.reshape([(f(a + h, b) - f(a - h, b)) / 2e-6 for h in steps], (2, 2))
np.testing.assert_allclose(slope, wanted, rtol=1e-6)
for target in TARGETS:
    np.testing.assert_allclose(compile(f, target=target)(a, b), f(a, b), rtol=1e-14)
compiled = compile(lambda x: np.log(x))
with np.errstate(divide="ignore"):
    assert compiled(np.zeros(2))[0] == -np.inf
"""


def test_a_numpy_without_these_names_is_differentiated_and_compiled():
    targets = ("numpy", "c") if shutil.which("cc") else ("numpy",)
    text = WITHOUT.replace("TARGETS", repr(targets))
    subprocess.run([sys.executable, "-c", text], check=True)
