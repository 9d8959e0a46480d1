"""Values of traced operands have the shapes and the precision of SciPy's, of every sample."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg
import scipy.stats

import chainrules_scipy
from chainrules_compile import compile
from chainrules_py import ChainRulesError
from chainrules_scipy.composites_and_operand_conversions import in_precision_of
from chainrules_tape import grad, jvp, value_and_grad, vjp
from tests.libraries.scipy.samples.judge import samples

OF = ("linalg", "signal", "fft", "stats", "interpolate", "ndimage", "spatial")
# SciPy's new random variables are traced as objects, whose precision SciPy does not see; where they
# have no derivatives, they advise stats.norm and kin, which have both.
AS_OBJECTS = ("stats.Logistic",)
SHAPED = ("special.legendre_p", "special.assoc_legendre_p", "special.sph_legendre_p")
ALL = [
    (s, i)
    for of in samples().values()
    for i, s in enumerate(of)
    if (s.name.split(".")[0] in OF and s.name not in AS_OBJECTS) or s.name in SHAPED
]
# All that SciPy gives in another precision than that of its operands, and some others.
NAMED: tuple[str, ...] = (
    "linalg.schur",
    "linalg.norm",
    "linalg.logm",
    "signal.filtfilt",
    "signal.find_peaks",
)
NAMED += ("signal.upfirdn", "stats.ttest_rel", "stats.pareto", "interpolate.interp1d", "fft.fht")
NAMED += ("special.legendre_p", "special.sph_legendre_p", "linalg.eig")
SOME = [s for s, i in ALL if i == 0 and s.name in NAMED]
SOME += [s for s, i in ALL if i == 0][::30]


def _leaves(y: Any) -> list[Any]:
    """Return the arrays of a result, whatever it is made of."""
    if isinstance(y, dict):
        y = [y[name] for name in sorted(y)]
    return [z for part in y for z in _leaves(part)] if isinstance(y, (list, tuple)) else [y]


def _forms(y: Any) -> list[Any]:
    return [(z.shape, z.dtype) for z in map(np.asarray, _leaves(y)) if z.dtype.kind in "fc"]


def _check(sample: Any) -> None:
    __tracebackhide__ = True
    for dtype in (np.float64, np.float32):
        xs = tuple(
            x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
            for x in sample.operands
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                known = sample.run(*xs)
            except Exception:  # whatever SciPy cannot do in this precision
                continue
            try:
                with chainrules_scipy.install():
                    found = jvp(sample.run, xs, xs)[0]
            except Exception as error:
                # SciPy's own, of an array of objects, has a note that says what to write.
                if isinstance(error, ChainRulesError) or hasattr(error, "__notes__"):
                    continue
                raise
        assert _forms(found) == _forms(known)


@pytest.mark.parametrize("sample", SOME, ids=str)
def test_precision(sample: Any) -> None:
    _check(sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample, i", ALL, ids=str)
def test_precision_of_every_sample(sample: Any, i: int) -> None:
    _check(sample)


@pytest.mark.parametrize("overwrite", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_asking_scipy_writes_to_nothing(dtype, overwrite):
    """SciPy may write to what it is given where it is told so; it is asked of copies."""
    a = np.asfortranarray(np.eye(3) * 2 + 0.25, dtype=dtype)
    b = np.asfortranarray([1.0, 2.0, 3.0], dtype=dtype)
    wanted = np.linalg.solve(a, b)
    options = dict(zip(("overwrite_a", "overwrite_b"), overwrite, strict=True))
    for _ in range(2):
        given = a.copy("F"), b.copy()
        y, _ = jvp(lambda p, q: chainrules_scipy.linalg.solve(p, q, **options), given, given)
        np.testing.assert_allclose(y, wanted, rtol=1e-5)
        np.testing.assert_array_equal(given[0], a)
        np.testing.assert_array_equal(given[1], b)


@pytest.mark.parametrize(
    "f, dtype",
    [
        (lambda x: scipy.special.polygamma(1, x[0]), np.float32),
        (lambda x: scipy.spatial.distance.pdist(x), np.float32),
        (lambda x: scipy.fft.dct(x), np.float16),
        (lambda x: scipy.signal.fftconvolve(x[0], x[1]), np.float16),
        (lambda x: scipy.signal.resample_poly(x, 2, 3), np.float16),
    ],
)
def test_narrow_operands_are_computed_in_the_precision_of_the_result(f, dtype):
    x = np.random.default_rng(0).random((3, 6)).astype(dtype)
    known = f(x)
    with chainrules_scipy.install():
        y, pull = vjp(f, x)
    assert known.dtype != dtype
    few = 50 * np.finfo(known.dtype).eps
    np.testing.assert_allclose(y, known, rtol=few, atol=few)
    assert pull(y)[0].dtype == dtype


HALVES = np.arange(1, 5, dtype=np.float32) / 2
EYE = np.eye(4, dtype=np.float32)


@pytest.mark.parametrize(
    "f, xs",
    [
        # After one kind of arguments, another one.
        (lambda x: scipy.linalg.norm(x, 1), (EYE, HALVES, EYE)),
        (lambda x: [scipy.fft.fht(x, 0.1, 0.5, bias=bias) for bias in (0.0, 0.2)], (HALVES,)),
        (lambda x: scipy.sparse.linalg.expm_multiply(EYE, x, 0, 1, 3), (HALVES,)),
        (lambda x: scipy.linalg.lu(x, p_indices=True), (np.eye(2), np.eye(1), np.zeros((0, 3)))),
        (
            lambda x: scipy.linalg.lu(x),
            (np.ones((1, 1), complex), np.zeros((3, 0)), np.zeros((2, 3, 0))),
        ),
        (lambda x: scipy.linalg.lu(x), (np.zeros((0, 3, 3)), np.zeros((0, 2, 3)))),
        (lambda x: scipy.linalg.lstsq(x, np.ones(2))[1], (np.eye(2) * 1j,)),
        (lambda x: scipy.linalg.ldl(x), (np.zeros((0, 0)),)),
        (lambda x: scipy.linalg.schur(x), (np.zeros((0, 0)),)),
    ],
)
def test_shapes_and_precision_of_few_elements(f, xs):
    for x in xs:
        with chainrules_scipy.install():
            found = jvp(f, (x,), (x,))[0]
        forms = [[(np.shape(z), np.asarray(z).dtype) for z in _leaves(y)] for y in (found, f(x))]
        assert forms[0] == forms[1]


def test_scipy_runs_once_for_arguments_of_a_kind():
    calls = []

    def theirs(x, n, scale=1.0):
        calls.append((x, n, scale))
        return np.ones(n, x.dtype)

    ours = in_precision_of(theirs)(lambda x, n, scale=1.0: np.ones(n))
    kinds = [(np.ones(2, np.float32), 2), (np.ones((), np.float32), 2), (np.ones(2, np.float16), 2)]
    for x, n in [*kinds, (np.ones(2, np.float32), 3)]:
        for scale in (1.0, 2.5):
            assert ours(x, n, scale=scale).dtype == ours(x * 2, n, scale=scale).dtype == x.dtype
    assert len(calls) == 4


def test_a_kind_is_asked_again_where_scipy_raised():
    def theirs(x):
        if x[0] < 0:
            raise ValueError("a negative number")
        return x

    ours = in_precision_of(theirs)(lambda x: x.astype(float))
    x = np.ones(2, np.float32)
    assert [ours(y).dtype for y in (-x, x, -x)] == [np.float64, np.float32, np.float32]


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy.special.logsumexp(x),
        lambda x: scipy.special.logsumexp(x, b=np.arange(1, 5)),
        lambda x: np.sum(scipy.special.polygamma(2, x)),
        lambda x: scipy.special.multigammaln(x[0] + 2, 2),
        lambda x: scipy.linalg.det(np.outer(x, x) + np.eye(4, dtype=x.dtype)),
        lambda x: np.sum(scipy.ndimage.gaussian_filter1d(x, 1.0) ** 2),
    ],
)
def test_programs_of_single_precision(f, target):
    """A program has the dtypes that the function has, and does not run as it is."""
    x = np.array([0.5, 1.0, 1.25, 2.0], np.float32)
    with chainrules_scipy.install(), warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = value_and_grad(f)(x)
        program = compile(value_and_grad(f), target=target)
        for found in [program(x) for _ in range(3)]:
            for y, z in zip(found, wanted, strict=True):
                assert (type(y), y.dtype) == (type(z), z.dtype)
                np.testing.assert_allclose(y, z, rtol=1e-5)
        assert type(wanted[0]) is type(f(x))


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "sf", "logcdf"])
@pytest.mark.parametrize("of", ["laplace", "expon", "cauchy"])
def test_distributions_keep_longer_floats(of, name):
    x = np.array([0.5, 1.5], np.longdouble)
    try:
        wanted = getattr(getattr(scipy.stats, of), name)(x)
    except TypeError:  # SciPy's own functions for it take none
        return
    y, pull = vjp(getattr(getattr(chainrules_scipy.stats, of), name), x)
    assert y.dtype == pull(y)[0].dtype == wanted.dtype == np.longdouble
    np.testing.assert_allclose(y, wanted, rtol=5e-16)
    step = np.array(1e-6, np.longdouble)
    around = [getattr(getattr(scipy.stats, of), name)(x + s) for s in (step, -step)]
    slopes = (around[0] - around[1]) / (2 * step)
    np.testing.assert_allclose(pull(np.ones(2))[0], slopes, rtol=1e-8)


@pytest.mark.parametrize(
    "f, at",
    [
        (lambda a: scipy.special.pbwa(a, np.float32(1.7075)), 3.3064),
        (lambda a: scipy.special.jve(a, np.float32(1.7075)), 3.3064),
        (lambda a: scipy.special.besselpoly(np.float32(0.5), a, np.float32(2.0)), 1.3),
    ],
)
def test_differences_in_a_parameter_of_single_precision(f, at):
    """SciPy has these in single precision, in which the differences were NaN."""
    at = np.float32(at)
    found, known = (jvp(f, (x,), (type(x)(1.0),))[1] for x in (at, float(at)))
    np.testing.assert_allclose(found, known, rtol=1e-6)
    assert np.asarray(found).dtype == np.float32


@pytest.mark.parametrize("of", ["expon", "uniform"])
def test_logarithms_outside_of_the_support_do_not_warn(of):
    x = np.array([-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = getattr(scipy.stats, of).logcdf(x)
        y, _ = vjp(getattr(chainrules_scipy.stats, of).logcdf, x)
        slopes = grad(lambda x: getattr(chainrules_scipy.stats, of).logcdf(x)[1])(x)
    np.testing.assert_allclose(y, wanted, rtol=1e-15)
    assert slopes[0] == 0
    assert np.isfinite(slopes[1])
