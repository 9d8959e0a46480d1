"""Choices: which operand an element came from, and what becomes of the others."""

import math

import numpy as np
import pytest

from chainrules_py import NoTangent, UnsupportedKeywordError, ZeroTangent, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

X = np.array([-1.0, 0.5, 2.0])
INF, NAN = math.inf, math.nan


def total(f):
    return lambda *xs: np.sum(f(*xs))


# --------------------------------------------------------------------------- select and choose


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: np.select([X < 0, X < 1], [x, 2 * x], 3 * x), [1, 2, 3]),
        (lambda x: np.select([x < 0, x < 1], [x, 2 * x]), [1, 2, 0]),
        (lambda x: np.select([X < 0, X < 5], [x, x * x], default=7.0), [1, 1, 4]),
        (lambda x: np.select([[True, False, True]], [x]), [1, 0, 1]),
        (lambda x: np.select([X < 0, X < 0], [x, 5 * x]), [1, 0, 0]),
        (lambda x: np.choose([0, 1, 0], [x, 2 * x]), [1, 2, 1]),
        (lambda x: np.choose([0, 2, 4], [x, 2 * x], mode="clip"), [1, 2, 2]),
        (lambda x: np.choose([-1, 2, 3], [x, 2 * x], mode="wrap"), [2, 1, 2]),
        (lambda x: np.choose(X > 0, [x, 2 * x]), [1, 2, 2]),
        (lambda x: np.choose([0, 1, 1], x.reshape(3, 1)), [1, 2, 0]),
        (lambda x: np.choose(np.array([2, 0, 0]), x), [2, 0, 1]),
    ],
)
def test_select_and_choose(f, expected):
    assert np.array_equal(vjp(f, X)[0], f(X))
    assert grad(total(f))(X).tolist() == expected
    assert np.isclose(np.sum(jvp(f, (X,), (np.ones(3),))[1]), sum(expected))


def test_select_gives_the_dtypes_of_numpy():
    x = X.astype(np.float32)
    for choices, default in (([x], 0), ([x], 0.5), ([x], np.float64(0)), ([x], 1j), ([x, X], 0)):
        conditions = [X < 0] * len(choices)
        f = lambda x, c=choices, d=default, s=conditions: np.select(s, [x, *c[1:]], d)
        assert vjp(f, x)[0].dtype == np.select(conditions, choices, default).dtype


def test_python_numbers_of_select_have_the_precision_of_its_arrays():
    x = X.astype(np.float32)
    for f in (
        lambda x: np.select([x < 0, x > 1], [x, -1.5]),
        lambda x: np.select([x < 0, x < 1, x > 1], [0.1, 2, x]),
        lambda x: np.select([x < 0, x > 1], [x, 2], 0.1),
    ):
        y = vjp(f, x)[0]
        assert y.dtype == np.float32
        assert np.array_equal(y, f(x))


@pytest.mark.parametrize(
    "f, error",
    [
        (lambda x: np.select([X < 0], [x, x]), ValueError),
        (lambda x: np.select([], []), ValueError),
        (lambda x: np.select([np.array([1, 0, 1])], [x]), TypeError),
        (lambda x: np.choose([0, 1, 2], [x, x]), ValueError),
        (lambda x: np.choose([0, 1, 1], [x, x], mode="else"), ValueError),
        (lambda x: np.choose([0, 1, 1], [x, x], out=np.empty(3)), UnsupportedKeywordError),
    ],
)
def test_wrong_choices_are_errors(f, error):
    with pytest.raises(error):
        grad(total(f))(X)


def test_what_is_chosen_by_gets_no_cotangent():
    _, pullback = rrule(v.choose, np.array([0, 1]), np.ones(2), 2.0)
    a_bar, first, second = pullback(np.ones(2))
    assert a_bar is NoTangent()
    assert first.tolist() == [1, 0]
    assert second == 1
    _, pullback = vjp(lambda a, x: np.choose(a, [x, -x]), np.array([0, 1]), np.ones(2))
    a_bar, x_bar = pullback(np.ones(2))
    assert a_bar.tolist() == [0, 0]
    assert x_bar.tolist() == [1, -1]


