"""Even functions of roots that are 0, to third and fourth order, in all nestings."""

import itertools
import math
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning
from chainrules_tape import Tape, checkpoint, grad, hessian, jvp, linearize
from chainrules_tape.tools import even, taylor

LENGTHS = {
    "norm": np.linalg.norm,
    "norm of rows": lambda x: np.linalg.norm(x[None], axis=1),
    "sqrt": lambda x: np.sqrt(np.sum(x * x)),
    "sqrt of a product": lambda x: np.sqrt(x @ x),
    "power": lambda x: np.sum(x * x) ** 0.5,
    "hypot": lambda x: np.hypot(x[0], x[1]),
    "complex": lambda x: np.abs(x[0] + 1j * x[1]),
    "std": lambda x: np.std(np.concatenate([x, -x])) * 2**0.5,
}
"""The length of a vector of two numbers."""
MATERN = lambda r: (1 + 5**0.5 * r + 5 * r * r / 3) * np.exp(-(5**0.5) * r)
EVEN = {
    "cos": (np.cos, -1 / 2, 1 / 24),
    "cosh": (np.cosh, 1 / 2, 1 / 24),
    "sinc": (np.sinc, -(math.pi**2) / 6, math.pi**4 / 120),
    "square": (np.square, 1.0, 0.0),
    "product": (lambda r: r * r / 2, 0.5, 0.0),
    "fourth power": (lambda r: r**4, 0.0, 1.0),
    "float power": (lambda r: r**2.0, 1.0, 0.0),
    "exp": (lambda r: np.exp(-(r**2)), -1.0, 0.5),
    "kernel": (lambda r: np.exp(-0.5 * (r / 0.7) ** 2), -0.5 / 0.49, 0.125 / 0.49**2),
    "scaled": (lambda r: np.cos(2.0 * r), -2.0, 16 / 24),
    "root": (lambda r: np.sqrt(1 + r**2), 0.5, -0.125),
    "numbers of NumPy": (lambda r: (np.float64(2.0) * r) ** np.float64(2.0), 4.0, 0.0),
    "compared": (lambda r: np.where((r >= 0) & (r != 1), np.cos(r), 0.0), -1 / 2, 1 / 24),
}
"""An even function of a length r, with its Taylor coefficients of r² and r⁴."""
WAYS = {
    "f": lambda f, d: lambda x: jvp(f, (x,), (d,))[1],
    "r": lambda f, d: lambda x: np.sum(grad(f)(x) * d),
    "l": lambda f, d: lambda x: linearize(f, x)[1](d),
}
NESTINGS = list(
    map("".join, [*itertools.product("frl", repeat=2), *itertools.product("fr", repeat=3)])
)
DIRECTIONS = np.array([[0.3, 0.7], [1.1, -0.2], [0.5, 0.9], [-0.4, 0.6]])
Q = lambda i, j: DIRECTIONS[i] @ DIRECTIONS[j]


@pytest.fixture(autouse=True)
def _strictly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def nested(f, ways):
    for way, d in zip(ways, DIRECTIONS, strict=False):
        f = WAYS[way](f, d)
    return f(np.zeros(2))


