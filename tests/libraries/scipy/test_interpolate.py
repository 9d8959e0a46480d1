"""Interpolation of ``scipy.interpolate``."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys

import numpy as np
import pytest
import scipy.interpolate as theirs
from scipy.spatial import transform

import chainrules_scipy
import chainrules_scipy.interpolate as ours
from chainrules_py import NotDifferentiableError
from chainrules_scipy import rotation
from chainrules_scipy.optimize import brentq
from chainrules_tape import grad, hessian, jvp, value_and_grad
from tests.libraries.scipy.same import check_same

_rng = np.random.default_rng(3)
X = np.sort(_rng.random(7)) * 3
T = np.linspace(X[0] + 0.01, X[-1] - 0.01, 11) + 0.003
Y = _rng.normal(size=(2, 7, 3))
GRID = (np.sort(_rng.random(4)), np.sort(_rng.random(5))[::-1].copy())
VALUES = _rng.normal(size=(4, 5, 2))
POINTS = np.stack([_rng.uniform(g.min(), g.max(), 6) for g in GRID], axis=-1)

CUBIC = [
    ("CubicSpline", {}),
    ("CubicSpline", {"bc_type": "natural"}),
    ("CubicSpline", {"bc_type": "clamped"}),
    ("PchipInterpolator", {}),
    ("Akima1DInterpolator", {}),
    ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
]


def _of(library, name, axis, options):
    return lambda x, y, t: getattr(library, name)(x, y, axis=axis, **options)(t)


@pytest.mark.parametrize("name, options", CUBIC)
def test_cubic_polynomials(name, options):
    pairs = [_of(m, name, 1, options) for m in (ours, theirs)]
    if name == "CubicSpline":
        check_same(*[functools.partial(f, X) for f in pairs], Y, T)
        with pytest.raises(NotDifferentiableError, match="Akima1DInterpolator have them in"):
            grad(lambda x: np.sum(pairs[0](x, Y, T)))(X)
    else:
        check_same(*pairs, X, Y, T)
    wide = np.concatenate([T, [X[0] - 0.2, X[-1] + 0.3]]).reshape(1, -1)
    a, b = (getattr(m, name)(X, Y[0], **options) for m in (ours, theirs))
    for nu in (0, 1, 2, 4):
        np.testing.assert_allclose(a(wide, nu), b(wide, nu), atol=1e-9)
    np.testing.assert_allclose(a.integrate(X[0], 1.0), b.integrate(X[0], 1.0), atol=1e-12)
    np.testing.assert_allclose(a.derivative()(T), b.derivative()(T), atol=1e-9)
    np.testing.assert_allclose(a.antiderivative()(T), b.antiderivative()(T), atol=1e-12)


SINGLE = {
    "CubicHermiteSpline": lambda m, x, y: m.CubicHermiteSpline(x, y, y * np.sin(x)),
    "PchipInterpolator": lambda m, x, y: m.PchipInterpolator(x, y),
    "Akima1DInterpolator": lambda m, x, y: m.Akima1DInterpolator(x, y, extrapolate=True),
}


@pytest.mark.parametrize("make", SINGLE.values(), ids=SINGLE)
@pytest.mark.parametrize("at", [3.33, 33.3])
def test_single_precision_is_interpolated_in_double(make, at):
    x = np.array([0.49, 1.26, 2.06, 2.83, 3.38], np.float32)
    y = np.array([102.0, 99.2, 99.6, 100.3, 100.8], np.float32)
    y_dot, at = np.array([1, 2, 3, 1, 2], np.float32), np.float32(at)
    found = jvp(lambda y: make(ours, x, y)(at), (y,), (y_dot,))[1]
    up, down = (make(theirs, x, y + h * y_dot.astype(float))(at) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(found, (up - down) / 2e-6, rtol=1e-6)


def test_a_spline_of_rotations_without_installing():
    def turned(module, p):
        spline = module.RotationSpline(np.arange(3.0), module.Rotation.from_rotvec(p))
        return spline(0.5).as_rotvec()

    check_same(*[functools.partial(turned, m) for m in (rotation, transform)], np.eye(3))


def test_conditions_at_the_ends():
    for bc_type in (
        ((1, np.ones((2, 3))), "natural"),
        ((2, 0.5 * np.ones((2, 3))), (1, np.zeros((2, 3)))),
    ):
        check_same(
            lambda y, t, b=bc_type: ours.CubicSpline(X, y, axis=1, bc_type=b)(t),
            lambda y, t, b=bc_type: theirs.CubicSpline(X, y, axis=1, bc_type=b)(t),
            Y,
            T,
        )
    round_trip = np.concatenate([Y[0, :, 0], Y[0, :1, 0]])
    x = np.arange(8.0)
    a, b = (m.CubicSpline(x, round_trip, bc_type="periodic") for m in (ours, theirs))
    np.testing.assert_allclose(a([0.3, 9.1]), b([0.3, 9.1]), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_splines(k):
    check_same(
        lambda y, t: ours.make_interp_spline(X, y, k, axis=1)(t),
        lambda y, t: theirs.make_interp_spline(X, y, k, axis=1)(t),
        Y,
        T,
    )
    with pytest.raises(NotDifferentiableError, match="write s itself"):
        grad(lambda y: theirs.PPoly.from_spline(ours.make_interp_spline(X, y, k))(1.0))(Y[0, :, 0])
    with pytest.raises(NotDifferentiableError, match="places where it is taken"):
        grad(lambda x: ours.make_interp_spline(x, Y[0, :, 0], k)(1.0))(X)


@pytest.mark.parametrize("nu", [1, 2, -1])
@pytest.mark.parametrize("k", [1, 3])
def test_integrals_of_splines_begin_at_the_first_of_all_knots(k, nu):
    knots = np.arange(8.0 + k) - k + 0.1 * np.sin(np.arange(8.0 + k))
    call = lambda of: lambda c, t: of.BSpline(knots, c, k, axis=1).antiderivative(nu)(t)
    check_same(call(ours), call(theirs), Y, T)
    for how in ("periodic", False):  # SciPy's splines are zero beyond their ends
        area = lambda of, how=how: lambda c: of.BSpline(knots, c, k, how, 1).integrate(0.3, 20.0)
        check_same(area(ours), area(theirs), Y)


@pytest.mark.parametrize("height", [0.0, 0.2])
def test_places_where_a_spline_has_a_value(height):
    """The error names ``brentq``, which has their derivatives."""
    x, y = np.arange(7.0), np.cos(np.arange(7.0))
    place = lambda y: theirs.CubicSpline(x, y).solve(height, extrapolate=False)[0]
    with pytest.raises(NotDifferentiableError, match=r"brentq\(lambda x: f\(x\) - y, a, b\)"):
        grad(lambda y: ours.CubicSpline(x, y).solve(height)[0])(y)

    def instead(y):
        f = ours.CubicSpline(x, y)
        return brentq(lambda x: f(x) - height, 1.0, 2.0)

    truth = [(place(y + 1e-6 * e) - place(y - 1e-6 * e)) / 2e-6 for e in np.eye(7)]
    np.testing.assert_allclose(grad(instead)(y), truth, rtol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "quadratic", "cubic"])
def test_interp1d(kind):
    given = {"bounds_error": False, "fill_value": 2.5, "kind": kind, "axis": 1}
    wide = np.concatenate([T, [X[0] - 0.2, X[-1] + 0.3]])
    check_same(
        lambda y, t: ours.interp1d(X, y, **given)(t),
        lambda y, t: theirs.interp1d(X, y, **given)(t),
        Y,
        wide,
    )
    with pytest.raises(ValueError, match="below the interpolation range"):
        ours.interp1d(X, Y[0, :, 0], kind)(-1.0)


def test_grids():
    for method in ("linear", "nearest"):
        check_same(
            lambda g, y, p, m=method: ours.RegularGridInterpolator((g, GRID[1]), y, m)(p),
            lambda g, y, p, m=method: theirs.RegularGridInterpolator((g, GRID[1]), y, m)(p),
            GRID[0],
            VALUES,
            POINTS,
        )
    check_same(
        lambda y, p: ours.interpn(GRID, y, p),
        lambda y, p: theirs.interpn(GRID, y, p),
        VALUES,
        POINTS,
    )


@pytest.mark.parametrize("kernel", ["linear", "thin_plate_spline", "cubic", "quintic", "gaussian"])
def test_radial_functions(kernel):
    y, d, x = _rng.normal(size=(9, 2)), _rng.normal(size=(9, 3)), _rng.normal(size=(4, 2))
    given = {"kernel": kernel, "smoothing": 0.1, "epsilon": 0.7}
    check_same(
        lambda y, d, x: ours.RBFInterpolator(y, d, **given)(x),
        lambda y, d, x: theirs.RBFInterpolator(y, d, **given)(x),
        y,
        d,
        x,
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel", ["linear", "thin_plate_spline", "cubic", "gaussian"])
def test_the_shape_of_radial_functions_has_second_derivatives(kernel):
    y, x = _rng.normal(size=(9, 2)), _rng.normal(size=(4, 2))
    options = {"kernel": kernel, "smoothing": 0.1}
    total = lambda e: np.sum(ours.RBFInterpolator(y, y[:, 0] ** 2, epsilon=e, **options)(x))
    slope, h = grad(total), 1e-5
    differences = (slope(1.3 + h) - slope(1.3 - h)) / (2 * h)
    np.testing.assert_allclose(hessian(total)(1.3), differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "f, instead",
    [
        (lambda y: theirs.UnivariateSpline(X, y), "make_interp_spline"),
        (lambda y: theirs.splrep(X, y), "make_interp_spline"),
        (lambda y: theirs.make_smoothing_spline(X, y, lam=0.1), r"BSpline\(s.t, s.c @ y, 3\)"),
        (lambda y: theirs.splev(0.3, (np.arange(11.0), y, 3)), "BSpline"),
        (lambda y: ours.make_splrep(X, y, s=0.1)(0.3), r"BSpline\(s.t, s.c @ y, 3\)"),
        (lambda y: ours.make_splrep(X, X, s=0 * y[0])(0.3), "another formula"),
        (
            lambda y: ours.make_interp_spline(X, X, bc_type=([(1, y[0])], [(2, 0.0)]))(0.3),
            "CubicHermiteSpline in slopes",
        ),
        (lambda y: theirs.BPoly(y[None, :6], X), r"PPoly\(c, x\)"),
        (
            lambda y: theirs.BPoly.from_power_basis(ours.PPoly(y[None, :6], X))(0.3),
            "write p itself",
        ),
        (
            lambda y: theirs.RectBivariateSpline(X, X, y[:, None] * np.ones(7)),
            "RegularGridInterpolator",
        ),
        (lambda y: theirs.SmoothBivariateSpline(X, X, y), r"RBFInterpolator\(np.stack"),
        (lambda y: theirs.bisplrep(X, X, y), r"RBFInterpolator\(np.stack"),
        (lambda y: theirs.FloaterHormannInterpolator(X, y), "make_interp_spline"),
        (lambda y: theirs.AAA(X, y), "make_interp_spline"),
        (lambda y: SURFACE.ev(y[0], y[1]), r"BSpline\(tx, BSpline\(ty"),
    ],
)
def test_what_is_fitpacks_is_refused_with_what_to_write(f, instead):
    with pytest.raises(Exception, match=instead):
        grad(lambda y: np.sum(f(y)))(Y[0, :, 0])


SURFACE = theirs.RectBivariateSpline(X, X, np.sin(X[:, None] + X**2), kx=2)


def test_the_line_for_a_surface_is_its_value():
    (tx, ty, c), (kx, ky) = SURFACE.tck, SURFACE.degrees
    coefficients = c.reshape(len(tx) - kx - 1, -1).T

    def value(p):
        return ours.BSpline(tx, ours.BSpline(ty, coefficients, ky)(p[1]), kx)(p[0])

    at = np.array([0.6 * X[2] + 0.4 * X[3], 0.3 * X[1] + 0.7 * X[2]])
    assert value(at) == pytest.approx(SURFACE.ev(*at), rel=1e-12)
    truth = [SURFACE.ev(*at, dx=1), SURFACE.ev(*at, dy=1)]
    np.testing.assert_allclose(grad(value)(at), truth, rtol=1e-10)


def test_an_integral_of_fitpacks_says_what_to_write():
    """With these knots and coefficients it is the same integral."""
    y = Y[0, :, 0]
    given = lambda b: theirs.UnivariateSpline(X, y).integral(X[0], b)
    with chainrules_scipy.install():
        with pytest.raises(NotDifferentiableError, match=r"BSpline\(\*splrep\(x, y, s=len\(x\)\)"):
            grad(given)(X[3])
        instead = lambda b: theirs.BSpline(*theirs.splrep(X, y, s=len(X))).integrate(X[0], b)
        slope = (given(X[3] + 1e-5) - given(X[3] - 1e-5)) / 2e-5
        np.testing.assert_allclose(grad(instead)(X[3]), slope, rtol=1e-6)


@pytest.mark.parametrize("make", ["KroghInterpolator", "make_interp_spline"])
def test_interpolants_of_plain_values_take_traced_places(make):
    call = lambda of: lambda t: getattr(of, make)(X, Y[0, :, 0])(t)
    check_same(call(ours), call(theirs), T)


def test_class_methods_of_splines():
    knots = np.arange(11.0)
    check_same(ours.BSpline.basis_element(knots[:5]), theirs.BSpline.basis_element(knots[:5]), 2.5)
    fast = lambda of: lambda c: of.BSpline.construct_fast(knots, c, 3)(4.3)
    check_same(fast(ours), fast(theirs), Y[0, :, 0])
    fast = lambda of: lambda c: of.PPoly.construct_fast(c.reshape(2, 3), knots[:4])(1.3)
    check_same(fast(ours), fast(theirs), Y[0, :6, 0])
    pieces = ours.PPoly.from_spline(theirs.make_interp_spline(X, Y[0, :, 0]))
    np.testing.assert_allclose(pieces(T), theirs.make_interp_spline(X, Y[0, :, 0])(T))


def test_a_refusal_at_the_first_call_of_a_process_says_what_to_write():
    """Nothing else has been refused then: the function's signature is read."""
    program = """
import numpy as np, scipy.interpolate as theirs
from chainrules_tape import grad
x = np.arange(7.0)
try:
    grad(lambda y: theirs.make_lsq_spline(x, y, np.r_[[0.0] * 4, 3.0, [6.0] * 4])(2.5))(x)
except Exception as error:
    print(type(error).__name__, "np.linalg.lstsq" in str(error))
"""
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, text=True).split() == ["TracerError", "True"]


