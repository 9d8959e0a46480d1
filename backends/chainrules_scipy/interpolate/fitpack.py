"""Splines of one variable, as FITPACK has them: fits, and what is computed of them.

A fit that is linear in the values is what SciPy makes of the unit vectors; fits whose knots follow
the data, those of UnivariateSpline and splrep with ``s`` other than 0, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import plainly
from chainrules_scipy.interpolate.common import (
    computes,
    constructs,
    has_method,
    method,
    times,
)
from chainrules_scipy.interpolate.knots import (
    Spline,
    derivative_of,
    integral_of,
    linear,
    of_scipy,
    refuse,
)
from chainrules_scipy.rows import array_of, readable

_SPLINES = (Spline, native.BSpline)
_EXT = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _of_fitpack(spline: Spline, x: Any, nu: int, ext: Any) -> Any:
    """Evaluate a spline as FITPACK does: with 0 outside, or what is at the end, which has no nu."""
    x, ext = array_of(x), _EXT.get(ext, ext)
    low, high = spline.knots[0], spline.knots[-1]
    at = readable(x)
    y = spline.at(np.clip(x, low, high) if ext == 3 and not nu else x, nu, True)
    return v.where((at < low) | (at > high), 0.0, y) if ext == 1 else y


class Univariate(Spline):
    """A spline of one variable, with the methods of ``scipy.interpolate.UnivariateSpline``.

    Parameters
    ----------
    spline : Spline
        What it consists of.
    ext : int or str
        What it is outside: 0 as it goes on, 1 zero, 2 an error, 3 what is at the end.

    Examples
    --------
    >>> line = Univariate(Spline([0.0, 0.0, 1.0, 1.0], np.array([1.0, 3.0]), 1), 3)
    >>> print(line(2.0), line.integral(0.0, 2.0))
    3.0 2.0
    """

    def __init__(self, spline: Spline, ext: Any = 0) -> None:
        super().__init__(spline.t, spline.coefficients, spline.k)
        self.ext = _EXT.get(ext, ext)

    @method
    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Evaluate it, or a derivative."""
        return _of_fitpack(self, x, nu, self.ext if ext is None else ext)

    @method
    def derivative(self, n: int = 1) -> Any:
        """Return the derivative: where this is constant outside, that is zero."""
        return Univariate(self.derived(derivative_of, n, True), 1 if self.ext == 3 else self.ext)

    @method
    def antiderivative(self, n: int = 1) -> Any:
        """Return an integral, which is zero at the first knot."""
        return Univariate(self.derived(integral_of, n, True), self.ext)

    @method
    def integral(self, a: Any, b: Any) -> Any:
        """Integrate from a to b; nothing is outside of the knots."""
        return self.between(array_of(a), array_of(b), False)

    @method
    def derivatives(self, x: Any) -> Any:
        """Compute the value and all derivatives at a place."""
        return _all_at(self, array_of(x))

    @method
    def roots(self) -> Any:
        """Find the places where it is 0, of a cubic one."""
        return _roots(self, native.sproot(plainly(self.padded), 3 * len(self.t)))

    @method
    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        return self.coefficients

    @method
    def get_knots(self) -> Any:
        """Return the knots between its ends."""
        return self.knots

    def get_residual(self) -> Any:
        """Refuse: what is left over has no derivative here."""
        msg = "get_residual() has no derivative here; sum up the squares of what is left over"
        raise NotDifferentiableError(msg)


def _all_at(spline: Spline, x: Any) -> Any:
    """Compute the value and all derivatives at each place."""
    if x.ndim and len(x) > 1:
        return [_all_at(spline, x[i]) for i in range(len(x))]
    x = v.reshape(x, shape=(-1,))[0]
    return v.stack(*[spline.at(x, nu, True) for nu in range(spline.k + 1)])


def _roots(spline: Spline, places: Any) -> Any:
    """Return known roots as they move."""
    return spline.pieces.found(places, 0.0)


