"""NumPy implementations of the operations of statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Scalar
from chainrules_py import ops as v

_ARRAY = np.ndarray | np.generic
_NUMERIC: Any = np.ndarray | Scalar


def order_statistics_numpy(x: Any, ranks: Any, *, skip_nan: bool = False) -> Any:
    """Partition x by the ranks and its greatest element, which is NaN if any element is."""
    watched = not skip_nan and x.dtype.kind in "fc"
    kth = (ranks if ranks.size < 100 else np.unique(ranks)).ravel().tolist()
    if not kth:
        return np.take_along_axis(x, ranks, axis=-1)
    part = np.partition(x, [*kth, -1] if watched else kth, axis=-1)
    if ranks.size == ranks.shape[-1]:
        y = part[..., ranks.reshape(-1)]
    else:
        y = np.take_along_axis(part, ranks, axis=-1)
    if watched:
        last = part[..., -1:]
        lost = np.isnan(last)
        if np.count_nonzero(lost):
            y = np.where(lost, last, y)
    return y


def weighted_quantile_numpy(x: Any, q: Any, weights: Any, *, skip_nan: bool = False) -> Any:
    """Call NumPy's function, and move the axis of q, which it puts first, to the end."""
    quantile = np.nanquantile if skip_nan else np.quantile
    return np.moveaxis(quantile(x, q, axis=-1, method="inverted_cdf", weights=weights), 0, -1)


def lerp_numpy(a: Any, b: Any, t: Any) -> Any:
    """Interpolate as np.quantile does; a single t needs only one of the two formulas."""
    step = b - a
    if np.ndim(t) == 0:
        return b - step * (1 - t) if t >= 0.5 else a + step * t
    y = np.where(np.greater_equal(t, 0.5), b - step * (1 - t), a + step * t)
    return y if y.ndim else y[()]


def bincount_numpy(x: Any, weights: Any, *, minlength: int = 0) -> Any:
    """Compute np.bincount; complex weights are counted as real and imaginary parts."""
    if weights.dtype.kind != "c":
        return np.bincount(x, weights, minlength)
    return np.bincount(x, weights.real, minlength) + 1j * np.bincount(x, weights.imag, minlength)


v.order_statistics.implement(order_statistics_numpy, types=(_ARRAY,) * 2)
v.weighted_quantile.implement(weighted_quantile_numpy, types=(_ARRAY,) * 3)
v.lerp.implement(lerp_numpy, types=(_NUMERIC,) * 3)
v.bincount.implement(bincount_numpy, types=(_ARRAY,) * 2)
