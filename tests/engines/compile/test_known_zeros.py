"""Jacobians whose zeros are known: their values, layouts, infinities and NaN are the function's."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import hessian, jacobian

N = 12
W = np.random.default_rng(0).normal(size=(N, N))


def rosenbrock(x):
    a, b = x[:-1], x[1:]
    return np.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)


def rosenbrock_of_powers(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def neighbours(x):
    zero = np.zeros(1)
    y = np.concatenate([zero, x[:-1]]) - 2.0 * np.concatenate([x[1:], zero])
    return (3.0 - 2.0 * x) * x - y * x[::-1]


CASES = {
    "rosenbrock": hessian(rosenbrock),
    "rosenbrock of powers": hessian(rosenbrock_of_powers),
    "products of slices": hessian(lambda x: np.sum(x[1:] ** 2 * x[:-1] + np.exp(x[1:]))),
    "differences": hessian(lambda x: np.sum(np.diff(x) ** 3) + np.sum(np.cos(x))),
    "layer": jacobian(lambda x: np.tanh(W @ x), mode="reverse"),
    "layer of a transpose": jacobian(lambda x: np.tanh(W.T @ x), mode="reverse"),
    "layer forward": jacobian(lambda x: np.tanh(W @ x), mode="forward"),
    "layer of a transpose forward": jacobian(lambda x: np.tanh(W.T @ x), mode="forward"),
    "neighbours": jacobian(neighbours, mode="forward"),
    "neighbours backward": jacobian(neighbours, mode="reverse"),
    "every second": jacobian(lambda x: np.sin(x[::2]) * x[1::2], mode="forward"),
    "quotient": jacobian(lambda x: x / (1.0 + x[::-1]), mode="reverse"),
    "stretched": jacobian(lambda x: np.exp(x * 2.0) / x, mode="reverse"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", CASES)
def test_jacobians_have_the_numbers_and_layouts_of_the_function(name, target):
    plain, rng = CASES[name], np.random.default_rng(1)
    compiled = compile(plain, target=target)
    x = rng.normal(size=N)
    for bad in (None, 0.0, np.inf, -np.inf, np.nan, 1e200, None):
        y = x.copy()
        if bad is not None:
            y[rng.integers(N)] = bad
        found, wanted = compiled(y), plain(y)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert found.strides == wanted.strides


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zeros_of_values_are_no_zeros_of_derivatives(bad, target):
    compiled = compile(lambda v: np.eye(N) * v, target=target)
    v = np.ones(N)
    compiled(v)
    v[3] = bad
    np.testing.assert_array_equal(compiled(v), np.eye(N) * v)


@pytest.mark.parametrize("name", ["rosenbrock", "rosenbrock of powers"])
def test_diagonals_are_computed_with_and_not_matrices(name):
    compiled = compile(CASES[name])
    compiled(np.linspace(0.0, 1.0, N))
    (program,) = compiled.programs
    elementwise = (np.add, np.multiply, np.negative)
    calls = [
        call
        for call in program.program
        if getattr(call.function, "function", call.function) in elementwise
    ]
    assert calls
    assert all([len(y.shape) == 1 for call in calls for y in call.results])


@pytest.mark.parametrize("name", ["layer forward", "layer of a transpose forward"])
def test_a_product_with_an_identity_is_none(name):
    compiled = compile(CASES[name])
    compiled(np.linspace(0.0, 1.0, N))
    assert compiled.source.count(".dot(") == 1
