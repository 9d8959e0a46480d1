"""Derivatives at the ends of what special functions and distributions take (`ends`)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.special as special
import scipy.stats

from chainrules_scipy import special as special_functions
from chainrules_scipy import stats
from chainrules_tape import grad, value_and_grad, vjp
from tests.libraries.scipy.ends import forward, wrongs, wrongs_at
from tests.libraries.scipy.regions import SEARCHED, UFUNCS
from tests.libraries.scipy.test_stats import CONTINUOUS, REFUSED

Case = tuple[Any, *tuple[float, ...]]
_NORMAL = scipy.stats.norm.pdf(0.5)

SPECIAL: dict[str, Case] = {
    "gammainc": (lambda x: special.gammainc(2.0, x), 0.0, 0.0, 1.0),
    "gammaincc": (lambda x: special.gammaincc(2.0, x), 0.0, 0.0, -1.0),
    "gammainc of 1": (lambda x: special.gammainc(1.0, x), 0.0, 1.0, -1.0),
    "gammainc of 3": (lambda x: special.gammainc(3.0, x), 0.0, 0.0, 0.0),
    "betainc": (lambda x: special.betainc(2.0, 3.0, x), 0.0, 0.0, 12.0),
    "betainc of whole numbers": (lambda x: special.betainc(2, 3, x), 0.0, 0.0, 12.0),
    "betainc at 1": (lambda x: special.betainc(3.0, 2.0, x), 1.0, 0.0, -12.0),
    "betaincc": (lambda x: special.betaincc(2.0, 3.0, x), 0.0, 0.0, -12.0),
    "bdtr": (lambda p: special.bdtr(1, 5, p), 0.0, 0.0, -20.0),
    "bdtrc": (lambda p: special.bdtrc(1, 5, p), 0.0, 0.0, 20.0),
    "pdtr": (lambda m: special.pdtr(1, m), 0.0, 0.0, -1.0),
    "pdtrc": (lambda m: special.pdtrc(1, m), 0.0, 0.0, 1.0),
    "nbdtr": (lambda p: special.nbdtr(2, 2, p), 0.0, 0.0, 12.0),
    "chdtr": (lambda x: special.chdtr(4.0, x), 0.0, 0.0, 0.25),
    "fdtr": (lambda x: special.fdtr(4.0, 3.0, x), 0.0, 0.0, 20 / 3),
    "gdtr": (lambda x: special.gdtr(1.0, 2.0, x), 0.0, 0.0, 1.0),
    "gdtr in its rate": (lambda a: special.gdtr(a, 2.0, 1.0), 0.0, 0.0, 1.0),
    "stdtr": (lambda x: special.stdtr(math.inf, x), 0.5, _NORMAL, -0.5 * _NORMAL),
    "stdtrit": (
        lambda p: special.stdtrit(math.inf, p),
        special.ndtr(0.5),
        1 / _NORMAL,
        0.5 / _NORMAL**2,
    ),
    "chndtr": (lambda x: special.chndtr(x, 2.0, 1.0), 0.0, 0.5 * np.exp(-0.5), -np.exp(-0.5) / 8),
    "spherical_jn": (lambda x: special_functions.spherical_jn(0, x), 0.0, 0.0, -1 / 3, 0.0),
    "spherical_jn of 1": (lambda x: special_functions.spherical_jn(1, x), 0.0, 1 / 3, 0.0, -0.2),
    "spherical_in": (lambda x: special_functions.spherical_in(0, x), 0.0, 0.0, 1 / 3, 0.0),
    "its slope": (lambda x: special_functions.spherical_in(1, x, True), 0.0, 0.0, 0.2),
    "ellipkinc": (
        lambda m: special.ellipkinc(0.7, m),
        1.0,
        0.08397682095119562,
        0.05201738751230871,
    ),
    "ellipeinc": (
        lambda m: special.ellipeinc(0.7, m),
        1.0,
        -0.06056638567999593,
        -0.011705217635599842,
    ),
}
DISTRIBUTIONS: dict[str, Case] = {
    "bernoulli": (lambda p: stats.bernoulli.pmf(1, p), 0.0, 1.0, 0.0),
    "binom": (lambda p: stats.binom.pmf(1, 5, p), 0.0, 5.0, -40.0),
    "binom of 2": (lambda p: stats.binom.pmf(2, 5, p), 0.0, 0.0, 20.0),
    "binom at 1": (lambda p: stats.binom.pmf(4, 5, p), 1.0, -5.0, -40.0),
    "binom below": (lambda p: stats.binom.cdf(1, 5, p), 0.0, 0.0, -20.0),
    "binom beside 0": (lambda p: stats.binom.pmf(1, 5, p), 1e-16, 5.0, -40.0),
    "poisson": (lambda m: stats.poisson.pmf(1, m), 0.0, 1.0, -2.0),
    "poisson below": (lambda m: stats.poisson.cdf(1, m), 0.0, 0.0, -1.0),
    "nbinom": (lambda p: stats.nbinom.pmf(1, 2, p), 1.0, -2.0, -8.0),
    "geom": (lambda p: stats.geom.pmf(2, p), 1.0, -1.0, -2.0),
    "multinomial": (
        lambda p: stats.multinomial.pmf([1, 1], 2, np.stack([p, 1 - p])),
        0.0,
        2.0,
        -4.0,
    ),
    "dirichlet": (
        lambda x: stats.dirichlet.pdf(np.stack([x, 1 - x]), [2.0, 3.0]),
        0.0,
        12.0,
        -48.0,
    ),
    "gamma": (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0, -2.0),
    "gamma of 3": (lambda x: stats.gamma.pdf(x, 3.0), 0.0, 0.0, 1.0),
    "beta": (lambda x: stats.beta.pdf(x, 2.0, 3.0), 0.0, 12.0, -48.0),
    "beta at 1": (lambda x: stats.beta.pdf(x, 3.0, 2.0), 1.0, -12.0, -48.0),
    "rayleigh": (lambda x: stats.rayleigh.pdf(x), 0.0, 1.0, 0.0),
    "chi2 in its scale": (lambda s: stats.chi2.pdf(0.0, 4.0, scale=s), 2.0, 0.0, 0.0),
    # At 0 exp(-abs(x)) has a kink, and what it is part of has none.
    "logistic": (lambda x: stats.logistic.logpdf(x), 0.0, 0.0, -0.5, 0.0),
    "logistic at its location": (lambda m: stats.logistic.pdf(2.0, m), 2.0, 0.0, -0.125),
    "rice": (lambda b: stats.rice.logpdf(1.2, b), 0.0, 0.0, 0.5 * 1.2**2 - 1),
    "rice in its value": (lambda x: stats.rice.pdf(x, 0.7), 0.0, np.exp(-0.245), 0.0),
    "vonmises": (lambda k: stats.vonmises.logpdf(1.0, k), 0.0, math.cos(1.0), -0.5, 0.0),
    "vonmises below": (
        lambda k: stats.vonmises.cdf(1.0, k),
        0.0,
        math.sin(1.0) / (2 * math.pi),
        math.sin(2.0) / (8 * math.pi),
    ),
    "vonmises_line": (lambda k: stats.vonmises_line.logpdf(1.0, k), 0.0, math.cos(1.0), -0.5),
    "entropy of vonmises": (lambda k: stats.vonmises.entropy(k), 0.0, 0.0, -0.5, 0.0),
    "lognorm": (lambda x: stats.lognorm.pdf(x, 0.9), 0.0, 0.0, 0.0),
    # Quantiles that round to an end.
    "halfnorm.ppf": (
        lambda q: stats.halfnorm.ppf(q),
        1e-17,
        math.sqrt(math.pi / 2),
        0.0,
        math.sqrt(math.pi / 2) ** 3,
    ),
    "pareto.ppf": (lambda q: stats.pareto.ppf(q, 2.0), 1e-17, 0.5, 0.75, 1.875),
    "pareto.ppf at 0": (lambda q: stats.pareto.ppf(q, 2.0), 0.0, 0.5, 0.75, 1.875),
    "powerlaw.isf at 0": (lambda q: stats.powerlaw.isf(q, 2.0), 0.0, -0.5, -0.25, -0.375),
    "expon.isf in its location": (lambda m: stats.expon.isf(1.0, m), 0.3, 1.0, 0.0),
    "uniform.ppf in its scale": (lambda s: stats.uniform.ppf(1.0, 0.3, s), 2.0, 1.0, 0.0),
    "powerlaw.isf": (lambda q: stats.powerlaw.isf(q, 2.0), 1e-17, -0.5, -0.25, -0.375),
    "halfnorm.ppf in its location": (lambda m: stats.halfnorm.ppf(1e-17, m), 0.0, 1.0, 0.0),
    "vonmises_line.ppf in its location": (
        lambda m: stats.vonmises_line.ppf(1e-17, 2.0, m),
        0.0,
        1.0,
        0.0,
    ),
    "t of infinite df": (lambda x: stats.t.cdf(x, math.inf), 0.5, _NORMAL, -0.5 * _NORMAL),
}


@pytest.mark.parametrize("name", [*SPECIAL, *DISTRIBUTIONS])
def test_derivatives_at_an_end(name: str) -> None:
    f, at, *truth = (SPECIAL | DISTRIBUTIONS)[name]
    for order, right in enumerate(truth, 1):
        for ways in itertools.product((grad, forward), repeat=order):
            h = f
            for way in ways:
                h = way(h)
            np.testing.assert_allclose(float(h(at)), right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("end, a, b", [(0.0, 1.0, 2.5), (1.0, 2.5, 1.0)])
def test_mixed_derivatives_at_an_end(end: float, a: float, b: float) -> None:
    """1 - (1 - x)^b and x^a, of which b and a move the slopes b and a at the ends."""
    place = 1 if end == 0 else 0
    in_shape = lambda x: grad(special.betainc, place)(a, b, x)
    in_place = lambda s: grad(special.betainc, 2)(*((a, s) if place else (s, b)), end)
    shape = b if place else a
    found = [w(in_shape)(end) for w in (grad, forward)] + [
        w(in_place)(shape) for w in (grad, forward)
    ]
    np.testing.assert_allclose(found, 1.0, rtol=1e-12)
    log = lambda x: grad(special.betainc, 1 - place)(a, b, x)  # like x log(x)
    assert [w(log)(end) for w in (grad, forward)] == [-np.inf] * 2


@pytest.mark.parametrize("shape", [0.0, 1e-9, 1e-3])
def test_small_shapes(shape: float) -> None:
    """∂P/∂a at 0 is minus E1(x), and ∂I/∂a of b = 1 is x^a log(x)."""
    x = [1e-3, 0.3, 0.9]
    of_beta = [grad(special.betainc)(shape, 1.0, z) for z in x]
    np.testing.assert_allclose(of_beta, [z**shape * math.log(z) for z in x], rtol=1e-9)
    if shape == 0:
        of_gamma = [grad(special.gammainc)(0.0, z) for z in (*x, 1.5, 7.0)]
        np.testing.assert_allclose(of_gamma, -special.exp1([*x, 1.5, 7.0]), rtol=1e-9)


def test_mixed_derivatives_of_a_shape_of_nothing() -> None:
    """∂²P/∂a∂x at a = 0 is exp(-x)/x, and ∂²I/∂a∂x (1 - x)^(b - 1)/x, in every order and mode."""
    for f, at, truth in (
        (special.gammainc, (0.0, 2.0), np.exp(-2.0) / 2),
        (special.betainc, (0.0, 1.5, 0.5), np.sqrt(0.5) / 0.5),
    ):
        last = len(at) - 1
        for first, second in ((0, last), (last, 0)):
            slope = lambda z, f=f, at=at, i=first, j=second: grad(f, i)(*at[:j], z, *at[j + 1 :])
            found = [way(slope)(at[second]) for way in (grad, forward)]
            np.testing.assert_allclose(found, truth, rtol=1e-9)


OTHERS = {"bdtrin": "SciPy's search ends beside the count"}
"""Where the derivative may be another number than that of SciPy's value."""
OFTEN = ("bdtr", "gammaincc", "chdtr", "ellipeinc", "xlogy", "rel_entr")


