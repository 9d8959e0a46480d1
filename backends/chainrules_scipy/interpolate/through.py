"""Polynomials through all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_scipy.following import follow_all, follow_class
from chainrules_scipy.interpolate.polynomials import computes, constructs, has_method
from chainrules_scipy.rows import array_of

FOLLOWED: dict[str, Any] = follow_all(
    native, "krogh_interpolate", "make_splprep", "make_splrep", "splantider", "splder"
)
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


# SciPy's text of the barycentric formula has no derivative at the nodes; Krogh's has.
@constructs(native.BarycentricInterpolator)
def BarycentricInterpolator(xi: Any, yi: Any = None, axis: int = 0, **_: Any) -> Any:  # noqa: N802
    """Interpolate by a polynomial, in nodes, values and places."""
    return KroghInterpolator(xi, yi, axis)


@computes(native.barycentric_interpolate)
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None
) -> Any:
    """Interpolate by a polynomial, in nodes, values and places."""
    return FOLLOWED["krogh_interpolate"](xi, yi, x, der, axis)


@has_method(native.BarycentricInterpolator)
def _barycentric(self: Any, x: Any) -> Any:
    values = np.reshape(self.yi, (self.n, *self._y_extra_shape))
    axis = self._y_axis
    return KroghInterpolator(self.xi, np.moveaxis(values, 0, axis), axis)(x)


class _Polynomial:
    """A polynomial of traced coefficients, none of which is left out for being 0."""

    def __init__(self, c: Any) -> None:
        self.c = self.coef = self.coeffs = c
        self.order = len(c) - 1

    def __call__(self, x: Any) -> Any:
        return np.polyval(self.c, array_of(x))


@computes(native.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Interpolate by a polynomial, in nodes and values."""
    return _Polynomial(v.solve(np.vander(array_of(x)), array_of(w)))
