"""Splines of knots and coefficients, and interpolation by them and by lines.

Splines that FITPACK has fitted to plain numbers are differentiated in the places, by their own
derivatives. FITPACK's fits have none in the values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import LinearMap, UnsupportedKeywordError, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.interpolate.polynomials import (
    CubicSpline,
    PiecewisePolynomial,
    computes,
    constructs,
    first,
    has_method,
    method,
    refuse,
    steps,
    times,
)
from chainrules_scipy.rows import array_of, readable, reject


class Spline(PiecewisePolynomial):
    """A spline of knots and coefficients, as ``scipy.interpolate.BSpline``.

    Parameters
    ----------
    t : array, shape (n + k + 1,)
        The knots, which are constant.
    c : array, shape (>= n, ...)
        The coefficients.
    k : int
        The degree.
    extrapolate : bool or "periodic"
        Whether the first and the last polynomial go on; False gives NaN outside.
    axis : int
        Where the axis of the coefficients stands.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        refuse(t)
        c, axis = first(c, axis)
        t, k = np.asarray(t, float), int(k)
        n = len(t) - k - 1
        knots, basis = t[k : n + 1], native.BSpline(t, np.eye(n), k)
        parts = [basis(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)]
        super().__init__(times(np.stack(parts), c[:n]), knots, extrapolate, axis)
        self.t, self.c, self.k, self.tck = t, c[:n], k, (t, c[:n], k)

    def _like(self, c: Any, extrapolate: Any) -> PiecewisePolynomial:
        found = super()._like(c, extrapolate)
        del found.c, found.x  # SciPy's object has those of a spline
        return found


def _linear(fit: Callable[[Any], Any], y: Any, axis: int = 0, start: Any = 0.0) -> Spline:
    """Fit by what SciPy makes of the unit vectors."""
    y, axis = first(y, axis)
    unit = fit(np.eye(y.shape[0]))
    found = Spline(unit.t, times(unit.c, y) + start, unit.k, unit.extrapolate)
    found.axis = axis
    return found


@constructs(native.BSpline)
def BSpline(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Spline:  # noqa: N802
    """Make a spline, in coefficients and places."""
    return Spline(t, c, k, extrapolate, axis)


@computes(native.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """Interpolate by splines of a degree, in the values."""
    refuse(x, t)
    start: Any = 0.0
    if isinstance(bc_type, tuple):  # of numbers, which stand for themselves
        zeros = np.zeros(first(y, axis)[0].shape)
        start = native.make_interp_spline(x, zeros, k, t, bc_type, 0, check_finite).c
        bc_type = tuple(_without_numbers(end, len(zeros)) for end in bc_type)

    def fit(unit: Any) -> Any:
        if bc_type == "periodic":  # the last value is the first one
            unit[-1] = unit[0]
            unit[:, -1] = 0.0
        return native.make_interp_spline(x, unit, k, t, bc_type, 0, check_finite)

    return _linear(fit, y, axis, start)


def _without_numbers(end: Any, n: int) -> Any:
    """Return the conditions at an end with values 0, which are linear in y."""
    return end if end is None or isinstance(end, str) else [(nu, np.zeros(n)) for nu, _ in end]


@computes(native.make_lsq_spline)
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, *_: Any, **__: Any
) -> Spline:
    """Fit a spline with given knots, in the values."""
    refuse(x, t, w)
    return _linear(lambda e: native.make_lsq_spline(x, e, t, k, w), y, axis)


@computes(native.make_smoothing_spline)
def make_smoothing_spline(
    x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0
) -> Spline:
    """Smooth with a given parameter, in the values."""
    refuse(x, w, lam)
    if lam is None:
        reject(
            "make_smoothing_spline chooses lam by the values; give lam, and it has a derivative",
            UnsupportedKeywordError,
        )
    return _linear(lambda e: native.make_smoothing_spline(x, e, w, lam), y, axis)


@constructs(native.interp1d)
def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: bool | None = None,
    fill_value: Any = math.nan,
    assume_sorted: bool = False,
) -> Callable[..., Any]:
    """Interpolate by lines or splines."""
    degrees = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3, "zero": 0}
    degree: Any = degrees.get(kind, kind)
    y, axis = first(y, axis)
    x = array_of(x)
    if not assume_sorted:
        order = np.argsort(readable(x), kind="mergesort")
        x, y = v.take(x, order, axis=0), v.take(y, order, axis=0)
    if degree == 0 or isinstance(degree, str):
        line: Any = functools.partial(_stepped, x, y, degree, axis)
    elif degree == 1:
        _, slope = steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x, True, axis)
    else:
        line = CubicSpline(x, y) if degree == 3 and varies(x) else make_interp_spline(x, y, degree)
        line.axis, line.theirs = axis, None
    ends = _ends(y, fill_value, kind)
    low, high = readable(x)[0], readable(x)[-1]

    def interpolated(at: Any) -> Any:
        at = array_of(at)
        below, above = readable(at) < low, readable(at) > high
        outside = below | above
        if ends is None or not np.any(outside):
            return line(at)
        found = line(v.where(outside, low, at))
        for end, beyond in zip(ends, (below, above), strict=True):
            rest = y.shape[1:]
            end = v.broadcast_to(array_of(end), shape=rest)
            end = v.reshape(end, shape=rest[:axis] + (1,) * at.ndim + rest[axis:])
            shape = (1,) * axis + at.shape + (1,) * (len(rest) - axis)
            found = v.where(np.reshape(beyond, shape), end, found)
        return found

    return interpolated


