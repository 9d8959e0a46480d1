"""Zeros that are known by structure, where partials are infinite or NaN."""

import itertools
import math

import numpy as np
import pytest

from chainrules_py import ignore_derivatives
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

nan, inf, e = math.nan, math.inf, math.e
GAPS = np.array([1.0, nan])
ROWS = np.array([[1.0, 2.0], [nan, 1.0]])
MASK = np.array([0.0, 0.0, -inf])


def _softmax(x):
    y = np.exp(x + MASK)
    return np.sum((y / np.sum(y))[:1])


def _softplus(x):
    safe = np.where(x > 30.0, x, x)
    return np.sum(np.where(x > 30.0, x, np.log(1.0 + np.exp(safe))))


def _missing(a):
    return np.nanmean((np.array([1.0, nan, 3.0]) - a * np.array([1.0, 2.0, 3.0])) ** 2)


def _likelihood(m):
    return np.nansum(-0.5 * ((np.array([1.0, nan, 2.0]) - m) / 2.0) ** 2)


SELECTED = [
    (lambda a: np.nansum(GAPS * a), 0.5, 1.0),
    (_missing, 0.5, -5.0),
    (lambda x: np.sum(np.where(x > 0, x, np.exp(x))), [800.0, -1.0], [1.0, 1 / e]),
    (lambda p: np.sum(np.where(p > 0, p * np.log(p), 0.0)), [0.0, 0.5], [0.0, 1 - math.log(2)]),
    (lambda x: np.sum(np.where(np.isnan(x), 0.0, x * x)), [2.0, nan], [4.0, 0.0]),
    (lambda x: np.sum(np.exp(x)[:1]), [1.0, 800.0], [e, 0.0]),
    (lambda x: np.sum(np.exp(x)[np.array([0, 0])]), [1.0, 800.0], [2 * e, 0.0]),
    (lambda x: np.sum(np.exp(x)[np.array([True, False])]), [1.0, 800.0], [e, 0.0]),
    (lambda x: np.take(np.exp(x), 0), [1.0, 800.0], [e, 0.0]),
    (lambda x: np.sum(np.where(x > 0, x, np.exp(x) - 1.0)), [800.0, -1.0], [1.0, 1 / e]),
    (_softplus, [800.0, 1.0], [1.0, e / (1 + e)]),
    (lambda x: np.sum(np.minimum(np.exp(x), 10.0)), [800.0, 1.0], [0.0, e]),
    (lambda x: np.sum(np.fmin(np.exp(x), 10.0)), [800.0, 1.0], [0.0, e]),
    (lambda x: np.sum(np.clip(np.exp(x), 0.0, 10.0)), [800.0, 1.0], [0.0, e]),
    (lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))), [-1.0, 4.0], [0.0, 0.25]),
    (lambda x: np.sum(np.sqrt(np.clip(x, 0.0, None) * 0.25)), [-1.0, 4.0], [0.0, 0.125]),
    (lambda x: np.sum(np.log(-np.minimum(x, 0.0))), [1.0, -4.0], [0.0, -0.25]),
    (lambda x: np.sum(np.maximum(x, 0.0) ** 0.5), [-1.0, 4.0], [0.0, 0.25]),
    (lambda x: np.max(-np.exp(x)), [800.0, 1.0], [0.0, -e]),
    (lambda x: np.sort(-np.exp(x))[1], [800.0, 1.0], [0.0, -e]),
    (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), [0.0, 4.0], [0.0, 0.25]),
    (
        lambda x: np.sum(np.where([True, False], x / np.array([2.0, 0.0]), 0.0)),
        [1.0, 1.0],
        [0.5, 0],
    ),
    (
        lambda r: np.sum(np.where(r > 0, np.sin(r) / r, 1.0)),
        [0.0, 1.0],
        [0.0, math.cos(1) - math.sin(1)],
    ),
    (_likelihood, 0.0, 0.75),
    (lambda w: np.nansum((ROWS @ w) ** 2), [1.0, 1.0], [6.0, 12.0]),
    (lambda w: np.sum(np.where([True, False], ROWS @ w, 0.0)), [1.0, 1.0], [1.0, 2.0]),
    (lambda w: np.sum((np.array([[1.0, inf], [2.0, inf]]) * w)[:, :1]), [1.0, 1.0], [3.0, 0.0]),
    (lambda a: np.sum(np.nan_to_num(GAPS * a)), 0.5, 1.0),
    (lambda x: np.sum(np.where(x < 1e100, x**3, x)), [1e200, 2.0], [1.0, 12.0]),
    (lambda x: np.sum(np.where(x < 700.0, np.sinh(x), x)), [800.0, 0.0], [1.0, 1.0]),
    (
        lambda x: np.sum(np.where(x > 0, x, np.exp(np.exp(x)) * x)),
        [800.0, -1.0],
        [1.0, math.exp(1 / e) * (1 - 1 / e)],
    ),
    (_softmax, [0.0, 0.0, 1.0], [0.25, -0.25, 0.0]),
    (lambda b: np.nansum(np.array([[1.0, nan], [2.0, 3.0]]) * b), [1.0, 1.0], [3.0, 3.0]),
    (lambda x: np.trace(np.exp(np.diag(x))[:1, :1]), [1.0, 800.0], [e, 0.0]),
]
"""Functions, points, and gradients by the formula of the piece that counts."""
LOST = [
    (lambda x: np.sum(np.sqrt(x)), [1.0, -1.0]),
    (lambda x: np.log(1.0 + np.exp(x)), 800.0),
    (lambda x: np.log(np.exp(x)), 800.0),
    (lambda a: np.sum(GAPS * a), 0.5),
    (lambda x: np.exp(x) - np.exp(x), 800.0),
    (lambda x: np.sqrt(np.exp(x)), 800.0),
    (lambda x: np.tanh(np.exp(x)), 800.0),
    (lambda x: 1.0 / (1.0 + np.exp(x)), 800.0),
    (lambda x: np.exp(x) / (1.0 + np.exp(x)), 800.0),
    (lambda x: (x - x) * np.exp(x), 800.0),
    (lambda x: x * inf - x * inf, 2.0),
]
"""Functions whose values have overflowed, or have no derivative: no rule of zeros helps."""
DOORS = {
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x)[1],
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0],
    "jacobian": lambda f, x: jacobian(f, mode="reverse")(x),
    "has_aux": lambda f, x: grad(lambda x: (f(x), x), has_aux=True)(x)[0],
}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def point(x):
    return np.array(x) if isinstance(x, list) else x