def test_the_method_of_indices():
    f = lambda a: np.sum(a.choose([X, -X]) * 1.0)
    assert grad(f)(np.array([0, 1, 0])).tolist() == [0, 0, 0]


# --------------------------------------------------------------------- what is no finite number

UNSUPPORTED = np.array([NAN, INF, -INF, 2.0])


def test_replacements_are_differentiated():
    f = lambda x, nan, up, down: np.nan_to_num(x, nan=nan, posinf=up, neginf=down)
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    bars = vjp(f, UNSUPPORTED, 0.5, np.array([1.0, 2.0, 3.0, 4.0]), np.float64(7.0))[1](weights)
    assert bars[0].tolist() == [0, 0, 0, 1000]
    assert (bars[1], bars[2].tolist(), bars[3]) == (1, [0, 10, 0, 0], 100)
    y_dot = jvp(f, (UNSUPPORTED, 0.5, np.ones(4), 7.0), (UNSUPPORTED, 2.0, 3 * np.ones(4), 4.0))[1]
    assert y_dot.tolist() == [2, 3, 4, 2]


def test_parts_of_complex_numbers_are_replaced_apart():
    z = np.array([complex(NAN, 1), complex(2, INF), complex(-INF, NAN), 1 + 1j])
    f = lambda z, nan: np.nan_to_num(z, nan=nan, posinf=INF, neginf=-3.0)
    y, pullback = vjp(f, z, 0.5)
    assert np.array_equal(y, f(z, 0.5))
    z_bar, nan_bar = pullback(np.full(4, 2 + 3j))
    assert z_bar.tolist() == [3j, 2, 0, 2 + 3j]
    assert nan_bar == 2 + 3
    y_dot = jvp(f, (z, 0.5), (np.full(4, 5 + 7j), 11.0))[1]
    assert y_dot.tolist() == [11 + 7j, 5, 11j, 5 + 7j]


def test_nan_to_num_of_single_precision():
    x = UNSUPPORTED.astype(np.float32)
    y, pullback = vjp(np.nan_to_num, x)
    assert y.tobytes() == np.nan_to_num(x).tobytes()
    (bar,) = pullback(np.ones(4, np.float32))
    assert bar.dtype == np.float32
    z = np.array([complex(NAN, 1), 2 - 1j], np.complex64)
    assert vjp(np.nan_to_num, z)[1](z)[0].dtype == np.complex64


def test_a_replacement_beside_a_plain_array_is_an_error():
    """NumPy shows a call only to the array; its own body then meets the traced number."""
    with pytest.raises(Exception, match="derivative"):
        grad(lambda nan: np.sum(np.nan_to_num(UNSUPPORTED[:1], nan=nan)))(1.0)


# -------------------------------------------------------------------------------------- steps


def test_heaviside():
    f = np.heaviside
    x, h = np.array([-1.0, 0.0, -0.0, 2.0]), np.array([0.3, 0.4, 0.5, 0.6])
    _, pullback = vjp(f, x, h)
    x_bar, h_bar = pullback(np.ones(4))
    assert x_bar.tolist() == [0, 0, 0, 0]
    assert h_bar.tolist() == [0, 1, 1, 0]
    assert jvp(f, (x, h), (np.ones(4), np.arange(4.0)))[1].tolist() == [0, 1, 2, 0]
    assert grad(lambda h: f(0.0, h))(INF) == 1
    assert frule((ZeroTangent(), 1.0), v.heaviside, 0.0, 0.5) == (0.5, 1)


@pytest.mark.filterwarnings("ignore:numpy.fix:DeprecationWarning")
def test_locally_constant_functions_record_nothing():
    """No derivative flows, and the result is a plain array."""
    for f in (
        np.floor,
        np.fix,
        np.rint,
        np.isreal,
        np.isneginf,
        lambda x: np.isclose(x, 1.0),
        lambda x: np.heaviside(x, 0.5),
        lambda x: np.array_equiv(x, X),
    ):
        seen = []
        grad(lambda x, f=f, seen=seen: (seen.append(type(f(x))), np.sum(x))[1])(X)
        assert seen[0] in (np.ndarray, np.bool_, bool)
