"""The trap for NaN: it names the call and the line, and costs nothing where it is not set."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ChainRulesError, NanError
from chainrules_tape import Tape, debug_nans, grad, jacobian, jvp, linearize, vjp
from chainrules_tape.inspect.kept_calls import has_nan, trap_is_set
from chainrules_tape.tools import taylor

X = np.array([1.0, -1.0])


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def test_the_call_that_makes_a_nan_is_named_with_its_line():
    def f(x):
        y = np.exp(x)
        z = np.log(y - 1.0)  # the line
        return np.sum(z)

    with debug_nans(), pytest.raises(NanError, match=r"log\(float64\[2\]\) gave NaN") as error:
        grad(f)(X)
    assert "z = np.log(y - 1.0)  # the line" in str(error.value)
    assert __file__ in str(error.value)
    assert isinstance(error.value, (ChainRulesError, FloatingPointError))


@pytest.mark.parametrize("number", [float, np.float64, np.float32, np.asarray])
def test_a_nan_of_one_number(number):
    with np.errstate(all="ignore"), debug_nans():
        with pytest.raises(NanError, match=r"log\(.*\) gave NaN"):
            grad(lambda x: np.log(x - 10.0))(number(2.0))
        with pytest.raises(NanError, match="going back through exp"):
            grad(lambda x: np.log(np.exp(x) + number(1.0)))(number(800.0))
        with pytest.raises(NanError, match="log"):
            grad(lambda x: np.log(np.sum(x) - 10.0))(np.ones(2, np.result_type(number(1.0))))


@pytest.mark.parametrize(
    "of",
    [
        lambda f, x: linearize(f, x),
        lambda f, x: jacobian(f, mode="forward")(x),
        lambda f, x: jvp(f, (x,), (np.ones((3, 2)),), batched=True),
        lambda f, x: taylor(f, x, x, 2),
    ],
)
def test_a_nan_of_other_modes(of):
    with np.errstate(all="ignore"), debug_nans():
        with pytest.raises(NanError, match=r"log\(float64\[2\]\) gave NaN") as error:
            of(lambda x: 2.0 * np.log(x), np.array([-1.0, 1.0]))
        assert "2.0 * np.log(x)" in str(error.value)


def test_a_nan_on_the_way_back():
    def f(x):
        return np.sum(np.arctan2(x, 2 * x))

    with debug_nans(), pytest.raises(NanError, match="going back through atan2") as error:
        grad(f)(np.array([1.0, 0.0]))
    assert "np.arctan2(x, 2 * x)" in str(error.value)


def test_a_nan_that_came_in_is_nobodys():
    with debug_nans():
        assert np.isnan(grad(lambda x: np.sum(x * x))(np.array([np.nan, 1.0]))[0])


def test_finite_programs_give_what_they_give_without():
    def f(x):
        return np.sum(np.sin(x) * np.outer(x, x)[0])

    expected = grad(f)(X)
    with debug_nans():
        assert trap_is_set()
        np.testing.assert_array_equal(grad(f)(X), expected)
        np.testing.assert_array_equal(vjp(f, X)[1](1.0)[0], expected)
        assert jvp(f, (X,), (X,))[1] == pytest.approx(expected @ X)
    assert not trap_is_set()


def test_in_nested_differentiation():
    def inner(x):
        return np.sum(grad(lambda y: np.sum(np.sqrt(y) * x))(x))

    with debug_nans(), pytest.raises(NanError, match="sqrt"):
        grad(inner)(X)


def test_on_a_tape_in_hands():
    with debug_nans(), Tape() as tape:
        x = tape.variable(X)
        with pytest.raises(NanError, match="log"):
            np.log(x)


def test_forward_mode():
    with debug_nans(), pytest.raises(NanError, match="log") as error:
        jvp(lambda x: np.log(x), (X,), (np.ones(2),))
    assert "jvp(lambda x: np.log(x)" in str(error.value)
    with debug_nans(), pytest.raises(NanError, match="pushing through atan2"):
        jvp(lambda x: np.arctan2(x, x), (np.zeros(2),), (np.ones(2),))
    with debug_nans(), pytest.raises(NanError, match="pushing through atan2"):
        taylor(lambda x: np.arctan2(x, x), np.zeros(2), np.ones(2), 1)


def test_python_numbers_and_complex():
    with debug_nans(), pytest.raises(NanError):
        grad(lambda x: (x * np.inf) * 0.0)(2.0)
    assert has_nan(complex(0, float("nan")))
    assert has_nan((1.0, [float("nan")]))
    assert not has_nan(("text", None, 1))
