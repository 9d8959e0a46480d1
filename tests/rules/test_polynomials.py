"""Polynomials: identities, other systems as oracles, and the parts of NumPy that nobody sees."""

import warnings

import numpy as np
import pytest
from numpy.polynomial import polynomial as ascending

from chainrules_py import (
    DegeneracyWarning,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
    frule,
    rrule,
)
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

rng = np.random.default_rng(15)
P = rng.uniform(0.5, 2.0, 5)
X = np.linspace(-1.5, 2.0, 9)
Y = np.cos(X) + 0.1 * rng.standard_normal(9)


def test_roots_undo_poly():
    """The derivative of roots(poly(z)) is the identity."""
    z = np.array([3.0, 1.5, -0.5, -2.0])
    t = rng.standard_normal(4)
    y, y_dot = jvp(lambda z: np.sort(np.roots(np.poly(z))), (z,), (t,))
    np.testing.assert_allclose(y, np.sort(z), rtol=1e-10)
    np.testing.assert_allclose(y_dot, t[np.argsort(z)], rtol=1e-9)
    complex_z = np.array([1 + 1j, 2.0, -1j, 0.5 - 0.5j])
    _, bars = vjp(lambda z: np.sort(np.roots(np.poly(z))), complex_z)
    np.testing.assert_allclose(bars(np.sort(complex_z) + 1)[0], complex_z + 1, rtol=1e-9)


def test_roots_that_meet_are_infinitely_steep():
    """sqrt(t) at 0 is what they move by; which of two infinities it is, nothing says."""
    with np.errstate(all="raise"), pytest.warns(DegeneracyWarning, match="roots are equal"):
        _, y_dot = frule((np.array([0.0, 0.0, 1.0]),), np.roots, np.array([1.0, 0.0, 0.0]))
    assert not np.isfinite(y_dot).any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "a",
    [
        [[-2.0, -1.0], [1.0, 0.0]],
        [[2.0, 0.0], [0.0, 2.0]],
        [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]],
        [[1.0, 2.0, 0.5], [-1.0, 0.3, 0.2], [0.4, 0.1, -0.7]],
        [[1.0 + 1j, 1.0, 0.0], [0.0, 1.0 + 1j, 0.0], [0.0, 0.5, 2.0]],
    ],
    ids=["chain", "equal", "of three", "simple", "complex"],
)
def test_polynomials_of_matrices(a):
    """Also where eigenvalues meet: the coefficients are polynomials of the elements."""
    a, t, s = np.array(a), np.array([0.7, -0.4, 1.3]), np.array([0.2, 0.9, -0.5])
    way = np.outer(t, s)[: len(a), : len(a)]
    traces = [np.trace(a), np.trace(a @ a), np.trace(a @ a @ a)]
    wanted = [0.0, -np.trace(way)]  # of Newton's identities, of sums of powers
    dots = [k * np.trace(np.linalg.matrix_power(a, k - 1) @ way) for k in (1, 2, 3)]
    wanted += [traces[0] * dots[0] - dots[1] / 2]
    wanted += [
        -(traces[0] ** 2) * dots[0] / 2
        + (dots[0] * traces[1] + traces[0] * dots[1]) / 2
        - dots[2] / 3
    ]
    y, y_dot = jvp(np.poly, (a,), (way.astype(a.dtype),))
    np.testing.assert_array_equal(y, np.poly(a))
    np.testing.assert_allclose(y_dot, wanted[: len(a) + 1], atol=1e-12)
    w = np.arange(1.0, len(a) + 2)
    slope = grad(lambda x: np.sum(w * np.real(np.poly(x))))(a)
    np.testing.assert_allclose(np.sum(np.real(slope.conj() * way)), w @ np.real(y_dot), atol=1e-12)


