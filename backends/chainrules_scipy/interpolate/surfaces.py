"""Surfaces on a grid, by splines along both axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import Beside
from chainrules_scipy.interpolate.common import constructs, has_method, method
from chainrules_scipy.interpolate.knots import Spline, refuse
from chainrules_scipy.rows import array_of


class _Grid(Beside):
    """A surface of coefficients, by splines along both axes.

    FITPACK evaluates it at the edge where a place is outside.
    """

    def __init__(self, bases: list[Spline], z: Any, orders: tuple[int, int] = (0, 0)) -> None:
        self.bases, self.z, self.orders = bases, z, orders

    def _along(self, k: int, x: Any, nu: int) -> Any:
        ends = self.bases[k].knots[[0, -1]]
        return self.bases[k].at(np.clip(x, *ends), nu + self.orders[k], True)

    @method
    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Evaluate on the grid of some places, or at pairs of them."""
        x, y = array_of(x), array_of(y)
        if grid:
            x, y = (v.reshape(p, shape=(-1,)) for p in (x, y))
        left, right = self._along(0, x, dx), self._along(1, y, dy)
        if grid:
            return left @ self.z @ v.matrix_transpose(right)
        return v.sum((left @ self.z) * right, axis=-1)

    @method
    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Integrate over a rectangle."""
        left = self.bases[0].between(array_of(xa), array_of(xb), False)
        right = self.bases[1].between(array_of(ya), array_of(yb), False)
        return left @ self.z @ right

    @method
    def ev(self, x: Any, y: Any, dx: int = 0, dy: int = 0) -> Any:
        """Evaluate at pairs of places."""
        return self(x, y, dx, dy, grid=False)

    @method
    def get_coeffs(self) -> Any:
        """Return the coefficients, in one row."""
        left, right = (base.coefficients for base in self.bases)
        return v.reshape(left @ self.z @ v.matrix_transpose(right), shape=(-1,))

    @method
    def get_knots(self) -> Any:
        """Return the knots along both axes."""
        return tuple(base.t for base in self.bases)

    def get_residual(self) -> Any:
        """Refuse: what is left over has no derivative here."""
        msg = "get_residual() has no derivative here; sum up the squares of what is left over"
        raise NotDifferentiableError(msg)

    @method
    def partial_derivative(self, dx: int, dy: int) -> Any:
        """Return a derivative, which is such a surface."""
        return _Grid(self.bases, self.z, (self.orders[0] + dx, self.orders[1] + dy))


@constructs(native.RectBivariateSpline)
def RectBivariateSpline(  # noqa: N802
    x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0, *_: Any
) -> _Grid:
    """Interpolate on a grid: as ``scipy.interpolate.RectBivariateSpline``, in the values."""
    refuse(x, y)
    if s != 0 or any(end is not None for end in bbox):
        msg = "RectBivariateSpline(s=..., bbox=...) has no derivative here; leave them out"
        raise UnsupportedKeywordError(msg)
    fits: list[Any] = [
        native.make_interp_spline(nodes, np.eye(len(nodes)), k) for nodes, k in ((x, kx), (y, ky))
    ]
    bases = [Spline(fit.t, fit.c, fit.k) for fit in fits]
    return _Grid(bases, array_of(z))


def _surface(self: Any) -> _Grid:
    """Return a surface of SciPy's as one of ours."""
    (tx, ty, c), degrees = self.tck, self.degrees
    sizes = [len(t) - k - 1 for t, k in zip((tx, ty), degrees, strict=True)]
    both = zip((tx, ty), sizes, degrees, strict=True)
    return _Grid([Spline(t, np.eye(n), k) for t, n, k in both], np.reshape(c, sizes))


def _of_surface(name: str) -> Callable[..., Any]:
    def function(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(_surface(self), name)(*args, **options)

    return function


has_method(native.BivariateSpline.__base__)(_of_surface("__call__"))
for _name in ("ev", "integral"):
    has_method(native.BivariateSpline, _name)(_of_surface(_name))
