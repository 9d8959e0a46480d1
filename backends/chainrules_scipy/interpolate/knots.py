"""Splines of knots and coefficients, which may be traced."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.agreeing import alike
from chainrules_scipy.following import follow
from chainrules_scipy.interpolate.common import first, method, times
from chainrules_scipy.interpolate.polynomials import Piecewise, PiecewisePolynomial

derivative_of, integral_of = follow(native.splder), follow(native.splantider)


class Spline(Piecewise):
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
        coefficients, self.axis = first(c, axis)
        self.coefficients, self.extrapolate = coefficients[:n], extrapolate
        self.knots = self.t[self.k : n + 1]

    @functools.cached_property
    def pieces(self) -> PiecewisePolynomial:
        """The polynomials that it consists of."""
        n = len(self.t) - self.k - 1
        parts, knots = pieces(native.BSpline(self.t, np.eye(n), self.k))
        return PiecewisePolynomial(times(parts, self.coefficients), knots, True, self.axis)

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate it, or a derivative, at places."""
        return self.pieces.at(x, nu, beyond or nu > self.k + 1)  # then it is 0 everywhere

    def between(self, a: Any, b: Any, beyond: bool) -> Any:
        """Integrate from a to b; if it does not go on, nothing is outside of the knots."""
        if not beyond:
            a, b = (np.clip(x, self.knots[0], self.knots[-1]) for x in (a, b))
        return super().between(a, b, True)

    def derived(self, function: Callable[..., Any], nu: int, extrapolate: Any) -> Any:
        """Return what FITPACK's function makes of the knots and coefficients."""
        t, c, k = function(self.padded, nu)
        found = Spline(t, c, k, extrapolate)
        found.axis = self.axis
        return found

    @property
    def padded(self) -> tuple[Any, Any, int]:
        """Knots and as many coefficients, as FITPACK has them."""
        c, missing = self.coefficients, self.k + 1
        return self.t, v.pad(c, 0.0, widths=((0, missing), *((0, 0),) * (c.ndim - 1))), self.k

    @method
    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, a spline as well."""
        return self.derived(derivative_of, nu, self.extrapolate)

    @method
    def antiderivative(self, nu: int = 1) -> Any:
        """Return the integral from the first knot of all, a spline as well."""
        how = False if self.extrapolate == "periodic" else self.extrapolate
        return self.derived(integral_of, nu, how)

    @property
    def c(self) -> Any:
        """The coefficients, as SciPy's object has them."""
        c = self.coefficients
        return c if self.theirs is None else alike(c, self.theirs.c, self.theirs, 1e-6)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.coefficients, self.k


def pieces(spline: Any) -> tuple[Any, Any]:
    """Return the coefficients of the polynomials that a spline consists of, and the knots."""
    k = spline.k
    knots = spline.t[k : len(spline.t) - k]
    parts = [spline(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)]
    return np.stack(parts), knots


def linear(fit: Callable[[Any], Any], y: Any, axis: int = 0) -> Spline:
    """Fit by what SciPy makes of the unit vectors."""
    y, axis = first(y, axis)
    unit = fit(np.eye(y.shape[0]))
    found = Spline(unit.t, times(unit.c, y), unit.k, unit.extrapolate)
    found.axis = axis
    return found


def refuse(x: Any, *rest: Any) -> None:
    """Refuse places, knots and weights that are differentiated."""
    if varies((x, rest)):
        msg = "this spline has derivatives in the values alone; make_interp_spline and CubicSpline"
        raise NotDifferentiableError(f"{msg} have more")


def of_scipy(self: Any) -> Spline:
    """Return a spline of SciPy's as one of ours."""
    found = Spline(self.t, self.c, self.k, self.extrapolate)
    found.axis = self.axis
    return found