def _silent(names: Any) -> list[Any]:
    found: list[Any] = []
    for name in names:
        f = UFUNCS[name]
        others = (0.5, 1.0, 2.0, 3.0)[: 4 if f.nin < 3 else 3 if f.nin == 3 else 1]
        found += wrongs(name, f, f.nin, others, (0.0, 1.0))
    return [w for w in found if w.is_silent and w.name not in OTHERS]


def test_special_functions_at_ends() -> None:
    assert _silent(OFTEN) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "letters", ["a-bc", "bd-c", "d-g", "h-l", "m-n", "o-z"], ids=lambda part: part
)
def test_all_special_functions_at_ends(letters: str) -> None:
    first, last = letters.split("-")
    names = [
        name
        for name, f in sorted(UFUNCS.items())
        if first <= name < last + "{" and f.nout == 1 and name not in SEARCHED
    ]
    assert names
    assert _silent(names) == []


def test_a_legendre_function_that_nobody_weighs_where_it_is_steep() -> None:
    ends = np.array([-1.0, 0.0, 1.0])
    _, pull = vjp(lambda x: special_functions.assoc_legendre_p(2, 1, x), ends)
    with np.errstate(all="ignore"):
        assert pull(np.array([[0.0, 1.0, 0.0]]))[0].tolist() == [0.0, -3.0, 0.0]


