"""Splines that FITPACK has fitted to plain numbers, at places that are differentiated.

FITPACK's own derivatives are those of the value. Its fits have none in the values that they are
of: `make_interp_spline` and its kin have.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import (
    LinearMap,
    UnsupportedKeywordError,
    primitive,
    rule,
)
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.interpolate.common import computes, constructs, has_method, method
from chainrules_scipy.interpolate.splines import Spline, make_interp_spline
from chainrules_scipy.rows import array_of, readable, reject


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
