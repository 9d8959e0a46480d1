"""The operations for Python's own numbers, and which operations NumPy's scalars are computed by."""

from __future__ import annotations

import cmath
import math
import warnings

import numpy as np
import pytest

from chainrules_py import Primitive, primitive
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

INF, NAN = math.inf, math.nan
FLOATS = [
    0.0,
    -0.0,
    0.3,
    -0.7,
    1.0,
    -1.0,
    2.5,
    -3.5,
    1e300,
    -1e300,
    1e-310,
    800.0,
    -800.0,
    INF,
    -INF,
    NAN,
]

UNARY = {
    "negative": "negative", "positive": "positive", "reciprocal": "reciprocal", "square": "square",
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log",
    "log1p": "log1p", "log2": "log2", "log10": "log10", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "deg2rad": "deg2rad", "rad2deg": "rad2deg",
    "abs": "absolute", "sign": "sign", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "round": "rint", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "signbit": "signbit", "conj": "conjugate", "real": "real", "imag": "imag", "sinc": "sinc",
    "logical_not": "logical_not", "spacing": "spacing",
}  # fmt: skip
BINARY = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "floor_divide": "floor_divide", "remainder": "remainder", "fmod": "fmod", "pow": "power",
    "hypot": "hypot", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "atan2": "arctan2",
    "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin",
    "copysign": "copysign", "nextafter": "nextafter", "equal": "equal", "not_equal": "not_equal",
    "less": "less", "less_equal": "less_equal", "greater": "greater",
    "greater_equal": "greater_equal", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor",
}  # fmt: skip


def assert_same(ours, theirs):
    kind = {np.float64: float, np.complex128: complex, np.bool_: bool, np.ndarray: float}[
        type(theirs)
    ]
    assert type(ours) is kind
    np.testing.assert_allclose(ours, theirs, rtol=4e-15, atol=1e-323)


@pytest.mark.parametrize("name", UNARY)
def test_an_operation_has_the_value_of_ieee_754(name):
    """As NumPy gives it, to the last digits; nothing is raised."""
    for x in FLOATS:
        with np.errstate(all="ignore"):
            expected = getattr(np, UNARY[name])(x)
        assert_same(
            getattr(v, name)(x), np.float64(expected) if isinstance(expected, float) else expected
        )


@pytest.mark.parametrize("name", BINARY)
def test_an_operation_of_two_has_the_value_of_ieee_754(name):
    for x in FLOATS:
        for y in FLOATS:
            if name == "pow" and x < 0 and not float(y).is_integer() and math.isfinite(y):
                continue  # Python goes on with a complex number
            with np.errstate(all="ignore"):
                expected = getattr(np, BINARY[name])(x, y)
            try:
                assert_same(getattr(v, name)(x, y), expected)
            except AssertionError as error:
                raise AssertionError(f"{name}({x}, {y})") from error


COMPLEX = [0j, 1j, -1 + 0j, 0.3 - 0.4j, -2.5 + 1.1j, -1.5 - 0.5j, 3 + 0.2j]


@pytest.mark.parametrize("name", sorted(set(UNARY) - {
    "cbrt", "deg2rad", "rad2deg", "floor", "ceil", "trunc", "round", "signbit", "sinc", "spacing"
}))  # fmt: skip
def test_complex_numbers(name):
    for z in COMPLEX:
        with np.errstate(all="ignore"):
            expected = getattr(np, UNARY[name])(z)
        ours = getattr(v, name)(z)
        if not np.all(np.isfinite(expected)):  # which of the parts is NaN is nobody's convention
            assert not cmath.isfinite(ours)
            continue
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-15)


def test_whole_numbers():
    assert v.pow(3, 2) == 9
    assert type(v.pow(3, 2)) is int
    assert v.pow(10, 400) == 10**400
    assert v.floor(3) == 3
    assert v.sqrt(4) == 2.0
    assert v.divide(1, 0) == INF
    assert v.sign(-3) == -1
    assert v.bitwise_and(6, 3) == 2
    assert v.log(10**400) == pytest.approx(400 * math.log(10))


def test_strong_product_and_choice():
    assert v.strong_multiply(0.0, INF) == 0
    assert v.strong_multiply(0, NAN) == 0
    assert v.strong_multiply(2.0, 3.0) == 6
    assert v.where(True, 1.0, 2.0) == 1.0
    assert v.clip(5.0, 0.0, 1.0) == 1.0
    assert math.isnan(v.clip(NAN, 0.0, 1.0))
    assert v.round_decimals(1.26, decimals=1) == 1.3
    assert v.full_like(1.0, shape=(), fill=2) == 2
    with pytest.raises(TypeError):
        v.full_like(1.0, shape=(2,), fill=2)


OPERATIONS = sorted(
    (w for w in vars(v).values() if isinstance(w, Primitive)), key=lambda w: w.__name__
)


@pytest.mark.parametrize("name", sorted({*UNARY} - {"real", "imag"}))
def test_scalars_of_numpy_are_computed_by_numpy(name):
    """np.float64 is a float: it must not be computed by math, nor be ambiguous between the two."""
    for cls in (np.float64, np.float32):
        x = cls(0.3)
        with np.errstate(all="ignore"):
            expected, ours = getattr(np, UNARY[name])(x), getattr(v, name)(x)
        assert type(ours) is type(expected) or (type(ours) is np.float64 and name == "sinc")
        np.testing.assert_array_equal(ours, expected)


def test_scalars_of_numpy_warn_as_numpy_does():
    with pytest.warns(RuntimeWarning):
        assert v.log10(np.float64(0)) == -INF


def test_a_body_of_the_users_own_is_kept_for_their_types():
    @primitive
    def half(x):
        return x / 2

    @half.implement
    def half_float(x: float):
        return ("float", x / 2)

    assert half(np.float64(2)) == ("float", 1.0)
    assert half(np.float32(2)) == 1.0
    assert half(2) == 1.0


@pytest.mark.parametrize("d", [grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
@pytest.mark.parametrize(
    "f, x, expected",
    [
        (v.sqrt, 0.0, INF),
        (v.log, 0.0, INF),
        (v.asin, 1.0, INF),
        (v.acos, 1.0, -INF),
        (lambda x: x**0.5, 0.0, INF),
        (v.hypot, None, None),
        (lambda x: v.maximum(x, 2.0), 2.0, 0.5),
        (lambda x: v.clip(x, 0.0, 2.0), 2.0, 1.0),
        (lambda x: v.where(x > 1, x * x, 0.0), 3.0, 6.0),
    ],
)
def test_derivatives_at_the_ends(d, f, x, expected):
    if x is None:
        f, x, expected = (lambda x: v.hypot(x, 0.0)), 0.0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = d(f)(x)
    assert y == expected
    assert isinstance(y, (int, float))
    assert not isinstance(y, np.generic)


def test_numbers_stay_pythons():
    f = lambda x: v.sin(x) * x + v.pow(x, 3) - 2 / x
    assert type(grad(f)(0.5)) is float
    assert type(grad(grad(f))(0.5)) is float
    assert type(jvp(f, (0.5,), (1.0,))[1]) is float
