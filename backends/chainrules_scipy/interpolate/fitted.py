"""Polynomials and splines that are given by knots and coefficients, and fits of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import Beside
from chainrules_scipy.following import follow_all, follow_class
from chainrules_scipy.interpolate.bases import Bernstein
from chainrules_scipy.interpolate.common import computes, constructs, has_method, method
from chainrules_scipy.interpolate.knots import Spline, linear, of_scipy, refuse
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.rows import array_of

FOLLOWED: dict[str, Any] = follow_all(native, "krogh_interpolate", "make_splprep", "make_splrep")
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


class ThroughNodes(Beside):
    """A polynomial through nodes: SciPy's text has no derivative at them, Krogh's has.

    Parameters
    ----------
    krogh : KroghInterpolator
        What computes it.

    Examples
    --------
    >>> print(ThroughNodes(KroghInterpolator([0.0, 1.0], [1.0, 3.0]))(0.5))
    2.0
    """

    def __init__(self, krogh: Any) -> None:
        self.krogh = krogh

    @method
    def __call__(self, x: Any) -> Any:
        """Evaluate it."""
        return self.krogh(x)

    @method
    def derivative(self, x: Any, der: int = 1) -> Any:
        """Evaluate a derivative."""
        return self.krogh.derivative(x, der)

    @method
    def derivatives(self, x: Any, der: int | None = None) -> Any:
        """Evaluate it and its derivatives."""
        return self.krogh.derivatives(x, der)


@constructs(native.BarycentricInterpolator)
def BarycentricInterpolator(xi: Any, yi: Any = None, axis: int = 0, **_: Any) -> Any:  # noqa: N802
    """Interpolate by a polynomial: as ``scipy.interpolate.BarycentricInterpolator``."""
    return ThroughNodes(KroghInterpolator(xi, yi, axis))


@computes(native.barycentric_interpolate)
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


@computes(native.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Interpolate by a polynomial: as ``scipy.interpolate.lagrange``."""
    x = array_of(x)
    return _Polynomial(v.solve(np.vander(x), array_of(w)))


@constructs(native.BSpline)
def BSpline(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Spline:  # noqa: N802
    """Make a spline of its coefficients: as ``scipy.interpolate.BSpline``."""
    return Spline(t, c, k, extrapolate, axis)


@constructs(native.PPoly)
def PPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> PiecewisePolynomial:  # noqa: N802
    """Make a piecewise polynomial: as ``scipy.interpolate.PPoly``."""
    return PiecewisePolynomial(_ahead(c, axis), x, extrapolate, axis)


def _ahead(c: Any, axis: int) -> Any:
    """Return coefficients with the axes of powers and of pieces first."""
    c = array_of(c)
    others = (i for i in range(c.ndim) if i not in (axis, axis + 1))
    return v.permute_dims(c, axes=(axis, axis + 1, *others))


@constructs(native.BPoly)
def BPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Bernstein:  # noqa: N802
    """Make a piecewise polynomial in Bernstein's form: as ``scipy.interpolate.BPoly``."""
    return Bernstein(_ahead(c, axis), x, extrapolate, axis)


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


@computes(native.make_lsq_spline)
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
    refuse(x, t, w)
    return linear(lambda e: native.make_lsq_spline(x, e, t, k, w), y, axis)


@computes(native.make_smoothing_spline)
def make_smoothing_spline(
    x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0
) -> Spline:
    """Smooth with a given parameter: as ``scipy.interpolate.make_smoothing_spline``."""
    refuse(x, w, lam)
    if lam is None:
        msg = "make_smoothing_spline chooses lam by the values; give lam, and it has a derivative"
        raise UnsupportedKeywordError(msg)
    return linear(lambda e: native.make_smoothing_spline(x, e, w, lam), y, axis)


@has_method(native.BPoly)
def _bernstein(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a polynomial of SciPy's at traced places."""
    return _powers(self)(x, nu, extrapolate)


@has_method(native.BPoly, "integrate")
def _integrated(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """Integrate a polynomial of SciPy's between traced limits."""
    return _powers(self).integrate(a, b, extrapolate)


def _powers(self: Any) -> PiecewisePolynomial:
    power = native.PPoly.from_bernstein_basis(self)
    return PiecewisePolynomial(power.c, power.x, self.extrapolate, self.axis)


@has_method(native.BSpline)
def _spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a spline of SciPy's at traced places."""
    return of_scipy(self)(x, nu, extrapolate)


@has_method(native.BSpline, "integrate")
def _integral_of_spline(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """Integrate a spline of SciPy's between traced limits."""
    return of_scipy(self).integrate(a, b, extrapolate)


def _krogh(self: Any) -> Any:
    values = np.reshape(self.yi, (self.n, *self._y_extra_shape))
    return KroghInterpolator(self.xi, np.moveaxis(values, 0, self._y_axis), self._y_axis)


for _name in ("__call__", "derivative", "derivatives"):
    has_method(native.BarycentricInterpolator, _name)(
        lambda self, *args, name=_name, **how: getattr(_krogh(self), name)(*args, **how)
    )
