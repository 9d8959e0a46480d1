"""Interpolation of ``scipy.interpolate``, with derivatives in values and evaluation points."""

from __future__ import annotations

import copy
import functools
import math
import operator
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import advise, varies
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import (
    along,
    anchored,
    array_of,
    attribute,
    described,
    of_precision,
    readable,
    refused,
    reject,
    stands_for,
)
from chainrules_scipy.installation import (
    joined_call,
    place_constructor,
    place_method,
    taken_from,
)
from chainrules_scipy.result_checks import Beside, agreeing, of_both, plainly
from chainrules_scipy.source_copies import (
    follow,
    follow_all,
    follow_class,
    followed,
    instead_of,
    with_shortcuts,
)

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "KroghInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]


# -------- piecewise polynomials with traced coefficients, knots and points, and interpolants


class Calling(Beside):
    """A function of points that replaces a callable object of SciPy.

    It holds the arguments that it was made of: as an option, their traced values are looked for
    here, and not in what the function captured.
    """

    def __init__(
        self, function: Callable[..., Any], theirs: Callable[..., Any], tolerance: float, *made: Any
    ) -> None:
        self.function, self.theirs, self.tolerance, self.made = function, theirs, tolerance, made

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Return our result with SciPy's value."""
        return of_both(self.function, self.theirs, args, options, self.tolerance)


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method return the value of SciPy's object beside it (a decorator)."""

    @functools.wraps(function)
    def both(self: Any, *args: Any, **options: Any) -> Any:
        if self.theirs is None:
            return function(self, *args, **options)
        return of_both(
            functools.partial(function, self),
            getattr(self.theirs, function.__name__),
            args,
            options,
        )

    return both


