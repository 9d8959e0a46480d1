"""SciPy as people write it, where ours is installed: both modes, and the table of the docs."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import numpy as np
import pytest
import scipy

import chainrules_scipy
from chainrules_py import ChainRulesError, NotDifferentiableError
from chainrules_scipy.installation import OURS
from chainrules_tape import grad, jvp
from tests.libraries.scipy.samples.judge import judged, leaves, samples, total_of
from tests.libraries.scipy.table import modules, names, rows, written

TABLE = Path(__file__).resolve().parents[3] / "docs" / "scipy.csv"
OF = "1.17"
ALL = [(s, i) for of in samples().values() for i, s in enumerate(of) if s.operands]
SOME = [s for s, i in ALL if i == 0 and s.name != "integrate.tplquad"][::48]


@pytest.mark.parametrize("sample", SOME, ids=str)
def test_sample(sample):
    assert not judged(sample).startswith("wrong")


@pytest.mark.slow
@pytest.mark.parametrize("sample, i", ALL, ids=str)
def test_every_sample(sample, i):
    assert not judged(sample).startswith("wrong")


SEVERAL = [
    (s, i)
    for s, i in ALL
    if len(s.operands) > 1 and all(np.asarray(x).dtype.kind == "f" for x in s.operands)
]
AT_TWO_LEVELS = {
    *("ndimage.gaussian_filter", "linalg.block_diag", "stats.wishart", "signal.lsim"),
    *("linalg.solve_continuous_are", "special.pdtrik", "special.stdtrit", "special.nctdtrit"),
}


def check_two_levels(sample):
    """Compare a mixed derivative whose operands have one level each with second derivatives.

    In these each operand is differentiated at both levels: of f(x + u, y + u), less those in x and
    in y alone.
    """
    xs, rng = [np.asarray(x) for x in sample.operands], np.random.default_rng(0)
    total = total_of(sample, xs, rng)
    ways = [rng.normal(size=x.shape) for x in xs]

    def at(a, b):
        first = len(xs) // 2
        steps = [(a if k < first else b) * way for k, way in enumerate(ways)]
        return total(*[x + step for x, step in zip(xs, steps, strict=True)])

    slope = lambda f: lambda u: jvp(f, (u,), (1.0,))[1]
    second = lambda f: float(slope(slope(f))(0.0))
    with chainrules_scipy.install():
        both, *alone = map(second, (lambda u: at(u, u), lambda u: at(u, 0.0), lambda u: at(0.0, u)))
        mixed = (
            slope(lambda b: slope(lambda a: at(a, b))(0.0))(0.0),
            grad(lambda a: grad(lambda b: at(a, b), unused="zero")(0.0), unused="zero")(0.0),
        )
    size = max(1.0, *map(abs, (both, *alone)))
    np.testing.assert_allclose(mixed, (both - sum(alone)) / 2, rtol=1e-6, atol=1e-7 * size)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "sample", [s for s, i in SEVERAL if not i and s.name in AT_TWO_LEVELS], ids=str
)
def test_two_levels(sample):
    check_two_levels(sample)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample, i", SEVERAL, ids=str)
def test_two_levels_of_every_sample(sample, i):
    refused = ""
    try:
        check_two_levels(sample)
    except (ChainRulesError, TypeError, ValueError) as error:  # refused, or SciPy's own
        refused = str(error)
    assert "is written into" not in refused


@pytest.mark.filterwarnings("ignore")
def test_plain_operands_have_scipys_values():
    """A comb filter was zero: SciPy writes to its array, and drops what array_api_extra returns."""
    for sample in [s for of in samples().values() for s in of]:
        module, _, name = sample.name.rpartition(".")
        of = OURS.get(f"scipy.{module}")
        ours = getattr(importlib.import_module(of), name, None) if of else None
        if ours is None:
            continue
        try:
            known, found = sample.run(*sample.operands), sample.call(ours, *sample.operands)
        except ChainRulesError:  # of all operands alike
            continue
        for y, z in zip(leaves(known), leaves(found), strict=True):
            if np.asarray(y).dtype != object:
                assert np.asarray(y).dtype == np.asarray(z).dtype, sample
                np.testing.assert_allclose(z, y, rtol=1e-8, atol=1e-10, err_msg=str(sample))


def test_the_table_has_scipys_names():
    if not scipy.__version__.startswith(f"{OF}."):
        pytest.skip(f"the table is of SciPy {OF}, and this is {scipy.__version__}")
    with TABLE.open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [(row["name"], row["kind"]) for row in table] == names()


def test_each_name_is_differentiated_or_says_why_not():
    with TABLE.open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert not [row["name"] for row in table if row["status"] in ("no sample", "refused", "wrong")]
    right = [row for row in table if row["status"] in ("differentiated", "in part")]
    assert all(int(row["samples"].split()[0]) > 0 for row in right)


def test_the_table_of_modules_is_made_of_that_of_names():
    with TABLE.open(encoding="utf-8") as file:
        found = modules(list(csv.DictReader(file)))
    page = TABLE.with_name("scipy-modules.csv").read_text(encoding="utf-8")
    assert page == written(found)
    for row in found:
        importlib.import_module(row["ours"].strip("`"))


@pytest.mark.slow
def test_the_table_is_what_was_found():
    assert TABLE.read_text(encoding="utf-8") == written(rows())


# What a sample of one place does not see: shortcuts of SciPy's text where a number is 0 or 1.


def test_shortcuts_are_not_followed():
    """SciPy divides by a first coefficient where that is not 1, and has Box and Cox's log at 0."""
    import scipy.signal
    import scipy.stats

    b, a, y = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2]), np.array([0.4, 0.7])
    with chainrules_scipy.install():
        for f in (lambda a: scipy.signal.lfilter_zi(b, a), lambda a: scipy.signal.lfiltic(b, a, y)):
            up, down = (f(a + s * np.array([1e-6, 0, 0])) for s in (1, -1))
            found = grad(lambda a, f=f: np.sum(f(a)))(a)[0]
            assert abs(found - np.sum(up - down) / 2e-6) < 1e-6
        x = np.array([-0.4, 0.3, 1.2])
        for at in (0.0, 2.0):
            f = lambda p: np.sum(scipy.stats.yeojohnson(x, p))
            assert abs(grad(f)(at) - (f(at + 1e-5) - f(at - 1e-5)) / 2e-5) < 1e-8