@pytest.mark.parametrize("ways", [*NESTINGS, "ffff", "rrrr", "frfr"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", EVEN)
def test_what_is_even_in_a_length_of_zero(name, length, ways):
    f, second, fourth = EVEN[name]
    pairs = Q(0, 1) * Q(2, 3) + Q(0, 2) * Q(1, 3) + Q(0, 3) * Q(1, 2)
    want = {2: 2 * second * Q(0, 1), 3: 0.0, 4: 8 * fourth * pairs}[len(ways)]
    found = nested(lambda x: np.sum(f(LENGTHS[length](x))), ways)
    assert found == pytest.approx(want, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", EVEN)
def test_one_length_of_several_is_zero(name):
    f, second, _ = EVEN[name]
    several = hessian(lambda x: np.sum(f(np.linalg.norm(np.stack([x, x + 1.0]), axis=1))))
    beside = hessian(lambda x: f(np.linalg.norm(x + 1.0)))(np.zeros(2))
    np.testing.assert_allclose(several(np.zeros(2)), 2 * second * np.eye(2) + beside, rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x) ** 2 + np.sin(np.linalg.norm(x)),
        lambda x: (lambda r: r**2 + r)(np.linalg.norm(x)),
        lambda x: (lambda r: r**2 + r[()])(np.hypot(x[0], x[1])),
        lambda x: np.sum(np.sqrt(np.stack([x @ x, 1.0 + x @ x])) ** np.array([3.0, 1.0])),
    ],
)
def test_what_is_not_even_is_reported(f):
    with pytest.warns(DegeneracyWarning, match="sum of squares"):
        hessian(f)(np.zeros(2))


def test_a_root_is_that_of_the_moment_of_its_call():
    def f(x):
        y = x * x
        r = np.sqrt(y)
        y[0] = 5.0
        z, w = r * 1.0, r**2
        r[1] = 7.0
        w[1] = 7.0
        return np.sum(z**2) + w[0]

    found = hessian(f)(np.array([0.5, 0.0]))
    np.testing.assert_allclose(found, [[4.0, 0.0], [0.0, 2.0]], atol=1e-12)


def test_a_tape_gives_gradients_at_intermediate_roots():
    def f(x):
        with Tape(persistent=True) as tape:
            y = tape.variable(x)
            r = np.linalg.norm(np.stack([y, y + 1.0]), axis=1)
            loss = np.sum(r**2)
        return tape.grad(loss, r), tape.grad(r, y, seed=np.ones(2))

    warnings.simplefilter("ignore", DegeneracyWarning)
    (slope, direction), _ = jvp(f, (np.zeros(2),), (np.ones(2),))
    np.testing.assert_allclose(slope, [0.0, 2 * 2**0.5])
    np.testing.assert_allclose(direction, [0.5**0.5] * 2)


@pytest.mark.parametrize("ways", NESTINGS)
def test_in_a_checkpoint(ways):
    for f in (
        lambda x: checkpoint(lambda x: np.linalg.norm(2.0 * x))(x) ** 2,
        checkpoint(lambda x: np.linalg.norm(2.0 * x) ** 2),
    ):
        want = 8 * Q(0, 1) if len(ways) == 2 else 0.0
        assert nested(f, ways) == pytest.approx(want, abs=1e-12)


PHI = {
    "matern": (MATERN, -5 / 6, 25 / 24),
    "inverse of cosh": (lambda r: 1.0 / np.cosh(r), -1 / 2, 5 / 24),
    "cos": (np.cos, -1 / 2, 1 / 24),
}


@pytest.mark.parametrize("ways", [*NESTINGS, "ffff", "rrrr"])
@pytest.mark.parametrize("name", PHI)
def test_a_function_that_is_known_to_be_even(name, ways):
    phi, second, fourth = PHI[name]
    pairs = Q(0, 1) * Q(2, 3) + Q(0, 2) * Q(1, 3) + Q(0, 3) * Q(1, 2)
    want = {2: 2 * second * Q(0, 1), 3: 0.0, 4: 8 * fourth * pairs}[len(ways)]
    found = nested(lambda x: even(np.sum(x * x), phi=phi), ways)
    assert found == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_even_away_from_zero_and_in_what_phi_knows():
    f, x = lambda x: even(np.sum(x * x), phi=MATERN), np.array([0.3, -0.4])
    plain = hessian(lambda x: MATERN(np.linalg.norm(x)))
    np.testing.assert_allclose(hessian(f)(x), plain(x), rtol=1e-13)
    bend = lambda size: jvp(
        grad(lambda t: even(t * t, phi=lambda r: MATERN(r / size))), (0.0,), (1.0,)
    )
    assert grad(lambda size: bend(size)[1])(2.0) == pytest.approx(2 * 5 / 3 / 8)
    np.testing.assert_allclose(
        taylor(lambda t: even(t * t, phi=np.cos), 0.0, 1.0, 6)[::2], [1, -1 / 2, 1 / 24, -1 / 720]
    )


def test_a_slope_at_zero_is_reported():
    with pytest.warns(DegeneracyWarning, match="not even"):
        even(0.0, phi=lambda r: np.exp(-r))
