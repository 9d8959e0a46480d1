"""Even functions of a length that is 0, to third and fourth order, in all nestings."""

import itertools
import math
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning
from chainrules_tape import grad, hessian, jvp, linearize
from chainrules_tape.tools import even, taylor

MATERN = lambda r: (1 + 5**0.5 * r + 5 * r * r / 3) * np.exp(-(5**0.5) * r)
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


@pytest.mark.parametrize("s", [1e-30, 1e-16, 1e-12, 1e-9, 9e-9, 1.1e-8, 1e-6, 1.0])
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_derivatives_near_zero_keep_their_digits(s, size):
    """Those of phi(sqrt(s)) lost them all: the second was 1e11 for 1/12 at 1e-20."""
    matern = lambda r: (1 + r / size + (r / size) ** 2 / 3) * np.exp(-r / size)
    f, r = lambda s: even(s, phi=matern), math.sqrt(s)
    s, scale = s * size**2, np.array([1 / size**2, 1 / size**4])
    truth = scale * np.array([-(1 + r) / 6, 1 / 12]) * math.exp(-r)
    np.testing.assert_allclose([grad(f)(s), hessian(f)(s)], truth, rtol=2e-4)


def test_a_function_that_is_not_smooth_enough_is_a_series_at_zero_alone():
    phi = lambda r: (1 + r) * np.exp(-r)  # has r³
    third = grad(grad(grad(lambda x: even(x * x, phi=phi))))(1e-4)
    assert third == pytest.approx((2 - 1e-4) * math.exp(-1e-4))
    second = grad(grad(lambda s: even(s, phi=phi)))(9e-9)
    assert second == pytest.approx(math.exp(-math.sqrt(9e-9)) / math.sqrt(9e-9) / 4, rel=1e-3)


def test_a_slope_at_zero_is_reported():
    with pytest.warns(DegeneracyWarning, match="not even"):
        even(0.0, phi=lambda r: np.exp(-r))


def test_even_keeps_the_dtype():
    assert even(np.float32([0, 4]), phi=np.cos).dtype == np.float32