def basis(x):
    return list(np.eye(len(x))) if np.ndim(x) else [1.0]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", SELECTED)
def test_what_is_left_out_counts_for_nothing(case, door):
    f, x, slope = case
    np.testing.assert_allclose(DOORS[door](f, point(x)), slope, rtol=1e-13)


@pytest.mark.parametrize("case", SELECTED)
def test_on_a_persistent_tape(case):
    f, x, slope = case
    with Tape(persistent=True) as tape:
        x = tape.variable(point(x))
        y = f(x)
    np.testing.assert_allclose(tape.grad(y, x), slope, rtol=1e-13)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", LOST)
def test_a_zero_by_value_hides_nothing(case, door):
    f, x = case
    assert np.isnan(DOORS[door](f, point(x))).any()


# A root that is left out at 0 cannot be told from one of which the rest is even.
@pytest.mark.filterwarnings("ignore:a root or length is 0")
@pytest.mark.parametrize("case", SELECTED)
def test_second_derivatives_agree_in_all_nestings(case):
    f, x, _ = case
    x = point(x)
    slope, along = grad(f), lambda d: lambda x: jvp(f, (x,), (d,))[1]
    found = {
        "ff": [[jvp(along(c), (x,), (d,))[1] for d in basis(x)] for c in basis(x)],
        "fr": [jvp(slope, (x,), (d,))[1] for d in basis(x)],
        "rf": [grad(along(d))(x) for d in basis(x)],
        "rr": [grad(lambda x, d=d: np.sum(slope(x) * d))(x) for d in basis(x)],
        "hessian": np.reshape(hessian(f)(x), (len(basis(x)), -1)),
        "hvp": [hvp(f, (x,), (d,))[0] for d in basis(x)],
    }
    whole = {k: np.reshape(np.asarray(h, float), (len(basis(x)), -1)) for k, h in found.items()}
    assert all([np.isfinite(h).all() for h in whole.values()]), whole
    for a, b in itertools.pairwise(whole.values()):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
def test_off_the_diagonal_of_a_jacobian(mode):
    found = jacobian(np.exp, mode=mode)(np.array([1.0, 800.0]))
    np.testing.assert_allclose(found, [[e, 0.0], [0.0, inf]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.minimum(np.exp(x), 10.0),
        lambda x: np.maximum(-np.exp(x), -10.0),
        lambda x: np.clip(np.exp(x), 0.0, 10.0),
        lambda x: np.fmin(np.exp(x), 10.0),
    ],
)
def test_pushes_of_what_is_not_chosen(f):
    assert jvp(f, (800.0,), (1.0,))[1] == 0.0


def test_a_function_of_another_value_is_not_believed():
    """It is run again where a gradient has NaN; one that draws gives another number then."""
    calls = []

    def f(x):
        calls.append(len(calls))
        return np.nansum(GAPS * x) + 1.0 * len(calls)

    assert math.isnan(grad(f)(0.5))
    assert len(calls) == 2


def test_a_gradient_without_nan_is_taken_once():
    calls = []

    def f(x):
        calls.append(ignore_derivatives(x))
        return np.sum(np.where(x > 0, np.exp(x), 1 / x))

    assert np.isinf(grad(f)(np.array([800.0, 1.0]))[0])
    assert len(calls) == 1


def test_a_factor_of_0_that_is_differentiated_further_out_hides_nothing():
    """∂³x^y/∂x²∂y = (2y - 1 + y (y - 1) log x) x^(y - 2), beside a point where it is NaN."""

    def slope(f, i):
        return grad(lambda *xs: np.sum(f(*xs)), i)

    x, y = np.array([1.0, 2.0, -0.5]), np.array([0.0, 0.0, 2.5])
    with np.errstate(all="ignore"):
        found = slope(slope(slope(np.power, 0), 0), 1)(x, y)
    np.testing.assert_allclose(found[:2], -(x[:2] ** -2.0), rtol=1e-12)