def _interpolating(x: Any, y: Any, k: int, s: Any, *rest: Any) -> Spline:
    """Fit with a smoothing condition, where its knots stay: it holds all points, or no knots do."""
    refuse(x, *rest)
    if s != 0 or any(r is not None for r in rest):
        w, xb, xe = _bounds(*rest)
        plain = readable(array_of(y))
        fitted: Any = native.splrep(x, plain, w, xb, xe, k, s=s, full_output=True)
        (t, _, _), _, kind, _ = fitted
        if kind == -1:
            return linear(lambda e: native.make_interp_spline(x, e, k, t), y)
        if kind == -2:
            return linear(lambda e: native.make_lsq_spline(x, e, t, k, w), y)
        msg = f"a fit with s={s!r} has knots that follow the values; its derivative is that of s=0"
        raise UnsupportedKeywordError(msg)
    return linear(lambda e: native.make_interp_spline(x, e, k), y)


def _bounds(w: Any = None, xb: Any = None, xe: Any = None, t: Any = None) -> tuple[Any, ...]:
    if t is not None:
        msg = "a fit with s other than 0 and knots has no derivative here; leave s out"
        raise UnsupportedKeywordError(msg)
    return w, xb, xe


@constructs(native.UnivariateSpline)
def UnivariateSpline(  # noqa: N802
    x: Any,
    y: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    s: Any = None,
    ext: Any = 0,
    check_finite: bool = False,
) -> Univariate:
    """Interpolate, for s = 0: as ``scipy.interpolate.UnivariateSpline``, in the values."""
    return Univariate(_interpolating(x, y, k, len(x) if s is None else s, w, *bbox), ext)


@constructs(native.InterpolatedUnivariateSpline)
def InterpolatedUnivariateSpline(  # noqa: N802
    x: Any,
    y: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    ext: Any = 0,
    check_finite: bool = False,
) -> Univariate:
    """Interpolate: as ``scipy.interpolate.InterpolatedUnivariateSpline``, in the values."""
    return Univariate(_interpolating(x, y, k, 0, w, *bbox), ext)


@constructs(native.LSQUnivariateSpline)
def LSQUnivariateSpline(  # noqa: N802
    x: Any,
    y: Any,
    t: Any,
    w: Any = None,
    bbox: Any = (None, None),
    k: int = 3,
    ext: Any = 0,
    check_finite: bool = False,
) -> Univariate:
    """Fit with given knots: as ``scipy.interpolate.LSQUnivariateSpline``, in the values."""
    return Univariate(_least(x, y, t, w, bbox, k), ext)


def _least(x: Any, y: Any, t: Any, w: Any, bbox: Any, k: int) -> Spline:
    """Fit with given knots between the ends."""
    refuse(x, t, w)
    low, high = (
        end if given is None else given
        for given, end in zip(bbox, (np.min(x), np.max(x)), strict=True)
    )
    knots = np.concatenate([[low] * (k + 1), t, [high] * (k + 1)])
    return linear(lambda e: native.make_lsq_spline(x, e, knots, k, w), y)


