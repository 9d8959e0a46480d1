"""Derivatives of special functions at 2,000 hard points, against fifty digits (slow).

Points are tiny and large, near whole numbers, near roots, and at both ends of what a function
takes. Where a derivative is not right to 1e-10, it is right to a few roundings of its argument,
or it is named here.
"""

from __future__ import annotations

import warnings
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special

import chainrules_scipy  # noqa: F401
from chainrules_tape import grad

LINE, RIGHT, UNIT = "line", "right", "unit"
FUNCTIONS = {
    "gammaln": (RIGHT, mp.loggamma),
    "digamma": (RIGHT, mp.digamma),
    "rgamma": (LINE, mp.rgamma),
    "erf": (LINE, mp.erf),
    "erfc": (LINE, mp.erfc),
    "erfcx": (LINE, lambda x: mp.exp(x * x) * mp.erfc(x)),
    "erfinv": (UNIT, mp.erfinv),
    "ndtr": (LINE, mp.ncdf),
    "log_ndtr": (LINE, lambda x: mp.log(mp.ncdf(x))),
    "expit": (LINE, lambda x: 1 / (1 + mp.exp(-x))),
    "log_expit": (LINE, lambda x: -mp.log(1 + mp.exp(-x))),
    "logit": (UNIT, lambda x: mp.log(x / (1 - x))),
    "entr": (UNIT, lambda x: -x * mp.log(x)),
    "j0": (LINE, lambda x: mp.besselj(0, x)),
    "j1": (LINE, lambda x: mp.besselj(1, x)),
    "y0": (RIGHT, lambda x: mp.bessely(0, x)),
    "i0e": (LINE, lambda x: mp.exp(-abs(x)) * mp.besseli(0, x)),
    "i1e": (LINE, lambda x: mp.exp(-abs(x)) * mp.besseli(1, x)),
    "k0e": (RIGHT, lambda x: mp.exp(x) * mp.besselk(0, x)),
    "k1e": (RIGHT, lambda x: mp.exp(x) * mp.besselk(1, x)),
    "exp1": (RIGHT, mp.e1),
    "expi": (RIGHT, mp.ei),
    "spence": (RIGHT, lambda x: mp.polylog(2, 1 - x)),
    "ellipk": (UNIT, mp.ellipk),
    "ellipe": (UNIT, mp.ellipe),
    "dawsn": (LINE, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)),
    "exprel": (LINE, lambda x: mp.expm1(x) / x),
    "cosm1": (LINE, lambda x: mp.cos(x) - 1),
}
COUNT = 72
VANISHING = ("erf", "erfc", "ndtr", "log_ndtr")
"""Functions that come as near to a number as 1e-280, where fifty digits are too few."""


