"""Special functions: digits far out and near zeros, poles and end points, orders, the plane."""

import math

import numpy as np
import pytest

from chainrules_py import NoRuleError, NoTangent, NotDifferentiableError, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

INF, NAN = math.inf, math.nan
mp = pytest.importorskip("mpmath")
mp.mp.dps = 40


def slope(f):
    """The derivative of a function of one array, as such a function."""
    return grad(lambda x: np.sum(f(x)))


# -------------------------------------------------------------------------------------- digits

# Points where the formula that comes to mind first loses digits, among others.
EXACT = [
    (v.gamma, mp.gamma, [0.1, 3.0, 20.5, -2.3]),
    (v.gammaln, lambda x: mp.log(abs(mp.gamma(x))), [1e-3, 5.0, 1e6, -2.3]),
    (lambda x: v.binom(x, 0.25), lambda x: mp.binomial(x, 0.25), [3.5, 63.0, 66.0]),
    (lambda x: v.betaln(x, 0.5), lambda x: mp.log(mp.beta(x, 0.5)), [0.3, 63.9, 64.1, 1e6, 1e10]),
    (v.rgamma, mp.rgamma, [-3.0, -2.9999, -1.0, 0.0, 0.4999, 0.5, 5.5, -20.3]),
    (v.digamma, mp.digamma, [1e-3, 2.0, 1e4, -1.5]),
    (v.erf, mp.erf, [0.0, 1.0, 5.0]),
    (v.erfc, mp.erfc, [0.0, 1.0, 20.0]),
    (v.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), [-3.0, 0.0, 20.0, 24.9, 25.1, 1e5]),
    (
        v.dawsn,
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
        [0.0, 1.0, 24.9, 25.1, -1e3],
    ),
    (
        v.log_ndtr,
        lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
        [-50.0, -10.0, -1e-9, 0.0, 1.0, 10.0],
    ),
    (v.ndtri, lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), [1e-10, 0.1, 0.7, 0.999]),
    (v.expit, lambda x: 1 / (1 + mp.exp(-x)), [-40.0, 5.0, 36.0, 50.0]),
    (v.log_expit, lambda x: -mp.log(1 + mp.exp(-x)), [-40.0, 0.0, 40.0]),
    (
        v.exprel,
        lambda x: mp.expm1(x) / x if x else mp.mpf(1),
        [-700.0, -30.0, -1.01, -0.99, 1e-12, 0.99, 1.01, 700.0],
    ),
    (v.j1, mp.j1, [1e-8, 0.49, 0.51, 3.0, 50.0]),
    (v.i1, lambda x: mp.besseli(1, x), [1e-8, 0.49, 0.51, 50.0, -2.0]),
    (v.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [0.1, 0.49, 0.51, 50.0, 1e3, -2.0]),
    (v.k1e, lambda x: mp.besselk(1, x) * mp.exp(x), [0.1, 3.0, 50.0, 1e3]),
    (v.ellipk, mp.ellipk, [-100.0, -0.26, -0.24, 0.0, 1e-9, 0.24, 0.26, 1 - 1e-9]),
    (v.ellipe, mp.ellipe, [-100.0, -0.26, -0.24, 0.0, 1e-9, 0.24, 0.26, 1 - 1e-9]),
    (v.ellipkm1, lambda p: mp.ellipk(1 - p), [1e-12, 0.49, 0.51, 0.74, 0.76, 1.0, 5.0]),
    (v.spence, lambda x: mp.polylog(2, 1 - x), [1e-6, 0.89, 0.91, 0.99999, 1.09, 1.11, 1.9]),
]


@pytest.mark.parametrize("operation, f, points", EXACT, ids=lambda x: getattr(x, "__name__", ""))
def test_derivatives_keep_their_digits(operation, f, points):
    x = np.array(points)
    first = [float(mp.diff(f, mp.mpf(p))) for p in points]
    second = [float(mp.diff(f, mp.mpf(p), 2)) for p in points]
    np.testing.assert_allclose(slope(operation)(x), first, rtol=1e-12)
    np.testing.assert_allclose(slope(slope(operation))(x), second, rtol=1e-9, atol=1e-15)