def constructs(
    cls: Any,
    made_of: Callable[[Any], tuple[Any, ...]] | None = None,
    methods: tuple[str, ...] = ("__call__",),
    tolerance: float = 1e-6,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare that a function makes what a SciPy class makes (a decorator).

    Parameters
    ----------
    cls : type
        The class; the function takes an instance for plain values, and then the arguments.
    made_of : callable, optional
        Returns the arguments from which a SciPy instance was made, so that its methods take traced
        points.
    methods : tuple of str
        The names of these methods.
    tolerance : float
        The allowed difference from SciPy's values.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(cls, updated=())
        def made(*args: Any, **options: Any) -> Any:
            args, options = joined_call(args, options)
            theirs = cls(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
            found = function(theirs, *args, **options)
            if not isinstance(found, Beside):
                return Calling(found, theirs, tolerance, *args, *options.values())
            found.theirs = theirs
            return found

        def of_instances(name: str, theirs: Any) -> Callable[..., Any]:
            @functools.wraps(theirs)
            def both(self: Any, *args: Any, **options: Any) -> Any:
                ours = getattr(function(self, *made_of(self)), name)  # type: ignore[misc]
                return of_both(ours, theirs.__get__(self), args, options)

            return both

        place_constructor(cls, made)
        for name in methods if made_of else ():
            place_method(cls, of_instances(name, getattr(cls, name)), name)
        advise(vars(cls).get("__init__", cls), taken_from(cls))  # not a base class's, as of BPoly
        for name in filter(
            functools.partial(hasattr, cls),
            (
                *("construct_fast", "basis_element", "design_matrix"),
                *("from_spline", "from_bernstein_basis"),
            ),
        ):  # of which the first takes what its class takes
            of = getattr(cls, name)
            setattr(made, name, made if name == "construct_fast" else MethodType(of.__func__, made))
        if made_of:  # SciPy 1.18 makes an instance of what computes its values
            vars(made)["_construct_from_xp"] = lambda theirs, of=made_of, **_: made(*of(theirs))
        made.__doc__, made.__module__ = function.__doc__, function.__module__
        return described(made, cls)

    return enter


_KNOTS = (
    "this spline has derivatives in values, coefficients and the places where it is taken; "
    "PchipInterpolator and Akima1DInterpolator have them in their knots as well, and "
    "CubicHermiteSpline in slopes, in place of those in bc_type="
)
_SCATTERED = "interpolation of scattered points has derivatives in values and places; not in points"


def refuse(*xs: Any, says: str = _KNOTS) -> None:
    """Raise for points, knots and weights that are differentiated."""
    if varies(xs):
        reject(says)


def first(y: Any, axis: int) -> tuple[Any, int]:
    """Return the values with the axis of the knots first, and the index that this axis had."""
    y = array_of(y)
    axis = range(y.ndim)[axis]
    return v.permute_dims(y, axes=(axis, *(i for i in range(y.ndim) if i != axis))), axis


def placed(y: Any, n: int, axis: int) -> Any:
    """Move the first n axes, those of the points, to the index of the axis of the knots."""
    return v.permute_dims(y, axes=(*range(n, n + axis), *range(n), *range(n + axis, y.ndim)))


def filled(y: Any, where: Any, value: Any) -> Any:
    """Return values, and another one at some of the points, which their first axes index."""
    there = np.reshape(where, where.shape + (1,) * (y.ndim - where.ndim))
    return v.where(there, value, y) if where.any() else y


def times(matrices: Any, y: Any) -> Any:
    """Return ``Σ_j T[..., j] y[j]``."""
    return v.tensordot(matrices, y, axes=((matrices.ndim - 1,), (0,)))


def steps(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the distances of the knots, and the slopes between them."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    return h, (y[1:] - y[:-1]) / h


class PiecewisePolynomial(Beside):
    """A polynomial of (x - x_i) between each knot and the next, as ``scipy.interpolate.PPoly``.

    Parameters
    ----------
    c : array, shape (k, m, ...)
        The coefficients, that of the highest power first.
    x : array, shape (m + 1,)
        The knots, increasing or decreasing.
    extrapolate : bool or "periodic"
        Whether the outer polynomials extend beyond the knots; False gives NaN there.
    axis : int
        The index of the axis of the points in the results.
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c = self.powers = array_of(c)
        self.x = self.knots = array_of(x)
        self.axis = axis
        self.extrapolate = True if extrapolate is None else extrapolate

    @method
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Evaluate the polynomial, or a derivative, at points of any shape."""
        x, how = array_of(x), self.extrapolate if extrapolate is None else extrapolate
        if how == "periodic":
            start, period = self.knots[0], self.knots[-1] - self.knots[0]
            x, how = start + (x - start) % period, False
        return self.at(x, nu, bool(how))

    @method
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Integrate from a to b."""
        how = self.extrapolate if extrapolate is None else extrapolate
        whole, start, end = self.antiderivative(), self.knots[0], self.knots[-1]

        def up_to(x: Any) -> Any:
            x = array_of(x)
            if how != "periodic":  # SciPy's splines are zero beyond their ends, its PPoly unknown
                clips = not how and isinstance(self, Spline)
                return whole.at(v.clip(x, start, end) if clips else x, 0, bool(how))
            turns = np.floor_divide(readable(x - start), readable(end - start))
            before, after, y = (
                whole.at(z, 0, True) for z in (start, end, start + (x - start) % (end - start))
            )
            return turns * (after - before) + y

        return up_to(b) - up_to(a)

    _x = _xp = property(  # of SciPy 1.17 and 1.18
        lambda _: reject(
            "BPoly.from_power_basis(p) has no derivative: write p itself, which has the same values"
        )
    )

    @method
    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, which is a piecewise polynomial too."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.powers
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1.0).reshape((-1,) + (1,) * (c.ndim - 1))
            c = c[:-1] * powers if len(powers) else 0.0 * c
        return PiecewisePolynomial(c, self.knots, self.extrapolate, self.axis)

    @method
    def antiderivative(self, nu: int = 1) -> Any:
        """Return the integral from the first knot, which is a piecewise polynomial too."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.powers
        for _ in range(nu):
            high = c / np.reshape(np.arange(c.shape[0], 0, -1.0), (-1,) + (1,) * (c.ndim - 1))
            h = v.reshape(self.knots[1:] - self.knots[:-1], shape=(-1,) + (1,) * (c.ndim - 2))
            areas: Any = sum(high[i] * h ** (c.shape[0] - i) for i in range(c.shape[0]))
            low = v.concat(v.zeros_like(areas[:1]), v.cumulative_sum(areas, axis=0)[:-1], axis=0)
            c = v.concat(high, v.expand_dims(low, axis=0), axis=0)
        how = False if self.extrapolate == "periodic" else self.extrapolate
        return PiecewisePolynomial(c, self.knots, how, self.axis)

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate the polynomial, or a derivative; outside of the knots NaN unless ``beyond``."""
        x, knots = array_of(x), readable(self.knots)
        places = readable(x)
        unknown = np.isnan(places)
        low, high = min(knots[0], knots[-1]), max(knots[0], knots[-1])
        outside = unknown if beyond else unknown | ~((low <= places) & (places <= high))
        if unknown.any():
            x = v.where(unknown, low, x)
        sign = 1.0 if knots[-1] >= knots[0] else -1.0
        piece = np.searchsorted(sign * knots, sign * readable(x), "right") - 1
        piece = np.clip(piece, 0, len(knots) - 2)
        t, c = x - v.take(self.knots, piece, axis=0), self.powers
        t = v.reshape(t, shape=(*t.shape, *(1,) * (c.ndim - 2)))
        y: Any = None
        for i, power in enumerate(range(c.shape[0] - 1, nu - 1, -1)):
            term = v.take(c[i], piece, axis=0) * math.perm(power, nu)
            y = term if y is None else y * t + term
        if y is None:
            y = 0.0 * v.take(c[0], piece, axis=0)
        y = filled(y, outside, math.nan)
        return placed(y, x.ndim, self.axis) if self.axis else y


def _double(x: Any) -> Any:
    """Return an array in double precision, in which SciPy computes these polynomials."""
    return of_precision(array_of(x), np.dtype(float))


def hermite(x: Any, y: Any, s: Any, extrapolate: Any, axis: int) -> PiecewisePolynomial:
    """Make the cubic polynomials with given values and slopes at knots, along the first axis."""
    h, slope = steps(x, y)
    t = (s[:-1] + s[1:] - 2 * slope) / h
    c = v.stack(t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1], axis=0)
    return PiecewisePolynomial(c, x, extrapolate, axis)


@constructs(
    native.PPoly,
    lambda p: (np.moveaxis(p.c, (0, 1), (p.axis, p.axis + 1)), p.x, p.extrapolate, p.axis),
    ("__call__", "integrate"),
)
def PPoly(known: Any, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:  # noqa: N802
    """Make a piecewise polynomial, with derivatives in coefficients, knots and points."""
    c = _double(c)
    axes = tuple(sorted(range(c.ndim), key=lambda i: i not in (axis, axis + 1)))
    return PiecewisePolynomial(v.permute_dims(c, axes=axes), _double(x), extrapolate, axis)


def fitted(fit: Callable[[Any, Any], Any], y: Any, bc_type: Any) -> tuple[Any, Any]:
    """Return SciPy's fit to unit vectors, and the coefficients, which are linear in y.

    Parameters
    ----------
    fit : callable
        SciPy's fit of plain values, with conditions at both ends.
    y : array
        The values, along the first axis.
    bc_type : str, tuple or None
        The conditions; the values of derivatives in them are constant.
    """
    n, start = y.shape[0], 0.0
    unit = np.eye(n)
    if isinstance(bc_type, tuple):
        start = fit(np.zeros(y.shape), bc_type).c
        bc_type = tuple(_without_values(end, n) for end in bc_type)
    elif bc_type == "periodic":  # the last value equals the first
        unit[-1], unit[:, -1] = unit[0], 0.0
    linear = fit(unit, bc_type)
    return linear, times(linear.c, y) + start


def _without_values(end: Any, n: int) -> Any:
    """Return the conditions at an end with values 0, so that they are linear in y."""
    if end is None or isinstance(end, str):
        return end
    zeros = np.zeros(n)
    return (end[0], zeros) if isinstance(end[0], int) else [(nu, zeros) for nu, _ in end]


_cubic: Any = native.CubicSpline


@constructs(native.CubicSpline)
def CubicSpline(  # noqa: N802
    known: Any, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", *_: Any, **__: Any
) -> Any:
    """Interpolate by cubic polynomials with two continuous derivatives."""
    refuse(x, bc_type)
    y, axis = first(y, axis)
    _, c = fitted(lambda y, ends: _cubic(known.x, y, bc_type=ends), y, bc_type)
    return PiecewisePolynomial(c, known.x, known.extrapolate, axis)


@constructs(native.CubicHermiteSpline)
def CubicHermiteSpline(  # noqa: N802
    known: Any, x: Any, y: Any, dydx: Any, axis: int = 0, *_: Any, **__: Any
) -> Any:
    """Interpolate values and slopes by cubic polynomials."""
    y, s = (first(_double(part), axis)[0] for part in (y, dydx))
    return hermite(_double(x), y, s, known.extrapolate, known.axis)


@constructs(native.PchipInterpolator)
def PchipInterpolator(known: Any, x: Any, y: Any, axis: int = 0, *_: Any, **__: Any) -> Any:  # noqa: N802
    """Interpolate by cubic polynomials that are monotone where the values are.

    F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984) 300.
    """
    x, (y, axis) = _double(x), first(_double(y), axis)
    h, m = steps(x, y)
    if x.shape[0] == 2:
        return hermite(x, y, v.concat(m, m, axis=0), known.extrapolate, axis)
    sign = np.sign(readable(m))
    flat = (sign[1:] != sign[:-1]) | (sign[1:] == 0) | (sign[:-1] == 0)
    a, b = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    safe = [v.where(flat, 1.0, part) for part in (m[:-1], m[1:])]
    inner = v.where(flat, 0.0, 1 / ((a / safe[0] + b / safe[1]) / (a + b)))
    ends = [
        _pchip_end(h[:1], h[1:2], m[:1], m[1:2]),
        _pchip_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1]),
    ]
    return hermite(x, y, v.concat(ends[0], inner, ends[1], axis=0), known.extrapolate, axis)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Compute the slope at an end from three points, limited to preserve the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    plain, p0, p1 = readable(d), readable(m0), readable(m1)
    other = np.sign(plain) != np.sign(p0)
    steep = (np.sign(p0) != np.sign(p1)) & (abs(plain) > 3 * abs(p0)) & ~other
    return v.where(other, 0.0, v.where(steep, 3 * m0, d))


@constructs(native.Akima1DInterpolator)
def Akima1DInterpolator(  # noqa: N802
    known: Any, x: Any, y: Any, axis: int = 0, *, method: str = "akima", **_: Any
) -> Any:
    """Interpolate by cubic polynomials whose slopes are weighted means of both sides.

    H. Akima, J. ACM 17 (1970) 589.
    """
    x, (y, axis) = _double(x), first(_double(y), axis)
    _, inner = steps(x, y)
    if x.shape[0] == 2:
        return hermite(x, y, v.concat(inner, inner, axis=0), known.extrapolate, axis)
    (a, b), (c, d) = (inner[:1], inner[1:2]), (inner[-2:-1], inner[-1:])
    m = v.concat(3 * a - 2 * b, 2 * a - b, inner, 2 * d - c, 3 * d - 2 * c, axis=0)
    jumps = v.abs(m[1:] - m[:-1]) + (v.abs(m[1:] + m[:-1]) / 2 if method == "makima" else 0.0)
    left, right = jumps[2:], jumps[:-2]
    total = left + right
    some = readable(total) > 1e-9 * np.max(readable(total), initial=-math.inf)
    mixed = (left * m[1:-2] + right * m[2:-1]) / v.where(some, total, 1.0)
    flat = 0.0 if method == "makima" else 0.5 * (m[3:] + m[:-3])
    return hermite(x, y, v.where(some, mixed, flat), known.extrapolate, axis)


for _made in (PPoly, PchipInterpolator):
    instead_of(getattr(native, _made.__name__), _made)
FOLLOWED: dict[str, Any] = follow_all(
    native, "krogh_interpolate", "make_splprep", "make_splrep", "pade", "pchip_interpolate"
)
with_shortcuts(*FOLLOWED.values())
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


# -------- splines with knots and coefficients, and interpolation by splines and by lines

_derivative = followed(native.splder)  # of a negative order, an integral


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
        Whether the outer polynomials extend beyond the knots; False gives NaN there.
    axis : int
        The index of the axis of the coefficients.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        refuse(t)
        c, axis = first(c, axis)
        t, k = np.asarray(t, float), int(k)
        knots, n = t[k : len(t) - k], len(t) - k - 1  # SciPy allows for more coefficients
        # Between two knots k + 1 basis functions are not zero: one of each sum of every k + 1st.
        sums = native.BSpline(t, np.eye(k + 1)[np.arange(n) % (k + 1)], k)
        of = np.clip(np.searchsorted(t, knots[:-1], "right") - 1, k, n - 1)[:, None] - k
        near = v.take(c, of + (np.arange(k + 1) - of) % (k + 1), axis=0)
        parts = np.reshape(
            [sums(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)],
            (k + 1, len(of), k + 1, *(1,) * (c.ndim - 1)),
        )
        super().__init__(v.sum(parts * near, axis=2), knots, extrapolate, axis)
        self.t, self.c, self.k, self.tck = t, c, k, (t, c, k)
        del self.x  # SciPy's spline has none

    @method
    def derivative(self, nu: int = 1) -> Spline:
        """Return the derivative, which is a spline too."""
        ends = (0, max(0, len(self.t) - self.c.shape[0])), *((0, 0),) * (self.c.ndim - 1)
        how = self.extrapolate if nu >= 0 or self.extrapolate != "periodic" else False
        found = Spline(*_derivative((self.t, v.pad(self.c, 0.0, widths=ends), self.k), nu))
        found.axis, found.extrapolate = self.axis, how
        return found

    @method
    def antiderivative(self, nu: int = 1) -> Spline:
        """Return the integral from the first of all knots, which is a spline too."""
        return self.derivative(-nu)  # type: ignore[no-any-return]

    _t = _xp = property(  # SciPy 1.18 reads the second
        lambda _: reject(
            "PPoly.from_spline(s) has no derivative: write s itself, which has the same values"
        )
    )


@constructs(
    native.BSpline,
    lambda s: (s.t, np.moveaxis(s.c, 0, s.axis), s.k, s.extrapolate, s.axis),
    ("__call__", "integrate"),
)
def BSpline(known: Any, *args: Any, **options: Any) -> Spline:  # noqa: N802
    """Make a spline, with derivatives in coefficients and points."""
    return Spline(*args, **options)


@stands_for(native.make_interp_spline)
@functools.partial(agreeing, native.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    *_: Any,
    **__: Any,
) -> Any:
    """Interpolate by splines of a degree, with derivatives in the values."""
    refuse(x, t, bc_type)
    y, axis = first(y, axis)
    unit, c = fitted(lambda e, ends: native.make_interp_spline(x, e, k, t, ends), y, bc_type)
    found = Spline(unit.t, c, unit.k, unit.extrapolate)
    found.axis = axis
    return found


@constructs(
    native.interp1d,
    lambda f: (
        *(f.x, f.y, f._spline.k if f._kind == "spline" else f._kind),
        *(f.axis, True, False, f.fill_value, True),
    ),
)
def interp1d(
    known: Any,
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
    degree: Any = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3, "zero": 0}.get(kind, kind)
    x, (y, axis) = array_of(x), first(y, axis)
    if not assume_sorted:
        order = np.argsort(readable(x), kind="mergesort")
        x, y = v.take(x, order, axis=0), v.take(y, order, axis=0)
    if degree == 0 or isinstance(degree, str):
        line: Any = functools.partial(_stepped, x, y, degree)
    elif degree == 1:
        _, slope = steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x)
    else:
        line = make_interp_spline(x, y, degree)
        line.theirs = None
    ends = _ends(y, fill_value, kind)
    low, high = readable(x)[0], readable(x)[-1]

    def interpolated(at: Any) -> Any:
        at = array_of(at)
        beyond = [readable(at) < low, readable(at) > high]
        outside = np.logical_or(*beyond)
        moves = ends is not None and outside.any()
        found = line(v.where(outside, low, at) if moves else at)
        for end, there in zip(ends or (), beyond, strict=False) if moves else ():
            found = filled(found, there, end)
        return placed(found, at.ndim, axis)

    return interpolated


def _ends(y: Any, fill_value: Any, kind: Any) -> Any:
    """Return the values before and behind the knots, or None where the line is extended."""
    if isinstance(fill_value, str) and fill_value == "extrapolate":
        return {"previous": (math.nan, y[-1]), "next": (y[0], math.nan)}.get(kind)
    both = (
        fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else [fill_value] * 2
    )
    return [v.reshape(e, shape=()) if y.ndim == 1 else e for e in map(array_of, both)]


def _stepped(x: Any, y: Any, kind: Any, at: Any) -> Any:
    """Take a value near each point, whose index SciPy finds; it is constant between jumps."""
    on: Any = "extrapolate"
    number = native.interp1d(readable(x), np.arange(len(x)), kind, fill_value=on)
    return v.take(y, np.nan_to_num(number(readable(at))).astype(int), axis=0)


_CHOSEN = (
    "choose lam, and write s = make_smoothing_spline(x, np.eye(len(x)), lam=lam) and "
    "BSpline(s.t, s.c @ y, 3)"
)
_KROGH = "write KroghInterpolator(x, y), which is the same polynomial"
_SPLINE = "write make_interp_spline(x, y), which has derivatives in values and places"
_FIT = "write BSpline(t, np.linalg.lstsq(BSpline(t, np.eye(len(t) - k - 1), k)(x), y)[0], k)"
_GRID = "write RegularGridInterpolator((x, y), z, method='cubic'), which has derivatives in both"
_SMOOTH = "write RBFInterpolator(np.stack([x, y], -1), z, smoothing=s), which has derivatives"
_SURFACE = "write BSpline(tx, BSpline(ty, c.reshape(len(tx) - kx - 1, -1).T, ky)(y), kx)(x), with "
refused(
    native,
    {
        "lagrange": "write np.linalg.solve(np.vander(x), w), and np.polyval",
        "BarycentricInterpolator": _KROGH,
        "barycentric_interpolate": _KROGH,
        "Rbf": "write RBFInterpolator(points, values)(places)",
        "InterpolatedUnivariateSpline": _SPLINE,
        "UnivariateSpline": f"{_SPLINE}; it interpolates, as UnivariateSpline(x, y, s=0)",
        "splrep": _SPLINE,
        "LSQUnivariateSpline": f"{_FIT}, with t = np.r_[[x[0]] * (k + 1), t, [x[-1]] * (k + 1)]",
        "make_lsq_spline": _FIT,
        "make_smoothing_spline": _CHOSEN,
        "splev": "write BSpline(t, c, k)(x), which has derivatives in coefficients and places",
        "splint": "write BSpline(t, c, k).integrate(a, b)",
        "splder": "write BSpline(t, c, k).derivative()(x)",
        "splantider": "write BSpline(t, c, k).antiderivative()(x)",
        "RectBivariateSpline": _GRID,
        "SmoothBivariateSpline": _SMOOTH,
        "LSQBivariateSpline": _SMOOTH,
        "bisplrep": _SMOOTH,
        "bisplev": f"{_SURFACE}tx, ty, c, kx, ky = tck",
        "AAA": _SPLINE,
        "FloaterHormannInterpolator": _SPLINE,
        "NdBSpline": _GRID,
        "BPoly": "write PPoly(c, x) of the coefficients of powers, the highest first",
        "NdPPoly": "write PPoly(c, x)(xp) along one axis, and then along the next",
    },
)
advise(native.BivariateSpline.ev, f"{_SURFACE}(tx, ty, c), (kx, ky) = S.tck, S.degrees")

instead_of(
    private("_validate_inputs"),
    lambda *_, **__: reject(f"a fit, with s > 0, has no derivative: {_CHOSEN}, or s=0"),
)
place_method(
    native.UnivariateSpline,
    lambda *_: reject(
        "UnivariateSpline.integral has no derivative in its limits: write "
        "BSpline(*splrep(x, y, s=len(x))).integrate(a, b), with the s= of the spline if it has one"
    ),
    "integral",
)


# -------- interpolation on grids, and between scattered points


@constructs(
    native.RegularGridInterpolator,
    lambda f: (f.grid, f.values, f.method, f.bounds_error, f.fill_value),
)
def RegularGridInterpolator(  # noqa: N802
    known: Any,
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
    **_: Any,
) -> Callable[..., Any]:
    """Interpolate on a grid, from the corners of the box around a point."""
    axes, values = [array_of(p) for p in points], array_of(values)
    turned = [k for k, axis in enumerate(axes) if readable(axis)[-1] < readable(axis)[0]]
    axes = [v.flip(axis, axis=0) if k in turned else axis for k, axis in enumerate(axes)]
    values = v.flip(values, axis=tuple(turned)) if turned else values
    low, high = (np.stack([readable(axis)[end] for axis in axes]) for end in (0, -1))
    splines = functools.cache(functools.partial(_splines, axes, values))
    if method in DEGREES:
        splines(method)

    def interpolated(xi: Any, method: str | None = method, *, nu: Any = None) -> Any:
        x = _places((xi,))
        x = v.reshape(x, shape=(-1, len(axes))) if x.ndim == 1 else x
        at, how = readable(x), method or known.method
        unknown = np.any(np.isnan(at), axis=-1)
        outside = np.any((at < low) | (at > high), axis=-1)
        if unknown.any():
            x = v.where(unknown[..., None], low, x)
        if how in DEGREES:
            bases, coefficients = splines(how)
            orders = (0,) * len(bases) if nu is None else nu
            parts = [b.at(x[..., k], orders[k], True) for k, b in enumerate(bases)]
            y = _of_splines(coefficients, parts, x.ndim - 1)
        else:
            y = _folded(axes, values, x) if how == "pchip" else _of_corners(axes, values, x, how)
        if fill_value is not None and not bounds_error:
            y = filled(y, outside, fill_value)
        return filled(y, unknown, math.nan)

    return interpolated


# Methods that are splines along every axis.
DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


def _splines(axes: list[Any], values: Any, method: str) -> tuple[list[Spline], Any]:
    """Return the splines along each axis, and their coefficients.

    SciPy solves for these iteratively, to some five digits: so the coefficients have its values,
    for derivatives in the points, and the derivatives of the exact coefficients.
    """
    refuse(axes, says=f"RegularGridInterpolator({method=}) has no derivative in its points")
    plain, degree = tuple(map(readable, axes)), DEGREES[method]
    fits = [native.make_interp_spline(x, np.eye(len(x)), degree) for x in plain]
    bases = [Spline(fit.t, np.eye(len(x)), degree) for fit, x in zip(fits, plain, strict=True)]
    exact = values
    for k, fit in enumerate(fits):
        exact = along(fit.c, exact, k)
    theirs = native.RegularGridInterpolator(plain, readable(values), method)
    known = getattr(getattr(theirs, "_spline", None), "c", None)
    return bases, exact if known is None else anchored(np.asarray(known), exact)


def _of_splines(coefficients: Any, parts: Any, n: int) -> Any:
    y = v.tensordot(parts[0], coefficients, axes=((-1,), (0,)))
    for basis in parts[1:]:
        basis = v.reshape(basis, shape=(*basis.shape, *(1,) * (y.ndim - n - 1)))
        y = v.sum(basis * y, axis=n)
    return y


def _folded(axes: list[Any], values: Any, x: Any) -> Any:
    """Interpolate along the last axis, then along the one before it, and so on."""
    along = lambda at, y, k: PchipInterpolator(axes[k], y, axis=k)(at[k])
    order, places = range(len(axes))[::-1], v.reshape(x, shape=(-1, len(axes)))
    found = [functools.reduce(functools.partial(along, at), order, values) for at in places]
    return v.reshape(v.stack(*found), shape=(*x.shape[:-1], *values.shape[len(axes) :]))


def _of_corners(axes: list[Any], values: Any, x: Any, method: str) -> Any:
    if method not in ("linear", "nearest"):
        reject(f"RegularGridInterpolator(method={method!r}) has no derivative; take 'cubic'")
    places: list[Any] = []
    parts: list[Any] = []
    for k, axis in enumerate(axes):
        knots = readable(axis)
        j = np.clip(np.searchsorted(knots, readable(x[..., k]), "right") - 1, 0, len(knots) - 2)
        start, end = v.take(axis, j, axis=0), v.take(axis, j + 1, axis=0)
        places.append(j)
        parts.append((x[..., k] - start) / (end - start))
    if method == "nearest":
        return values[tuple(j + (readable(t) > 0.5) for j, t in zip(places, parts, strict=True))]
    total: Any = 0.0
    for corner in np.ndindex(*(2,) * len(axes)):
        weight: Any = math.prod([t if up else 1 - t for up, t in zip(corner, parts, strict=True)])
        weight = v.reshape(weight, shape=(*weight.shape, *(1,) * (values.ndim - len(axes))))
        total = total + weight * values[tuple(map(operator.add, places, corner))]
    return total


@stands_for(native.interpn)
@functools.partial(agreeing, native.interpn)
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
) -> Any:
    """Interpolate on a grid, as `RegularGridInterpolator` does."""
    if method == "splinef2d":
        reject("interpn(method='splinef2d') has no derivative here; write method='cubic'")
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


# Whether of the square of the distance: in it even functions have all derivatives at 0.
_RADIAL: dict[str, tuple[bool, Callable[[Any], Any]]] = {
    "linear": (False, lambda r: -r),
    "cubic": (False, lambda r: r**3),
    "quintic": (False, lambda r: -(r**5)),
    "thin_plate_spline": (
        False,
        lambda r: v.xlogy(r * r, v.where(readable(r) > 0, r, 1.0)),
    ),
    "multiquadric": (True, lambda s: -v.sqrt(s + 1)),
    "inverse_multiquadric": (True, lambda s: 1 / v.sqrt(s + 1)),
    "inverse_quadratic": (True, lambda s: 1 / (s + 1)),
    "gaussian": (True, lambda s: v.exp(-s)),
}


@constructs(
    native.RBFInterpolator,
    lambda f: (
        *(f.y, np.reshape(f.d, (len(f.d), *f.d_shape)), f.neighbors, f.smoothing, f.kernel),
        f.epsilon,
    ),
)
def RBFInterpolator(  # noqa: N802
    known: Any,
    y: Any,
    d: Any,
    neighbors: Any = None,
    smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline",
    epsilon: Any = None,
    degree: Any = None,
) -> Callable[..., Any]:
    """Interpolate scattered points by radial functions and a polynomial."""
    if neighbors is not None and neighbors < len(y):
        reject(
            "RBFInterpolator(neighbors=...) has no derivative here; leave it out",
            UnsupportedKeywordError,
        )
    points, values = array_of(y), array_of(d)
    epsilon, plain = 1.0 if epsilon is None else epsilon, readable(points)
    low, high = plain.min(axis=0), plain.max(axis=0)
    shift, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    n, size = len(plain), len(known.powers)
    columns = v.reshape(values, shape=(n, math.prod(values.shape[1:])))

    def functions(x: Any) -> Any:
        gaps = v.expand_dims(x, axis=1) - v.expand_dims(points, axis=0)
        squared, function = _RADIAL[kernel]
        if squared:
            radial = function(v.sum((epsilon * gaps) ** 2, axis=-1))
        else:
            radial = function(abs(epsilon) * v.vector_norm(gaps, axis=-1))
        if not size:
            return radial
        z, one = (x - shift) / scale, v.ones_like(x[:, 0])
        powers = [[z[:, k] ** m for k, m in enumerate(p.tolist()) if m] for p in known.powers]
        return v.concat(radial, v.stack(*[math.prod(p, start=one) for p in powers], axis=1), axis=1)

    top = functions(points)
    top = top + np.eye(n, n + size) * v.reshape(array_of(smoothing), shape=(-1, 1))
    below = v.concat(v.matrix_transpose(top[:, n:]), np.zeros((size, size)), axis=1)
    matrix = v.concat(top, below, axis=0) if size else top
    right = v.concat(columns, np.zeros((size, columns.shape[1])), axis=0) if size else columns
    weights = v.solve(matrix, right)

    def interpolated(x: Any) -> Any:
        found = v.matmul(functions(array_of(x)), weights)
        return v.reshape(found, shape=(found.shape[0], *values.shape[1:]))

    return interpolated


def _places(args: tuple[Any, ...]) -> Any:
    """Return points with their coordinates along the last axis, from any form that SciPy takes."""
    if len(args) == 1 and not isinstance(args[0], tuple):
        return array_of(args[0])
    parts = list(map(array_of, args[0] if len(args) == 1 else args))
    shape = np.broadcast_shapes(*[p.shape for p in parts])
    return v.stack(*[v.broadcast_to(p, shape=shape) for p in parts], axis=-1)


@constructs(
    native.LinearNDInterpolator,
    lambda f: (None, np.reshape(f.values, (f.values.shape[0], *f.values_shape)), f.fill_value),
)
def LinearNDInterpolator(  # noqa: N802
    known: Any, points: Any, values: Any, fill_value: Any = math.nan, *_: Any, **__: Any
) -> Callable[..., Any]:
    """Interpolate in simplices: as ``scipy.interpolate.LinearNDInterpolator``."""
    refuse(points, says=_SCATTERED)
    triangles, values = known.tri, array_of(values)
    d = triangles.points.shape[1]
    offset, size = (0.0, 1.0) if known.scale is None else (known.offset, known.scale)

    def interpolated(*args: Any, simplex_tolerance: float = 1.0) -> Any:
        x = (_places(args) - offset) / size
        x = v.reshape(x, shape=(*x.shape, 1)) if d == 1 and x.ndim == 1 else x
        which = triangles.find_simplex(
            readable(x), tol=100 * np.finfo(float).eps * simplex_tolerance
        )
        change = triangles.transform[which]
        inner = v.squeeze(
            change[..., :d, :] @ v.expand_dims(x - change[..., d, :], axis=-1), axis=-1
        )
        parts = v.concat(inner, 1 - v.sum(inner, axis=-1, keepdims=True), axis=-1)
        corners = v.take(values, triangles.simplices[which], axis=0)
        parts = v.reshape(parts, shape=(*parts.shape, *(1,) * (values.ndim - 1)))
        return filled(v.sum(parts * corners, axis=which.ndim), which < 0, fill_value)

    return interpolated


@constructs(native.NearestNDInterpolator, lambda f: (None, f.values))
def NearestNDInterpolator(  # noqa: N802
    known: Any, x: Any, y: Any, *_: Any, **__: Any
) -> Callable[..., Any]:
    """Return the nearest value: as ``scipy.interpolate.NearestNDInterpolator``."""
    refuse(x, says=_SCATTERED)
    values, number = array_of(y), copy.copy(known)
    number.values = np.arange(len(values))
    return lambda *args, **how: v.take(
        values, number(readable(_places(args)), **how).astype(int), axis=0
    )


@constructs(native.CloughTocher2DInterpolator, tolerance=1e-4)
def CloughTocher2DInterpolator(  # noqa: N802
    known: Any,
    points: Any,
    values: Any,
    fill_value: Any = math.nan,
    tol: float = 1e-6,
    maxiter: int = 400,
    rescale: bool = False,
) -> Callable[..., Any]:
    """Interpolate smoothly in the values: as ``scipy.interpolate.CloughTocher2DInterpolator``."""
    refuse(points, says=_SCATTERED)
    values = array_of(values)
    unit = native.CloughTocher2DInterpolator(
        points, np.eye(values.shape[0]), math.nan, 1e-12, 4000, rescale
    )

    def interpolated(*args: Any, **how: Any) -> Any:
        at = _places(args)
        refuse(at, says="CloughTocher2DInterpolator has derivatives in the values alone")
        basis = unit(at, **how)
        outside = np.isnan(basis).any(axis=-1)
        y = v.tensordot(np.where(outside[..., None], 0.0, basis), values, axes=((-1,), (0,)))
        return filled(y, outside, fill_value)

    return interpolated


for _made in (LinearNDInterpolator, NearestNDInterpolator, CloughTocher2DInterpolator, interp1d):
    instead_of(getattr(native, _made.__name__), _made)
instead_of(private("_ndim_coords_from_arrays"), lambda points, _=None: _places((points,)))
FOLLOWED["griddata"] = follow(native.griddata)


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)