@pytest.mark.parametrize("n", [1, 4, 5.0])
def test_the_kernel_of_dirichlet_at_its_turns(n: float) -> None:
    """Its even powers about a turn: 1 - (n² - 1) x² / 24, with a sign for even n."""
    for turn, sign in [(0.0, 1.0), (2 * np.pi, (-1.0) ** (n - 1))]:
        diric = lambda x: special_functions.diric(x, n)
        slope, pull = vjp(grad(diric), turn)
        assert abs(slope) < 1e-14
        assert np.isclose(pull(1.0)[0], -sign * (n * n - 1) / 12)


SHAPES: dict[str, tuple[tuple[float, ...], ...]] = {
    "gamma": ((1.0,), (2.0,), (3.0,)),
    "beta": ((2.0, 3.0), (1.0, 2.0), (2.0, 2.0)),
    "chi2": ((2.0,), (4.0,), (6.0,)),
    "chi": ((1.0,), (2.0,), (3.0,)),
    "weibull_min": ((1.0,), (2.0,), (3.0,)),
    "weibull_max": ((2.0,),),
    "dgamma": ((2.0,), (3.0,)),
    "dweibull": ((2.0,), (3.0,)),
    "exponweib": ((1.0, 2.0), (2.0, 1.0)),
    "exponpow": ((1.0,), (2.0,)),
    "gengamma": ((1.0, 2.0), (2.0, -1.0)),
    "powerlaw": ((1.0,), (2.0,), (3.0,)),
    "betaprime": ((2.0, 3.0),),
    "f": ((2.0, 5.0), (4.0, 3.0), (6.0, 4.0)),
    "burr": ((1.0, 2.0), (2.0, 1.0)),
    "fisk": ((1.0,), (2.0,)),
    "burr12": ((1.0, 2.0), (2.0, 2.0)),
    "mielke": ((2.0, 1.0), (3.0, 1.0)),
    "rdist": ((2.0,), (4.0,), (6.0,)),
    "nakagami": ((0.5,), (1.0,), (1.5,)),
    "ncx2": ((4.0, 1.5),),
}
"""Shapes with whole exponents, beside SciPy's own."""