XS = [0.0, 1.0, 2.0]
SHORT = [
    ("stats.boxcox_llf", lambda f, p: f(p, np.arange(1.0, 5.0)), 0.0),
    ("interpolate.KroghInterpolator", lambda f, p: f([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(p), 1.0),
    ("stats.describe", lambda f, p: f([1.0, 2.0, 4.0], ddof=p).variance, 0.0),
    ("stats.zscore", lambda f, p: f([1.0, 2.0, 4.0], ddof=p)[0], 0.0),
    ("stats.zscore", lambda f, p: f([1.0, np.nan, 4.0, 5.0], ddof=p, nan_policy="omit")[0], 1.0),
    ("stats.tvar", lambda f, p: f([1.0, 2.0, 4.0], ddof=p), 1.0),
    ("signal.normalize", lambda f, p: np.sum(f([1.0, 0.5], [p, -0.5])[0]), 1.0),
    ("signal.chirp", lambda f, p: f(0.3, p, 1.0, 2.0), 2.0),
    ("linalg.fractional_matrix_power", lambda f, p: f(np.diag([4.0, 9.0]), p)[0, 0], 1.0),
]


@pytest.mark.parametrize("name, call, at", SHORT)
def test_where_a_shortcut_could_be(name, call, at):
    """Numbers at which a text may go another way: nodes, zeros, ones."""
    module, _, last = name.rpartition(".")
    f = lambda p: call(getattr(importlib.import_module(f"scipy.{module}"), last), p)
    with chainrules_scipy.install():
        found = grad(f)(at)
    truth = (f(at + 1e-5) - f(at - 1e-5)) / 2e-5
    assert abs(found - truth) <= 1e-5 * (1 + abs(truth))


_GAPS = np.array([0.4, 1.2, np.nan, 2.9, 4.2, 5.1])
_TWO = np.stack([np.nan_to_num(_GAPS), np.nan_to_num(_GAPS) ** 2])
_K = np.arange(6.0) ** 1.3
OPTIONS = {
    "boxcox_llf": (lambda f, y: f(0.5, y, nan_policy="omit"), _GAPS),
    "boxcox_llf keepdims": (lambda f, y: f(0.5, y + 1, axis=1, keepdims=True)[1, 0], _TWO),
    "yeojohnson_llf": (lambda f, y: f(0.5, y, nan_policy="omit"), _GAPS),
    "linregress": (lambda f, y: f(_K, y, nan_policy="omit").slope, _GAPS),
    "linregress axis": (lambda f, y: np.sum(f(np.stack([_K, _K]), y, axis=1).stderr), _TWO),
    "linregress keepdims": (lambda f, y: f(_K, y, keepdims=True).slope[0], _TWO[0]),
    "ks_2samp": (lambda f, y: f(y, _K + 0.3).statistic_location, _K**2 + 1.0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_all_statistics_have(name):
    """Some were errors of Python's, and those that leave out NaN had none of them."""
    import scipy.stats

    call, y = OPTIONS[name]
    f = lambda y: call(getattr(scipy.stats, name.partition(" ")[0]), y)
    steps = [1e-6 * e.reshape(y.shape) for e in np.eye(y.size)]
    slopes = [(f(y + step) - f(y - step)) / 2e-6 for step in steps]
    value = f(y)
    with chainrules_scipy.install():
        found, (known, moved) = grad(f)(y), jvp(f, (y,), (np.ones(y.shape),))
    np.testing.assert_allclose(found.ravel(), slopes, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose([known, moved], [value, np.sum(slopes)], rtol=1e-6, atol=1e-7)


def test_masks_in_place_of_nan_are_refused():
    import scipy.stats

    with chainrules_scipy.install(), pytest.raises(NotDifferentiableError, match="isnan"):
        grad(lambda y: scipy.stats.describe(y, nan_policy="omit").variance)(_GAPS)


def test_a_shortcut_without_a_derivative_is_refused():
    import scipy.signal

    with chainrules_scipy.install(), pytest.raises(NotDifferentiableError, match="shortcut"):
        grad(lambda p: scipy.signal.chirp(0.3, p, 1.0, 2.0, "logarithmic"))(2.0)


@pytest.mark.parametrize("seed", range(6))
def test_values_of_matrices_that_are_not_balanced(seed):
    """SciPy's values are those that are differentiated, also where rows differ in size."""
    import scipy.linalg

    from chainrules_scipy import linalg

    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, 4)) * 10.0 ** rng.integers(-2, 3, size=4)
    for found, known in zip(
        jvp(lambda a: linalg.hessenberg(a, calc_q=True), (a,), (a,))[0],
        scipy.linalg.hessenberg(a, calc_q=True),
        strict=True,
    ):
        np.testing.assert_allclose(found, known, atol=1e-12 * np.max(abs(known)))


def test_equal_eigenvalues_of_a_covariance():
    import scipy.stats

    with chainrules_scipy.install():
        f = lambda c: scipy.stats.multivariate_normal.logpdf(np.array([0.3, 0.4]), cov=c)
        slope = grad(f)(np.eye(2))
    np.testing.assert_allclose(np.diagonal(slope), [-0.5 + 0.045, -0.5 + 0.08])


def test_rotations_at_none():
    from scipy.spatial.transform import Rotation

    x, w = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.5])
    with chainrules_scipy.install():
        slope = grad(lambda r: Rotation.from_rotvec(r).apply(x) @ w)(np.zeros(3))
    np.testing.assert_allclose(slope, np.cross(x, w))


@pytest.mark.parametrize(
    "name, call",
    [
        ("optimize.brentq", lambda f, p: f(lambda z: z - p, 0.0, 5.0)),
        ("optimize.root", lambda f, p: f(lambda z: z - p, [0.0]).x[0]),
        ("optimize.minimize", lambda f, p: f(lambda z: ((z - p) ** 2).sum(), [0.0]).x[0]),
        ("integrate.odeint", lambda f, p: f(lambda y, t: -p * y, [1.0], [0.0, 1.0])[-1, 0]),
        ("fft.fft", lambda f, p: f(p * np.ones(3))[0].real),
        ("signal.welch", lambda f, p: f(p * np.ones(8))[1][0]),
        ("stats.zscore", lambda f, p: f(p * np.arange(3.0))[0]),
        ("interpolate.CubicSpline", lambda f, p: f(np.arange(4.0), p * np.arange(4.0))(1.5)),
    ],
)
def test_refusals_say_the_line(name, call):
    """Where nothing is installed."""
    module, _, last = name.rpartition(".")
    with pytest.raises(Exception, match=f"from chainrules_scipy.{module} import {last}"):
        grad(lambda p: call(getattr(importlib.import_module(f"scipy.{module}"), last), p))(2.0)


def test_code_in_c_that_goes_on_after_a_refusal():
    """Python may then say of a traced value that an attribute of it is missing."""
    from scipy.optimize import brentq

    with pytest.raises(Exception, match=r"from chainrules_scipy.optimize import brentq"):
        grad(lambda p: brentq(lambda z: (z - p).missing, 0.0, 5.0))(2.0)


@pytest.mark.parametrize("x", [np.eye(3), np.ones((3, 3)), np.arange(9.0).reshape(3, 3) * 1j])
def test_decompositions_of_plain_arrays_are_scipys(x):
    import scipy.linalg

    from chainrules_scipy import linalg

    for name, options in (("schur", {}), ("hessenberg", {"calc_q": True})):
        found = getattr(linalg, name)(x, **options)
        for ours, theirs in zip(found, getattr(scipy.linalg, name)(x, **options), strict=True):
            np.testing.assert_array_equal(ours, theirs)