@has_method(native.UnivariateSpline)
def _at(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """Evaluate a spline of SciPy's at traced places."""
    return _of_fitpack(Spline(*self._eval_args), x, nu, self.ext if ext is None else ext)


@has_method(native.UnivariateSpline, "integral")
def _between(self: Any, a: Any, b: Any) -> Any:
    """Integrate a spline of SciPy's between traced limits."""
    return Spline(*self._eval_args).between(array_of(a), array_of(b), False)


@has_method(native.UnivariateSpline, "derivatives")
def _derivatives(self: Any, x: Any) -> Any:
    """Compute all derivatives of a spline of SciPy's at a traced place."""
    return _all_at(Spline(*self._eval_args), array_of(x))


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
    """Interpolate, for s = 0: as ``scipy.interpolate.splrep``, in the values."""
    if task or full_output:
        msg = "splrep(task=..., full_output=...) has no derivative here; leave them out"
        raise UnsupportedKeywordError(msg)
    if per:
        return _around(x, y, w, xb, xe, k, s, t, per)
    if t is not None:
        return _least(x, y, t, w, (xb, xe), k).padded
    m = len(x)
    s = (0.0 if w is None else m - np.sqrt(2 * m)) if s is None else s
    return _interpolating(x, y, k, s, w, xb, xe).padded


def _around(x: Any, y: Any, *how: Any) -> tuple[Any, Any, int]:
    """Interpolate what is periodic: FITPACK does not look at the last value."""
    w, xb, xe, k, s, t, per = how
    refuse(x, w, xb, xe, t)
    if s or w is not None or t is not None:
        msg = "splrep(per=1) has a derivative where it interpolates; leave w, s and t out"
        raise UnsupportedKeywordError(msg)
    units = np.eye(len(x))
    units[-1] = units[0]
    fits: list[Any] = [native.splrep(x, e, w, xb, xe, k, s=0.0, per=per) for e in units.T[:-1]]
    return fits[0][0], times(np.stack([c for _, c, _ in fits], axis=-1), array_of(y)[:-1]), k


@computes(native.splprep)
def splprep(
    x: Any,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: int = 0,
    nest: Any = None,
    per: int = 0,
    quiet: int = 1,
) -> tuple[Any, Any]:
    """Interpolate a curve, for s = 0 and given u: as ``scipy.interpolate.splprep``."""
    if u is None or task or full_output or per:
        msg = "splprep is differentiated for given u, and s=0; else both follow the values"
        raise UnsupportedKeywordError(msg)
    parts = [_interpolating(u, x[i], k, s, w, ub, ue, t) for i in range(len(x))]
    return (parts[0].t, [part.coefficients for part in parts], k), u


def _of_curves(compute: Callable[[Spline], Any], tck: Any) -> Any:
    """Compute something of a spline, or of each coordinate of a curve."""
    if isinstance(tck, native.BSpline):
        tck = of_scipy(tck)
    if isinstance(tck, Spline):
        return compute(tck)
    t, c, k = tck
    if np.ndim(c[0]):
        return [compute(Spline(t, part, k)) for part in c]
    return compute(Spline(t, c, k))


@computes(native.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Evaluate a spline: as ``scipy.interpolate.splev``, in places and coefficients."""
    return _of_curves(lambda spline: _of_fitpack(spline, x, der, ext), tck)


@computes(native.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Integrate a spline: as ``scipy.interpolate.splint``."""
    if full_output and not isinstance(tck, Spline):
        msg = "splint(full_output=...) has no derivative here; leave it out"
        raise UnsupportedKeywordError(msg)
    return _of_curves(lambda spline: spline.between(array_of(a), array_of(b), False), tck)


@computes(native.spalde)
def spalde(x: Any, tck: Any) -> Any:
    """Compute all derivatives at a place: as ``scipy.interpolate.spalde``."""
    return _of_curves(lambda spline: _all_at(spline, array_of(x)), tck)


@computes(native.sproot)
def sproot(tck: Any, mest: int = 10) -> Any:
    """Find the places where a cubic spline is 0: as ``scipy.interpolate.sproot``."""
    return _of_curves(
        lambda spline: _roots(spline, native.sproot(plainly(spline.padded), mest)), tck
    )


@computes(native.splder)
def splder(tck: Any, n: int = 1) -> Any:
    """Return the derivative of a spline: as ``scipy.interpolate.splder``."""
    return tck.derivative(n) if isinstance(tck, _SPLINES) else derivative_of(tck, n)


@computes(native.splantider)
def splantider(tck: Any, n: int = 1) -> Any:
    """Return an integral of a spline: as ``scipy.interpolate.splantider``."""
    return tck.antiderivative(n) if isinstance(tck, _SPLINES) else integral_of(tck, n)
