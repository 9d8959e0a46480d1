"""Splines that are fitted, and those that are given by knots and coefficients.

A fit that is linear in the values is what SciPy makes of the unit vectors; fits whose knots follow
the data, those of UnivariateSpline and splrep with ``s`` other than 0, are refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.following import follow_all, follow_class
from chainrules_scipy.installing import place_method
from chainrules_scipy.interpolate.common import constructs, first, times
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.interpolate.splines import pieces
from chainrules_scipy.rows import array_of, readable, stands_for

FOLLOWED: dict[str, Any] = follow_all(
    native, "krogh_interpolate", "make_splprep", "make_splrep", "splantider", "splder"
)
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


@constructs(native.BarycentricInterpolator)
def BarycentricInterpolator(xi: Any, yi: Any = None, axis: int = 0, **_: Any) -> Any:  # noqa: N802
    """Interpolate by a polynomial: SciPy's text has no derivative at the nodes, Krogh's has."""
    return KroghInterpolator(xi, yi, axis)


@stands_for(native.barycentric_interpolate)
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None
) -> Any:
    """Interpolate by a polynomial: as ``scipy.interpolate.barycentric_interpolate``."""
    return FOLLOWED["krogh_interpolate"](xi, yi, x, der, axis)


class _Polynomial:
    """A polynomial of traced coefficients, none of which is left out for being 0."""

    def __init__(self, c: Any) -> None:
        self.c = self.coef = self.coeffs = c
        self.order = len(c) - 1

    def __call__(self, x: Any) -> Any:
        return np.polyval(self.c, array_of(x))


@stands_for(native.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Interpolate by a polynomial: as ``scipy.interpolate.lagrange``."""
    x = array_of(x)
    return _Polynomial(v.solve(np.vander(x), array_of(w)))


class Spline(PiecewisePolynomial):
    """A spline of knots and coefficients, which may be traced, with the methods of SciPy's.

    Parameters
    ----------
    t : array, shape (n + k + 1,)
        The knots; plain.
    c : array, shape (n, ...)
        The coefficients.
    k : int
        The degree.
    extrapolate, axis
        As `PiecewisePolynomial` has them.

    Examples
    --------
    >>> line = Spline([0.0, 0.0, 1.0, 1.0], np.array([1.0, 3.0]), 1)
    >>> print(line(0.5), line.integrate(0.0, 1.0))
    2.0 2.0
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if varies(t):
            msg = "a spline has derivatives in coefficients and places, and none in its knots here"
            raise NotDifferentiableError(msg)
        self.t, self.k = np.asarray(t, float), int(k)
        n = len(self.t) - self.k - 1
        coefficients, _ = first(c, axis)
        self.coefficients = coefficients[:n]
        parts, knots = pieces(native.BSpline(self.t, np.eye(n), self.k))
        super().__init__(times(parts, self.coefficients), knots, extrapolate, axis)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.coefficients, self.k

    get_coeffs = functools.partialmethod(lambda self: self.coefficients)

    def integral(self, a: Any, b: Any) -> Any:
        """Integrate from a to b; nothing is outside of the knots."""
        low, high = self.t[self.k], self.t[-self.k - 1]
        return self.integrate(np.clip(a, low, high), np.clip(b, low, high))

    def derivatives(self, x: Any) -> Any:
        """Compute the value and all derivatives at a place."""
        return v.stack(*[self(x, nu) for nu in range(self.k + 1)])


@constructs(native.BSpline)
def BSpline(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Spline:  # noqa: N802
    """Make a spline of its coefficients: as ``scipy.interpolate.BSpline``."""
    return Spline(t, c, k, extrapolate, axis)


@constructs(native.PPoly)
def PPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> PiecewisePolynomial:  # noqa: N802
    """Make a piecewise polynomial: as ``scipy.interpolate.PPoly``."""
    return PiecewisePolynomial(c, x, extrapolate, axis)


@constructs(native.BPoly)
def BPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> PiecewisePolynomial:  # noqa: N802
    """Make a piecewise polynomial in Bernstein's form: as ``scipy.interpolate.BPoly``."""
    c, plain = array_of(c), readable(x)
    k, m = c.shape[:2]
    units = np.broadcast_to(np.eye(k)[:, None], (k, m, k))
    powers = native.PPoly.from_bernstein_basis(native.BPoly(units, plain)).c
    if varies(x):
        msg = "BPoly has derivatives in its coefficients, and none in its knots here"
        raise NotDifferentiableError(msg)
    return PiecewisePolynomial(np.einsum("pia,ai...->pi...", powers, c), x, extrapolate, axis)


