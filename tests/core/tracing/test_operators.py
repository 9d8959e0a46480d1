"""Python's operators on traced values: arithmetic, comparisons, bits."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from chainrules_py import (
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
    ZeroTangent,
)
from chainrules_tape import grad, jvp, vjp

INF, NAN = math.inf, math.nan


def total(f):
    return lambda *xs: np.sum(f(*xs))


def forward(f):
    """The derivative of a function of one number, by forward mode."""
    return lambda x: jvp(f, (x,), (np.ones(x.shape, x.dtype) if hasattr(x, "shape") else 1.0,))[1]


# ------------------------------------------------------------------------------------- operators

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
VALUES = [2.6, np.float64(2.6), np.array(2.6), np.array([2.6, 1.7]), np.array([[1.4], [3.3]])]


@pytest.mark.parametrize("b", VALUES, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
@pytest.mark.parametrize("a", VALUES, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
@pytest.mark.parametrize("op", OPERATORS, ids=lambda f: f.__name__)
def test_operators(op, a, b):
    b = b * 1.13
    y = op(a, b)
    h = 1e-6
    for k, f in enumerate((lambda t: op(a + t, b), lambda t: op(a, b + t))):
        expected = (f(h) - f(-h)) / (2 * h)
        tangents = tuple(
            np.ones_like(x) * 1.0 if i == k else ZeroTangent() for i, x in enumerate((a, b))
        )
        value, y_dot = jvp(op, (a, b), tangents)
        assert type(value) is type(y)
        assert np.array_equal(value, y)
        np.testing.assert_allclose(y_dot, expected, rtol=1e-7, atol=1e-7)
        x_bar = vjp(op, a, b)[1](np.ones_like(y) if isinstance(y, np.ndarray) else 1.0)[k]
        assert np.shape(x_bar) == np.shape((a, b)[k])
        np.testing.assert_allclose(np.sum(x_bar), np.sum(expected), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: -x, -1),
        (lambda x: +x, 1),
        (abs, -1),
        (lambda x: 2.0 - x, -1),
        (lambda x: 2.0 / x, -2 / 0.49),
        (lambda x: 2.0**x, 2**-0.7 * math.log(2)),
        (lambda x: 5.5 % x, -math.floor(5.5 / -0.7)),
        (lambda x: 5.5 // x + x, 1),
        (lambda x: math.floor(x) * x, -1),
        (lambda x: math.ceil(x) + math.trunc(x) + x, 1),
        (lambda x: round(x) * x, -1),
        (lambda x: divmod(x, 0.3)[1] + divmod(5.5, x)[1], 1 - math.floor(5.5 / -0.7)),
    ],
)
def test_reflected_and_unary_operators(f, expected):
    for x in (-0.7, np.float64(-0.7)):
        assert math.isclose(grad(f)(x), expected, rel_tol=1e-14)
        assert math.isclose(jvp(f, (x,), (1.0,))[1], expected, rel_tol=1e-14)


def test_comparisons_are_plain():
    seen = []

    def f(x):
        for op in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
            for a, b in ((x, 1.0), (1.0, x), (x, x)):
                seen.append((op(a, b), op(*(1.5 if t is x else t for t in (a, b)))))
        return x * (x > 1) + (2 if x == 1.5 else 3) * x

    assert grad(f)(1.5) == 3.0
    assert jvp(f, (1.5,), (1.0,))[1] == 3.0
    assert all(type(a) is bool and a is b for a, b in seen)
    x = np.array([1.0, -1.0])
    assert grad(lambda x: np.sum(x * (x > 0)))(x).tolist() == [1, 0]
    assert grad(lambda x: np.sum(x * ((x > 0) | (x == -1))))(x).tolist() == [1, 1]
    assert grad(lambda x: np.sum(x * (np.array([0.0, 0.0]) < x)))(x).tolist() == [1, 0]
    assert grad(lambda x: x if x is not None and x != "text" else 0.0)(1.0) == 1.0


def test_bits():
    n = np.array([5, 6])
    for f in (
        lambda n: n & 4,
        lambda n: n | 1,
        lambda n: 3 ^ n,
        lambda n: ~n,
        lambda n: n << 1,
        lambda n: 64 >> n,
    ):
        y, pullback = vjp(lambda n, f=f: f(n) * 1.0, n)
        assert y.tolist() == (f(n) * 1.0).tolist()
        assert pullback(np.ones(2))[0].tolist() == [0, 0]


@pytest.mark.parametrize("op", [operator.truediv, operator.mod, operator.floordiv])
def test_operators_raise_as_python_does(op):
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: op(1.0, x))(0.0)
    with pytest.raises(ZeroDivisionError):
        grad(lambda x: x**-1)(0.0)


ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


@pytest.mark.parametrize("order", ["left", "right"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_fractions_are_the_floats_that_python_makes_of_them(name, order):
    compute, third = getattr(operator, name), Fraction(7, 3)

    def f(x, other):
        return compute(x, other) if order == "right" else compute(other, x)

    want = f(2.5, third)
    assert jvp(lambda x: f(x, third), (2.5,), (1.0,))[0] == want
    silent = lambda f: grad(f, unused="zero")  # of a floor it is zero
    for mode in (silent, lambda f: lambda x: jvp(f, (x,), (1.0 + 0 * x,))[1]):
        assert mode(lambda x: f(x, third))(2.5) == mode(lambda x: f(x, 7 / 3))(2.5)
        if (name, order) == ("pow", "left"):
            continue  # Python makes a float of it before NumPy sees it
        with pytest.raises(NotDifferentiableError, match="Fraction makes objects"):
            mode(lambda x: np.sum(f(x, third)))(np.ones(2))
    with pytest.raises(TypeError, match="Decimal"):  # as of a float
        grad(lambda x: f(x, Decimal(2)))(2.5)


class Named(np.ndarray):
    """Arrays with a method of their own."""

    def norm(self):
        """Compute the Euclidean norm."""
        return np.sqrt(np.sum(self * self))


def test_methods_of_a_subclass_are_refused_by_an_error_of_ours():
    x = np.ones(2).view(Named)
    for compute in (lambda x: x.norm(), lambda x: np.sum(x) * x.norm):
        with pytest.raises(TracerError, match=r"norm of a traced .* has no derivative"):
            grad(compute)(x)
        with pytest.raises(AttributeError, match="norm"):
            jvp(compute, (x,), (x,))
    assert grad(lambda x: np.sum(x) * hasattr(x, "norm"))(x).tolist() == [0.0, 0.0]


DIVIDED = {"reverse": lambda f, x: vjp(f, x)[0], "forward": lambda f, x: jvp(f, (x,), (1.0,))[0]}


@pytest.mark.parametrize("mode", DIVIDED)
@pytest.mark.parametrize(
    "pair", [lambda x: (x, 0.0 * x), lambda x: (x, 0.0), lambda x: (3.0, x - x)]
)
def test_divmod_by_zero_raises_as_of_plain_numbers(mode, pair):
    def f(x):
        try:
            n, r = divmod(*pair(x))
        except ZeroDivisionError:
            return 7.0 * x
        return n + r

    assert DIVIDED[mode](f, 2.0) == f(2.0) == 14.0


def test_divmod_of_bytes_is_numpy_s():
    y, x = bytearray(b"abcd"), np.array([0.5, 0.2, 1.7, 1.1])
    found, _ = jvp(lambda x: divmod(y, x)[1], (x,), (x,))
    np.testing.assert_array_equal(found, divmod(np.asarray(y), x)[1])


def test_divmod_is_the_quotient_and_the_rest():
    for x, y in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (np.array([7.5, -1.0]), 2.0)):
        z, pull = vjp(lambda x, y: divmod(x, y)[1] + 10.0 * divmod(x, y)[0], x, y)
        assert np.all(z == divmod(x, y)[1] + 10.0 * divmod(x, y)[0])
        x_bar, y_bar = pull(np.ones(np.shape(z))[()] if np.shape(z) else 1.0)
        assert np.all(x_bar == 1.0)
        assert np.isclose(y_bar, -np.sum(np.floor_divide(x, y)))
        z, _ = vjp(lambda y, x=x: divmod(x, y)[0] + divmod(x, y)[1], y)
        assert np.all(z == sum(divmod(x, y)))


def test_bits_with_truths():
    """A truth of Python's is a whole number, beside a whole one."""
    for f in (
        lambda x: (x & True) + x * 1.0,
        lambda x: (False | x) * 1.0,
        lambda x: (x ^ True) + x,
    ):
        y, pull = vjp(f, 3)
        assert y == f(3)
        assert type(y) is type(f(3))
        pull(1.0)


