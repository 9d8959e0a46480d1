"""Steps of a numeric rule follow what changes: small units, short waves; and stairs are refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, primitive
from chainrules_tape import grad
from chainrules_tape.tools import NumericDerivativeWarning, numeric_rule

X = np.array([0.51234567, -1.2345678, 2.3456789])


def slope(value, x):
    """The derivative of the sum by steps; None where it is refused."""
    f = numeric_rule(primitive(value))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericDerivativeWarning)
        try:
            return grad(lambda a: np.sum(f(a)))(x)
        except NotDifferentiableError:
            return None


def smooth(q):
    """Functions that change within q, with operands, and their derivatives."""
    z = np.array([q, -q, 1.0])
    y = np.array([0.5, -1.0, 2.0]) * q
    return {
        "tanh": (lambda a: np.tanh(a / q), y, 1 / q / np.cosh(y / q) ** 2),
        "sine": (lambda a: np.sin(a / q), X, np.cos(X / q) / q),
        "sine of |x|": (lambda a: np.sin(np.abs(a) / q), X, np.sign(X) * np.cos(X / q) / q),
        "root": (lambda a: np.sqrt(np.abs(a)), abs(z), 0.5 / np.sqrt(abs(z))),
        "logarithm": (lambda a: np.log(np.real(a)), abs(z), 1.0 / abs(z)),
        "|x|": (np.abs, z, np.sign(z)),
        "above zero": (lambda a: np.maximum(a, 0.0), z, z > 0.0),
        "a jump": (lambda a: np.where(a > 0.0, a + 1.0, a), z, np.ones(3)),
        "waves on a line": (lambda a: a + q * np.sin(a / q), X, 1.0 + np.cos(X / q)),
        "a ramp": (lambda a: a + np.where((a > 0) & (a < q), a / q, 0.0), y[:1], [1.0 + 1.0 / q]),
    }


@pytest.mark.parametrize("q", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("name", smooth(1.0))
def test_what_changes_soon_is_right(name, q):
    """It was refused, as if it were not smooth."""
    f, x, want = smooth(q)[name]
    np.testing.assert_allclose(slope(f, x), want, rtol=1e-5, atol=1e-4 * np.max(np.abs(want)))


STAIRS = {
    "round": lambda q: (lambda a: np.round(a / q) * q, 0.0),
    "floor": lambda q: (lambda a: np.floor(a / q) * q, 0.0),
    "twice, and rounded": lambda q: (lambda a: 2.0 * a + (a / q).round() * q, 2.0),
    "a root, rounded": lambda q: (lambda a: np.rint(a / q) * q + a, 1.0),
}


@pytest.mark.parametrize("name", STAIRS)
@pytest.mark.parametrize("k", range(13))
def test_stairs_have_the_derivative_between_jumps_or_none(name, k):
    """Over many stairs it was that of the line behind them: 1 for np.round(x, 3)."""
    f, want = STAIRS[name](10.0**-k)
    for x in (X, np.array([0.5, -1.2, 2.0]) * 1.01):
        found = slope(f, x)
        assert found is None or np.allclose(found, want, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [np.abs, np.sqrt, np.cbrt, np.floor, lambda a: np.maximum(a, 0.0), lambda a: np.abs(a) ** 0.5],
    ids=["abs", "sqrt", "cbrt", "floor", "above zero", "root of |x|"],
)
def test_kinks_and_jumps_are_refused(f):
    assert slope(f, np.array([0.0, 1.5])) is None


def test_few_digits_are_no_stairs():
    """What computes in single precision is flat close by, and has the slope that it had."""
    f = lambda a: np.tanh(a.astype(np.float32)).astype(float)
    np.testing.assert_allclose(slope(f, X), 1 / np.cosh(X) ** 2, rtol=1e-2)
    for q in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        short = lambda a, q=q: np.tanh(a.astype(np.float32) / np.float32(q)).astype(float)
        found = slope(short, q * X)
        assert found is None or np.allclose(found, 1 / q / np.cosh(X) ** 2, rtol=1e-2)
