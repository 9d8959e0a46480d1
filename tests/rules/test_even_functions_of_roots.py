"""Even functions of roots at 0, to fourth order, in all nestings."""

import itertools
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning
from chainrules_tape import Tape, checkpoint, grad, hessian, jvp, linearize

norm = np.linalg.norm
WAYS = {
    "f": lambda f, d: lambda x: jvp(f, (x,), (d,))[1],
    "r": lambda f, d: lambda x: np.sum(grad(f)(x) * d),
    "l": lambda f, d: lambda x: linearize(f, x)[1](d),
}
DIRECTIONS = np.array([[0.3, 0.7], [1.1, -0.2]])
SCALES = np.array([[1.0], [2.0]])
EVEN = {
    "half a square": (lambda x: norm(x) ** 2 / 2, 1.0),
    "square by float": (lambda x: np.power(norm(x), 2.0), 2.0),
    "product": (lambda x: (lambda r: r * r)(norm(x)), 2.0),
    "fourth power": (lambda x: norm(x) ** 4, 0.0),
    "gauss": (lambda x: np.exp(-(norm(x) ** 2)), -2.0),
    "gauss of a quotient": (lambda x: np.exp(-0.5 * (norm(x) / 0.5) ** 2), -4.0),
    "root of a square": (lambda x: np.sqrt(1 + norm(x) ** 2), 1.0),
    "cos": (lambda x: np.cos(norm(x)), -1.0),
    "cos of a multiple": (lambda x: np.cos(-3 * norm(x)), -9.0),
    "cosh": (lambda x: np.cosh(norm(x)), 1.0),
    "inverse of cosh": (lambda x: 1 / np.cosh(norm(x)), -1.0),
    "sinc": (lambda x: np.sinc(norm(x) / np.pi), -1 / 3),
    "root": (lambda x: np.sqrt(np.sum(x * x)) ** 2, 2.0),
    "root of a product": (lambda x: np.cos(np.sqrt(x @ x)), -1.0),
    "power": (lambda x: np.cos((x @ x) ** 0.5), -1.0),
    "hypot": (lambda x: np.hypot(x[0], x[1]) ** 2, 2.0),
    "abs": (lambda x: np.abs(norm(x)) ** 2, 2.0),
    "abs of real numbers": (lambda x: np.sum(np.abs(x) ** 2), 2.0),
    "abs of a complex number": (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, 2.0),
    "norm of complex numbers": (lambda x: norm(x + 1j * x) ** 2, 4.0),
    "norm of a matrix": (lambda x: norm(np.outer(x, np.ones(2))) ** 2, 4.0),
    "some of several": (lambda x: np.sum(norm(np.stack([x, x + 1]), axis=1) ** 2), 4.0),
    "axes": (lambda x: np.sum(np.cos(norm(x * SCALES, axis=1, keepdims=True))), -5.0),
    "sum of two": (lambda x: (lambda r: np.cos(r) + r**2)(norm(x)), 1.0),
    "in a checkpoint": (checkpoint(lambda x: norm(x) ** 2), 2.0),
}


def quiet(ways):
    """Fail at warnings, but where the root is pushed before it is known what follows."""
    pushed = ways[0] != "r" or (len(ways) > 2 and "f" in ways)
    return warnings.catch_warnings(action="ignore" if pushed else "error")