SPLINES = {
    "CubicSpline": lambda x, y: theirs.CubicSpline(x, y),
    "PPoly": lambda x, y: theirs.CubicSpline(x, y).derivative(),
    "BSpline": lambda x, y: theirs.make_interp_spline(x, y),
    "PchipInterpolator": lambda x, y: theirs.PchipInterpolator(x, y),
    "interp1d": lambda x, y: theirs.interp1d(x, y),
    "RBFInterpolator": lambda x, y: theirs.RBFInterpolator(x[:, None], y),
}


@pytest.mark.parametrize("name", SPLINES)
def test_an_interpolant_of_traced_values_is_an_instance_of_its_class(name):
    y = np.sin(X)

    def program(y):
        made = SPLINES[name](X, y)
        alike = [isinstance(made, getattr(theirs, other)) for other in SPLINES]
        return np.sum(y) * np.array([2.0**k for k in range(len(SPLINES))]) @ alike

    with chainrules_scipy.install():
        plain, (traced, slope) = program(y), value_and_grad(program)(y)
    assert plain == traced
    np.testing.assert_allclose(slope, np.full(7, plain / np.sum(y)))


@pytest.mark.parametrize("library", [ours, theirs])
def test_slopes_of_pchip_interpolate(library):
    y = Y[0, :, 0]
    with chainrules_scipy.install():
        slope = grad(lambda y: library.pchip_interpolate(X, y, 0.7, der=1))(y)
    at = lambda y: theirs.PchipInterpolator(X, y)(0.7, 1)
    truth = [(at(y + h) - at(y - h)) / 2e-6 for h in 1e-6 * np.eye(7)]
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


