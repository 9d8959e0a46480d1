"""Numbers of classes derived from Python's, as of enumerations, beside what is differentiated."""

from __future__ import annotations

import enum
import operator

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError
from chainrules_tape import grad, hvp, jacobian, jvp


class _Two(enum.IntEnum):
    TWO = 2


class _Three(float, enum.Enum):
    THREE = 3.0


class _Length(float):
    """A number with a name."""


class _Turn(complex):
    """A complex one."""


class _Doubled(float):
    """A number that computes otherwise."""

    def __mul__(self, other):
        return 2.0 * float(self) * other

    __rmul__ = __mul__


OF_A_CLASS = [_Two.TWO, _Three.THREE, _Length(1.5), _Turn(0.5 + 1j)]
BESIDE = ["add", "subtract", "multiply", "divide", "power", "where", "maximum", "minimum", "hypot"]


@pytest.mark.parametrize("at", [1.3, np.array([0.7, 1.3, 2.1]), np.array([[0.7]])])
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_of_a_class_of_their_own_count_as_the_numbers_that_they_are(name, at):
    def of(number, first):
        if name == "where":
            return lambda x: np.real(
                np.sum(np.where(x > 1.0, *((number, x) if first else (x, number))))
            )
        function = getattr(np, name)
        return lambda x: np.real(np.sum(function(number, x) if first else function(x, number)))

    for number in OF_A_CLASS:
        if isinstance(number, complex) and name not in BESIDE[:5]:
            continue
        for first in (True, False):
            f, plain = of(number, first), of(+number, first)
            assert_same(grad(f)(at), grad(plain)(at))
            assert_same(jvp(f, (at,), (at,)), jvp(plain, (at,), (at,)))
            assert_same(jacobian(f)(at), jacobian(plain)(at))
            assert_same(hvp(f, (at,), (at,)), hvp(plain, (at,), (at,)))


@pytest.mark.parametrize("of", [operator.add, operator.mul, operator.pow, operator.truediv])
@pytest.mark.parametrize("number", OF_A_CLASS)
def test_so_they_do_beside_operators(of, number):
    for at in (1.3, np.array([0.7, 1.3])):
        assert_same(
            grad(lambda x: np.real(np.sum(of(x, number))))(at),
            grad(lambda x: np.real(np.sum(of(x, +number))))(at),
        )
        assert_same(
            grad(lambda x: np.real(np.sum(of(number, x))))(at),
            grad(lambda x: np.real(np.sum(of(+number, x))))(at),
        )


def test_one_that_computes_otherwise_is_asked_where_python_asks_it():
    for x in (2.0, np.float64(2.0), np.array([2.0])):
        ahead, behind = x + 0.5, x - 0.5
        wanted = np.sum(ahead * _Doubled(3.0)) - np.sum(behind * _Doubled(3.0))
        assert np.sum(grad(lambda x: np.sum(x * _Doubled(3.0)))(x)) == wanted


def test_one_that_is_differentiated_in_is_refused():
    with pytest.raises(NotDifferentiableError, match="may compute otherwise"):
        grad(lambda x: x * x)(_Length(2.0))


def assert_same(found, wanted):
    pair = isinstance(found, tuple)
    for a, b in zip(found if pair else (found,), wanted if pair else (wanted,), strict=True):
        assert np.allclose(np.asarray(a, float), np.asarray(b, float), 1e-12, equal_nan=True)