def test_a_modulus_is_refused_in_our_words():
    with pytest.raises(UnsupportedKeywordError, match="write pow"):
        grad(lambda x: pow(x, 2, 5))(3.0)


def test_attributes_of_an_array_itself_are_not_those_of_a_traced_one():
    class Unit(np.ndarray):
        "An array whose instances have attributes."

        kind = "length"

    x = np.ones(2).view(Unit)
    x.scale = 3.0
    with pytest.raises(AttributeError, match="has no attribute 'scale'"):
        vjp(lambda x: x * x.scale, x)
    with pytest.raises(TracerError, match="has no derivative that is known"):
        vjp(lambda x: x * len(x.kind), x)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        vjp(lambda x: x * x.other, x)
    assert vjp(lambda x: x * 2.0 if hasattr(x, "other") else x * 3.0, x)[0].tolist() == [3.0, 3.0]


def test_a_traced_array_knows_the_namespace_of_the_array_api_standard():
    def f(x):
        xp = x.__array_namespace__(api_version="2023.12")
        return xp.sum(xp.exp(x) * x)

    x = np.array([0.5, -1.0])
    for slope in (grad(f), grad(lambda x: jvp(f, (x,), (np.ones(2),))[0])):
        np.testing.assert_allclose(slope(x), np.exp(x) * (1.0 + x), rtol=1e-15)
    compiled = pytest.importorskip("chainrules_compile").compile(grad(f), strict=True)
    np.testing.assert_allclose(compiled(x), np.exp(x) * (1.0 + x), rtol=1e-15)
    assert grad(lambda x: x * (not hasattr(x, "__array_namespace__")))(2.0) == 1.0