def test_a_value_outside_of_the_simplices_is_differentiated():
    corners, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    places = np.array([[0.2, 0.3], [2.0, 2.0]])
    slope = grad(lambda a: ours.LinearNDInterpolator(corners, a * y, a * a)(places).sum())(1.5)
    np.testing.assert_allclose(slope, 0.5 + 2 * 0.2 + 3 * 0.3 + 2 * 1.5)
    made = theirs.LinearNDInterpolator(corners, y, 7.0)
    np.testing.assert_allclose(made(places), [1.8, 7.0])


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("inner", [[0.3, 0.6], [0.3, 0.5, 0.5, 0.5, 0.8]])
def test_splines_of_many_coefficients_are_of_the_few_beside_a_point(k, inner):
    """SciPy's matrix of the basis functions is the truth; 30,000 squared would fill the memory."""
    for t in (np.r_[[0.0] * (k + 1), inner, [1.0] * (k + 1)], np.arange(30_000.0)):
        x = np.linspace(t[k], t[-k - 1], 41)[1:-1]
        weights = np.sin(np.arange(len(x)))
        c = np.cos(np.arange(len(t) - k - 1))
        found = grad(lambda c, t=t, x=x, w=weights: np.dot(w, ours.BSpline(t, c, k)(x)))(c)
        wanted = theirs.BSpline.design_matrix(x, t, k).T @ weights
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(
    "simplex_tolerance" not in inspect.signature(theirs.griddata).parameters,
    reason="SciPy 1.18 has it",
)
@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_scattered_points_take_a_tolerance(method):
    corners, place = np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([[0.5, -1e-9]])
    f = lambda y: theirs.griddata(corners, y, place, method=method, simplex_tolerance=1e6)[0]
    with chainrules_scipy.install():
        y = np.array([1.0, 2.0, 4.0])
        truth = [(f(y + 1e-5 * e) - f(y - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
        np.testing.assert_allclose(grad(f)(y), truth, atol=1e-6)