def _ends(y: Any, fill_value: Any, kind: Any) -> Any:
    """Return what stands before and behind the places, or None where the line goes on."""
    if isinstance(fill_value, str) and fill_value == "extrapolate":
        goes_on = {"previous": (math.nan, y[-1]), "next": (y[0], math.nan)}
        return goes_on.get(kind)
    both = (
        fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else [fill_value] * 2
    )
    return [v.reshape(e, shape=()) if y.ndim == 1 else e for e in map(array_of, both)]


def _stepped(x: Any, y: Any, kind: Any, axis: int, at: Any) -> Any:
    """Take a value beside each place: it jumps, and is constant between."""
    knots, at = readable(x), readable(at)
    if kind in ("nearest", "nearest-up"):
        side: Any = "right" if kind == "nearest-up" else "left"
        places = np.searchsorted(knots[1:] / 2 + knots[:-1] / 2, at, side)
    elif kind == "next":
        places = np.searchsorted(knots, at, "left")
    else:
        places = np.searchsorted(knots, at, "right") - 1
    found = v.take(y, np.clip(places, 0, len(knots) - 1), axis=0)
    n = np.ndim(at)
    order = (*range(n, n + axis), *range(n), *range(n + axis, found.ndim))
    return v.permute_dims(found, axes=order)


@has_method(native.interp1d)
def _line(self: Any, x: Any) -> Any:
    """Interpolate at traced places."""
    kind = self._kind if self._kind != "spline" else self._spline.k
    return interp1d(self.x, self.y, kind, self.axis, True, False, self.fill_value, True)(x)


def _method_of_scipys(name: str) -> None:
    """Have a spline of SciPy's take traced places."""

    def function(self: Any, *args: Any, **options: Any) -> Any:
        ours = Spline(self.t, self.c, self.k, self.extrapolate)
        ours.axis = self.axis
        return getattr(ours, name)(*args, **options)

    has_method(native.BSpline, name)(function)


for _name in ("__call__", "integrate"):
    _method_of_scipys(_name)


@primitive
def evaluated(*xs: Any, of: Any, orders: tuple[int, ...]) -> Any:
    """Evaluate a function of SciPy's, or a derivative of it, at places of one shape."""
    return of(xs, orders)


@rule(evaluated)
def evaluated_rule(*xs: Any, of: Any, orders: tuple[int, ...]) -> Any:
    """Differentiate by the derivatives that the function has."""
    maps = []
    for k in range(len(xs)):
        raised = tuple([n + (i == k) for i, n in enumerate(orders)])
        slope = evaluated(*xs, of=of, orders=raised)
        maps.append(LinearMap(_times, _times, slope))
    return evaluated(*xs, of=of, orders=orders), tuple(maps)


def _times(t: Any, slope: Any) -> Any:
    return v.multiply(t, slope)


def _of_one(of: Any, degree: int, xs: Any, orders: tuple[int]) -> Any:
    (x,), (nu,) = xs, orders
    return of(x, nu) if nu <= degree else np.zeros_like(x)  # FITPACK refuses it


