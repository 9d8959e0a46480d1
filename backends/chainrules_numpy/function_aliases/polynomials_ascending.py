"""Aliases of np.polynomial.polynomial, where coefficients start with the lowest.

NumPy dispatches two of these functions. The others take plain arrays, in `rrule` and `frule`; with
a tracer they raise an error that says what to write.
"""

from __future__ import annotations

from typing import Any

from numpy.polynomial import polynomial as ascending

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import polynomials as p
from chainrules_numpy.function_aliases.alias_constructors import row
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument

_f: Any


def polyval2d(x: Any, y: Any, c: Any) -> Any:
    """Evaluate a polynomial in x and y at points."""
    return p.polyval_at(c, x, y)


def polyval3d(x: Any, y: Any, z: Any, c: Any) -> Any:
    """Evaluate a polynomial in x, y and z at points."""
    return p.polyval_at(c, x, y, z)


def polyvalnd(pts: Any, c: Any) -> Any:
    """Evaluate a polynomial at points, given as a sequence of coordinates."""
    return p.polyval_at(c, *[low.array_of(x) for x in pts])


def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    """Evaluate a polynomial in x and y on a grid."""
    return p.polygrid(c, x, y)


def polygrid3d(x: Any, y: Any, z: Any, c: Any) -> Any:
    """Evaluate a polynomial in x, y and z on a grid."""
    return p.polygrid(c, x, y, z)


def polyval1d(x: Any, c: Any, tensor: bool = True) -> Any:
    """Evaluate at points; without ``tensor``, each point has its own column of coefficients."""
    return p.polyval_at(c, x) if tensor else p.ascending(x, c, outer=False)


def polyvander(x: Any, deg: int) -> Any:
    """Compute the powers of x from 0 to deg, on a new last axis."""
    x = (x if x.ndim else v.reshape(x, shape=(1,))) + 0.0
    rows = v.vander(v.reshape(x, shape=(-1,)), columns=deg + 1, increasing=True)
    return v.reshape(rows, shape=(*x.shape, deg + 1))


_xyzc: dict[str, Any] = {name: low.as_keyword(name) for name in ("x", "y", "z", "c")}
for _f, _composite in (
    (ascending.polyval, polyval1d),
    (ascending.polyval2d, polyval2d),
    (ascending.polyval3d, polyval3d),
    (ascending.polygrid2d, polygrid2d),
    (ascending.polygrid3d, polygrid3d),
):
    row(_f, _composite, None, **_xyzc)
row(ascending.polyvander, polyvander, None, x=low.as_keyword("x"), deg=AsArgument("deg", int))
_f = vars(ascending).get("polyvalnd")  # since NumPy 2.5
if _f is not None:
    row(_f, polyvalnd, None, c=low.as_keyword("c"))
