"""Recurrences of Taylor series, against mpmath's series and in other differentiation."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_py import ops as v
from chainrules_tape import grad, jvp
from chainrules_tape.tools import reversible, taylor
from chainrules_tape.tools.taylor_series import Series, _known

mpmath = pytest.importorskip("mpmath")
ORDER = 10
OPERATIONS = {
    "sqrt": 0.7, "exp": 0.4, "expm1": 0.3, "log": 1.7, "log1p": 0.4, "sin": 0.5, "cos": 0.5,
    "tan": 0.3, "sinh": 0.6, "cosh": 0.6, "tanh": 0.4, "arcsin": 0.2, "arccos": 0.2, "arctan": 0.4,
    "arcsinh": 0.5, "arccosh": 1.9, "arctanh": 0.2, "square": 0.8, "reciprocal": 1.4,
    "negative": 0.4,
}  # fmt: skip
OF_MPMATH = {
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh, "arctanh": mpmath.atanh, "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x, "negative": lambda x: -x,
}  # fmt: skip
POWERS = (3, 7, -2, 0.5, 2.5, -1.5)


def series_of(f, x, d):
    """The coefficients of f(x + t d), by mpmath."""
    with mpmath.workdps(60):
        line = lambda t: f(mpmath.mpf(x) + t * mpmath.mpf(d))
        return [float(c) for c in mpmath.taylor(line, 0, ORDER)]


CASES = [
    (getattr(np, name), OF_MPMATH.get(name) or getattr(mpmath, name), x)
    for name, x in OPERATIONS.items()
] + [(lambda x, p=p: x**p, lambda x, p=p: x**p, 0.6) for p in POWERS]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_series_of_each_operation_in_each_form(k):
    f, exact, x = CASES[k]
    expected = series_of(exact, x, 0.1)
    scale = np.max(np.abs(expected))
    for start, way in (
        (x, 0.1),
        (np.full(3, x), np.full(3, 0.1)),
        (np.full((2, 5000), x), np.full((2, 5000), 0.1)),
    ):
        found = [np.unique(np.asarray(c)) for c in taylor(f, start, way, ORDER)]
        for have, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-15 * scale)


def test_powers_hold_at_zero():
    found = taylor(lambda x: x**3 + x**2, np.zeros(2), np.ones(2), 4)
    assert [c.tolist() for c in found] == [[0, 0], [0, 0], [1, 1], [1, 1], [0, 0]]


MASK = np.array([False, True, True])
MASKED = {
    "where": lambda x: np.exp(np.where(MASK, x * x, -np.inf)),
    "sum": lambda x: np.exp(x + np.where(MASK, 0.0, -np.inf)),
    "softmax": lambda x: np.exp(s := np.where(MASK, x, -np.inf)) / np.sum(np.exp(s)),
    "number": lambda x: np.exp(x[0] - np.inf) + np.exp(x[1]) * x[2],
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", MASKED)
def test_what_a_mask_makes_infinite_has_no_series(name):
    f, x, d = MASKED[name], np.array([0.5, 1.0, 2.0]), np.array([1.0, -0.5, 0.2])
    line = lambda t: f(x + t * d)
    first = lambda t: jvp(line, (t,), (1.0,))[1]
    found = taylor(f, x, d, 2)
    np.testing.assert_allclose(found[1], first(0.0), rtol=1e-12, atol=1e-15)
    second = (first(1e-5) - first(-1e-5)) / 4e-5
    np.testing.assert_allclose(found[2], second, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("take", [json.dumps, Decimal, lambda x: struct.pack("d", x)])
def test_what_takes_plain_numbers_names_the_line(take):
    with pytest.raises(TracerError, match=r"ignore_derivatives\(x\)"):
        taylor(lambda x: (take(x), x * x)[1], 2.0, 1.0, 2)


MIXED = [
    lambda x: np.sin(x) * np.ones((2, 3)) + np.arange(3.0),
    lambda x: x[:, None] * x / (1.0 + x),
    lambda x: np.tanh(x) @ np.exp(x),
    lambda x: 2.0 / np.sqrt(x) - x / 3.0,
    lambda x: np.float32(2.0) * x - np.arange(3.0) * x,
]


@pytest.mark.parametrize("k", range(len(MIXED)))
def test_shapes_constants_and_other_differentiation(k):
    f, x = MIXED[k], np.array([0.5, 1.0, 2.0])
    d = np.array([1.0, -0.5, 0.2])
    line = lambda t: f(x + t * d)
    second = jvp(lambda t: jvp(line, (t,), (1.0,))[1], (0.0,), (1.0,))[1] / 2.0
    np.testing.assert_allclose(taylor(f, x, d, 3)[2], second, rtol=1e-12, atol=1e-14)
    slope = grad(lambda x: np.sum(taylor(f, x, d, 3)[1]))(x)
    np.testing.assert_allclose(slope, grad(lambda x: np.sum(jvp(f, (x,), (d,))[1]))(x), rtol=1e-12)


def test_writes_are_refused_and_numbers_are_not():
    def alias(x):
        y = x * 1.0
        y += 1.0
        return y

    def element(x):
        b = x.copy()
        b[1] = x[0] ** 2
        return b

    def buffer(x):
        b = np.zeros_like(x)
        b[0] = x[1] ** 2
        return b

    assert taylor(alias, 1.0, 1.0, 2) == [2.0, 1.0, 0.0]
    for f in (alias, element, buffer):
        with pytest.raises(TracerError, match=r"np\.stack\(\[\.\.\.\]\)"):
            taylor(f, np.ones(3), np.ones(3), 2)


A = np.array([[2.0, 0.3, 0.1], [0.2, 3.0, 0.4], [0.1, -0.2, 1.5]])
SPREAD = lambda x: np.outer(x, x)
BY_RULES = {
    "norm": np.linalg.norm,
    "norm of a matrix": lambda x: np.linalg.norm(SPREAD(x) + A, 2),
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "logaddexp": lambda x: np.logaddexp(x[0], x[1]),
    "arctan2": lambda x: np.arctan2(x[0], x[1]),
    "std": np.std,
    "prod": np.prod,
    "cumprod": lambda x: np.cumprod(x)[-1],
    "outer": lambda x: np.sum(np.outer(x, np.sin(x))),
    "einsum": lambda x: np.einsum("i,ij,j", x, A, x * x),
    "einsum of one place": lambda x: np.sum(np.einsum("i,i,i->i", x, x * x, np.sin(x))),
    "det": lambda x: np.linalg.det(np.eye(3) + SPREAD(x)),
    "eigvalsh": lambda x: np.linalg.eigvalsh(np.diag(x) + SPREAD(x))[0],
    "svd": lambda x: np.sum(np.linalg.svd(A + SPREAD(x))[1]),
    "qr": lambda x: np.sum(np.abs(np.linalg.qr(A + SPREAD(x))[1])),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(3 * np.eye(3) + SPREAD(x))),
    "cholesky, upper": lambda x: np.sum(np.linalg.cholesky(A @ A.T + SPREAD(x), upper=True)),
    "cholesky of complex numbers": lambda x: np.sum(
        np.linalg.cholesky(3 * np.eye(3) + 1j * (np.outer(x, x * x) - np.outer(x * x, x))).real
    ),
    "solve": lambda x: np.sum(np.linalg.solve(A + SPREAD(x), x)),
    "solve, the matrix fixed": lambda x: np.sum(np.linalg.solve(A, SPREAD(x))),
    "solve, the right side fixed": lambda x: np.sum(np.linalg.solve(A + np.diag(x), np.ones(3))),
    "solve of a stack": lambda x: np.sum(np.linalg.solve(np.stack([A, A + np.diag(x)]), x)),
    "solve of many columns": lambda x: np.sum(
        np.linalg.solve(A + np.diag(x), np.outer(x, np.linspace(0.0, 1.0, 4000)))
    ),
    "minimize": lambda x: v.minimize(lambda w: (w**2 - x[0]) ** 2 + 0.3 * w**2 - w * x[1], 0.5),
    "reversible": lambda x: np.sum(
        reversible(lambda y, k: np.sinh(y), lambda y, k: np.arcsinh(y), 2)(x)
    ),
    "triangular": lambda x: np.sum(v.solve_triangular(A + SPREAD(x), x)),
    "triangular, upper, of ones": lambda x: np.sum(
        v.solve_triangular(A + SPREAD(x), x, upper=True, unit_diagonal=True)
    ),
}


@pytest.mark.parametrize("name", BY_RULES)
def test_coefficients_are_those_of_nested_derivatives(name):
    f, x, d = BY_RULES[name], np.array([0.3, 0.5, 0.7]), np.array([1.0, -0.4, 0.2])
    g = lambda t: f(x + t * d)
    for k, found in enumerate(taylor(f, x, d, 4)):
        np.testing.assert_allclose(found, g(0.0) / math.factorial(k), rtol=1e-8, atol=1e-11)
        g = lambda t, g=g: jvp(g, (t,), (1.0,))[1]


@pytest.mark.parametrize("name", sorted(BY_RULES.keys() - {"minimize"}))
def test_work_grows_as_a_power_of_the_order(name, monkeypatch):
    """Twice the order is at most 16 times the calls of rules; it was 1,000 times, or more."""
    calls, by_rule = [], Series._by_rule
    monkeypatch.setattr(Series, "_by_rule", lambda x, *xs: [calls.append(0), by_rule(x, *xs)][1])
    counts = []
    for order in (5, 10):
        calls.clear()
        taylor(BY_RULES[name], np.array([0.3, 0.5, 0.7]), np.array([1.0, -0.4, 0.2]), order)
        counts.append(len(calls))
    assert 0 < counts[0] <= counts[1] <= 16 * counts[0]
    assert not _known
