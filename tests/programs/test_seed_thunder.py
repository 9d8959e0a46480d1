"""Thunder's page on adding a rule: multiplication as an augmented forward and a backward function.

The page draws x, y and v of three numbers each, and prints what is pulled back to four digits.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import primitive, rrule
from chainrules_py.extend import find_rule
from chainrules_py.testing import check_rule
from chainrules_tape import grad, jvp, vjp

X = np.array([1.5410, -0.2934, -2.1788])
Y = np.array([0.5684, -1.0845, -1.3986])
V = np.array([0.4033, 0.8380, -0.7193])
X_GRAD = [0.2293, -0.9089, 1.0060]
Y_GRAD = [0.6216, -0.2459, 1.5671]


def agree(bars):
    """To the digits that the page prints; the inputs are known to as many."""
    np.testing.assert_allclose(bars[0], X_GRAD, atol=2e-4)
    np.testing.assert_allclose(bars[1], Y_GRAD, atol=2e-4)


def manual_backward1(x, y, v):
    """With the Jacobian matrices themselves."""
    return v @ np.diag(y), v @ np.diag(x)


def manual_backward2(x, y, v):
    """Element by element."""
    return v * y, v * x


def test_deriving_the_rule():
    agree(manual_backward1(X, Y, V))
    agree(manual_backward2(X, Y, V))


@primitive
def mul(x, y):
    """A multiplication that has no rule yet."""
    return np.multiply(x, y)


def augmented_mul(x, y):
    """The result, and what the backward function needs."""
    saved_info = (x, y)
    return mul(x, y), saved_info


def mul_backward(x, y, v):
    """Exactly `manual_backward2`."""
    return v * y, v * x


augmented_rule(mul, augmented_mul, mul_backward)


def func(x, y):
    return mul(x, y)


def test_the_new_rule_is_used():
    assert find_rule(mul, (np.ndarray, np.ndarray)).reverse.where.startswith(__file__)
    agree(vjp(func, X, Y)[1](V))
    agree(rrule(mul, X, Y)[1](V))


def test_the_new_rule_is_tested():
    """Forward mode is its transpose."""
    report = check_rule(mul, X, Y, vary=False)
    assert report.verdict("adjoint") == report.verdict("second order") == "passed"
    np.testing.assert_allclose(jvp(func, (X, Y), (V, V))[1], V * (X + Y))


def test_in_two_lines():
    short = primitive(lambda x, y: x * y)
    augmented_rule(short, lambda x, y: (x * y, (x, y)), lambda x, y, v: (v * y, v * x))
    agree(vjp(short, X, Y)[1](V))
    assert grad(grad(lambda x: short(short(x, x), x)))(3.0) == pytest.approx(18.0)


def test_the_rule_of_a_library_function_is_replaced():
    """In a process of its own, since a statement about `np.multiply` is one for all."""
    program = """
import numpy as np
from chainrules_py import explain
from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_tape import grad, jvp

def augmented_mul(x: np.ndarray, y: np.ndarray):
    return np.multiply(x, y), (x, y)

def mul_backward(x, y, v):
    calls.append(v)
    return v * y, v * x

calls = []
augmented_rule(np.multiply, augmented_mul, mul_backward)
x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
assert grad(lambda x: np.sum(x * y))(x).tolist() == [3.0, 4.0] and len(calls) == 1
assert jvp(lambda x: x * y, (x,), (np.ones(2),))[1].tolist() == [3.0, 4.0] and len(calls) > 1
calls.clear()
assert grad(lambda x: x * 3.0)(2.0) == 3.0 and not calls  # other types have their own
print(repr(explain(np.multiply, x, y)).count("augmented_rule"))
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "backends")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2"  # of both modes, as the calls above show
