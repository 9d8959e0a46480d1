"""Python's floats through NumPy's functions: the short way gives the numbers and types of the long.

To the bit but for a last digit, where both operands of a quotient share its division.
"""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

from chainrules_tape import value_and_grad
from tests.plain import without

UFUNCS = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]
OPERATORS = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod")
AT, BESIDE = (0.3, 1.7, -0.6, 0.0), (0.4, -2.0, 1.7)


def programs(u, xs, ys):
    """Functions of floats in which a function of NumPy's, or an operator, stands somewhere."""
    one, both = 0, (0, 1)
    for x in xs:
        if getattr(u, "nin", 2) == 1:
            yield lambda a: u(a) * a + a, (x,), one
            yield u, (x,), one
            continue
        yield lambda a: u(a, np.float32(0.4)), (x,), one
        yield lambda a: u(np.sin(a), 3), (x,), one
        yield lambda a: np.sum(u(a, np.ones(2, np.float32))), (x,), one
        yield lambda a: np.sum(u(a, np.array([0.5, 2.0]))), (x,), one
        for y in ys:
            yield lambda a, b: u(a, b) * np.exp(a), (x, y), both
            yield lambda a, b: u(np.sin(a), b), (x, y), both
            yield lambda a, b: u(b, np.exp(a)) * b**2, (x, y), both
            yield lambda a, y=y: u(a, y) + np.cos(a) * 2, (x,), one
            yield lambda a, y=y: u(y, a) - np.cos(a) / 3, (x,), one
            yield lambda a, y=y: u(a, np.float64(y)), (x,), one


def flat(t):
    """The types and values of numbers."""
    if isinstance(t, tuple):
        return [part for u in t for part in flat(u)]
    return [(type(t), complex(t))]


def answers(u, xs, ys):
    """What each program gives, to first and second order; of an error its class."""
    found = []
    for f, operands, argnums in programs(u, xs, ys):
        second = lambda *a, f=f: value_and_grad(f, 0)(*a)[1]
        for g in (f, second):
            try:
                found += flat(value_and_grad(g, argnums)(*operands))
            except Exception as error:
                found.append((type(error), 0j))
    return found


def check(u, xs, ys):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        short = answers(u, xs, ys)
        with without():
            long = answers(u, xs, ys)
    assert [kind for kind, _ in short] == [kind for kind, _ in long]
    np.testing.assert_allclose([x for _, x in short], [x for _, x in long], rtol=4e-15)


@pytest.mark.slow
@pytest.mark.parametrize("name", UFUNCS)
def test_every_function(name):
    check(getattr(np, name), AT, BESIDE)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator(name):
    check(getattr(operator, name), (*AT[:3], 2.0), BESIDE)


@pytest.mark.parametrize("name", ["sin", "multiply", "power", "arctan2", "floor"])
def test_some_functions(name):
    check(getattr(np, name), AT[:2], BESIDE[:1])


def test_floats_stay_what_they_are():
    """They are not NumPy's from the start: that would change what Python's operators give."""
    narrow = np.float32([1.0, 2.0])
    assert value_and_grad(lambda a: np.sum(a * narrow))(2.0)[0].dtype == np.float32
    with pytest.raises(ZeroDivisionError):
        value_and_grad(lambda a: a / 0.0)(1.0)
    assert type(value_and_grad(lambda a: abs((a * -1.0) ** 0.5))(1.0)[0]) is float
