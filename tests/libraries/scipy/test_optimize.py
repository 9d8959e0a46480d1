"""Solutions of ``scipy.optimize``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as theirs

import chainrules_scipy.optimize as ours
from chainrules_py import ConvergenceError, NotDifferentiableError, UnsupportedKeywordError
from chainrules_tape import grad, hessian

T = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-0.7 * T) + 0.1 * np.sin(9 * T)


def _cubic(a):
    return lambda x, b: x**3 + b * x - a


def _pair(x, a):
    return np.stack([x[0] ** 2 + x[1] - a, x[1] ** 3 - x[0]])


def _bowl(x, a):
    return (x[0] - a) ** 2 + x[0] ** 4 + (x[1] - x[0]) ** 2


def _decay(t, p, q):
    return p * np.exp(-q * t)


class _Decay:
    def curve(self, t, p, q):
        return _decay(t, p, q)


TIGHT = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13}
SOLUTIONS = {
    **{
        name: lambda m, a, name=name: getattr(m, name)(
            lambda x, b: x**3 + b * x - a, 0.0, 3.0, (a,)
        )
        for name in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "secant": lambda m, a: m.newton(lambda x: x**3 - a, 1.0),
    "newton": lambda m, a: m.newton(lambda x, a: x**3 - a, 1.0, lambda x, a: 3 * x * x, (a,)),
    "root_scalar": lambda m, a: m.root_scalar(lambda x: x**3 - a, bracket=(0, 3)).root,
    "root": lambda m, a: m.root(lambda x: _pair(x, a), np.ones(2)).x[0],
    "fsolve": lambda m, a: m.fsolve(_pair, np.ones(2), (a,))[1],
    "fixed_point": lambda m, a: m.fixed_point(lambda x: np.cos(0.4 * x * a), 0.5) + 0.0,
    "minimize": lambda m, a: m.minimize(_bowl, np.ones(2), a, tol=1e-11).x[1],
    "the least": lambda m, a: m.minimize(_bowl, np.ones(2), (a,), tol=1e-11).fun,
    "bounds": lambda m, a: m.minimize(
        _bowl, np.ones(2), a, tol=1e-11, bounds=[(0, None), (-5, 5)]
    ).x[1],
    "minimize_scalar": lambda m, a: m.minimize_scalar(lambda x: (x - a) ** 2 + x**4, tol=1e-9).x,
    "least_squares": lambda m, a: m.least_squares(
        lambda p: _decay(T, *p) - a * Y - a**2 * T, [1.0, 1.0], **TIGHT
    ).x[1],
    "scales": lambda m, a: m.least_squares(
        lambda p: _decay(T, *p) - Y,
        [1.0, 1.0],
        loss="soft_l1",
        f_scale=0.05 * a,
        x_scale=[a, 1.0],
        **TIGHT,
    ).x[1],
    "bounds of an evolution": lambda m, a: m.differential_evolution(
        _bowl, theirs.Bounds([0.0, a - 1.3], np.stack([a - 1.2, 2.0])), (a,), tol=1e-9, rng=0
    ).x[1],
    "curve_fit": lambda m, a: m.curve_fit(_decay, T, a * Y + a**2 * T)[0][1],
    "curve_fit within bounds": lambda m, a: m.curve_fit(
        _Decay().curve, T, a * Y, bounds=([2.0, -np.inf], [np.inf, 0.9]), **TIGHT
    )[0][1],
    "correlated errors": lambda m, a: m.curve_fit(
        _decay, T, a * Y + a**2 * T, sigma=np.eye(9) + 0.5
    )[0][1],
    "covariance": lambda m, a: m.curve_fit(_decay, T, a * Y + a**2 * T)[1][0, 1],
    "errors": lambda m, a: m.curve_fit(_decay, T, Y, sigma=a + T, absolute_sigma=True)[1][0, 0],
}


@pytest.mark.parametrize("f", SOLUTIONS.values(), ids=SOLUTIONS)
def test_solutions(f):
    a, h = 1.7, 3e-3
    near, far = (f(theirs, a + s * h) - f(theirs, a - s * h) for s in (1, 2))
    truth = (8 * near - far) / (12 * h)
    assert abs(f(ours, a) - f(theirs, a)) < 1e-5 * (1 + abs(truth))
    assert abs(grad(lambda a: f(ours, a))(a) - truth) < 2e-4 * (1e-2 + abs(truth))


def test_second_order():
    found = hessian(lambda a: ours.brentq(lambda x: x**3 - a, 0.0, 3.0))(1.7)
    assert abs(found + 2 / 9 * 1.7 ** (-5 / 3)) < 1e-12


def test_answers_are_scipys():
    x, report = ours.brentq(lambda x: x**3 - 2.0, 0.0, 3.0, full_output=True)
    assert report.converged
    assert abs(x - 2 ** (1 / 3)) < 1e-11
    x, report = ours.newton(lambda x: x**3 - 2.0, 1.0, full_output=True)
    assert report.converged
    assert abs(x - 2 ** (1 / 3)) < 1e-11
    slope = grad(lambda a: ours.newton(lambda x: x**3 - a, 1.0, full_output=True)[1].root)(2.0)
    assert abs(slope - 2 ** (-2 / 3) / 3) < 1e-9
    assert ours.root(lambda x: x**2 - 4.0, np.ones(1)).success
    assert ours.root_scalar(lambda x: x**2 - 4.0, bracket=(0, 5)).converged
    assert ours.least_squares(lambda p: p - 2.0, [0.0]).cost < 1e-20


@pytest.mark.filterwarnings("ignore:delta_grad")  # of SciPy, for a constraint that is linear
def test_bounds_and_constraints():
    """A bound that holds the solution is where it is; one that is only met has two sides."""
    held = lambda a: ours.minimize(lambda x: np.sum((x - a) ** 2), np.ones(1), bounds=[(2, 5)]).x[0]
    assert grad(held)(1.7) == 0
    with pytest.raises(NotDifferentiableError, match="does not hold it"):
        grad(held)(2.0)
    on_line = lambda a: ours.minimize(
        lambda x: np.sum((x - a) ** 2),
        np.zeros(2),
        constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 1.0},
    )
    np.testing.assert_allclose(grad(lambda a: on_line(a).x[0])(np.array([0.3, 0.9])), [0.5, -0.5])
    inside = lambda a: ours.minimize(  # SciPy stops 3e-4 before the constraint
        lambda x: np.sum((x - 1.0) ** 2),
        np.zeros(2),
        method="trust-constr",
        constraints=theirs.LinearConstraint(np.ones((1, 2)), -np.inf, a),
    )
    np.testing.assert_allclose(grad(lambda a: np.sum(inside(a).x))(0.5), 1.0)


def test_what_is_not_taken():
    with pytest.raises(UnsupportedKeywordError, match="loss"):
        ours.least_squares(lambda p: p - 2.0, [0.0], loss=np.square)
    with pytest.raises(UnsupportedKeywordError, match="write least_squares"):
        ours.curve_fit(_decay, T, Y, method="trf", loss="cauchy")


@pytest.mark.parametrize("errors", [None, 1.0 + T, np.diag(1.0 + T) + 0.1])
def test_a_fit_that_leaves_out_nan(errors):
    y, places, kept = Y.copy(), T.copy(), [0, 1, 2, 4, 6, 7, 8]
    y[3], places[5] = np.nan, np.nan

    def f(y, m):
        return m.curve_fit(_decay, places, y, sigma=errors, nan_policy="omit")[0][1]

    def of_the_rest(y):
        rest = None if errors is None else errors[np.ix_(*[kept] * errors.ndim)]
        return ours.curve_fit(_decay, T[kept], y[kept], sigma=rest)[0][1]

    assert f(y, ours) == pytest.approx(f(y, theirs), rel=1e-6)
    np.testing.assert_allclose(grad(lambda y: f(y, ours))(y), grad(of_the_rest)(y), rtol=1e-9)
    h = 1e-3
    slopes = [(f(y + h * e, theirs) - f(y - h * e, theirs)) / (2 * h) for e in np.eye(9)]
    np.testing.assert_allclose(grad(lambda y: f(y, ours))(y), slopes, rtol=1e-3, atol=1e-5)


def test_linear_programs_in_sparse_arrays_and_by_other_methods():
    from scipy import sparse

    c, rows = np.array([-1.0, -2.0, 0.3]), np.array([[1, 1, 0.5], [2, 0.5, 1], [0.3, 1, 1]])
    b = np.array([4.0, 5.0, 3.0])
    dense, found = (
        grad(lambda b, a=a: ours.linprog(c, A_ub=a, b_ub=b).fun)(b)
        for a in (rows, sparse.csr_array(rows))
    )
    np.testing.assert_allclose(found, dense)
    for method in ("simplex", "revised simplex", "interior-point"):
        with pytest.raises(UnsupportedKeywordError, match="leave it out"):
            grad(lambda b, method=method: ours.linprog(c, rows, b, method=method).fun)(b)


@pytest.mark.parametrize("places", [[0, 1, 2], (0.0, 1.0, 2.0), np.arange(3)])
def test_places_in_any_form(places):
    """SciPy makes floats of a list, a tuple and an array of whole numbers."""
    y = np.array([0.5, 1.1, 2.0])
    slopes = grad(lambda y: ours.curve_fit(lambda t, a, b: a + b * t, places, y)[0][1])(y)
    np.testing.assert_allclose(slopes, [-0.5, 0.0, 0.5], atol=1e-9)


@pytest.mark.parametrize("name", ["minimize", "minimize_scalar", "root", "least_squares"])
def test_a_line_of_ours_precedes_scipys_text(name):
    """Those of ``minimize`` had SciPy's text twice, of which no reference could be built."""
    own, *texts = getattr(ours, name).__doc__.split("SciPy's text:")
    assert len(texts) == 1
    assert "Parameters\n" not in own