@pytest.mark.parametrize("ways", list(map("".join, itertools.product("frl", repeat=2))))
@pytest.mark.parametrize("name", EVEN)
def test_the_second_derivative_is_that_of_the_smooth_function(name, ways):
    f, bend = EVEN[name]
    g = f
    for way, direction in zip(ways, DIRECTIONS, strict=True):
        g = WAYS[way](g, direction)
    with quiet(ways):
        assert g(np.zeros(2)) == pytest.approx(bend * np.dot(*DIRECTIONS), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", EVEN)
def test_the_hessian(name):
    f, bend = EVEN[name]
    np.testing.assert_allclose(hessian(f)(np.zeros(2)), bend * np.eye(2), rtol=1e-12, atol=1e-12)


def test_the_variance_from_the_spread():
    want = 2 * (np.eye(3) - 1 / 3) / 3
    np.testing.assert_allclose(hessian(lambda x: np.std(x) ** 2)(np.full(3, 0.5)), want, rtol=1e-12)


ORDERS = {
    "cos": (lambda t: np.cos(np.sqrt(t * t)), (-1, 0, 1)),
    "cosh": (lambda t: np.cosh(np.abs(t)), (1, 0, 1)),
    "sinc": (lambda t: np.sinc(np.hypot(t, 0.0)), (-(np.pi**2) / 3, 0, np.pi**4 / 5)),
    "square": (lambda t: np.sqrt(t * t) ** 2, (2, 0, 0)),
    "fourth power": (lambda t: np.sqrt(t * t) ** 4, (0, 0, 24)),
    "gauss": (lambda t: np.exp(-(((t * t) ** 0.5) ** 2)), (-2, 0, 12)),
}


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("name", ORDERS)
def test_higher_orders(name, order):
    f, wanted = ORDERS[name]
    for ways in itertools.product("fr", repeat=order):
        g = f
        for way in ways:
            g = WAYS[way](g, 1.0)
        with quiet(ways):
            assert g(np.float64(0.0)) == pytest.approx(wanted[order - 2], rel=1e-9, abs=1e-9)


def test_a_scale_that_varies_as_well():
    f = lambda p: np.cos(p[2] * norm(p[:2]))
    found = hessian(f)(np.array([0.0, 0.0, 3.0]))
    np.testing.assert_allclose(found, np.diag([-9.0, -9.0, 0.0]), atol=1e-12)


@pytest.mark.parametrize(
    "name", ["half a square", "gauss", "cos", "sinc", "hypot", "some of several"]
)
def test_elsewhere_nothing_changes(name):
    """The functions of the squares, written out, agree; the last has a root that is 0 here."""
    f, x = EVEN[name][0], np.array([-1.0, -1.0])
    slope, along = grad(f), np.array([0.6, 0.3])
    h = 1e-6
    want = (slope(x + h * along) - slope(x - h * along)) / (2 * h)
    np.testing.assert_allclose(jvp(slope, (x,), (along,))[1], want, rtol=1e-8, atol=1e-8)


def test_what_is_not_even_is_reported():
    for f in (norm, lambda x: np.exp(-norm(x)), lambda x: norm(x) ** 3, lambda x: np.sin(norm(x))):
        with pytest.warns(DegeneracyWarning, match="sum of squares"):
            assert np.all(hessian(f)(np.zeros(2)) == 0)


def test_what_is_even_beside_what_is_not():
    with pytest.warns(DegeneracyWarning):
        found = hessian(lambda x: (lambda r: np.exp(-r) + r**2)(norm(x)))(np.zeros(2))
    np.testing.assert_array_equal(found, 2 * np.eye(2))


# ------------------------------------------------------------------------------ writes and tapes


def overwritten(x):
    s = x * x
    r = np.sqrt(s)
    s[:] = 5.0
    return np.sum(r**2)


def doubled(x):
    r = np.sqrt(x * x)
    half = r / 2
    r += 1.0
    return np.sum(half**2)


def scaled(x):
    r2 = np.sqrt(x * x) ** 2
    r2 *= -0.5
    return np.sum(r2)


@pytest.mark.parametrize("case", [(overwritten, 2.0), (doubled, 0.5), (scaled, -1.0)])
def test_a_root_keeps_the_square_of_what_it_was(case):
    f, bend = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegeneracyWarning)
        np.testing.assert_array_equal(hessian(f)(np.zeros(2)), bend * np.eye(2))


def test_a_root_that_was_written_to_is_none():
    def f(x):
        r = np.sqrt(x * x)
        r[0] = 3 * x[1]
        return np.sum(r**2)

    with pytest.warns(DegeneracyWarning):
        assert hessian(f)(np.zeros(2))[1, 1] == 18.0

    def g(x):
        r = np.sqrt(x * x)
        r *= 2.0
        return np.sum(r**2)

    with pytest.warns(DegeneracyWarning):
        assert np.all(hessian(g)(np.zeros(2)) == 0.0)


def test_a_root_that_leaves_a_tape():
    def slope(x):
        with Tape() as tape:
            x = tape.variable(x)
            y = norm(x)
        return tape.grad(y, x)

    with pytest.warns(DegeneracyWarning):
        assert np.all(jvp(slope, (np.zeros(2),), (DIRECTIONS[0],))[1] == 0.0)


def test_a_root_that_a_checkpoint_gets():
    """Where it keeps its calls, it has the derivative; where it computes them anew, it warns."""
    square = checkpoint(lambda r: r**2, save="nothing")
    with pytest.warns(DegeneracyWarning):
        assert np.all(hessian(lambda x: square(norm(x)))(np.zeros(2)) == 0.0)
    square = checkpoint(lambda r: r**2, save="cheap")
    np.testing.assert_array_equal(hessian(lambda x: square(norm(x)))(np.zeros(2)), 2 * np.eye(2))