BOX_COX = [
    (v.boxcox, lambda x, k: (x**k - 1) / k if k else mp.log(x), [0.5, 2.0, 30.0]),
    (v.boxcox1p, lambda x, k: ((1 + x) ** k - 1) / k if k else mp.log1p(x), [-0.5, 1.0, 30.0]),
    (v.inv_boxcox, lambda y, k: (1 + k * y) ** (1 / k) if k else mp.exp(y), [-0.5, 0.3, 1.0]),
    (v.inv_boxcox1p, lambda y, k: (1 + k * y) ** (1 / k) - 1 if k else mp.expm1(y), [-0.5, 0.3]),
]


@pytest.mark.parametrize("operation, f, points", BOX_COX, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("lmbda", [-0.5, -1e-7, 0.0, 1e-9, 1e-4, 0.3, 1.5])
def test_power_transforms_keep_their_digits_near_the_logarithm(operation, f, points, lmbda):
    for x in points:
        found = grad(lambda x, k: operation(x, k), (0, 1))(np.float64(x), np.float64(lmbda))
        near = mp.mpf(lmbda) + mp.mpf(10) ** -30  # where the formula is one
        expected = [mp.diff(f, (x, near), (1, 0)), mp.diff(f, (x, near), (0, 1))]
        np.testing.assert_allclose(found, [float(e) for e in expected], rtol=1e-11)


# ------------------------------------------------------------------------- poles, ends, constants

# As in docs/conventions.md: functions, points, partial derivatives there.
ENDS = [
    (v.xlogy, (0.0, 0.0), (-INF, 0.0)),
    (v.xlog1py, (0.0, -1.0), (-INF, 0.0)),
    (v.entr, (0.0,), (INF,)),
    (v.rel_entr, (0.0, 2.0), (-INF, 0.0)),
    (v.kl_div, (0.0, 2.0), (-INF, 1.0)),
    (v.rel_entr, (1e-200, 1e200), (1 - 400 * math.log(10), 0.0)),
    (v.kl_div, (1e200, 1e-200), (400 * math.log(10), -INF)),
    (v.rel_entr, (1e-310, 1e-310), (1.0, -1.0)),
    (v.xlogy, (1e-310, 1e-310), (None, 1.0)),
    (v.logit, (0.0,), (INF,)),
    (v.logit, (1.0,), (INF,)),
    (v.ndtri, (0.0,), (INF,)),
    (v.erfinv, (-1.0,), (INF,)),
    (v.erfcinv, (0.0,), (-INF,)),
    (v.gammaln, (0.0,), (-INF,)),
    (v.digamma, (0.0,), (INF,)),
    (v.rgamma, (-1.0,), (-1.0,)),
    (v.rgamma, (0.0,), (1.0,)),
    (v.gammainc, (1, 0.0), (None, 1.0)),
    (v.gammainc, (2, 0.0), (None, 0.0)),
    (v.huber, (1.0, 1.0), (0.0, 1.0)),
    (v.huber, (1.0, -3.0), (2.0, -1.0)),
    (v.pseudo_huber, (0.0, 2.0), (2.0, 0.0)),
    (v.pseudo_huber, (0.0, 0.0), (0.0, 0.0)),
    (v.boxcox, (0.0, 0.5), (INF, 4.0)),
    (v.inv_boxcox, (-2.0, 0.5), (0.0, 0.0)),
    (v.i0e, (0.0,), (0.0,)),
    (v.i1e, (0.0,), (0.5,)),
    (v.j1, (0.0,), (0.5,)),
    (v.i1, (0.0,), (0.5,)),
    (v.y0, (0.0,), (INF,)),
    (v.k0, (0.0,), (-INF,)),
    (v.exp1, (0.0,), (-INF,)),
    (v.ellipk, (1.0,), (INF,)),
    (v.ellipkm1, (0.0,), (-INF,)),
    (v.ellipe, (1.0,), (-INF,)),
    (v.spence, (0.0,), (-INF,)),
    (v.spence, (1.0,), (-1.0,)),
    (v.exprel, (0.0,), (0.5,)),
    (v.expit, (INF,), (0.0,)),
    (v.log_expit, (-INF,), (1.0,)),
    (v.gammasgn, (-0.5,), (0.0,)),
]


@pytest.mark.parametrize("operation, point, partials", ENDS, ids=str)
def test_values_at_ends_and_poles(operation, point, partials):
    for k, expected in enumerate(partials):
        if expected is None:
            continue
        found = grad(operation, k)(*point)
        assert found == expected
        forward = jvp(
            lambda x, k=k: operation(*point[:k], x, *point[k + 1 :]), (point[k],), (1.0,)
        )[1]
        assert forward == expected


@pytest.mark.parametrize("x", [-1000.0, -720.0, -80.0])
def test_second_derivatives_of_exprel_far_out_are_those_of_minus_its_inverse(x):
    assert np.isclose(grad(grad(v.exprel))(x), -2 / x**3, rtol=1e-15)


@pytest.mark.parametrize(
    "operation, inside",
    [(v.gammaln, 2.0), (v.logit, 0.5), (v.ndtri, 0.5), (v.ellipk, 0.5), (v.y0, 1.0)],
)
def test_an_infinite_slope_that_nobody_asks_for_is_zero(operation, inside):
    end = {v.gammaln: 0.0, v.logit: 1.0, v.ndtri: 0.0, v.ellipk: 1.0, v.y0: 0.0}[operation]
    f = lambda x: np.sum(np.where(x == end, 0.0, operation(x)))
    found = grad(f)(np.array([end, inside]))
    assert found[0] == 0
    assert np.isfinite(found[1])


def test_terms_of_a_sum_of_exponentials_that_are_not_there():
    lse = lambda x: v.logsumexp(x)
    np.testing.assert_array_equal(grad(lse)(np.full(2, -INF)), [0, 0])
    np.testing.assert_array_equal(grad(lse)(np.array([-INF, 0.0])), [0, 1])
    assert np.isnan(grad(lse)(np.array([INF, 0.0]))).all()


def test_small_terms_count_beside_a_sum_near_zero():
    x = np.array([0.0, -50.0])
    assert v.logsumexp(x) == math.log1p(math.exp(-50.0))
    assert v.logsumexp(np.array([1e3, 1e3])) == 1e3 + math.log(2)


BINOMIAL = [(3.0, 5.0), (3.0, -1.0), (3.5, 6.0), (200.0, 3.0), (3.0, 3.0)]
BINOMIAL_LARGE = [(200.0, 203.0), (150.2, -2.7), (1000.3, 1001.1)]


@pytest.mark.parametrize("n, k", [*BINOMIAL, *BINOMIAL_LARGE])
def test_binomial_coefficients_beyond_their_triangle(n, k):
    f = lambda n, k: mp.rgamma(k + 1) * mp.rgamma(n - k + 1) * mp.gamma(n + 1)
    expected = [mp.diff(lambda t: f(t, k), n), mp.diff(lambda t: f(n, t), k)]
    found = grad(v.binom, (0, 1))(n, k)
    np.testing.assert_allclose(found, [float(e) for e in expected], rtol=1e-11)


# -------------------------------------------------------------------------------------- orders

ORDERS = [
    (v.jv, 2.5, 1.5),
    (v.yv, 0.5, 1.5),
    (v.iv, 1.5, 0.7),
    (v.ive, 1.5, 0.7),
    (v.kv, 0.3, 0.7),
    (v.kve, 0.3, 0.7),
    (v.gammainc, 2.5, 1.2),
    (v.gammaincc, 2.5, 1.2),
    (v.zeta, 2.5, 1.2),
    (v.hyp0f1, 1.5, 0.4),
]


@pytest.mark.parametrize("operation, order, x", ORDERS, ids=str)
def test_real_orders(operation, order, x):
    h = 1e-5
    expected = (operation(order, x + h) - operation(order, x - h)) / (2 * h)
    found = grad(lambda x: operation(order, x))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(
        jvp(lambda x: operation(order, x), (x,), (1.0,))[1], found, rtol=1e-14
    )
    _, pullback = rrule(operation, order, x)
    np.testing.assert_allclose(pullback(1.0, wanted=(False, True))[1], found, rtol=1e-14)


SHAPES = (v.gammainc, v.gammaincc, v.zeta)


@pytest.mark.parametrize("operation, order, x", [o for o in ORDERS if o[0] in SHAPES], ids=str)
def test_real_shapes(operation, order, x):
    h = 1e-4
    near, far = (operation(order + s * h, x) - operation(order - s * h, x) for s in (1, 2))
    expected = (8 * near - far) / (12 * h)
    np.testing.assert_allclose(grad(lambda n: operation(n, x))(order), expected, rtol=1e-9)
    np.testing.assert_allclose(frule((1.0, 0.0), operation, order, x)[1], expected, rtol=1e-9)


@pytest.mark.parametrize("operation, order, x", [o for o in ORDERS if o[0] not in SHAPES], ids=str)
def test_orders_by_values_around(operation, order, x):
    """By values around: right to about eight digits, in both modes, and twice."""
    functions = {"jv": mp.besselj, "yv": mp.bessely, "iv": mp.besseli, "kv": mp.besselk}
    functions |= {
        "ive": lambda n, x: mp.exp(-x) * mp.besseli(n, x),
        "kve": lambda n, x: mp.exp(x) * mp.besselk(n, x),
        "hyp0f1": mp.hyp0f1,
    }
    f = functions[operation.__name__]
    for n, rtol in ((1, 1e-9), (2, 1e-6)):
        expected = float(mp.diff(lambda a: f(a, x), order, n))
        found = grad(lambda a: operation(a, x)) if n == 1 else grad(grad(lambda a: operation(a, x)))
        np.testing.assert_allclose(found(order), expected, rtol=rtol)
    once = float(mp.diff(lambda a: f(a, x), order))
    np.testing.assert_allclose(frule((1.0, 0.0), operation, order, x)[1], once, rtol=1e-9)


def test_a_pole_of_a_parameter_is_no_number():
    """There the formulas of two orders differ."""
    for pole in (0.0, -1.0, np.zeros(1)):
        assert np.isnan(slope(lambda b: v.hyp1f1(0.5, b, 0.3))(pole)).all()
    assert np.isnan(grad(lambda b: v.hyp0f1(b, 0.3))(-20.0))  # of a residue of 1e-48
    assert grad(lambda b: v.hyp1f1(1.5, b, 1e-6))(0.1) == pytest.approx(-1.500001859505e-4, 1e-8)


@pytest.mark.parametrize(
    "f, upper",
    [
        (lambda b: v.hyp1f1(-2.0, b, 0.3), [-2.0]),
        (lambda b: v.hyp2f1(1.85, -2.0, b, 0.3), [1.85, -2.0]),
    ],
)
def test_a_series_that_ends_before_a_pole_of_its_parameter(f, upper):
    for order in (-2.0, -3.0, -7.0):
        polynomial = lambda b: mp.hyper(upper, [b], mp.mpf(3) / 10)  # the place is no pole of it
        truth = (polynomial(order + mp.mpf(10) ** -7) - polynomial(order - mp.mpf(10) ** -7)) * 5e6
        assert grad(f)(order) == pytest.approx(float(truth), 1e-6)


@pytest.mark.parametrize(
    "f, truth",
    [
        (lambda b: v.hyp0f1(b, 1.7), lambda b: mp.hyp0f1(b, 1.7)),
        (lambda b: v.hyp1f1(1.3, b, 0.7), lambda b: mp.hyp1f1(1.3, b, 0.7)),
        (lambda b: v.hyp2f1(1.3, 0.8, b, 0.4), lambda b: mp.hyp2f1(1.3, 0.8, b, 0.4)),
    ],
)
def test_lower_parameters_near_their_poles(f, truth):
    points = np.array([1e-3, 0.05, 0.08, 0.1, 0.3, 0.5, 0.8, 1.2, 3.0, -0.3, -0.6, -1.4])
    for n, rtol in ((1, 1e-8), (2, 1e-7), (3, 1e-6)):
        f = slope(f)
        expected = [float(mp.diff(truth, mp.mpf(b), n)) for b in points]
        np.testing.assert_allclose(f(points), expected, rtol=rtol)


@pytest.mark.parametrize("operation, order, x", [(v.polygamma, 2.0, 0.7)], ids=str)
def test_a_derivative_in_a_real_count_is_an_error(operation, order, x):
    name = operation.operands[0]
    with pytest.raises(NotDifferentiableError, match=rf"{operation.__name__} .* operand {name} "):
        grad(lambda n: operation(n, x))(order)
    with pytest.raises(NotDifferentiableError, match="ignore_derivatives"):
        frule((1.0, 0.0), operation, order, x)


def test_a_whole_order_is_a_count():
    _, pullback = rrule(v.jv, 2, 0.7)
    assert pullback(1.0)[0] is NoTangent()
    np.testing.assert_array_equal(vjp(v.jv, np.arange(3), 0.7)[1](np.ones(3))[0], np.zeros(3))


def test_whole_arrays_beside_a_number():
    """Arrays of whole numbers for the parameters, and a number of Python's for x."""
    a, x, h = np.array([4, 1]), 0.25, 1e-5
    for f in (lambda x: v.hyp2f1(a, 2, 6, x), lambda x: v.hyp1f1(a, 6, x)):
        want = (f(x + h) - f(x - h)) / (2 * h)
        np.testing.assert_allclose(jvp(f, (x,), (1.0,))[1], want, rtol=1e-8)
        np.testing.assert_allclose(vjp(f, x)[1](np.ones(2))[0], want.sum(), rtol=1e-8)


def test_parameters_of_hypergeometric_functions():
    at = (0.5, 1.5, 2.5, 0.3)
    for k in range(3):
        f = lambda z, k=k: mp.hyp2f1(*[z if i == k else x for i, x in enumerate(at)])
        np.testing.assert_allclose(grad(v.hyp2f1, k)(*at), float(mp.diff(f, at[k])), rtol=1e-9)


# ------------------------------------------------------------------------------ complex numbers


IN_THE_PLANE = (0.7 + 0.4j, -1.3 + 0.2j, 3.0 - 2.0j)


@pytest.mark.parametrize(
    "operation, f, points",
    [
        (v.gamma, mp.gamma, IN_THE_PLANE),
        (v.loggamma, mp.loggamma, IN_THE_PLANE),
        (v.rgamma, mp.rgamma, IN_THE_PLANE),
        (
            v.wofz,
            lambda z: mp.exp(-z * z) * mp.erfc(-1j * z),
            (1 + 300j, 1e8 + 1j, 12.1 + 0j, 9 + 9j, 30 - 26j, 4 - 5j),
        ),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_derivatives_of_complex_numbers_keep_their_digits(operation, f, points):
    for z in points:
        expected = complex(mp.diff(f, mp.mpc(z)))
        found = vjp(operation, np.array([z]))[1](np.ones(1, complex))[0]
        np.testing.assert_allclose(np.conj(found), [expected], rtol=1e-11)


@pytest.mark.parametrize("operation", [v.digamma, v.gammaln, v.j0, v.expit])
def test_what_has_no_rule_for_complex_numbers_says_so(operation):
    with pytest.raises((NoRuleError, TypeError)):
        jvp(operation, (np.array([0.5 + 0.1j]),), (np.array([1.0 + 0j]),))


def test_the_faddeeva_function_of_real_numbers_is_complex():
    x, h = np.array([0.3]), 1e-5
    expected = (v.wofz(x + h + 0j) - v.wofz(x - h + 0j)) / (2 * h)
    np.testing.assert_allclose(jvp(v.wofz, (x,), (np.ones(1),))[1], expected, rtol=1e-9)
    bar = vjp(v.wofz, x)[1](np.array([1.0 + 2.0j]))[0]
    assert bar.dtype == float
    np.testing.assert_allclose(bar, np.real(np.conj(expected) * (1 + 2j)), rtol=1e-9)


def test_numbers_of_python_stay_numbers_of_python():
    assert type(v.gammaln(0.5)) is float
    assert type(grad(v.gammaln)(0.5)) is float
    assert [type(part) for part in v.sici(0.5)] == [float, float]


@pytest.mark.parametrize("operation", ["jv", "yv", "iv", "ive", "kv", "kve", "hyp0f1", "polygamma"])
@pytest.mark.parametrize("x", [np.array([1.1, 1.6]), 1.1])
def test_orders_of_whole_numbers_do_not_wrap(operation, x):
    """The next order of 127 is 128, in int8 too, and the last of 0 is -1 in uint8."""
    f = getattr(v, operation)
    for n, dtype in ((0, np.uint8), (127, np.int8), (2, np.int64)):
        if operation in ("polygamma", "hyp0f1") and n == 0:
            continue
        slope = grad(lambda x, n=n, dtype=dtype: np.sum(f(np.array([n, n], dtype), x)))(x)
        h = 1e-6 * np.float64(1.0)
        truth = [(f(float(n), x + s * h) - f(float(n), x - s * h)) / (2 * s * h) for s in (1, 2)]
        truth = (4 * truth[0] - truth[1]) / 3 * (1 if np.ndim(x) else 2)
        np.testing.assert_allclose(slope, truth, rtol=1e-5)


def test_parameters_of_whole_numbers_do_not_wrap():
    x, n = np.array([0.1, 0.2]), np.array([127, 127], np.int8)
    f = lambda x, to: v.hyp2f1(np.array([1, 1], to), n.astype(to), np.array([3, 3], to), x)
    slope = grad(lambda x: np.sum(f(x, np.int8)))(x)
    truth = (f(x + 1e-7, float) - f(x - 1e-7, float)) / 2e-7
    np.testing.assert_allclose(slope, truth, rtol=1e-4)