def test_a_linear_program_without_bounds_is_one_in_numbers_that_are_not_negative():
    def least(a, m):
        c, limits = np.array([-1.0, -2.0]), np.array([[1.0, 1.0]])
        return m.linprog(c, limits, np.array([4.0]) * a, bounds=None).fun

    assert least(1.2, theirs) == pytest.approx(-9.6)
    np.testing.assert_allclose(grad(lambda a: least(a, ours))(1.2), -8.0)


_flat = lambda x, a: np.sum(np.cosh(x - a) + (x - a) ** 4)
NEAR_0 = {
    **{
        f"minimize {options}": lambda a, options=options: ours.minimize(
            _flat, np.ones(2), (a,), **options
        ).x[1]
        for options in ({}, {"tol": 1e-6}, {"method": "Powell"}, {"bounds": [(-3, 2)] * 2})
    },
    "minimize_scalar": lambda a: ours.minimize_scalar(_flat, args=(a,)).x,
    "bounded": lambda a: ours.minimize_scalar(_flat, args=(a,), bounds=(-0.7, 1.1)).x,
    "fmin": lambda a: ours.fmin(_flat, np.ones(2), (a,), disp=0)[0],
    "at its start": lambda a: ours.fmin_bfgs(_flat, np.full(2, 1e-9), args=(a,), disp=0)[0],
    "newton": lambda a: ours.newton(lambda x: np.exp(x - a) - 1.0, 0.4),
    "bisect": lambda a: ours.bisect(lambda x: np.sinh(x - a), -0.7, 1.1),
    "anderson": lambda a: ours.anderson(lambda x: np.sinh(x - a), np.full(3, 0.3))[1],
    "least_squares": lambda a: ours.least_squares(lambda x: np.sinh(x - a), [0.3, 0.5]).x[0],
    "a line": lambda a: ours.curve_fit(lambda t, p, q: p + q * t, T, a * (1.0 + T))[0][1],
}