def _silent_densities(name: str, method: str) -> list[Any]:
    """Judge a density at the ends of its support, in the value, the shapes and the scale."""
    native, found = getattr(scipy.stats, name), list[Any]()
    ours = getattr(getattr(stats, name), method)

    def in_scale(x: Any, scale: Any, *shapes: Any) -> Any:
        return ours(x, *shapes, scale=scale)

    for given in (CONTINUOUS[name], *SHAPES.get(name, ())):
        shapes = tuple(map(float, given))
        for end in filter(np.isfinite, native.support(*shapes)):
            at = (float(end), *shapes)
            for place, x in enumerate(at):
                found += wrongs_at(name, ours, at, place, x)
            if end == 0:
                found += wrongs_at(name, in_scale, (0.0, 2.0, *shapes), 1, 2.0)
    return [w for w in found if w.is_silent]


@pytest.mark.parametrize("name", ["beta", "chi2", "gamma", "lognorm", "triang", "weibull_min"])
def test_densities_at_ends(name: str) -> None:
    assert _silent_densities(name, "pdf") == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - REFUSED.keys()))
def test_all_densities_at_ends(name: str, method: str) -> None:
    assert _silent_densities(name, method) == []


@pytest.mark.parametrize("method", ["pmf", "cdf", "sf"])
@pytest.mark.parametrize(
    "name, shapes, end",
    [
        ("bernoulli", (), 0.0),
        ("bernoulli", (), 1.0),
        ("binom", (4,), 0.0),
        ("binom", (4,), 1.0),
        ("poisson", (), 0.0),
        ("nbinom", (2,), 1.0),
        ("geom", (), 1.0),
    ],
)
def test_probabilities_at_ends(name: str, shapes: tuple[int, ...], end: float, method: str) -> None:
    for k in range(4):
        f = lambda p, k=k: getattr(getattr(stats, name), method)(k, *shapes, p)
        assert list(wrongs_at(name, f, (end,), 0, end)) == []