def _nd(name: str) -> Any:
    """Make a function of several variables of its coefficients, in which it is linear."""
    theirs = getattr(native, name)

    @constructs(theirs)
    def function(*args: Any, **options: Any) -> Callable[..., Any]:
        at = 0 if name == "NdPPoly" else 1
        c = array_of(args[at])
        lead = 2 * len(args[1]) if name == "NdPPoly" else len(args[0])
        shape = c.shape[:lead]
        units = np.eye(int(np.prod(shape))).reshape(*shape, -1)
        basis = theirs(*args[:at], units, *args[at + 1 :], **options)

        def evaluated(x: Any, nu: Any = None, **how: Any) -> Any:
            rest = v.reshape(c, shape=(units.shape[-1], *c.shape[lead:]))
            return v.tensordot(basis(x, nu=nu, **how), rest, axes=((-1,), (0,)))

        return evaluated

    return function


NdPPoly = _nd("NdPPoly")
NdBSpline = _nd("NdBSpline") if hasattr(native, "NdBSpline") else None


def _linear(fit: Callable[[Any], Any], y: Any, axis: int = 0) -> Spline:
    """Fit by what SciPy makes of the unit vectors."""
    y, axis = first(y, axis)
    unit = fit(np.eye(y.shape[0]))
    found = Spline(unit.t, times(unit.c, y), unit.k)
    found.axis = axis
    return found


def _refused(x: Any, *rest: Any) -> None:
    if varies((x, rest)):
        msg = "this spline has derivatives in the values alone; make_interp_spline and CubicSpline"
        raise NotDifferentiableError(f"{msg} have more")


@stands_for(native.make_lsq_spline)
def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    *,
    method: str = "qr",
) -> Spline:
    """Fit a spline with given knots: as ``scipy.interpolate.make_lsq_spline``, in the values."""
    _refused(x, t, w)
    return _linear(lambda e: native.make_lsq_spline(x, e, t, k, w), y, axis)


@stands_for(native.make_smoothing_spline)
def make_smoothing_spline(
    x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0
) -> Spline:
    """Smooth with a given parameter: as ``scipy.interpolate.make_smoothing_spline``."""
    _refused(x, w, lam)
    if lam is None:
        msg = "make_smoothing_spline chooses lam by the values; give lam, and it has a derivative"
        raise UnsupportedKeywordError(msg)
    return _linear(lambda e: native.make_smoothing_spline(x, e, w, lam), y, axis)


def _interpolating(x: Any, y: Any, k: int, s: Any, *rest: Any) -> Spline:
    """Fit with a smoothing condition, where its knots stay: it holds all points, or no knots do."""
    _refused(x, *rest)
    if s != 0 or any(r is not None for r in rest):
        w, xb, xe = _bounds(*rest)
        plain = readable(array_of(y))
        fitted: Any = native.splrep(x, plain, w, xb, xe, k, s=s, full_output=True)
        (t, _, _), _, kind, _ = fitted
        if kind == -1:
            return _linear(lambda e: native.make_interp_spline(x, e, k, t), y)
        if kind == -2:
            return _linear(lambda e: native.make_lsq_spline(x, e, t, k, w), y)
        msg = f"a fit with s={s!r} has knots that follow the values; its derivative is that of s=0"
        raise UnsupportedKeywordError(msg)
    return _linear(lambda e: native.make_interp_spline(x, e, k), y)