def points(kind: str, seed: int) -> np.ndarray:
    """Draw numbers of all sizes, and some beside whole ones and roots."""
    rng = np.random.default_rng(seed)
    far = 1.0 if kind == UNIT else 25.0
    tiny = 10.0 ** rng.uniform(-14, 0, COUNT // 3) * (0.9 if kind == UNIT else 1.0)
    wide = rng.uniform(0, far, COUNT // 3)
    whole = np.round(rng.uniform(1, far, COUNT - 2 * (COUNT // 3)))
    near = whole + 10.0 ** rng.uniform(-10, -1, len(whole)) * rng.choice([-1, 1], len(whole))
    if kind == UNIT:
        near = 1 - 10.0 ** rng.uniform(-8, -0.1, len(near))
    x = np.concatenate([tiny, wide, near])
    return x if kind != LINE else x * rng.choice([-1.0, 1.0], len(x))


def errors(name: str) -> list[tuple[float, float]]:
    """Return points where the derivative is not right, with the error that no rounding explains."""
    kind, f = FUNCTIONS[name]
    found = []
    with mp.workdps(330 if name in VANISHING else 50), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in points(kind, sum(map(ord, name))):
            slope = grad(getattr(special, name))(float(x))
            truth, bend = (mp.diff(f, mp.mpf(float(x)), n) for n in (1, 2))
            truth, bend = mp.re(truth), mp.re(bend)
            allowed = 1e-10 * abs(truth) + 8 * 2.0**-52 * abs(mp.mpf(float(x)) * bend) + 1e-300
            if not abs(mp.mpf(float(slope)) - truth) <= allowed:
                found.append((float(x), float(abs(slope - truth) / abs(truth))))
    return found


NOT_RIGHT: dict[str, str] = {}
"""Functions with points where the derivative is worse, and why."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hard_points(name):
    found = errors(name)
    assert bool(found) == (name in NOT_RIGHT), found


def test_there_are_two_thousand():
    assert len(FUNCTIONS) * COUNT >= 2000


@pytest.mark.parametrize("x", [-1e-9, -1e-6, -0.3, -0.4999, -0.5001, -2.5, 0.5])
def test_zeta_left_of_zero(x):
    for f in (special.zeta, special.zetac):
        assert grad(f)(x) == pytest.approx(float(mp.diff(mp.zeta, x)), rel=1e-12)
        assert grad(grad(f))(x) == pytest.approx(float(mp.diff(mp.zeta, x, 2)), rel=1e-10)


def student(df: Any, t: Any) -> Any:
    """Compute ∫ f du from 0 to t."""
    scale = mp.exp(mp.loggamma(df / 2 + 0.5) - mp.loggamma(df / 2)) / mp.sqrt(mp.pi * df)
    return scale * mp.quad(lambda u: (1 + u * u / df) ** (-(df + 1) / 2), [0, t])


def f_above(n: Any, d: Any, x: Any) -> Any:
    return mp.betainc(d / 2, n / 2, 0, d / (d + n * x), regularized=True)


@pytest.mark.parametrize("shape, rtol", [(1e-12, 1e-5), (1e-9, 1e-6), (1e-6, 1e-9), (1e-3, 1e-12)])
def test_tiny_shapes_at_operands_that_are_as_near_to_an_end(shape: float, rtol: float):
    def slope(f: Any) -> float:
        return float(mp.diff(f, mp.mpf(shape), h=mp.mpf(shape) * mp.mpf(10) ** -12))

    calls = [
        (lambda s: special.fdtr(2.7, s, 0.96), lambda s: -f_above(2.7, s, 0.96)),
        (lambda s: special.betainc(2.7, s, 1 - shape), lambda s: _beta(2.7, s, 1 - shape)),
        (lambda s: special.betainc(s, 2.7, shape), lambda s: _beta(s, 2.7, shape)),
        (
            lambda s: special.stdtr(s, -0.4),
            lambda s: _beta(s / 2, mp.mpf(0.5), s / (s + mp.mpf(-0.4) ** 2)) / 2,
        ),
    ]
    for k, (f, exact) in enumerate(calls):
        with mp.workdps(60):
            truth = slope(exact)
        assert grad(f)(shape) == pytest.approx(truth, rel=rtol), k


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


FAR: dict[str, tuple[Any, int, float, list[tuple[float, ...]]]] = {
    "agm": (mp.agm, 2, 1e-12, [(1e-100, 1.0), (1.0, 1e-12), (2.0, 3.0)]),
    "stdtr": (student, 2, 1e-11, [(150.0, 0.3), (1e4, -1.0), (1e6, 3.0), (1e9, -1.0)]),
    "fdtrc": (f_above, 2, 1e-5, [(2.0, 10.0, 1e-8), (1.0, 30.0, 1e-12), (3.0, 0.5, 1e20)]),
    "fdtr": (lambda *xs: -f_above(*xs), 2, 1e-12, [(3.0, 0.5, 1e20)]),
    "elliprc": (mp.elliprc, 1, 1e-13, [(1.0, 1e-13), (1e-13, 1.0), (1.0, 1.0)]),
    "elliprf": (mp.elliprf, 1, 1e-13, [(1.0, 1e-8, 0.3), (1.0, 2.0, 3.0)]),
}
"""Functions, up to which order their partials are right, how precisely, and where."""


@pytest.mark.parametrize("name", FAR)
def test_operands_of_very_different_sizes(name: str):
    exact, orders, rtol, places = FAR[name]
    for xs, k in [(at, k) for at in places for k in range(len(at))]:
        f = lambda y, xs=xs, k=k: getattr(special, name)(*xs[:k], y, *xs[k + 1 :])
        with mp.workdps(60):
            x = mp.mpf(xs[k])
            by = lambda y, xs=xs, k=k: exact(*map(mp.mpf, xs[:k]), y, *map(mp.mpf, xs[k + 1 :]))
            truth = [
                float(mp.diff(by, x, n, h=x * mp.mpf(10) ** -12)) for n in range(1, orders + 1)
            ]
        found = [grad(f)(xs[k]), grad(grad(f))(xs[k])][:orders]
        np.testing.assert_allclose(found, truth, rtol=rtol, err_msg=f"{xs}, {k}")


CANCELLING: dict[str, tuple[Any, Any, float]] = {
    "ndtri_exp": (
        special.ndtri_exp,
        lambda y: mp.findroot(lambda x: mp.log(mp.ncdf(x)) - y, -mp.sqrt(-2 * y)),
        -1e8,
    ),
    "struve": (lambda x: special.struve(0, x), lambda x: mp.struveh(0, x), 1e-16),
    "modstruve": (lambda x: special.modstruve(0, x), lambda x: mp.struvel(0, x), 1e-16),
    "ellipkm1": (special.ellipkm1, lambda p: mp.ellipk(1 - p), 1e-17),
    "poch, at 0": (
        lambda z: special.poch(z, 2.5),
        lambda z: mp.gamma(z + 2.5) * mp.rgamma(z),
        1e-16,
    ),
    "poch, at -1": (
        lambda z: special.poch(z, 2.5),
        lambda z: mp.gamma(z + 2.5) * mp.rgamma(z),
        -1 + 1e-10,
    ),
}
"""Functions, the same ones by mpmath, and points where formulas of their slopes cancel."""


@pytest.mark.parametrize("name", CANCELLING)
def test_first_and_second_derivatives_where_formulas_of_slopes_cancel(name: str):
    f, exact, x = CANCELLING[name]
    with mp.workdps(50):
        at = mp.mpf(x)
        truth = [float(mp.diff(exact, at, n, h=abs(at) * mp.mpf(10) ** -14)) for n in (1, 2)]
    np.testing.assert_allclose([grad(f)(x), grad(grad(f))(x)], truth, rtol=1e-12)


@pytest.mark.parametrize("other", [1e-5, 2.0, 1e5])
def test_agm_beside_zero_is_constant_in_the_other_operand(other):
    assert grad(special.agm, (0, 1))(other, 0.0) == (0.0, np.inf)
    assert grad(special.agm, (0, 1))(0.0, other) == (np.inf, 0.0)
