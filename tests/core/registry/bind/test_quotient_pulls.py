"""Pulls through quotients: the short way gives what the strong one does, and is left in time."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from chainrules_py import ops as v
from chainrules_py import primitive, scalar_rule
from chainrules_py.ops import divide, strong_multiply
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.registry.bind.elementwise import form_of
from chainrules_tape import grad, hessian, jacobian, jvp, vjp

INF, NAN = np.inf, np.nan


@pytest.fixture
def rng():
    return np.random.default_rng(0)


VALUES = (0.0, -0.0, 1.0, -2.5, 1e-70, 1e70, INF, -INF, NAN)


def expected(x, y, z_bar):
    """Of one quotient: in more digits and a wider range, with strong zeros."""
    wide = np.longdouble
    with np.errstate(all="ignore"):
        z = np.float64(x) / np.float64(y)
        if z_bar == 0:
            return 0.0, 0.0
        first = wide(z_bar) / wide(y) if y else wide(z_bar) * (wide(1) / wide(y))
        partial = -wide(z) / wide(y)
        return float(first), float(wide(z_bar) * partial)


def pulled(f, xs, z_bar):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = vjp(f, *xs)[1](z_bar)
    return found if isinstance(found, tuple) else (found,)


def agree(found, want):
    found, want = np.asarray(found), np.asarray(want)
    assert found.shape == want.shape
    for f, w in zip(found.reshape(-1), want.reshape(-1), strict=True):
        both = np.isfinite(f) and np.isfinite(w)
        assert (
            np.isclose(f, w, rtol=1e-14, atol=1e-300)
            if both
            else np.array_equal(f, w, equal_nan=True)
        ), (f, w)


@pytest.mark.parametrize("y", VALUES)
def test_all_kinds_of_numbers(y):
    for x, z_bar in itertools.product(VALUES, VALUES):
        want = expected(x, y, z_bar)
        one = [np.array([t]) for t in (x, y, z_bar)]
        a, b = pulled(np.divide, one[:2], one[2])
        agree(a, [want[0]])
        agree(b, [want[1]])
        agree(pulled(lambda a: np.divide(a, one[1]), one[:1], one[2])[0], [want[0]])  # noqa: B023
        agree(pulled(lambda b: np.divide(one[0], b), one[1:2], one[2])[0], [want[1]])  # noqa: B023
        scalars = [np.float64(t) for t in (x, y, z_bar)]
        a, b = pulled(np.divide, scalars[:2], scalars[2])
        agree(a, want[0])
        agree(b, want[1])
        agree(pulled(lambda a: a / y, scalars[:1], scalars[2])[0] if y else want[0], want[0])


@pytest.mark.parametrize(
    "axes", [((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ())]
)
@pytest.mark.parametrize("spoilt", [None, 0.0, INF, NAN])
def test_broadcast_quotients_beside_a_singular_one(rng, axes, spoilt):
    """One zero below, where the cotangent is zero, changes nothing elsewhere."""
    x, y = rng.normal(size=axes[0]), rng.uniform(1, 2, size=axes[1])
    z_bar = rng.normal(size=(2, 3))
    want = pulled(np.multiply, (x, 1 / y), z_bar)
    want = [want[0], -want[1] / np.square(y)]
    if spoilt is not None and y.ndim:
        place = (..., 1)
        y, z_bar = y.copy(), z_bar.copy()
        z_bar[place] = 0
        kept = [np.asarray(w) for w in pulled(np.divide, (x, y), z_bar)]
        y[place] = spoilt
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with np.errstate(all="ignore"):
                _, pull = vjp(np.divide, x, y)
            found = pull(z_bar)
        np.testing.assert_allclose(found[0], kept[0], rtol=1e-13)
        rest = np.asarray(found[1])
        assert np.all(rest[place] == 0)
        np.testing.assert_allclose(rest[..., [0, 2]], kept[1][..., [0, 2]], rtol=1e-13)
        return
    found = pulled(np.divide, (x, y), z_bar)
    np.testing.assert_allclose(found[0], want[0], rtol=1e-13)
    np.testing.assert_allclose(found[1], want[1], rtol=1e-13)


@pytest.mark.parametrize("y", [0.0, -0.0, INF, NAN, 1e300])
@pytest.mark.parametrize("x", [0.0, 1.0, INF, NAN])
def test_what_is_not_asked_for_warns_of_nothing(x, y):
    """Only the program's own division does."""
    x, y, zero = np.array([x, 1.0]), np.array([y, 2.0]), np.array([0.0, 3.0])
    for f, xs in (
        (np.divide, (x, y)),
        (lambda a: a / y, (x,)),
        (lambda b: x / b, (y,)),
        (np.log, (np.abs(y),)),
        (np.sqrt, (np.abs(y),)),
    ):
        with np.errstate(all="ignore"):
            _, pull = vjp(f, *xs)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bars = pull(zero)
        for bar in bars if isinstance(bars, tuple) else (bars,):
            assert bar[0] == 0
            assert np.isfinite(bar[1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_dtypes_are_kept(rng, dtype):
    draw = lambda *shape: rng.uniform(1, 2, size=shape).astype(dtype)
    x, y, z_bar = draw(2, 3), draw(3), draw(2, 3)
    a, b = vjp(np.divide, x, y)[1](z_bar)
    assert a.dtype == b.dtype == dtype
    wide = [
        np.asarray(t, np.clongdouble if dtype().imag.dtype != dtype else np.longdouble)
        for t in (x, y, z_bar)
    ]
    if np.iscomplexobj(x):
        want_a = wide[2] / np.conj(wide[1])
        want_b = np.sum(-wide[2] * np.conj(wide[0] / wide[1] ** 2), 0)
    else:
        want_a, want_b = wide[2] / wide[1], np.sum(-wide[2] * wide[0] / wide[1] ** 2, 0)
    tolerance = 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(a, want_a, rtol=tolerance)
    np.testing.assert_allclose(b, want_b, rtol=tolerance)


def test_large_numbers_whose_squares_overflow():
    x, y = np.array([1e200, 3.0]), np.array([1e-50, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = vjp(np.divide, x, y)[1](np.array([1e-250, 1.0]))
        (c,) = vjp(np.log, y)[1](np.array([1e160, 1.0]))
    np.testing.assert_allclose(a, [1e-200, 0.5])
    np.testing.assert_allclose(b, [-1e50, -0.75])
    np.testing.assert_allclose(c, [1e210, 0.5])


def test_many_cotangents_at_once(rng):
    x, y = rng.uniform(1, 2, size=(2, 3)), rng.uniform(1, 2, size=3)
    for k, at in ((0, x), (1, y)):
        f = lambda t, k=k: np.divide(*((t, y) if k == 0 else (x, t)))
        by_rows = jacobian(f, mode="reverse")(at)
        np.testing.assert_allclose(by_rows, jacobian(f, mode="forward")(at), rtol=1e-13)
    y[1] = 0
    with np.errstate(all="ignore"):
        found = jacobian(lambda t: t / y, mode="reverse")(x)
    assert np.array_equal(np.isinf(found), np.eye(6).reshape(2, 3, 2, 3) * (y == 0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x[:3] / x[3:]),
        lambda x: np.sum(1.0 / x),
        lambda x: np.sum(np.log(x) * np.sqrt(x)),
        lambda x: np.sum(x.reshape(2, 3) / x[:3] / 3),
    ],
)
def test_second_order_in_every_nesting(f):
    x = np.array([0.5, 1.5, 0.7, 2.0, 1.1, 0.9])
    steps, h = np.eye(6), 1e-5
    want = [(grad(f)(x + h * e) - grad(f)(x - h * e)) / (2 * h) for e in steps]
    np.testing.assert_allclose(hessian(f)(x), want, rtol=1e-7, atol=1e-8)
    along = lambda g, e: lambda x: jvp(g, (x,), (e,))[1]
    for i, e in enumerate(steps):
        np.testing.assert_allclose(along(grad(f), e)(x), want[i], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(grad(along(f, e))(x), want[i], rtol=1e-7, atol=1e-8)


def other_divide(x, y):
    return divide(y, x)


@pytest.mark.parametrize(
    "partial, quotient",
    [
        (lambda _z, _x, y: divide(1, y), (1, None, 2)),
        (lambda z, _x, y: divide(-z, y), (-1, 0, 2)),
        (lambda y, _x: divide(0.5, y), (0.5, None, 0)),
        (lambda _y, x: divide(x, x), (1, 1, 1)),
        (lambda _y, x: divide(1, 1 + x), None),
        (lambda _y, x: divide(1, -x), None),
        (lambda _y, x: divide(x, 2), None),
        (lambda _y, x: -divide(1, x), None),
        (lambda _y, x: divide(1j, x), None),
        (lambda _y, x: other_divide(x, 1), None),
        (lambda _y, x: strong_multiply(x, x), None),
        (lambda _y, x: (1, x), None),
        (np.divide, None),
    ],
)
def test_what_is_seen_to_be_a_quotient(partial, quotient):
    n = len(parameters_of(partial).positional) - 1
    assert form_of(partial, n) == ("computed", quotient)


def test_a_quotient_of_a_users_own():
    """Recognised as the library's are; saved values besides those of the quotient are no harm."""

    @primitive
    def doubled_log(x):
        return 2 * v.log(x)

    @primitive
    def ratio_and(x, y):
        return x / y + 1.0

    scalar_rule(doubled_log, lambda _y, x: divide(2, x), singular=True)
    scalar_rule(
        ratio_and, lambda _z, _x, y: divide(1, y), lambda _z, x, y: divide(-x, y * y), singular=True
    )
    x, y = np.array([0.0, 4.0]), np.array([2.0, 0.5])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(vjp(doubled_log, x)[1](np.array([0.0, 3.0])), [[0, 1.5]])
        assert vjp(doubled_log, x)[1](np.array([1.0, 3.0]))[0][0] == INF
        a, b = vjp(ratio_and, y, x)[1](np.array([0.0, 1.0]))
    np.testing.assert_array_equal(a, [0, 0.25])
    np.testing.assert_array_equal(b, [0, -0.5 / 16])


def test_cotangents_are_not_written_to(rng):
    x, y, z_bar = rng.uniform(1, 2, size=(2, 3)), rng.uniform(1, 2, size=3), np.ones((2, 3))
    for f, xs in ((np.divide, (x, y)), (np.sqrt, (x,)), (lambda a: a / 3, (x,)), (np.square, (x,))):
        z_bar.setflags(write=False)
        vjp(f, *xs)[1](z_bar)
        assert np.all(z_bar == 1)
