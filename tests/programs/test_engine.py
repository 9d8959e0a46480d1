"""The engine of the documentation does all that engines do, in fewer than 150 lines."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial.legendre import legval

from chainrules_py import TracerError, zero_tangent
from chainrules_py import ops as v
from chainrules_py.testing.cases.differences import derivative
from tests.engines.battery import CONSTANT, ONE_MODE, points

PATH = Path(__file__).resolve().parents[2] / "examples" / "engine.py"
spec = importlib.util.spec_from_file_location("engine", PATH)
engine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engine)
X = np.array([0.3, -0.7, 1.2])


def grad(f):
    def gradient(*xs):
        y, pullback = engine.vjp(f, *xs)
        return pullback(zero_tangent(y) + 1.0)

    return gradient


def along(f, us, mode):
    def reverse(*xs):
        total = 0.0
        for bar, u in zip(grad(f)(*xs), us, strict=True):
            product = v.real(v.multiply(v.conj(bar), u))
            total = total + (v.sum(product) if np.ndim(u) else product)
        return total

    return reverse if mode == "r" else lambda *xs: engine.jvp(f, xs, us)[1]


@pytest.mark.parametrize("point", points(), ids=lambda p: p.name)
def test_battery(point):
    rng = np.random.default_rng(2)

    def direction(x):
        u = rng.standard_normal(np.shape(x)) * (1 + 0.5j if np.iscomplexobj(x) else 1)
        return u if isinstance(x, np.ndarray) else u.item() if hasattr(u, "item") else u

    us = tuple(map(direction, point.xs))
    nested = {"": point.loss(point.entry.f)}
    for n in (1, 2):
        f = nested["f" * (n - 1)]
        line = lambda t, f=f: np.asarray(f(*[x + t * u for x, u in zip(point.xs, us, strict=True)]))
        truth, error = derivative(line)
        names = map("".join, itertools.product("rf", repeat=n))
        nested = {name: along(nested[name[1:]], us, name[0]) for name in names}
        for name, g in nested.items():
            found = g(*point.xs)
            allowed = max(1e-7 * max(1.0, abs(truth)), 50 * error)
            assert abs(found - truth) <= allowed, (name, found, truth)


def test_functions_of_numpy_and_structures():
    def energy(params):
        return np.sum(np.tanh(params["W"] @ X + params["b"])) + np.linalg.norm(params["W"])

    params = {"W": np.ones((2, 3)), "b": np.zeros(2)}
    (bar,) = grad(energy)(params)
    slope = 1 - np.tanh(np.sum(X)) ** 2
    assert np.allclose(bar["b"], slope)
    assert np.allclose(bar["W"], slope * X + 1 / np.sqrt(6))


def test_what_is_constant_or_has_a_rule_of_one_mode():
    (bar,) = grad(lambda x: v.sum(CONSTANT.f(x)) + x[0])(X)
    assert np.array_equal(bar, [1.0, 0.0, 0.0])
    for entry in ONE_MODE.values():
        assert np.allclose(grad(lambda x, f=entry.f: v.sum(f(x)))(X), 2 * X)
        assert np.allclose(engine.jvp(entry.f, (X,), (X,))[1], 2 * X * X)


def test_a_function_of_numpy_comes_first():
    """On a number, in a fresh process, nothing had entered the functions of NumPy: a KeyError."""
    code = (
        "import sys, math; sys.path.insert(0, sys.argv[1]); import numpy as np, engine; "
        "assert engine.vjp(lambda x: np.sin(x), 1.0)[1](1.0)[0] == math.cos(1.0)"
    )
    subprocess.run([sys.executable, "-c", code, str(PATH.parent)], check=True)


@pytest.mark.parametrize("f", [np.packbits, np.isnat])
def test_a_function_of_numpy_that_is_no_operation(f):
    with pytest.raises(TypeError, match=f.__name__):
        engine.vjp(f, X)


@pytest.mark.parametrize(
    "read", [np.asarray, lambda c: np.array(c, ndmin=1), lambda c: legval(0.5, c)]
)
def test_values_do_not_become_objects_in_arrays(read):
    """NumPy would take one of three coefficients for a single object, a constant polynomial."""
    with pytest.raises(TracerError, match=r"traced float64\[3\] does not become an array"):
        engine.vjp(lambda c: np.sum(read(c) * 2.0), X)
