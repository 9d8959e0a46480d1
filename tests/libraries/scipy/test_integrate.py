"""Integrals and differential equations of ``scipy.integrate``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as theirs
from scipy import special

import chainrules_scipy
import chainrules_scipy.integrate as ours
from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_tape import grad, hessian, jacobian, jvp, value_and_grad, vjp
from tests.libraries.scipy.same import check_same

_rng = np.random.default_rng(5)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
def test_known_at_places(n):
    y, x = _rng.normal(size=(3, n)), np.sort(_rng.random(n))

    def at(f, **options):
        return lambda y, x: f(y, x=x, **options)

    for name in ("trapezoid", "simpson", "cumulative_trapezoid"):
        f, g = getattr(ours, name), getattr(theirs, name)
        check_same(f, g, y)
        check_same(f, g, y, dx=0.3)
        check_same(lambda dx, f=f: f(y, dx=dx), lambda dx, g=g: g(y, dx=dx), np.array(0.3))
        check_same(at(f), at(g), y, x)
        check_same(at(f), at(g), y, np.sort(_rng.random((3, n))))
        check_same(at(f, axis=0), at(g, axis=0), y.T.copy(), x)
    if n in (3, 5, 9):
        check_same(ours.romb, theirs.romb, y, dx=0.3)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_parabolas_over_places_that_are_one(n):
    """SciPy leaves out what would be divided by nothing; there was NaN, or infinity."""
    for _ in range(20):
        y, x = _rng.normal(size=n), _rng.integers(0, 3, n)
        for places in (x.astype(float), np.sort(x).astype(float), x > 1, np.zeros(n)):
            value, _ = vjp(lambda y, x=places: ours.simpson(y, x=x), y)
            np.testing.assert_allclose(value, theirs.simpson(y, x=places), atol=1e-13)
            slopes = grad(lambda y, x=places: ours.simpson(y, x=x))(y)
            each = [theirs.simpson(row, x=places) for row in np.eye(n)]
            np.testing.assert_allclose(slopes, each, atol=1e-12)
        assert ours.simpson(y, dx=0.0) == 0.0


INTEGRALS = {
    "both limits": lambda m, k: m.quad(lambda x: np.exp(-k * x * x), 0, k)[0],
    "infinite": lambda m, k: m.quad(lambda x: np.exp(-k * x * x), -np.inf, np.inf)[0],
    "up to infinity": lambda m, k: m.quad(lambda x, p: np.exp(-p * x), k, np.inf, (k,))[0],
    "turned": lambda m, k: m.quad(lambda x: np.cos(k * x), 1, 0)[0],
    "a root at an end": lambda m, k: m.quad(lambda x: np.cos(k * x) / np.sqrt(x), 0, k)[0],
    "a root away from 0": lambda m, k: m.quad(lambda x: k / np.sqrt(x - 1) / x, 1, k + 3)[0],
    "a logarithm": lambda m, k: m.quad(lambda x: np.log(x) * k, 0, k)[0],
    "a bend": lambda m, k: m.quad(lambda x: abs(x - 0.3) * k, 0, 1, points=[0.3])[0],
    "two": lambda m, k: m.dblquad(lambda y, x: np.exp(-k * x * y), 0, 1, 0.0, lambda x: k * x)[0],
    "vectors": lambda m, k: np.sum(
        m.quad_vec(lambda x: np.exp(-k * x) * x * np.array([1.0, 2.0]), 0, k)[0]
    ),
    "fixed": lambda m, k: m.fixed_quad(lambda x: np.exp(-k * x), 0, k, n=7)[0],
}


@pytest.mark.parametrize("f", INTEGRALS.values(), ids=INTEGRALS)
def test_integrals(f):
    k, h = 1.3, 1e-4
    truth = (f(theirs, k + h) - f(theirs, k - h)) / (2 * h)
    assert abs(grad(lambda k: f(ours, k))(k) - truth) < 2e-7 * (1 + abs(truth))
    np.testing.assert_allclose(f(ours, k), f(theirs, k), rtol=1e-14)


NARROW = {
    "quad": lambda x: theirs.quad(lambda t: np.exp(-t * x[0]), 0, 1)[0],
    "infinite": lambda x: theirs.quad(lambda t: np.exp(-t * t * x[0]), -np.inf, np.inf)[0],
    "complex": lambda x: theirs.quad(lambda t: np.exp(1j * t * x[0]), 0, 1, complex_func=True)[0],
    "two": lambda x: theirs.dblquad(lambda t, u: np.exp(-t * x[0] * u), 0, 1, 0, 1)[0],
    "vectors": lambda x: theirs.quad_vec(lambda t: np.exp(-t * x), 0, 1)[0],
}


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("f", NARROW.values(), ids=NARROW)
def test_integrals_of_what_single_precision_enters(f):
    x, known, h = np.array([0.3, 1.1], np.float32), f(np.array([0.3, 1.1], np.float32)), 1e-4
    truth = (f(x.astype(float) + h) - f(x.astype(float) - h)) / (2 * h)
    with chainrules_scipy.install():
        value, slope = jvp(f, (x,), (np.ones_like(x),))
        assert grad(lambda x: np.sum(f(x).real))(x).dtype == np.float32
    assert value.dtype == slope.dtype == np.asarray(known).dtype
    np.testing.assert_array_equal(value, known)
    np.testing.assert_allclose(slope, truth, rtol=1e-5)


FAR = {
    "overflow in a quotient": lambda x, k: 1 / np.cosh(k * x),
    "of Planck": lambda x, k: x**3 / np.expm1(k * x),
    "twice exponential": lambda x, k: np.exp(-np.exp(k * x)),
    "infinity times zero": lambda x, k: np.exp(0.3 * x) * np.exp(-k * x * x),
    "Python's overflow": lambda x, k: x**7 * np.exp(-k * x * x),
    "all of it zero": lambda x, k: (k - 1.3) * np.exp(-x),
    "slow": lambda x, k: (k + x) ** -1.5,
}


SOME = ["overflow in a quotient", "infinity times zero", "all of it zero"]


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.slow) for name in FAR]
)
def test_what_is_nothing_far_out(name):
    f = lambda k, quad=ours.quad: quad(lambda x: FAR[name](x, k), 0, np.inf)[0]
    along = lambda f: lambda k: jvp(f, (k,), (1.0,))[1]
    k, h = 1.3, 1e-4
    with np.errstate(all="ignore"):
        truth = (f(k + h, theirs.quad) - f(k - h, theirs.quad)) / (2 * h)
        found = [grad(f)(k), along(f)(k)]
        second = (grad(f)(k + h) - grad(f)(k - h)) / (2 * h)
        twice = [outer(inner(f))(k) for outer in (grad, along) for inner in (grad, along)]
    np.testing.assert_allclose(found, [truth] * 2, rtol=1e-5)
    np.testing.assert_allclose(twice, [second] * 4, rtol=1e-5, atol=1e-9)


def test_nested_integrals_are_values_alone_where_only_their_values_are_used():
    calls = 0

    def f(y, x, p):
        nonlocal calls
        calls += 1
        return p * x * y + p**2

    area = lambda p: ours.dblquad(lambda y, x: f(y, x, p), 0.0, 1.0, 0.0, lambda x: x)[0]
    assert np.isclose(grad(area)(0.8), 1 / 8 + 0.8)
    assert calls < 6000  # there were 6561


def test_second_order():
    f = lambda k: ours.quad(lambda x: np.exp(-k * x * x), 0, k)[0]
    h = 1e-4
    truth = (grad(f)(1.3 + h) - grad(f)(1.3 - h)) / (2 * h)
    assert abs(hessian(f)(1.3) - truth) < 1e-7


STEP = lambda t: np.where(t < 0.5, t * t, 1.0)
BENT = lambda t: np.abs(t - 0.5)
TABLE = lambda t: np.interp(t, [0, 1, 2], [0.1, 0.8, 0.2])
WITH_JUMPS = {
    "step": (lambda b, m: m.quad(STEP, 0.0, b)[0], STEP),
    "step that is named": (lambda b, m: m.quad(STEP, 0.0, b, points=[0.5])[0], STEP),
    "branch": (lambda b, m: m.quad(lambda t: t if t < 0.5 else 1.0, 0.0, b, points=[0.5])[0], STEP),
    "kink": (lambda b, m: m.quad(BENT, 0.0, b, points=[0.5])[0], BENT),
    "table": (lambda b, m: m.quad(TABLE, 0.0, b)[0], TABLE),
    "lower limit": (
        lambda b, m: m.quad(lambda t: np.exp(-t) * STEP(-t), b - 3.0, 1.0)[0],
        lambda b: -np.exp(3.0 - b) * STEP(3.0 - b),
    ),
    "to infinity": (
        lambda b, m: m.quad(lambda t: np.exp(-t) * BENT(t), b - 1.5, np.inf)[0],
        lambda b: -np.exp(1.5 - b) * BENT(b - 1.5),
    ),
    "from infinity": (
        lambda b, m: m.quad(lambda t: np.exp(t) * BENT(t), -np.inf, b)[0],
        lambda b: np.exp(b) * BENT(b),
    ),
    "vectors": (
        lambda b, m: np.sum(m.quad_vec(lambda t: STEP(t) * np.ones(2), 0.0, b)[0]),
        lambda b: 2 * STEP(b),
    ),
    "twice": (
        lambda b, m: m.dblquad(lambda s, t: STEP(t) * s, 0.0, b, 0.0, 1.0)[0],
        lambda b: STEP(b) / 2,
    ),
}
"""Integrals, with the integrand at the limit that moves."""


@pytest.mark.parametrize("name", WITH_JUMPS)
def test_jumps_stay_where_they_are_when_a_limit_moves(name):
    f, slope = WITH_JUMPS[name]
    of_ours, b, h = lambda b: f(b, ours), 1.7, 1e-4
    assert of_ours(b) == pytest.approx(f(b, theirs), rel=1e-14)
    assert grad(of_ours)(b) == pytest.approx(slope(b), rel=1e-9)
    assert jvp(of_ours, (b,), (1.0,))[1] == pytest.approx(slope(b), rel=1e-9)
    second = (slope(b + h) - slope(b - h)) / (2 * h)
    assert grad(grad(of_ours))(b) == pytest.approx(second, rel=1e-6, abs=1e-9)


def test_a_singular_end_that_moves():
    f = lambda x, m: m.quad(lambda t: np.cos(t) / np.sqrt(x - t), 0.0, x)[0]
    x, h = 1.3, 1e-4
    truth = (f(x + h, theirs) - f(x - h, theirs)) / (2 * h)
    assert grad(lambda x: f(x, ours))(x) == pytest.approx(truth, rel=1e-6)


SINGULAR_AT_A_LIMIT = {
    "both ends": (
        lambda p, **how: ours.quad(lambda t: 1 / np.sqrt((t - p) * (3 - t)), p, 3.0, **how)[0],
        lambda p: np.pi + 0 * p,
    ),
    "free fall": (
        lambda p, **how: ours.quad(lambda t: 1 / np.sqrt(1 / t - 1 / p), 0, p, **how)[0],
        lambda p: np.pi / 2 * p**1.5,
    ),
    "pendulum": (
        lambda p, **how: ours.quad(lambda t: 1 / np.sqrt(np.cos(t) - np.cos(p)), 0, p, **how)[0],
        lambda p: np.sqrt(2) * special.ellipk(np.sin(p / 2) ** 2),
    ),
    "circle": (
        lambda p, **how: ours.quad(lambda t: 1 / np.sqrt((p - t) * (p + t)), -p, p, **how)[0],
        lambda p: np.pi + 0 * p,
    ),
    "Abel": (
        lambda p, **how: ours.quad(lambda t: np.exp(-t) / np.sqrt(p - t), 0, p, **how)[0],
        lambda p: 2 * special.dawsn(np.sqrt(p)),
    ),
    "to infinity": (
        lambda p, **how: ours.quad(lambda t: np.exp(-p * t) / np.sqrt(t - p), p, np.inf, **how)[0],
        lambda p: np.exp(-p * p) * np.sqrt(np.pi / p),
    ),
    "from infinity": (
        lambda p, **how: ours.quad(lambda t: np.exp(p * t) / np.sqrt(p - t), -np.inf, p, **how)[0],
        lambda p: np.exp(p * p) * np.sqrt(np.pi / p),
    ),
    "after a jump": (
        lambda p, **how: ours.quad(lambda t: (1 + (t < 0.4)) / np.sqrt(p - t), 0, p, **how)[0],
        lambda p: 4 * np.sqrt(p) - 2 * np.sqrt(p - 0.4),
    ),
    "near a jump": (
        lambda p, **how: ours.quad(lambda t: (1 + (t < 1.29)) / np.sqrt(p - t), 0, p, **how)[0],
        lambda p: 4 * np.sqrt(p) - 2 * np.sqrt(p - 1.29),
    ),
    "near a jump that is named": (
        lambda p, **how: ours.quad(
            lambda t: (1 + (t < 1.25)) / np.sqrt(p - t), 0, p, points=[1.25], **how
        )[0],
        lambda p: 4 * np.sqrt(p) - 2 * np.sqrt(p - 1.25),
    ),
    "vectors": (
        lambda p, **how: np.sum(
            ours.quad_vec(lambda t: np.array([1.0, t]) / np.sqrt((p - t) * (p + t)), 0, p)[0]
        ),
        lambda p: np.pi / 2 + p,
    ),
    "vectors, to infinity": (
        lambda p, **how: ours.quad_vec(lambda t: np.exp(-p * t) / np.sqrt(t - p), p, np.inf)[0],
        lambda p: np.exp(-p * p) * np.sqrt(np.pi / p),
    ),
}
"""Integrals over a function that is singular at a limit which varies, with their values."""


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "how",
    [{}, {"epsabs": 1e-12, "epsrel": 1e-12}, {"epsabs": 0, "epsrel": 1e-13, "limit": 200}],
    ids=["default", "tight", "tightest"],
)
@pytest.mark.parametrize("name", SINGULAR_AT_A_LIMIT)
def test_a_limit_at_which_the_function_is_singular(name, how):
    """The tighter the tolerances were, the more wrong was the derivative."""
    f, known = SINGULAR_AT_A_LIMIT[name]
    of_p, p, h = lambda p: f(p, **how), 1.3, 1e-5
    truth = (known(p + h) - known(p - h)) / (2 * h)
    assert grad(of_p)(p) == pytest.approx(truth, rel=1e-6, abs=1e-6)
    assert jvp(of_p, (p,), (1.0,))[1] == pytest.approx(truth, rel=1e-6, abs=1e-6)


def test_what_is_not_resolved_is_told():
    with pytest.raises(NotDifferentiableError, match="singular inside"):
        grad(lambda k: ours.quad(lambda x: k * abs(x - 0.3) ** -0.9, 0, 1, limit=200)[0])(1.0)
    with pytest.raises(UnsupportedKeywordError, match="weight"):
        ours.quad(np.exp, 0, 1, weight="cos", wvar=1.0)
    with pytest.raises(UnsupportedKeywordError, match=r"quad\(g, a, c\)"):
        ours.quad(np.exp, 0, 1, weight="cauchy", wvar=0.3)


@pytest.mark.parametrize("at", [0.9, 1.0])
def test_a_principal_value_as_the_error_says(at):
    def written(k, c):
        f = lambda t: np.exp(k * t)
        g = lambda t: (f(t) - f(c)) / (t - c)
        rest = f(c) * np.log((2.0 - c) / (c - 0.0))
        return ours.quad(g, 0.0, c)[0] + ours.quad(g, c, 2.0)[0] + rest

    def known(k, c):
        return theirs.quad(lambda t: np.exp(k * t), 0.0, 2.0, weight="cauchy", wvar=c)[0]

    h = 1e-4
    slopes = [
        (known(1.0 + h, at) - known(1.0 - h, at)) / (2 * h),
        (known(1.0, at + h) - known(1.0, at - h)) / (2 * h),
    ]
    assert written(1.0, at) == pytest.approx(known(1.0, at))
    np.testing.assert_allclose(grad(written, (0, 1))(1.0, at), slopes, rtol=1e-6)


@pytest.mark.parametrize("points", [lambda c: [c], lambda c: np.stack([2.5, c, c / 2])])
@pytest.mark.parametrize("limits", [(0.0, 2.0), (2.0, 0.0), (0.0, np.inf)])
def test_arrays_that_jump_at_a_place_that_moves(points, limits):
    """The error told to make the place constant, by which its derivative would be lost."""

    def f(c):
        at = lambda t: np.where(t < c, t, 2.0) * np.exp(-t) * np.array([1.0, t])
        return np.sum(ours.quad_vec(at, *limits, points=points(c))[0])

    jump = (0.8 - 2.0) * np.exp(-0.8) * 1.8 * (-1 if limits[0] else 1)
    assert grad(f)(0.8) == pytest.approx(jump)
    assert jvp(f, (0.8,), (1.0,))[1] == pytest.approx(jump)


def test_a_box_with_an_infinite_limit():
    f = lambda x: np.exp(-(x[:, 0] ** 2))
    a = np.array([0.3])
    with pytest.raises(NotDifferentiableError, match=r"cubature\(lambda u: f\(a \+ u\)"):
        grad(lambda a: ours.cubature(f, a, [np.inf]).estimate)(a)
    moved = grad(lambda a: ours.cubature(lambda u: f(a + u), [0.0], [np.inf]).estimate)
    np.testing.assert_allclose(moved(a), -np.exp(-(a**2)))


def test_differential_equations():
    def path(m, k):
        return m.odeint(lambda y, t, k: -k * y * y, [1.0], [0.0, 0.5, 1.0], (k,))[-1, 0]

    def swing(m, k):
        rate = lambda t, y: np.stack([y[1], -k * y[0]])
        given = {"t_eval": [1.0, 2.0], "rtol": 1e-6, "atol": 1e-9}
        return m.solve_ivp(rate, (0.0, 2.0), [1.0, 0.0], **given).y[0, 1]

    for f in (path, swing):
        h = 1e-4
        truth = (f(theirs, 1.3 + h) - f(theirs, 1.3 - h)) / (2 * h)
        assert abs(grad(lambda k, f=f: f(ours, k))(1.3) - truth) < 1e-4
    with pytest.raises(UnsupportedKeywordError, match="tcrit"):
        ours.odeint(lambda y, t: -y, [1.0], [0.0, 1.0], tcrit=[0.5])


@pytest.mark.parametrize("ends", [(0.0, 2.0), (2.0, 0.0)])
@pytest.mark.parametrize(
    "f",
    [lambda x, a: abs(x - a), lambda x, a: np.where(x < a, np.cos(x), 3 * x * a)],
    ids=["corner", "jump"],
)
def test_places_that_are_differentiated(f, ends):
    """Where the function jumps at a place that moves, the integral moves with it."""

    def g(a, quad):
        return quad(lambda x: f(x, a), *ends, points=[a])[0]

    truth = (g(0.7 + 1e-5, theirs.quad) - g(0.7 - 1e-5, theirs.quad)) / 2e-5
    np.testing.assert_allclose(grad(lambda a: g(a, ours.quad))(0.7), truth, rtol=1e-8)


def test_a_boundary_value_problem_whose_end_is_differentiated():
    def slope(end):
        """The solution is sin x / sin(end); SciPy adds nodes to the given ones."""
        rate = lambda x, y: np.stack([y[1], -y[0]])
        ends = lambda a, b: np.stack([a[0], b[0] - 1.0])
        found = ours.solve_bvp(rate, ends, np.linspace(0, end, 3), np.ones((2, 3)), tol=1e-6)
        assert len(found.x) > 3
        return found.y[1, 0]

    truth = -np.cos(1.0) / np.sin(1.0) ** 2
    np.testing.assert_allclose(grad(slope)(1.0), truth, rtol=1e-6)


def test_a_boundary_value_problem_of_many_nodes():
    """More than 256 unknowns have no derivative by gmres, which does not converge here."""

    def middle(stiffness):
        rate = lambda x, y: np.stack([y[1], -stiffness * y[0]])
        ends = lambda a, b: np.stack([a[0] - 1.0, b[0]])
        found = ours.solve_bvp(rate, ends, np.linspace(0, 1, 5), np.ones((2, 5)), tol=1e-8)
        assert found.y.size > 256
        return found.sol(0.5)[0]

    # sin(√a / 2) / sin √a = 1 / (2 cos(√a / 2))
    np.testing.assert_allclose(grad(middle)(1.0), np.sin(0.5) / np.cos(0.5) ** 2 / 8, rtol=1e-6)


def test_tolerances_of_each_number():
    given = {"rtol": np.array([1e-8, 1e-9]), "atol": 1e-9}
    truth = -3 * np.exp(-1.2)
    y0 = np.array([1.0, 2.0])
    for f in (
        lambda k: ours.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), y0, **given).y[:, -1].sum(),
        lambda k: ours.odeint(lambda y, t: -k * y, y0, [0.0, 1.0], **given)[-1].sum(),
    ):
        np.testing.assert_allclose(grad(f)(1.2), truth, rtol=1e-6)


def test_the_nodes_of_a_fixed_rule_that_scipy_keeps_are_plain():
    def integral(k, m):
        return m.fixed_quad(lambda x: np.sin(k * x), 0.0, k, n=23)[0]

    truth = (integral(1.1 + 1e-5, theirs) - integral(1.1 - 1e-5, theirs)) / 2e-5
    nodes = theirs.fixed_quad.__globals__["_cached_roots_legendre"].cache
    del nodes[23]
    for _ in range(2):
        np.testing.assert_allclose(grad(lambda k: integral(k, ours))(1.1), truth, rtol=1e-8)
    assert all(type(x) is np.ndarray for x in nodes[23])


def decaying(start, **options):
    rate = lambda t, y: -2.0 * y
    exact = {"rtol": 1e-10, "atol": 1e-12}
    return theirs.solve_ivp(rate, (start, 2.0), np.array([1.0]), **exact, **options)


@pytest.mark.parametrize("start", [0.0, 0.3])
def test_times_that_contain_a_start_that_varies(start):
    """The start was taken for the first time asked for, which stays where it is."""
    times = np.array([start, start + 0.2, start + 0.7])
    known = 2 * np.exp(-2 * (times - start))
    bend = 2 * known
    with chainrules_scipy.install():
        for f in (
            lambda s: decaying(s, t_eval=times).y[0],
            lambda s: decaying(s, dense_output=True).sol(times)[0],
        ):
            np.testing.assert_allclose(jacobian(f)(start), known, rtol=1e-7)
            np.testing.assert_allclose(jvp(f, (start,), (1.0,))[1], known, rtol=1e-7)
            second = grad(lambda s, f=f: grad(lambda s: np.sum(f(s)))(s))(start)
            np.testing.assert_allclose(second, np.sum(bend), rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "solution",
    [
        lambda a, b, y: ours.solve_ivp(lambda t, y: -2 * t * y, (a, b), y).y[0, -1],
        lambda a, b, y: ours.odeint(lambda y, t: -2 * t * y, y, np.stack([a, a, b, b]))[-1, 0],
    ],
)
@pytest.mark.parametrize("length", [0.0, 0.5])
def test_an_interval_without_length(solution, length):
    a, b, y = 0.7, 0.7 + length, np.array([2.0])
    last = y[0] * np.exp(a**2 - b**2)
    known = 2 * a * last, -2 * b * last, [last / y[0]]
    for found, slope in zip(grad(solution, argnums=(0, 1, 2))(a, b, y), known, strict=True):
        np.testing.assert_allclose(found, slope, rtol=1e-5)


def test_a_start_that_varies_before_an_event_that_ends():
    """What does not depend on the start had the derivative of an integration from a fixed one."""

    def landing(start):
        ground = lambda t, s: s[0]
        ground.terminal = True
        fall = lambda t, s: np.stack([s[1], -9.8 + 0 * s[0]])
        how = {"events": ground, "rtol": 1e-9, "atol": 1e-11}
        return theirs.solve_ivp(fall, (start, start + 2.0), np.array([1.0, 0.0]), **how)

    with chainrules_scipy.install():
        np.testing.assert_allclose(grad(lambda s: landing(s).y[1, -1])(0.3), 0.0, atol=1e-9)
        np.testing.assert_allclose(jacobian(lambda s: landing(s).t)(0.3), 1.0, rtol=1e-9)


def into_a_buffer(t, y, k):
    rate = np.zeros_like(y)
    rate[0] = -k * y[0]
    return rate


def at_half(t, y, k):
    return y[0] - 0.5


at_half.terminal = True
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def buffered(k, start=0.0, end=3.0, **options):
    return theirs.solve_ivp(into_a_buffer, (start, end), [1.0], args=(k,), **TIGHT, **options)


BUFFERED = {  # with the solution in closed form
    "event": (lambda k, m: buffered(k, events=at_half, method=m).t[-1], lambda k: np.log(2) / k),
    "end": (lambda k, m: buffered(k, 0.0, k, method=m).y[0, -1], lambda k: np.exp(-k * k)),
    "start": (
        lambda k, m: buffered(k, 0.1 * k, 2.0, method=m).y[0, -1],
        lambda k: np.exp(-k * (2.0 - 0.1 * k)),
    ),
    "start before the times": (
        lambda k, m: buffered(k, 0.1 * k, 2.0, t_eval=[1.0], method=m).y[0, -1],
        lambda k: np.exp(-k * (1.0 - 0.1 * k)),
    ),
    "times of odeint": (
        lambda k, m: theirs.odeint(
            into_a_buffer, [1.0], k * np.array([0.0, 1.0]), (k,), tfirst=True, **TIGHT
        )[-1, 0],
        lambda k: np.exp(-k * k),
    ),
}


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
@pytest.mark.parametrize("name", BUFFERED)
def test_a_rate_that_fills_a_buffer_where_times_vary(name, method):
    f, exact = BUFFERED[name]
    k, h = 1.3, 1e-4
    below, here, above = map(exact, (k - h, k, k + h))
    with chainrules_scipy.install():
        first, second = grad(f)(k, method), hessian(lambda k: f(k, method))(k)
    np.testing.assert_allclose(first, (above - below) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(second, (above - 2 * here + below) / h**2, rtol=1e-5)


def test_nquad_takes_options_for_each_variable():
    def f(a):
        options = [{"points": [a]}, lambda a: {"epsabs": 1e-12}]
        return ours.nquad(lambda x, y, a: abs(x - a) * y, [(0.0, 1.0), (0.0, a)], (a,), options)[0]

    # The integral is (a² + (1 - a)²) a² / 4.
    assert f(0.3) == pytest.approx(0.58 * 0.09 / 4)
    assert grad(f)(0.3) == pytest.approx(2 * 0.3**3 - 1.5 * 0.3**2 + 0.5 * 0.3)


_linear = lambda x, a, b: b * (x - a)
_rate = lambda t, y, a, b: -b * (y - a)
UNPACKED = {  # with the integrand, whose mean is at 1/2, or with the solution
    "nquad": (lambda args: ours.nquad(_linear, [(0.0, 1.0)], args)[0], _linear),
    "nquad over limits": (
        lambda args: ours.nquad(_linear, [lambda a, b: (0.0, 1.0 + 0 * a)], args)[0],
        _linear,
    ),
    "dblquad": (
        lambda args: ours.dblquad(lambda y, *p: _linear(*p), 0.0, 1.0, 0.0, 1.0, args)[0],
        _linear,
    ),
    "solve_ivp": (
        lambda args: ours.solve_ivp(_rate, (0.0, 1.0), [1.0], args=args, **TIGHT).y[0, -1],
        lambda x, a, b: a + (1 - a) * np.exp(-b),
    ),
}


@pytest.mark.parametrize("form", [list, np.stack], ids=["list", "array"])
@pytest.mark.parametrize("name", UNPACKED)
def test_further_arguments_in_a_list_where_scipy_unpacks_them(name, form):
    """The list was a single argument, as it is to ``quad``."""
    (f, exact), p = UNPACKED[name], np.array([0.9, 0.7])
    np.testing.assert_allclose(f(form([*p])), exact(0.5, *p), rtol=1e-8)
    found = grad(lambda p: f(form([*p])))(p)
    np.testing.assert_allclose(found, grad(lambda p: exact(0.5, *p))(p), rtol=1e-6)


def test_a_single_further_argument_of_an_integral_of_arrays():
    f = lambda k, m: m.quad_vec(lambda x, k: np.exp(k * x) * np.ones(2), 0.0, 1.0, args=k)[0][1]
    assert f(0.7, ours) == f(0.7, theirs)
    truth = (np.exp(0.7) * (0.7 - 1) + 1) / 0.7**2
    np.testing.assert_allclose(grad(lambda k: f(k, ours))(0.7), truth, rtol=1e-9)


def backwards(m, rate, first):
    """LSODA cannot repeat the steps of this solution, and warned that its input was illegal."""
    how = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-10}
    return m.solve_ivp(rate, (0.8, 0.1002), first * np.array([0.3507]), **how).y[0]


@pytest.mark.filterwarnings("error")
def test_plain_numbers_are_integrated_once_by_scipy():
    calls = [0, 0]

    def found(m, k):
        def rate(t, y):
            calls[k] += 1
            return -0.3 * y**2 + np.sin(0.8 * t)

        first = np.array([1.0, 2.0])
        event = lambda t, y: y[0] - 1.1
        states = m.solve_ivp(rate, (0.0, 2.0), first, events=event, dense_output=True)
        path = m.odeint(rate, first, [0.0, 0.4, 1.0], tfirst=True, full_output=True)
        parts = states.y, states.sol(0.3), states.t_events[0], states.y_events[0], path[0]
        return *parts, backwards(m, rate, 1.0)

    for x, known in zip(found(ours, 0), found(theirs, 1), strict=True):
        np.testing.assert_array_equal(x, known)
    assert calls[0] == calls[1]


@pytest.mark.filterwarnings("error")
def test_a_formula_that_solves_where_lsoda_cannot_does_so_without_a_warning():
    f = lambda first, m: backwards(m, lambda t, y: -0.3 * y**2 + np.sin(0.8 * t), first)[-1]
    truth = (f(1.0 + 1e-4, theirs) - f(1.0 - 1e-4, theirs)) / 2e-4
    np.testing.assert_allclose(grad(lambda first: f(first, ours))(1.0), truth, rtol=1e-6)


class Below:
    """An event whose class says that it ends an integration, and in which direction."""

    terminal, direction = True, -1

    def __init__(self, level):
        self.level = level

    def __call__(self, t, y):
        return y[0] - self.level


def test_an_event_whose_class_says_that_it_ends():
    """It did not end an integration that was differentiated."""

    def end(p, m):
        return m.solve_ivp(
            lambda t, y: -p[0] * y, (0.0, 5.0), [1.0], events=Below(p[1]), **TIGHT
        ).t[-1]

    p = np.array([0.7, 0.5])
    assert value_and_grad(lambda p: end(p, ours))(p)[0] == end(p, theirs)
    truth = [np.log(0.5) / 0.7**2, -1 / (0.7 * 0.5)]
    np.testing.assert_allclose(grad(lambda p: end(p, ours))(p), truth, rtol=1e-6)


@pytest.mark.parametrize("integrate", [ours.quad, ours.quad_vec])
@pytest.mark.parametrize("limit", [0.0, 1e-12, 1e-8])
@pytest.mark.parametrize(
    "f, slope",
    [
        (lambda t, q: q(lambda x: 1 / np.sqrt(x - t), t, 1.0)[0], lambda t: -1 / np.sqrt(1 - t)),
        (lambda t, q: q(lambda x: 1 / np.sqrt(t - x), -1.0, t)[0], lambda t: 1 / np.sqrt(1 + t)),
        (
            lambda t, q: q(lambda x: np.exp(-x) / np.sqrt(x - t), t, np.inf)[0],
            lambda t: -np.sqrt(np.pi) * np.exp(-t),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")  # SciPy's, of an infinite element
def test_a_limit_near_zero_at_which_the_function_is_singular(f, slope, limit, integrate):
    found = grad(lambda t: f(t, integrate))(limit)
    assert found == pytest.approx(slope(limit), rel=1e-6)
    assert jvp(lambda t: f(t, integrate), (limit,), (1.0,))[1] == pytest.approx(found, rel=1e-6)


def test_integrals_of_arrays_over_reversed_limits():
    assert ours.quad_vec(lambda x: x * x, 0.0, -1.2)[0] == pytest.approx(-0.576)
    ends = grad(lambda a, b: ours.quad_vec(lambda x: x * x, a, b)[0], (0, 1))(1.0, -1.2)
    assert ends == pytest.approx((-1.0, 1.44))
    tail = grad(lambda t: ours.quad_vec(lambda x: np.exp(-x), np.inf, t)[0])(0.5)
    assert tail == pytest.approx(np.exp(-0.5))


def test_times_of_many_events_have_derivatives_of_two_orders_by_few_calls_of_the_rate():
    calls = [0]

    def rate(t, y, k):
        calls[0] += 1
        return np.stack([y[1], -k * y[0]])

    def crossings(k):  # of cos(√k t), at (n + ½)π / √k
        found = ours.solve_ivp(
            rate, (0.0, 20.0), np.array([1.0, 0.0]), events=lambda t, y, k: y[0], args=(k,), **TIGHT
        )
        return np.sum(found.t_events[0]) + np.sum(found.y_events[0][:, 1] ** 2)  # each is k

    times = (np.arange(9) + 0.5) * np.pi
    assert crossings(2.0) == pytest.approx(np.sum(times) / 2**0.5 + 18.0, rel=1e-7)
    plain, calls[0] = calls[0], 0
    assert grad(crossings)(2.0) == pytest.approx(-0.5 * np.sum(times) / 2**1.5 + 9.0, rel=1e-6)
    assert calls[0] < 4 * plain
    assert grad(grad(crossings))(2.0) == pytest.approx(0.75 * np.sum(times) / 2**2.5, rel=1e-5)


def test_trapezoids_of_which_there_are_thousands_are_not_differentiated_one_by_one():
    calls = [0]

    def area(p):
        def at(x):
            calls[0] += isinstance(x, float)
            return np.exp(-p * x) * np.array([1.0, 2.0])

        return np.sum(ours.quad_vec(at, 0.0, 1.0, quadrature="trapezoid")[0])

    slope, p = grad(area)(1.3), 1.3
    assert slope == pytest.approx(3 * (np.exp(-p) * (1 / p + 1 / p**2) * -1 + 1 / p**2) * -1)
    before, calls[0] = calls[0], 0
    area(p)
    assert before - calls[0] < 500
