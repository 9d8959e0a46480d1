"""Piecewise polynomials in other bases, Bernstein's and that of splines, and from one to the other.

Each way is linear in the coefficients: SciPy says what it makes of those that are 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.agreeing import of_both
from chainrules_scipy.installing import place_method
from chainrules_scipy.interpolate.common import method, times
from chainrules_scipy.interpolate.knots import Spline
from chainrules_scipy.interpolate.polynomials import Piecewise, PiecewisePolynomial
from chainrules_scipy.rows import array_of, readable


class Bernstein(Piecewise):
    """A piecewise polynomial in Bernstein's basis, as ``scipy.interpolate.BPoly``.

    Parameters
    ----------
    c : array, shape (k, m, ...)
        The coefficients.
    x : array, shape (m + 1,)
        The knots; plain.
    extrapolate, axis
        As `PiecewisePolynomial` has them.

    Raises
    ------
    NotDifferentiableError
        If the knots are differentiated.
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        _plain("BPoly", x)
        self.c, self.axis = array_of(c), axis
        powers = _each_piece(
            self.c, lambda e: native.PPoly.from_bernstein_basis(native.BPoly(e, x))
        )
        self.pieces = PiecewisePolynomial(powers, x, extrapolate, axis)
        self.x, self.extrapolate = self.pieces.x, self.pieces.extrapolate
        self.knots = self.x

    @property
    def coefficients(self) -> Any:
        """The numbers in which it is linear."""
        return self.c

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate it, or a derivative, at places."""
        return self.pieces.at(x, nu, beyond)

    def between(self, a: Any, b: Any, beyond: bool) -> Any:
        """Integrate from a to b, which is not before it."""
        return self.pieces.between(a, b, beyond)

    def _wide(self) -> Any:
        h = self.x[1:] - self.x[:-1]
        return np.reshape(h, (-1,) + (1,) * (self.c.ndim - 2))

    @method
    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, a polynomial as well."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            k = c.shape[0] - 1
            c = k * (c[1:] - c[:-1]) / self._wide() if k else 0.0 * c
        return Bernstein(c, self.x, self.extrapolate, self.axis)

    @method
    def antiderivative(self, nu: int = 1) -> Any:
        """Return the integral from the first knot on, a polynomial as well."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            high = v.cumulative_sum(c, axis=0) / c.shape[0] * self._wide()
            c = v.concat(v.zeros_like(high[:1]), high, axis=0)
            before = v.cumulative_sum(high[-1], axis=0)[:-1]
            c = c + v.concat(v.zeros_like(high[-1][:1]), before, axis=0)
        how = False if self.extrapolate == "periodic" else self.extrapolate
        return Bernstein(c, self.x, how, self.axis)


def _plain(name: str, x: Any) -> None:
    """Refuse knots that are differentiated."""
    if varies(x):
        msg = f"{name} has derivatives in its coefficients, and none in its knots here"
        raise NotDifferentiableError(msg)


def _each_piece(c: Any, made: Callable[[Any], Any]) -> Any:
    """Return the coefficients that SciPy makes of those of each piece."""
    k, m = c.shape[:2]
    basis = made(np.broadcast_to(np.eye(k)[:, None], (k, m, k))).c
    return np.einsum("pia,ai...->pi...", basis, c)


def _of_all(c: Any, made: Callable[[Any], Any]) -> Any:
    """Return the coefficients that SciPy makes of all coefficients, of one function."""
    size = int(np.prod(c.shape))
    units = np.eye(size).reshape(size, *c.shape)
    return times(np.stack([made(e).c for e in units], axis=-1), v.reshape(c, shape=(-1,)))


def _from_spline(tck: Any, extrapolate: Any = None) -> PiecewisePolynomial:
    """Make polynomials of a spline: as ``PPoly.from_spline``."""
    if not isinstance(tck, (list, tuple)):
        extrapolate = tck.extrapolate if extrapolate is None else extrapolate
        tck = tck.tck
    t, c, k = tck
    _plain("PPoly.from_spline", t)
    c = _of_all(array_of(c), lambda e: native.PPoly.from_spline((readable(t), e, k)))
    return PiecewisePolynomial(c, t, extrapolate)


def _from_bernstein(bp: Any, extrapolate: Any = None) -> PiecewisePolynomial:
    """Make polynomials of those in Bernstein's basis: as ``PPoly.from_bernstein_basis``."""
    how = bp.extrapolate if extrapolate is None else extrapolate
    return PiecewisePolynomial(bp.pieces.c, bp.x, how, bp.axis)


def _from_powers(pp: Any, extrapolate: Any = None) -> Bernstein:
    """Make polynomials in Bernstein's basis: as ``BPoly.from_power_basis``."""
    _plain("BPoly.from_power_basis", pp.x)
    x = readable(pp.x)
    c = _each_piece(pp.c, lambda e: native.BPoly.from_power_basis(native.PPoly(e, x)))
    how = pp.extrapolate if extrapolate is None else extrapolate
    return Bernstein(c, pp.x, how, pp.axis)


def _spline_of_powers(pp: Any, bc_type: Any = "not-a-knot") -> Spline:
    """Make a spline of a cubic one: as ``BSpline.from_power_basis``."""
    _plain("BSpline.from_power_basis", pp.x)
    known = native.BSpline.from_power_basis(pp.theirs, bc_type)
    x = readable(pp.x)

    def made(e: Any) -> Any:
        return native.BSpline.from_power_basis(native.CubicSpline.construct_fast(e, x), bc_type)

    return Spline(known.t, _of_all(pp.c, made), known.k, known.extrapolate, known.axis)


def _fast(cls: type) -> Callable[..., Any]:
    def function(*args: Any, **options: Any) -> Any:
        return cls(*args, **options)

    return function


for _cls, _name, _function in (
    (native.PPoly, "from_spline", _from_spline),
    (native.PPoly, "from_bernstein_basis", _from_bernstein),
    (native.BPoly, "from_power_basis", _from_powers),
    (native.BSpline, "from_power_basis", _spline_of_powers),
    (native.PPoly, "construct_fast", _fast(PiecewisePolynomial)),
    (native.BPoly, "construct_fast", _fast(Bernstein)),
    (native.BSpline, "construct_fast", _fast(Spline)),
):
    _theirs: Any = getattr(_cls, _name)

    def _both(*args: Any, _function: Any = _function, _theirs: Any = _theirs, **how: Any) -> Any:
        return of_both(_function, _theirs, args, how)

    place_method(_cls, _both, _name)
