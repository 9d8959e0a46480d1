"""Statistics as users of NumPy write them: ties, degenerate points, errors, and other systems."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from chainrules_numpy.composites import quantiles as q
from chainrules_numpy.composites import reductions as r
from chainrules_numpy.composites import statistics as s
from chainrules_py import TracerError, UnsupportedKeywordError, frule, rrule
from chainrules_py import ops as v
from chainrules_py.extend import bind, find_rule
from chainrules_py.rules import statistics as rules
from chainrules_py.testing import backend, to_numpy
from chainrules_tape import grad, jacobian, jvp, vjp
from tests.surface.calls import surface_calls
from tests.surface.calls.call import SurfaceCall
from tests.surface.point import Point as _Point
from tests.surface.point import leaves as _leaves

rng = np.random.default_rng(3)
BOX = rng.standard_normal((2, 3, 4))
FLAT = rng.standard_normal((3, 4))
LINE = rng.standard_normal(7)
OTHER = rng.standard_normal(7)
WEIGHTS = rng.uniform(0.5, 2.0, 7)
NAN, INF = np.nan, np.inf


# ---------------------------------------------------------------------------- ties, constants

MANY = np.linspace(0, 1, 9)
KINKS = {
    "nine quantiles of a tie": (
        lambda x: np.quantile(x, MANY) @ np.arange(9.0),
        [3.0, 1.0, 3.0, 0.0],
        [13.875, 7.125, 13.875, 1.125],
    ),
    "median of a tie": (np.median, [1.0, 1.0, 2.0], [0.5, 0.5, 0]),
    "median of an even tie": (np.median, [1.0, 2.0, 2.0, 3.0], [0, 0.5, 0.5, 0]),
    "median of half a tie": (np.median, [1.0, 2.0, 2.0, 0.0], [0.5, 0.25, 0.25, 0]),
    "median of a constant": (np.median, [2.0] * 4, [0.25] * 4),
    "nanmedian of a tie": (np.nanmedian, [1.0, NAN, 1.0, 2.0], [0.5, 0, 0.5, 0]),
    "quantile of a tie": (lambda x: np.quantile(x, 0.25), [3.0, 3.0, 3.0, 4.0], [1 / 3] * 3 + [0]),
    "nearest": (lambda x: np.quantile(x, 0.5, method="nearest"), [1.0, 1.0, 0.0], [0.5, 0.5, 0]),
    "weighted quantile of a tie": (
        lambda x: np.quantile(x, 0.5, weights=[1, 2, 1], method="inverted_cdf"),
        [1.0, 1.0, 3.0],
        [0.5, 0.5, 0],
    ),
    "a tie with what has no weight": (
        lambda x: np.quantile(x, 0.5, weights=[0, 2, 1], method="inverted_cdf"),
        [1.0, 1.0, 3.0],
        [0, 1, 0],
    ),
    "nanmax": (np.nanmax, [1.0, NAN, 3.0, 3.0], [0, 0, 0.5, 0.5]),
    "nanmin": (np.nanmin, [1.0, NAN, 1.0, 3.0], [0.5, 0, 0.5, 0]),
    "std of some": (lambda x: np.std(x, where=[True, True, False]), [2.0, 2.0, 5.0], [0, 0, 0]),
    "std about a mean": (lambda x: np.std(x, mean=2.0), [2.0, 2.0], [0, 0]),
    "nanstd": (np.nanstd, [2.0, 2.0, NAN], [0, 0, 0]),
    "max and its start": (lambda x: np.max(x, initial=3.0), [1.0, 3.0], [0, 0.5]),
    "nanprod": (np.nanprod, [2.0, 0.0, 3.0, NAN], [0, 6, 0, 0]),
    "nancumprod": (lambda x: np.sum(np.nancumprod(x)), [2.0, 0.0, NAN, 3.0], [1, 10, 0, 0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name):
    f, x, expected = KINKS[name]
    x = np.array(x)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-14)
    pushed = [jvp(f, (x,), (e,))[1] for e in np.eye(len(x))]
    np.testing.assert_allclose(pushed, expected, rtol=1e-14)


SORTED = np.array([0.0, 1.0, 5.0])


@pytest.mark.parametrize("q, slope", [(0.0, 2.0), (0.25, 2.0), (0.5, 8.0), (0.75, 8.0), (1.0, 8.0)])
def test_slope_in_q(q, slope):
    """At an element the slope is that of the interval behind it; at the last, of the one before."""
    for f in (lambda q: np.quantile(SORTED, q), lambda q: np.nanquantile(SORTED, q)):
        assert grad(f)(q) == slope
        assert jvp(f, (q,), (1.0,))[1] == slope
    assert np.isclose(grad(lambda q: np.percentile(SORTED, q))(100 * q), slope / 100)


@pytest.mark.parametrize("method", ["lower", "nearest", "inverted_cdf", "midpoint"])
def test_q_chooses_where_nothing_is_interpolated(method):
    assert grad(lambda q: np.quantile(SORTED, q, method=method), unused="zero")(0.3) == 0
    assert grad(lambda q: np.quantile(SORTED, q, method="hazen"))(0.01) == 0  # below the first


def test_nan_is_hidden_only_where_it_is_skipped():
    x = FLAT.copy()
    x[1, 2] = NAN
    for f in (np.median, lambda x, axis: np.quantile(x, 0.3, axis=axis)):
        bar = grad(lambda x, f=f: np.nansum(f(x, axis=1)))(x)
        assert np.isnan(f(x, axis=1)[1])
        np.testing.assert_array_equal(np.sum(bar, axis=1)[[0, 2]], [1, 1])
        _, pullback = vjp(lambda x, f=f: f(x, axis=1), x)
        assert np.isnan(pullback(np.ones(3))[0][1]).all()
    for f in (np.nanmedian, np.nanmean, np.nanmax, np.nansum, np.nanvar):
        bar = grad(lambda x, f=f: np.sum(f(x, axis=1)))(x)
        assert bar[1, 2] == 0
        assert np.isfinite(bar).all()


def test_room_for_shares_changes_nothing(monkeypatch):
    x, q = np.round(rng.standard_normal((4, 30)), 1), np.linspace(0, 1, 7)

    def both():
        _, pullback = vjp(lambda x: np.quantile(x, q, axis=1), x)
        return pullback(np.arange(28.0).reshape(7, 4))[0], jvp(
            lambda x: np.quantile(x, q, axis=1), (x,), (np.sin(x),)
        )[1]

    at_once = both()
    monkeypatch.setattr(rules, "_ROOM", 4 * x.size)
    for a, b in zip(at_once, both(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_order_statistics_keep_no_matrix():
    """What is kept of a median are x and the two in the middle."""
    x = rng.standard_normal(1000)
    rule = find_rule(v.order_statistics, (np.ndarray, np.ndarray))
    bound = bind(rule, (np.ndarray, np.ndarray), (True, False), "reverse")
    _, record = bound.run(None, x, np.array([499, 500]), skip_nan=False)
    assert sum(saved.size for saved in record if isinstance(saved, np.ndarray)) == 1002


# ------------------------------------------------------------------------ another system's numbers

ORACLE = {
    "average": lambda np, x, w: np.average(x, weights=w),
    "median": lambda np, x, w: np.median(x * w),
    "quantile": lambda np, x, w: np.quantile(x * w, np.asarray([0.2, 0.55])),
    "percentile": lambda np, x, w: np.percentile(x, 33.0) * np.sum(w),
    "nanmedian": lambda np, x, w: np.nanmedian(np.where(x > 1, np.nan, x * w)),
    "nanquantile": lambda np, x, w: np.nanquantile(np.where(x > 1, np.nan, x * w), 0.3),
    "nanmean": lambda np, x, w: np.nanmean(np.where(x > 0.9, np.nan, x * w)),
    "nanvar": lambda np, x, w: np.nanvar(np.where(x > 0.9, np.nan, x * w), ddof=1),
    "nanstd": lambda np, x, w: np.nanstd(np.where(x > 0.9, np.nan, x * w)),
    "nancumsum": lambda np, x, w: np.nancumsum(np.where(x > 0.9, np.nan, x * w)),
    "cov": lambda np, x, w: np.cov(x, w),
    "cov of weighted": lambda np, x, w: np.cov(np.stack([x, x**2]), aweights=w),
    "corrcoef": lambda np, x, w: np.corrcoef(x, w),
    "convolve": lambda np, x, w: np.convolve(x, w[:3], mode="same"),
    "correlate": lambda np, x, w: np.correlate(x, w[:4], mode="full"),
    "gradient": lambda np, x, w: np.gradient(x * w, 0.3),
    "trapezoid": lambda np, x, w: np.trapezoid(x, np.cumsum(w)),
    "diff": lambda np, x, w: np.diff(x * w, n=2, prepend=w[:2]),
    "ediff1d": lambda np, x, w: np.ediff1d(x, to_end=w),
    "bincount": lambda np, x, w: np.bincount(np.asarray([0, 2, 2, 1, 0, 4, 4]), x * w, length=5),
    "histogram": lambda np, x, w: np.histogram(x, bins=3, weights=w)[0],
    "var": lambda np, x, w: np.var(x, where=w > 1, ddof=1),
}


@pytest.mark.parametrize("name", ORACLE)
def test_jax_finds_the_same(name):
    jax = pytest.importorskip("jax", reason="JAX is the oracle of this test")
    f, g = ORACLE[name], rng.standard_normal

    def call(np_like, x, w):
        if name == "bincount" and np_like is np:
            return np.bincount(np.array([0, 2, 2, 1, 0, 4, 4]), x * w, minlength=5)
        return f(np_like, x, w)

    y, pullback = vjp(lambda x, w: call(np, x, w), LINE, WEIGHTS)
    y_bar = g(np.shape(y))
    with jax.enable_x64(True):
        expected, pull = jax.vjp(lambda x, w: call(jax.numpy, x, w), LINE, WEIGHTS)
        bars = pull(jax.numpy.asarray(y_bar))
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    for mine, theirs in zip(pullback(y_bar), bars, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------------- values and dtypes

_NARROW = {np.dtype("float64"): np.float32, np.dtype("complex128"): np.complex64}
# NumPy computes these in a lower precision than it says.
_CRUDE = {"nanvar", "nanstd", "histogram"}
NAMES = [
    *("average", "convolve", "correlate", "corrcoef", "cov", "nanmean", "nanmedian", "nanstd"),
    *("nanvar", "nanquantile", "median", "percentile", "quantile", "var", "std", "mean"),
    *("histogram", "histogram2d", "histogramdd", "histogram_bin_edges", "gradient", "ediff1d"),
    *("diff", "trapezoid", "ptp", "nanmax", "nansum", "nancumprod", "cumulative_sum", "max", "sum"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [c for n in NAMES for c in surface_calls(n)], ids=str)
def test_float32_gives_what_numpy_gives(call: SurfaceCall):
    """Python's numbers do not widen it, and NumPy's do, as in NumPy."""
    point = _Point(call)
    xs = [
        x.astype(_NARROW[x.dtype]) if isinstance(x, np.ndarray) and x.dtype in _NARROW else x
        for x in point.xs
    ]

    def f(*xs):
        operands, keywords = point.arguments(xs)
        return point.f(*operands, **keywords)

    with np.errstate(all="ignore"):
        traced, plain = vjp(f, *xs)[0] if xs else f(), f(*xs)
    for a, b in zip(map(np.asarray, _leaves(traced)), map(np.asarray, _leaves(plain)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        narrow = b.dtype.kind in "fc" and np.finfo(b.dtype).eps > 1e-10
        rtol = 1e-5 if narrow or call.name in _CRUDE else 1e-12
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 0.7, 1.0])
def test_lerp_meets_its_ends(t):
    a, b = np.array([1e16, 0.1, 3.0]), np.array([1.0, 0.3, 3.0])
    y = v.lerp(a, b, t)
    if t in (0.0, 1.0):
        np.testing.assert_array_equal(y, b if t else a)
    np.testing.assert_array_equal(y, v.lerp(a, b, np.full(3, t)))
    np.testing.assert_array_equal(
        y, [v.lerp(float(p), float(q), t) for p, q in zip(a, b, strict=True)]
    )


@pytest.mark.parametrize(
    "f", [np.mean, np.var, np.median, np.nanmean, np.average, np.nanmax, np.ptp]
)
def test_numbers(f):
    for x in (0.7, np.float64(0.7), np.array(0.7)):
        y, bars = vjp(f, x)[0], vjp(f, x)[1](1.0)
        assert y == f(x)
        assert np.ndim(bars[0]) == 0


def test_histogram_is_constant_in_the_data():
    counts, _ = vjp(lambda x: np.histogram(x, bins=4), LINE)[0]
    np.testing.assert_array_equal(counts, np.histogram(LINE, bins=4)[0])
    assert counts.dtype == np.intp
    bars = vjp(lambda x: np.histogram(x, bins=4, weights=WEIGHTS)[0], LINE)[1](np.ones(4))
    np.testing.assert_array_equal(bars[0], np.zeros(7))
    assert grad(lambda x: np.histogram(x, bins=4)[1][0])(LINE)[LINE.argmin()] == 1
    # edges about one point are half a unit away from it
    np.testing.assert_array_equal(grad(lambda x: np.histogram(x, 2)[1][0])(np.array([3.0])), [1.0])


def test_weights_outside_all_bins_are_not_counted():
    x, w = np.array([0.1, 0.5, 2.0, 1.0, -3.0]), np.ones(5)
    bar = vjp(lambda w: np.histogram(x, bins=[0.0, 0.5, 1.0], weights=w)[0], w)[1](
        np.array([10.0, 20.0])
    )[0]
    np.testing.assert_array_equal(bar, [10, 20, 0, 20, 0])


@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_modes_may_be_numbers(f):
    a, b = np.array([1.0, -2.0, 3.0]), np.array([2.0, 0.5])
    for number, name in enumerate(("valid", "same", "full")):
        y, pullback = vjp(lambda a, mode=number: f(a, b, mode), a)
        want, pullback_of_name = vjp(lambda a, mode=name: f(a, b, mode), a)
        np.testing.assert_array_equal(y, f(a, b, number))
        np.testing.assert_array_equal(y, want)
        np.testing.assert_array_equal(pullback(y)[0], pullback_of_name(y)[0])


def test_a_valid_convolution_of_equals_is_pulled_back_in_linear_time():
    x = np.ones(200_000)
    _, pullback = vjp(lambda a, b: np.convolve(a, b, mode="valid"), x, x)
    for bar in pullback(np.array([2.0])):
        np.testing.assert_array_equal(bar, 2 * x)


# --------------------------------------------------------------------------------------- errors

MISUSES = {
    "weights of a median": lambda x: np.quantile(x, 0.5, weights=np.ones(7)),
    "negative weights": lambda x: np.quantile(x, 0.5, weights=-np.ones(7), method="inverted_cdf"),
    "q above 1": lambda x: np.quantile(x, 1.5),
    "q above 100": lambda x: np.percentile(x, [50, 101]),
    "a method that is none": lambda x: np.quantile(x, 0.5, method="best"),
    "q of three axes": lambda x: np.quantile(x, np.full((1, 1, 1), 0.5)),
    "complex quantile": lambda x: np.quantile(x * 1j, 0.5),
    "no such axis": lambda x: np.median(x, axis=1),
    "an axis twice": lambda x: np.median(x, axis=(0, 0)),
    "weights of zero": lambda x: np.average(x, weights=0 * x),
    "weights of another shape": lambda x: np.average(x, weights=np.ones(3)),
    "weights of another length": lambda x: np.average(x, axis=0, weights=np.ones(3)),
    "cov of three axes": lambda x: np.cov(np.reshape(x, (1, 1, 7))),
    "half a ddof": lambda x: np.cov(x, ddof=0.5),
    "parts of observations": lambda x: np.cov(x, fweights=np.full(7, 0.5)),
    "negative observations": lambda x: np.cov(x, aweights=-np.ones(7)),
    "matrices of weights": lambda x: np.cov(x, aweights=np.ones((7, 7))),
    "too few weights": lambda x: np.cov(x, aweights=np.ones(3)),
    "two corrections": lambda x: np.var(x, ddof=1, correction=1),
    "a wide mask": lambda x: np.mean(x, where=np.ones((2, 7), bool)),
    "backward differences": lambda x: np.diff(x, n=-1),
    "differences of a number": lambda x: np.diff(np.sum(x)),
    "complex in real": lambda x: np.ediff1d(x, to_end=1j),
    "edges of order 3": lambda x: np.gradient(x, edge_order=3),
    "too many spacings": lambda x: np.gradient(x, 1.0, 2.0),
    "too few coordinates": lambda x: np.gradient(x, np.ones(3)),
    "matrices of coordinates": lambda x: np.gradient(x, np.ones((7, 7))),
    "too few points": lambda x: np.gradient(x[:1]),
    "complex counts": lambda x: np.bincount([0] * 7, x * 1j),
    "correlation of a number": lambda x: np.correlate(x, np.sum(x)),
    "convolution with nothing": lambda x: np.convolve(x, x[:0]),
    "a mode that is none": lambda x: np.convolve(x, x, mode="most"),
    "no bins": lambda x: np.histogram(x, bins=0),
    "maximum of nothing": lambda x: np.max(x[:0]),
    "a mask without a start": lambda x: np.max(x, where=x > 0),
    "an empty range": lambda x: np.histogram(x, range=(1.0, 0.0)),
    "argmax of nothing but NaN": lambda x: np.nanargmax(x * NAN),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_what_it_does_untraced(name):
    f = MISUSES[name]
    with np.errstate(all="ignore"):
        with pytest.raises(Exception) as plain:
            f(LINE)
        with pytest.raises(Exception) as traced:
            vjp(f, LINE)
    # NumPy has classes of its own, as AxisError, which is a ValueError
    assert issubclass(plain.type, traced.type) or issubclass(traced.type, plain.type)
    assert not issubclass(traced.type, (AttributeError, KeyError, ZeroDivisionError)) or (
        traced.type is plain.type
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.median(x, out=np.zeros(())),
        lambda x: np.nanmean(x, out=np.zeros(())),
        lambda x: np.mean(x, dtype=int),
        lambda x: x.var(dtype=int),
        lambda x: np.ptp(x, out=np.zeros(())),
    ],
)
def test_refused_keywords(f):
    with pytest.raises(UnsupportedKeywordError):
        vjp(f, LINE)


HIDDEN = {
    "initial": lambda t: np.sum(FLAT, initial=t),
    "initial of a method": lambda t: FLAT.max(initial=t),
    "mean of a method": lambda t: FLAT.var(mean=t),
    "mean of nanvar": lambda t: np.nanvar(FLAT, mean=t),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_numpy_does_not_show_is_an_error(name):
    for x in (0.5, np.array(0.5)):
        with pytest.raises((TracerError, ValueError)) as caught:
            grad(HIDDEN[name])(x)
        assert TracerError in (caught.type, type(caught.value.__cause__))


def test_what_numpy_shows_by_its_operators():
    assert grad(lambda h: np.trapezoid(LINE, dx=h))(2.0) == np.trapezoid(LINE)
    slope = grad(lambda m: np.var(LINE, mean=m))(1.0)
    np.testing.assert_allclose(slope, 2 * (1 - np.mean(LINE)))


# ------------------------------------------------------------- composites of every library

HOLED = np.where(FLAT > 1, NAN, FLAT)
COMPOSITES = {
    "ptp": (lambda x: r.ptp(x, axis=1), FLAT),
    "nansum": (lambda x: r.nansum(x, axis=1), HOLED),
    "nancumprod": (lambda x: r.nancumprod(x, axis=1), HOLED),
    "diff": (lambda x: r.diff(x, n=2, axis=1, prepend=x), FLAT),
    "ediff1d": (lambda x: r.ediff1d(x, to_end=x), FLAT),
    "trapezoid": (lambda x: r.trapezoid(x, x * x, axis=0), FLAT),
    "gradient": (lambda x: r.gradient(x, (0.5, [0.0, 1.0, 2.0, 4.0]), edge_order=2)[1], FLAT),
    "mean": (lambda x: s.mean(x, axis=1, where=x < 1), FLAT),
    "std": (lambda x: s.std(x, axis=1, where=x < 1, keepdims=True), FLAT),
    "nanmean": (lambda x: s.nanmean(x, axis=1), HOLED),
    "nanvar": (lambda x: s.nanvar(x, axis=0), HOLED),
    "average": (lambda x: s.average(x, axis=1, weights=x * x), FLAT),
    "cov": (lambda x: s.cov(x, aweights=x[0, :] ** 2), FLAT),
    "corrcoef": (s.corrcoef, FLAT),
    "correlate": (lambda x: s.correlate(x[0, :], x[1, :3], "full"), FLAT),
    "median": (lambda x: q.median(x, axis=(1, 0)), FLAT),
    "nanmedian": (lambda x: q.nanmedian(x, axis=1), HOLED),
    "quantile": (lambda x: q.quantile(x, [0.3, 0.4], axis=0), FLAT),
    "nanquantile": (lambda x: q.nanquantile(x, 0.3, axis=1), HOLED),
    "a jump": (lambda x: q.quantile(x, [0.3], axis=1, method="averaged_inverted_cdf"), FLAT),
    "weighted": (
        lambda x: q.quantile(x, 0.3, axis=1, method="inverted_cdf", weights=x * x),
        FLAT,
    ),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_serve_arrays_of_the_standard(name):
    """Value and gradient, on a device, are those of NumPy."""
    f, x = COMPOSITES[name]
    strict = backend("array_api_strict:device1")
    y, pullback = vjp(f, x)
    y_bar = rng.standard_normal(np.shape(y))
    there, pull = vjp(f, strict.asarray(x))
    bar = pull(strict.asarray(y_bar))[0]
    assert there.device == bar.device == strict.xp.Device("device1")
    np.testing.assert_allclose(to_numpy(there), y, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(bar), pullback(y_bar)[0], rtol=1e-10, atol=1e-12)


# ----------------------------------------------------------------------------------- the operations


def test_operations_by_frule_and_rrule():
    x = np.array([3.0, 1.0, 1.0])
    y, pullback = rrule(v.order_statistics, x, np.array([0, 2]))
    np.testing.assert_array_equal(y, [1.0, 3.0])
    np.testing.assert_array_equal(pullback(np.array([4.0, 1.0]))[0], [1.0, 2.0, 2.0])
    y, y_dot = frule((1.0, 0.0, 2.0), v.lerp, 1.0, 3.0, 0.25)
    assert (y, y_dot) == (1.5, 4.75)
    y, pullback = rrule(np.gradient, LINE, 0.5)
    assert pullback(np.ones(7))[1] == pytest.approx(-np.sum(np.gradient(LINE, 0.5)) / 0.5)
    y, pullback = rrule(np.var, LINE, where=LINE > 0)
    np.testing.assert_array_equal(pullback(1.0)[0][LINE <= 0], 0)


def test_many_order_statistics_cost_what_sorting_does():
    """And not a comparison of each with all elements: that table would be 4 GB here."""
    x, many = rng.standard_normal(20_000), np.linspace(0, 1, 25_000)
    bar = grad(lambda x: np.sum(np.quantile(x, many)))(x)
    assert np.isclose(np.sum(bar), 25_000)
    y_dot = jvp(lambda x: np.quantile(x, many), (x,), (np.ones_like(x),))[1]
    assert np.allclose(y_dot, 1)


# ------------------------------------------------------------------- many weighted quantiles


@pytest.mark.parametrize("skip_nan", [False, True])
@pytest.mark.parametrize("shape", [(30,), (3, 30), (30, 4)])
def test_many_weighted_quantiles_are_as_each_by_itself(shape, skip_nan):
    """They are found in one order of all; ties share, and what has no weight has no share."""
    rng = np.random.default_rng(7)
    axis = 0 if shape == (30, 4) else -1
    x = np.round(rng.standard_normal(shape), 1)
    weights = np.round(rng.uniform(0.0, 1.0, shape) * (rng.uniform(size=shape) < 0.7), 2)
    x.flat[3] = np.nan if skip_nan else x.flat[4]
    x.flat[7], x.flat[8] = 0.0, -0.0
    q = np.linspace(0.0, 1.0, 41)
    quantile = np.nanquantile if skip_nan else np.quantile

    def f(x, q=q):
        return quantile(x, q, axis=axis, weights=weights, method="inverted_cdf")

    y, pullback = vjp(f, x)
    y_bar, x_dot = rng.standard_normal(y.shape), rng.standard_normal(shape)
    each = [vjp(lambda x, p=p: f(x, p), x)[1](b)[0] for p, b in zip(q, y_bar, strict=True)]
    np.testing.assert_allclose(pullback(y_bar)[0], np.sum(each, 0), atol=1e-12)
    pushed = [jvp(lambda x, p=p: f(x, p), (x,), (x_dot,))[1] for p in q]
    np.testing.assert_allclose(jvp(f, (x,), (x_dot,))[1], pushed, atol=1e-12)
    if len(shape) == 1:
        rows = [vjp(f, x)[1](e)[0] for e in np.eye(41)]
        for mode in ("forward", "reverse"):
            np.testing.assert_allclose(jacobian(f, mode=mode)(x), rows, atol=1e-12)


def test_many_weighted_quantiles_of_what_holds_nan_have_no_derivative():
    x, q = np.array([1.0, np.nan, 2.0]), np.linspace(0.0, 1.0, 40)
    y, pullback = vjp(lambda x: np.quantile(x, q, weights=np.ones(3), method="inverted_cdf"), x)
    assert np.all(np.isnan(y))
    assert np.all(np.isnan(pullback(np.ones(40))[0]))


@pytest.mark.parametrize(
    "statistic",
    [
        np.nanmedian,
        lambda y: np.nanpercentile(y, 30.0),
        lambda y: np.nanquantile(y, 0.6, weights=[1, 2, 1, 1, 2], method="inverted_cdf"),
    ],
)
def test_what_gave_a_skipped_nan_has_no_derivative(statistic):
    data = np.array([0.3, np.nan, -0.7, 2.1, 0.9])
    assert grad(lambda q: statistic(data * q))(2.0) == pytest.approx(statistic(data))


METHODS = (
    "linear hazen weibull median_unbiased normal_unbiased interpolated_inverted_cdf midpoint lower "
    "higher nearest inverted_cdf averaged_inverted_cdf closest_observation"
)


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
@pytest.mark.parametrize("method", METHODS.split())
@pytest.mark.parametrize("at", [0.0, 0.25, 0.5, 1.0, np.array([0.0, 0.9, 1.0])], ids=str)
def test_quantiles_beside_what_is_infinite_are_numpys(f, method, at):
    inf, nan = np.inf, np.nan
    for row in ([-inf, 1.0], [1.0, inf], [-inf, 2.0, 3.0, inf], [1.0, inf, nan], [2.0]):
        computed = functools.partial(f, q=at, method=method)
        with np.errstate(all="ignore"):
            found = vjp(computed, np.array(row))[0]
            np.testing.assert_array_equal(found, computed(np.array(row)))