MEETING = {
    **{f"{n} at {z}": np.poly([z] * n) for n in (2, 3, 4) for z in (0.0, 1.0, -3.0, 1e3, 1e-3)},
    "and one more": np.poly([1.0, 1.0, 5.0]),
    "complex": np.poly([1.0 + 1j, 1.0 + 1j, 2.0]),
    **{f"close by {d}": np.poly([1.0, 1.0 + d]) for d in (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)},
    **{f"three by {d}": np.poly([1.0, 1.0 + d, 1.0 - d]) for d in (1e-9, 1e-5, 1e-3, 0.1)},
    "simple": np.poly([1.0, 2.0, 3.0, 4.0]),
}


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", MEETING)
def test_what_takes_roots_alike_is_right_or_reported(name, mode):
    """The sum of their squares, which is (p1 / p0)² - 2 p2 / p0."""
    p = MEETING[name]
    p_dot = np.random.default_rng(3).standard_normal(len(p))
    wanted = np.real(2 * p[1] * (p_dot[1] - p[1] * p_dot[0]) - 2 * (p_dot[2] - p[2] * p_dot[0]))
    f = lambda p: v.real(v.sum(np.roots(p) ** 2))
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always", DegeneracyWarning)
        if mode == "forward":
            found = jvp(f, (p,), (p_dot.astype(p.dtype),))[1]
        else:
            found = np.sum(np.real(np.conj(grad(f)(p)) * p_dot))
    reported = any([w.category is DegeneracyWarning for w in caught])
    size = np.sum(np.abs(p)) ** 2
    assert reported or abs(found - wanted) < 0.05 * max(1.0, abs(wanted), 1e-6 * size)
    assert not (reported and name in ("simple", "close by 1.0", "three by 0.1", "close by 0.001"))


def test_roots_at_the_border_of_the_shape():
    """Leading zeros have no root, trailing ones the root 0: which moves, by -p0 / p1."""
    _, y_dot = frule((np.array([0.0, 0.0, 0.0, 1.0]),), np.roots, np.array([0.0, 1.0, 2.0, 0.0]))
    np.testing.assert_allclose(np.sort(y_dot), [-0.5, 0.5])


def test_polyval_where_x_is_zero():
    _, pullback = rrule(np.polyval, np.array([2.0, 3.0, 4.0]), np.zeros(2))
    bars = pullback(np.ones(2))
    np.testing.assert_array_equal(bars[0], [0.0, 0.0, 2.0])
    np.testing.assert_array_equal(bars[1], [3.0, 3.0])


def test_fits_as_jax_has_them():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def f(np):
        return lambda x, y, w: np.sum(np.polyfit(x, y, 3, w=w) * np.arange(4.0))

    w = rng.uniform(0.5, 2.0, 9)
    expected = jax.grad(f(jax.numpy), argnums=(0, 1, 2))(X, Y, w)
    for have, want in zip(grad(f(np), argnums=(0, 1, 2))(X, Y, w), expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-7, atol=1e-9)


def test_a_fit_of_a_polynomial_gives_it_back():
    _, pullback = vjp(lambda p: np.polyfit(X, np.polyval(p, X), 4), P)
    bar = rng.standard_normal(5)
    np.testing.assert_allclose(pullback(bar)[0], bar, rtol=1e-8)


def test_poly1d_of_a_tracer(agree):
    """NumPy's class computes with what its functions give, so it can hold a tracer."""
    agree(lambda p: np.poly1d(p)(0.7), P)
    agree(lambda p: (np.poly1d(p) * np.poly1d(p)).coeffs, P)
    agree(lambda p: np.poly1d(p).deriv().coeffs, P)
    agree(lambda p: np.poly1d(p).integ()(2.0), P)


def test_poly1d_next_to_a_tracer():
    q = np.poly1d([1.0, 2.0])
    for f in (np.polyadd, np.polymul, np.polysub, np.polydiv):
        with pytest.raises(UnsupportedKeywordError, match="coeffs"):
            grad(lambda p, f=f: np.sum(f(p, q)[0]))(P)
    with pytest.raises(UnsupportedKeywordError, match="coeffs"):
        grad(lambda p: np.polyval(p, q))(P)
    np.testing.assert_allclose(grad(lambda x: np.polyval(q, x))(3.0), 1.0)