@has_method(native.UnivariateSpline)
def _univariate(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    x, ext, knots = array_of(x), self.ext if ext is None else ext, self.get_knots()
    if ext in (3, "const") and not nu:
        x = np.clip(x, knots[0], knots[-1])
    degree = len(self.derivatives(knots[0])) - 1
    of = functools.partial(_of_one, functools.partial(self, ext=ext), degree)
    return evaluated(x, of=of, orders=(nu,))


@has_method(native.UnivariateSpline, "integral")
def _integral(self: Any, a: Any, b: Any) -> Any:
    whole, ends = self.antiderivative(), self.get_knots()[[0, -1]]
    a, b = (np.clip(array_of(x), *ends) for x in (a, b))  # nothing is outside of the knots
    return _univariate(whole, b) - _univariate(whole, a)


def _of_two(surface: Any, xs: Any, orders: tuple[int, int]) -> Any:
    if any(n >= k for n, k in zip(orders, surface.degrees, strict=True)):
        reject(
            f"a surface of the degrees {surface.degrees} has no derivative of the order {orders}"
        )
    return surface(*xs, *orders, grid=False)


def _surface(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    x, y = _inside(x, y, self.get_knots())
    if grid:
        x, y = v.reshape(x, shape=(-1, 1)), v.reshape(y, shape=(1, -1))
    shape = np.broadcast_shapes(x.shape, y.shape)
    both = [v.broadcast_to(p, shape=shape) for p in (x, y)]
    return evaluated(*both, of=functools.partial(_of_two, self), orders=(dx, dy))


def _inside(x: Any, y: Any, ends: Any) -> Any:
    """Return places that FITPACK takes for others outside of the knots."""
    return [np.clip(array_of(p), t[0], t[-1]) for p, t in zip((x, y), ends, strict=True)]


has_method(native.BivariateSpline.__base__)(_surface)
has_method(native.BivariateSpline, "ev")(functools.partial(_surface, grid=False))


class _Interpolating(Spline):
    """An interpolating spline, with the methods of FITPACK's."""

    @method
    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Evaluate it, or a derivative."""
        return _between(self, x, nu, self.theirs.ext if ext is None else ext)

    @method
    def integral(self, a: Any, b: Any) -> Any:
        """Integrate from a to b."""
        return splint(a, b, self.tck)


def _between(spline: Spline, x: Any, nu: int, ext: Any) -> Any:
    """Evaluate a spline that does not go on outside of its knots, if nothing is asked there."""
    x = array_of(x)
    low, high = spline.knots[0], spline.knots[-1]
    if ext not in (0, "extrapolate") and np.any((readable(x) < low) | (readable(x) > high)):
        reject(
            f"ext={ext!r} has no derivative outside of the knots: give places from {low} to {high}"
        )
    return spline.at(x, nu, True)


def _refuse_fits(name: str, s: Any, *others: Any) -> None:
    if s or any(x is not None for x in others):
        msg = f"{name} has a derivative in the values where it interpolates: leave w, t, per and s "
        raise UnsupportedKeywordError(f"{msg}out, or write s=0, or make_lsq_spline(x, y, t)")


@constructs(native.InterpolatedUnivariateSpline)
def InterpolatedUnivariateSpline(  # noqa: N802
    x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, *_: Any, **__: Any
) -> Spline:
    """Interpolate, in values and places between the knots."""
    return _Interpolating(*make_interp_spline(x, y, k).tck)


@constructs(native.UnivariateSpline)
def UnivariateSpline(  # noqa: N802
    x: Any, y: Any, w: Any = None, bbox: Any = None, k: int = 3, s: Any = None, *_: Any, **__: Any
) -> Spline:
    """Interpolate, for s = 0, in values and places."""
    _refuse_fits("UnivariateSpline", s is None or s)
    return _Interpolating(*make_interp_spline(x, y, k).tck)


@constructs(native.RectBivariateSpline)
def RectBivariateSpline(  # noqa: N802
    x: Any, y: Any, z: Any, bbox: Any = None, kx: int = 3, ky: int = 3, s: Any = 0, *_: Any
) -> Any:
    """Interpolate on a grid, in values and places, for s = 0."""
    _refuse_fits("RectBivariateSpline", s)
    ends, z = (x, y), array_of(z)
    bases = [make_interp_spline(t, np.eye(len(t)), k) for t, k in ((x, kx), (y, ky))]

    def at(x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        places = zip(bases, _inside(x, y, ends), (dx, dy), strict=True)
        rows, columns = (base.at(p, nu, True) for base, p, nu in places)
        if grid:
            return np.atleast_2d(rows) @ z @ v.matrix_transpose(np.atleast_2d(columns))
        return v.sum((rows @ z) * columns, axis=-1)

    return at


@computes(native.splrep)
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> tuple[Any, Any, int]:
    """Interpolate, in the values."""
    _refuse_fits("splrep", s or task or full_output or per, w, t)
    t, c, k = make_interp_spline(x, y, k).tck
    return t, v.pad(c, 0.0, widths=((0, k + 1),)), k


@computes(native.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: Any = 0) -> Any:
    """Evaluate a spline, in places and coefficients."""
    if not isinstance(tck, (tuple, list)):
        tck = tck.tck
    spline = Spline(*tck)
    if varies(tck):
        return _between(spline, x, der, ext)
    if ext == 3 and not der:
        x = np.clip(array_of(x), spline.knots[0], spline.knots[-1])
    of = functools.partial(_of_one, lambda x, nu: native.splev(x, tck, nu, ext), tck[2])
    return evaluated(array_of(x), of=of, orders=(der,))


@computes(native.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Integrate a spline, in limits and coefficients; nothing is outside of the knots."""
    spline = Spline(*tck)
    ends = spline.knots[0], spline.knots[-1]
    return spline.integrate(*[np.clip(array_of(x), *ends) for x in (a, b)])


for _name in ("LSQUnivariateSpline", "SmoothBivariateSpline", "LSQBivariateSpline"):
    advise(
        getattr(native, _name).__init__,
        f"scipy.interpolate.{_name} is fitted by FITPACK, which has no derivative in the values: "
        "write make_lsq_spline(x, y, t), which has one in chainrules_scipy.interpolate",
    )