def test_one_number_outside_of_the_support_is_scipys() -> None:
    """It was an array without axes."""
    calls: list[Any] = [
        lambda p: stats.bernoulli.pmf(2, p),
        lambda p: stats.gamma.pdf(-1.0, p),
        lambda p: stats.expon.logpdf(-1.0, 0.0, p),
    ]
    for f in calls:
        y, _ = vjp(f, 0.3)
        assert type(y) is np.float64
        assert y in (0.0, -np.inf)


@pytest.mark.parametrize("name", sorted(stats.formulas.POWERS))
def test_powers_are_the_densities(name: str) -> None:
    native = getattr(scipy.stats, name)
    is_discrete = isinstance(native, scipy.stats.rv_discrete)
    shapes = {"bernoulli": (0.3,), "binom": (5, 0.3), "geom": (0.3,), "nbinom": (2.5, 0.3)}.get(
        name, (0.7,) if name == "poisson" else CONTINUOUS.get(name)
    )
    assert shapes is not None
    shapes = tuple(map(float, shapes))
    x = np.array([1.0]) if is_discrete else native.ppf([0.02, 0.1], *shapes)
    powers, rest = stats.formulas.POWERS[name](x, *shapes)
    y = np.exp(rest()) * math.prod(b**p for b, p in powers)
    known = (native.pmf if is_discrete else native.pdf)(x, *shapes)
    np.testing.assert_allclose(y, known, rtol=1e-10)


def test_values_are_those_of_the_logarithms() -> None:
    """Also where a power or a factor alone is no number."""
    for x, a in ((1e-200, 3.0), (1e-5, 180.0), (250.0, 250.0), (0.0, 300.0)):
        y, slope = value_and_grad(lambda z, a=a: stats.gamma.pdf(z, a))(x)
        np.testing.assert_allclose(y, scipy.stats.gamma.pdf(x, a), rtol=1e-9, atol=1e-300)
        assert np.isfinite(slope)
    for k, n, p in ((3, 10**6, 1e-6), (400, 10**6, 1e-3), (500, 10**9, 1e-200), (300, 5000, 0.0)):
        y, slope = value_and_grad(lambda p, k=k, n=n: stats.binom.pmf(k, n, p))(p)
        np.testing.assert_allclose(y, scipy.stats.binom.pmf(k, n, p), rtol=1e-6, atol=1e-300)
        assert np.isfinite(slope)


def test_no_places_and_no_shapes() -> None:
    none = np.zeros(0)
    assert grad(lambda a: np.sum(stats.gamma.pdf(none, a)))(2.0) == 0
    assert grad(lambda a: np.sum(stats.lognorm.pdf(none, a)), unused="zero")(2.0) == 0
    assert grad(lambda p: np.sum(stats.binom.pmf(none, 5, p)), unused="zero")(0.0) == 0
    assert grad(lambda p: np.sum(stats.binom.pmf(1, 5, p)))(none).shape == (0,)