def _bounds(w: Any = None, xb: Any = None, xe: Any = None, t: Any = None) -> tuple[Any, ...]:
    if t is not None:
        msg = "a fit with s other than 0 and knots has no derivative here; leave s out"
        raise UnsupportedKeywordError(msg)
    return w, xb, xe


@constructs(native.UnivariateSpline)
def UnivariateSpline(  # noqa: N802
    x: Any, y: Any, w: Any = None, bbox: Any = None, k: int = 3, s: Any = None, *_: Any, **__: Any
) -> Spline:
    """Interpolate, for s = 0: as ``scipy.interpolate.UnivariateSpline``, in the values."""
    low, high = (None, None) if bbox is None else bbox
    return _interpolating(x, y, k, len(x) if s is None else s, w, low, high)


@constructs(native.InterpolatedUnivariateSpline)
def InterpolatedUnivariateSpline(  # noqa: N802
    x: Any, y: Any, w: Any = None, bbox: Any = None, k: int = 3, *_: Any, **__: Any
) -> Spline:
    """Interpolate: as ``scipy.interpolate.InterpolatedUnivariateSpline``, in the values."""
    return _interpolating(x, y, k, 0, w, *((None, None) if bbox is None else bbox))


@constructs(native.LSQUnivariateSpline)
def LSQUnivariateSpline(  # noqa: N802
    x: Any, y: Any, t: Any, w: Any = None, bbox: Any = None, k: int = 3, *_: Any, **__: Any
) -> Spline:
    """Fit with given knots: as ``scipy.interpolate.LSQUnivariateSpline``, in the values."""
    _refused(x, t, w)
    low, high = (np.min(x), np.max(x)) if bbox is None else bbox
    knots = np.concatenate([[low] * (k + 1), t, [high] * (k + 1)])
    return _linear(lambda e: native.make_lsq_spline(x, e, knots, k, w), y)