@pytest.mark.parametrize("a", [0.0, 1e-12])
@pytest.mark.parametrize("f", NEAR_0.values(), ids=NEAR_0)
def test_solutions_near_0(f, a):
    """They move as far as the parameter does."""
    assert abs(f(a)) < 1e-4
    assert abs(grad(f)(a) - 1.0) < 1e-4


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_a_search_that_ended_elsewhere(unit):
    """It has no derivative; without one, the result is SciPy's."""
    stopped = lambda m, a: (
        m.minimize(
            lambda x: np.sum(((x - a) / unit) ** 2 + ((x - a) / unit) ** 4),
            3.0 * unit * np.ones(2),
            method="BFGS",
            options={"maxiter": 1},
        ).x
    )
    np.testing.assert_array_equal(stopped(ours, 0.0), stopped(theirs, 0.0))
    with pytest.raises(ConvergenceError, match="let it go on for longer, or to a smaller"):
        grad(lambda a: stopped(ours, a)[0])(0.0)


def test_without_derivatives_a_bound_may_be_met_at_the_solution():
    assert abs(ours.minimize(lambda x: np.sum(x * x), np.ones(1), bounds=[(0, 5)]).x[0]) < 1e-7


def test_a_function_that_writes_to_its_argument():
    """SciPy gives it a copy, and so do we."""

    def f(x):
        x -= 0.3
        return np.sum(x * x)

    np.testing.assert_allclose(ours.minimize(f, np.ones(2)).x, 0.3, atol=1e-6)


