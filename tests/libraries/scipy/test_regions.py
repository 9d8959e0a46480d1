"""Derivatives of special functions over signs and regions of their parameters (`regions`)."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as special

from chainrules_tape import grad
from tests.libraries.scipy.regions import SEARCHED, UFUNCS, Wrong, wrongs

OTHERS = {
    "itairy": "SciPy's values are right to six digits, and to none at x < -3",
    "lpmv": "SciPy's values are right to four digits at |x| > 1",
    "hyp1f1": "infinite where a = b are negative whole numbers, at which it ends",
    "gammainccinv": "SciPy gives a number for a probability above 1",
}
"""Where the derivative may be another number than that of SciPy's value."""

_VALUES_AROUND = """
besselpoly chndtr chndtridf chndtrix chndtrinc eval_gegenbauer eval_genlaguerre eval_jacobi
eval_laguerre eval_legendre eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_sh_chebyt
eval_sh_chebyu eval_sh_jacobi eval_sh_legendre hankel1 hankel1e hankel2 hankel2e hyp0f1 hyp1f1
hyp2f1 hyperu iv ive jv jve kv kve yv yve log_wright_bessel wright_bessel lpmv mathieu_a
mathieu_b mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1
mathieu_modsem2 modstruve struve obl_ang1 obl_cv obl_rad1 obl_rad2 pbdv pbvv pbwa pro_ang1
pro_cv pro_rad1 pro_rad2
"""
_ENDS = """
agm bdtri bdtrik bdtrin betainccinv betaincinv btdtria btdtrib chdtri chdtriv fdtri fdtridfd
gammainccinv gammaincinv gdtria gdtrib gdtrix nbdtri nbdtrik nbdtrin ncfdtri ncfdtridfd
ncfdtridfn ncfdtrinc nctdtridf nctdtrinc nctdtrit pdtri pdtrik stdtridf stdtrit tklmbda
"""
_POLES = "fdtrc nctdtr beta betaln binom elliprg poch zetac zeta"
_FLAWED = "modfresnelm modfresnelp"  # SciPy mixes the parts of the complex number at x < 0
NAN = frozenset(f"{_VALUES_AROUND} {_ENDS} {_POLES} {_FLAWED}".split())
"""Which may have no derivative (NaN) where the value is smooth."""


def _is_told(w: Wrong) -> bool:
    return (w.name in NAN and np.isnan(w.found)) or w.name in OTHERS


@pytest.mark.parametrize("seed", [0, *[pytest.param(k, marks=pytest.mark.nightly) for k in (1, 2)]])
def test_derivatives_are_those_of_the_value_in_all_regions(seed: int) -> None:
    names = UFUNCS if seed else UFUNCS.keys() - SEARCHED
    found = [
        w
        for name in sorted(names)
        for w in wrongs(name, 120 if seed and name not in SEARCHED else 24, seed)
    ]
    assert [w for w in found if not _is_told(w)] == []


@pytest.mark.parametrize("point", [(2.0, -0.5), (0.3, -4.0), (1.0, 2.0, 3.0, -0.5)])
def test_principal_values_against_mpmath(point: tuple[float, ...]) -> None:
    def value(*xs: float) -> mp.mpf:
        """Integrate over t = s / (1 - s) without its pole, which is odd and taken away."""
        *roots, p = map(mp.mpf, xs)
        half = 1 if len(roots) == 1 else len(roots)

        def regular(t: mp.mpf) -> mp.mpf:
            return mp.mpf(half) / 2 / mp.sqrt(mp.fprod(t + x for x in roots))

        near = mp.quad(lambda s: (regular(-p + s) - regular(-p - s)) / s, [0, -p])
        return near + mp.quad(lambda t: regular(t) / (t + p), [-2 * p, -20 * p, mp.inf])

    f = special.elliprc if len(point) == 2 else special.elliprj
    assert np.isclose(float(value(*point)), f(*point), rtol=1e-10)
    for k in range(len(point)):
        truth = mp.diff(lambda x, k=k: value(*point[:k], x, *point[k + 1 :]), point[k])
        assert np.isclose(grad(f, k)(*point), float(truth), rtol=1e-7)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
def test_what_the_orders_cut_has_no_slope() -> None:
    for f in (special.kn, special.yn, special.expn):
        assert grad(f, 0)(1.5, 0.7) == 0
        assert grad(f, 1)(1.5, 0.7) == grad(f, 1)(1, 0.7)


def test_second_derivatives_where_a_series_replaces_a_quotient() -> None:
    assert np.isclose(grad(grad(grad(special.berp)))(0.0), -0.375)
    assert grad(grad(lambda x: special.it2j0y0(x)[0]))(0.0) == 0.25
    sharp = grad(grad(special.voigt_profile, 1), 1)(0.7, 0.0, 0.9)
    bend = grad(grad(special.voigt_profile))(0.7, 0.0, 0.9)
    assert np.isclose(sharp, bend, rtol=1e-12)


@pytest.mark.parametrize("point", [(7.0, 1.0, 0.3, 200.0), (60.0, 2.0, 0.3, 127.0)])
def test_roots_that_scipy_finds_to_a_thousandth(point: tuple[float, ...]) -> None:
    dfn, dfd, p, f = point
    root: Any = lambda q: float(special.ncfdtrinc(dfn, dfd, q, f))
    slope = (root(p + 1e-2) - root(p - 1e-2)) / 2e-2
    assert np.isclose(grad(special.ncfdtrinc, 2)(*point), slope, rtol=3e-2)


@pytest.mark.parametrize("n", [171.0, 200.0, 401.0])
@pytest.mark.parametrize("x", [-0.7, 0.3, 0.95])
def test_chebyshev_of_high_orders(n: float, x: float) -> None:
    truth = mp.diff(lambda t: mp.sin((n + 1) * mp.acos(t)) / mp.sqrt(1 - t * t), x)
    assert np.isclose(grad(special.eval_chebyu, 1)(n, x), float(truth), rtol=1e-8)
    assert np.isclose(grad(special.eval_sh_chebyu, 1)(n, (x + 1) / 2), 2 * float(truth), rtol=1e-8)


def test_carlsons_integral_of_one_operand() -> None:
    assert grad(special.elliprg)(2.0, 0.0, 0.0) == 0.25 / np.sqrt(2.0)
    assert grad(special.elliprg, 2)(0.0, 0.0, 2.0) == 0.25 / np.sqrt(2.0)