@functools.partial(place_method, native.UnivariateSpline, name="__call__")
def _at(self: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    """Evaluate a spline of SciPy's at traced places."""
    return splev(x, self._eval_args, nu, self.ext if ext is None else ext)


@stands_for(native.splrep)
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
    if task or full_output or per:
        msg = "splrep(task=..., full_output=..., per=...) has no derivative here; leave them out"
        raise UnsupportedKeywordError(msg)
    if t is not None:
        found = LSQUnivariateSpline(x, y, t, w, None, k)
    else:
        m = len(x)
        s = (0.0 if w is None else m - np.sqrt(2 * m)) if s is None else s
        found = _interpolating(x, y, k, s, w, xb, xe)
    return _padded(found)


def _padded(spline: Spline) -> tuple[Any, Any, int]:
    """Return knots and as many coefficients, as FITPACK has them."""
    c = spline.coefficients
    return spline.t, v.pad(c, 0.0, widths=((0, spline.k + 1), *((0, 0),) * (c.ndim - 1))), spline.k


@stands_for(native.splprep)
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


@stands_for(native.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Evaluate a spline: as ``scipy.interpolate.splev``, in places and coefficients."""
    spline: Any = tck if issubclass(type(tck), PiecewisePolynomial) else None
    if spline is None:
        t, c, k = tck
        if isinstance(c, (list, tuple)) and np.ndim(c[0]):
            return [splev(x, (t, part, k), der, ext) for part in c]
        spline = Spline(t, c, k)
    low, high = spline.t[spline.k], spline.t[-spline.k - 1]
    x = array_of(x)
    at = readable(x)
    outside = (at < low) | (at > high)
    if ext == 2 and outside.any():
        msg = "places outside of the knots, with ext=2"
        raise ValueError(msg)
    y = spline(np.clip(x, low, high) if ext == 3 else x, der)
    return v.where(outside, 0.0, y) if ext == 1 else y


@stands_for(native.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Integrate a spline: as ``scipy.interpolate.splint``."""
    if full_output:
        msg = "splint(full_output=...) has no derivative here; leave it out"
        raise UnsupportedKeywordError(msg)
    return Spline(*tck).integral(array_of(a), array_of(b))


@stands_for(native.spalde)
def spalde(x: Any, tck: Any) -> Any:
    """Compute all derivatives at a place: as ``scipy.interpolate.spalde``."""
    spline, x = Spline(*tck), array_of(x)
    return (
        spline.derivatives(x) if x.ndim == 0 else [spline.derivatives(x[i]) for i in range(len(x))]
    )


class _Grid:
    """A surface on a grid, by splines along both axes."""

    def __init__(self, x: Any, y: Any, z: Any, degrees: tuple[int, int]) -> None:
        self.z = array_of(z)
        both = zip((x, y), degrees, strict=True)
        self.bases = [_linear(functools.partial(_unit, n, k), np.eye(len(n))) for n, k in both]

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Evaluate on the grid of some places, or at pairs of them."""
        x, y = _of_grid(x, y, grid)
        left, right = self.bases[0](x, dx), self.bases[1](y, dy)
        if grid:
            return left @ self.z @ v.matrix_transpose(right)
        return v.sum((left @ self.z) * right, axis=-1)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Integrate over a rectangle."""
        return self.bases[0].integral(xa, xb) @ self.z @ self.bases[1].integral(ya, yb)

    def ev(self, x: Any, y: Any, dx: int = 0, dy: int = 0) -> Any:
        """Evaluate at pairs of places."""
        return self(x, y, dx, dy, grid=False)


def _of_grid(x: Any, y: Any, grid: bool) -> list[Any]:
    """Return places: those of a grid have an axis each."""
    both = [array_of(x), array_of(y)]
    return [v.reshape(p, shape=(-1,)) if grid and p.ndim == 0 else p for p in both]


def _unit(nodes: Any, k: int, e: Any) -> Any:
    return native.make_interp_spline(nodes, e, k)


@constructs(native.RectBivariateSpline)
def RectBivariateSpline(  # noqa: N802
    x: Any, y: Any, z: Any, bbox: Any = None, kx: int = 3, ky: int = 3, s: Any = 0, *_: Any
) -> _Grid:
    """Interpolate on a grid: as ``scipy.interpolate.RectBivariateSpline``, in the values."""
    _refused(x, y)
    if s != 0 or bbox is not None:
        msg = "RectBivariateSpline(s=..., bbox=...) has no derivative here; leave them out"
        raise UnsupportedKeywordError(msg)
    return _Grid(x, y, z, (kx, ky))


def _surface(self: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
    """Evaluate a surface of SciPy's at traced places."""
    (tx, ty, c), (kx, ky) = self.tck, self.degrees
    left, right = len(tx) - kx - 1, len(ty) - ky - 1
    bases = Spline(tx, np.eye(left), kx), Spline(ty, np.eye(right), ky)
    x, y = _of_grid(x, y, grid)
    a, b = bases[0](x, dx), bases[1](y, dy)
    c = np.reshape(c, (left, right))
    return a @ c @ v.matrix_transpose(b) if grid else v.sum((a @ c) * b, axis=-1)


place_method(native.BivariateSpline, _surface, "__call__")
place_method(native.BivariateSpline, functools.partial(_surface, grid=False), "ev")


@functools.partial(place_method, native.BPoly, name="__call__")
def _bernstein(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a polynomial of SciPy's at traced places."""
    power = native.PPoly.from_bernstein_basis(self)
    found = PiecewisePolynomial(power.c, power.x, self.extrapolate, self.axis)
    return found(x, nu, extrapolate)


@functools.partial(place_method, native.BarycentricInterpolator, name="__call__")
def _through_nodes(self: Any, x: Any) -> Any:
    """Evaluate a polynomial of SciPy's at traced places."""
    return KroghInterpolator(self.xi, np.reshape(self.yi, (self.n, *self._y_extra_shape)))(x)
