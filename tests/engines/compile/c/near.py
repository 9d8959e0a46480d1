"""What programs in C give: the same operations as NumPy's, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.extend import flatten

TOLERANCE = {"f": 2e-6, "F": 2e-6, "d": 1e-13, "D": 1e-13}
"""How far from each other results may be, of the largest number among them."""


def near(found: Any, wanted: Any) -> bool:
    """Tell whether two results have one structure, and are equal to rounding."""
    (xs, tree), (ys, of) = flatten(found), flatten(wanted)
    scale = max([1e-300, *map(_largest, ys)])
    return tree == of and all([_near(x, y, scale) for x, y in zip(xs, ys, strict=True)])


def _largest(x: Any) -> float:
    y = np.asarray(x)
    known = y.dtype.char in TOLERANCE
    return float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) if known else 0.0


def _near(x: Any, y: Any, scale: float) -> bool:
    if type(x) is not type(y) or np.shape(x) != np.shape(y):
        return False
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype:
        return False
    if x.dtype.char not in TOLERANCE:
        return np.array_equal(x, y)
    with np.errstate(all="ignore"):
        close = np.abs(x - y) <= TOLERANCE[x.dtype.char] * scale
    return bool(np.all(close | (x == y) | (np.isnan(x) & np.isnan(y))))