UNSEEN = {
    "polyval": lambda c: ascending.polyval(2.0, c),
    "polyder": ascending.polyder,
    "polymul": lambda c: ascending.polymul(c, c),
    "polyfromroots": ascending.polyfromroots,
    "polyroots": ascending.polyroots,
    "polyvander": lambda x: ascending.polyvander(x, 3),
    "polyfit": lambda y: ascending.polyfit(X[:5], y, 2),
    "Polynomial": lambda c: np.polynomial.Polynomial(c)(2.0),
    "chebval": lambda c: np.polynomial.chebyshev.chebval(0.5, c),
    "Legendre": lambda c: np.polynomial.Legendre(c)(0.5),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_the_rest_of_np_polynomial_is_right_or_raises(name):
    f = lambda c: np.sum(UNSEEN[name](c))
    try:
        slope = grad(f)(P)
    except (TracerError, NotDifferentiableError):
        return
    except TypeError as error:
        if "array of objects" not in "".join(getattr(error, "__notes__", ())):
            raise
        return
    rows = 1e-6 * np.eye(len(P))
    truth = [(f(P + row) - f(P - row)) / 2e-6 for row in rows]
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda c: (1.5 - np.polynomial.Polynomial(c))(0.3),
        lambda c: divmod(np.polynomial.Polynomial(c), 2.0)[0](0.3),
        lambda c: np.polynomial.Polynomial(c).convert(kind=np.polynomial.Chebyshev)(0.3),
    ],
)
def test_a_series_of_narrow_coefficients_beside_a_number(f):
    c = P.astype(np.float32)
    with pytest.raises(TracerError, match=r"write (c\.astype\(float\) for c|the basis)"):
        grad(f)(c)
    wide = lambda c: f(c.astype(float))
    assert wide(c) == f(c)
    truth = [(f(P + row) - f(P - row)) / 2e-6 for row in 1e-6 * np.eye(len(P))]
    np.testing.assert_allclose(grad(wide)(c), truth, rtol=1e-6)


DIRECT = {
    "polyval": (ascending.polyval, (X, P)),
    "polyval3d": (ascending.polyval3d, (X, X[::-1].copy(), Y, rng.standard_normal((2, 3, 2)))),
    "polygrid3d": (ascending.polygrid3d, (X[:2], X[:3], Y[:1], rng.standard_normal((2, 2, 2)))),
    "polyvander": (ascending.polyvander, (X,)),
}


@pytest.mark.parametrize("name", DIRECT)
def test_some_have_direct_rules(name):
    f, xs = DIRECT[name]
    keywords = {"deg": 3} if name == "polyvander" else {}
    y, pullback = rrule(f, *xs, **keywords)
    np.testing.assert_allclose(y, f(*xs, **keywords), rtol=1e-12)
    ts = tuple([rng.standard_normal(x.shape) for x in xs])
    _, y_dot = frule(ts, f, *xs, **keywords)
    h = 1e-6
    ahead = f(*[x + h * t for x, t in zip(xs, ts, strict=True)], **keywords)
    behind = f(*[x - h * t for x, t in zip(xs, ts, strict=True)], **keywords)
    np.testing.assert_allclose(y_dot, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7)
    bar = rng.standard_normal(y.shape)
    pulled = sum(np.sum(b * t) for b, t in zip(pullback(bar), ts, strict=True))
    np.testing.assert_allclose(pulled, np.sum(bar * y_dot), rtol=1e-10)


def test_columns_of_coefficients():
    c = rng.standard_normal((3, 4))
    y, pullback = rrule(ascending.polyval, np.ones(4), c, tensor=False)
    np.testing.assert_allclose(y, c.sum(axis=0))
    np.testing.assert_array_equal(pullback(np.ones(4))[1], np.ones((3, 4)))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="incompatible"):
        grad(lambda x: np.sum(ascending.polyval2d(x, X[:2], np.ones((2, 2)))))(X)
    with pytest.raises(ValueError, match="k must be"):
        grad(lambda p: np.sum(np.polyint(p, 3, k=[1.0, 2.0])))(P)
    with pytest.raises(ValueError, match="one-dimensional"):
        grad(lambda x: np.sum(np.vander(x)))(np.ones((2, 2)))


def test_float32_is_kept():
    p, x = P.astype(np.float32), X.astype(np.float32)
    y, pullback = rrule(v.polyval, p, x)
    assert [a.dtype for a in (y, *pullback(y))] == [np.float32] * 3
    y, pullback = rrule(np.vander, x)
    assert [a.dtype for a in (y, *pullback(y))] == [np.float64, np.float32]  # as NumPy's


def test_polymul_of_zeros_in_front_says_what_leaves_out_none():
    p, q = np.array([0.0, 1.5, 2.0]), np.array([1.0, 2.0])
    with pytest.raises(NotDifferentiableError, match=r"np\.convolve\(p, q\)"):
        grad(lambda p: np.sum(np.polymul(p, q)))(p)
    found = grad(lambda p: np.sum(np.convolve(p, q)))(p)
    np.testing.assert_array_equal(found, np.full(3, q.sum()))