_root = lambda x, a, b: x - a * b + (x - a * b) ** 3
_slope = lambda x, a, b: 1 + 3 * (x - a * b) ** 2
_least = lambda x, a, b: np.sum((x - a * b) ** 2 + (x - a * b) ** 4)
UNPACKED = {  # each gives a b
    "newton": lambda m, args: m.newton(_root, 0.5, args=args),
    "newton of an array": lambda m, args: m.newton(_root, np.array([0.5, 0.7]), args=args)[1],
    "newton with a slope": lambda m, args: m.newton(_root, 0.5, _slope, args),
    "fixed_point": lambda m, args: m.fixed_point(lambda x, *p: x - _root(x, *p) / 3, 0.5, args),
    "fminbound": lambda m, args: m.fminbound(_least, -1.0, 2.0, args, 1e-10),
    **{
        name: lambda m, args, name=name: getattr(m, name)(_least, np.ones(1), args=args, disp=0)[0]
        for name in ("fmin_bfgs", "fmin_cg")
    },
    "fmin_ncg": lambda m, args: m.fmin_ncg(
        _least, np.ones(1), lambda x, *p: 2 * _root(x, *p) * _slope(x, *p), args=args, disp=0
    )[0],
    "fmin_slsqp": lambda m, args: m.fmin_slsqp(_least, np.ones(1), args=args, iprint=0)[0],
    **{
        name: lambda m, args, name=name: getattr(m, name)(
            _least, np.ones(1), None, args, approx_grad=True
        )[0][0]
        for name in ("fmin_l_bfgs_b", "fmin_tnc")
    },
    **{
        name: lambda m, args, name=name, how=how: getattr(m, name)(
            _least, [(-1.0, 2.0)], args=args, **how
        ).x[0]
        for name, how in {
            "direct": {},
            "shgo": {},
            "differential_evolution": {"maxiter": 30, "rng": 0},
            "dual_annealing": {"maxiter": 10, "rng": 0},
        }.items()
    },
    "least_squares": lambda m, args: m.least_squares(_root, [0.5], args=args, **TIGHT).x[0],
    "least_squares with a slope": lambda m, args: m.least_squares(
        _root, [0.5], lambda x, *p: np.diag(_slope(x, *p)), args=args, **TIGHT
    ).x[0],
    "a constraint": lambda m, args: m.minimize(
        lambda x: np.sum(x * x), np.ones(1), constraints={"type": "eq", "fun": _root, "args": args}
    ).x[0],
}


@pytest.mark.parametrize("form", [list, np.stack], ids=["list", "array"])
@pytest.mark.parametrize("f", UNPACKED.values(), ids=UNPACKED)
def test_further_arguments_in_a_list_where_scipy_unpacks_them(f, form):
    """The list was a single argument, as it is to other functions of SciPy."""
    p = np.array([0.9, 0.7])
    for m in (theirs, ours):
        np.testing.assert_allclose(f(m, form([*p])), 0.63, atol=1e-4)
    np.testing.assert_allclose(grad(lambda p: f(ours, form([*p])))(p), p[::-1], atol=1e-6)


@pytest.mark.parametrize("args", [[0.9], np.array([0.9]), 0.9], ids=["list", "array", "number"])
@pytest.mark.parametrize("name", ["fsolve", "leastsq", "minimize", "root"])
def test_further_arguments_that_are_one_to_scipy(name, args):
    """To these functions, all that is no tuple is a single argument."""
    rest = lambda x, a: x - np.asarray(a)
    f = (lambda x, a: np.sum(rest(x, a) ** 2)) if name == "minimize" else rest
    for m in (theirs, ours):
        found = getattr(m, name)(f, [0.5], args=args)
        place = found[0] if isinstance(found, tuple) else getattr(found, "x", found)
        np.testing.assert_allclose(place, 0.9, rtol=1e-6)
