"""NumPy's histograms: counts of elements between edges, or sums of their weights.

A histogram is linear in the weights and constant in the data, and the edges are linear in the least
and the greatest element, or in the range: the bin of each element and the number of bins are read
off the values.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import (
    Tracer,
    array_of,
    kind_of,
    moves,
    real_numbers,
    type_info,
    untraced,
    varies,
)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Any, Any]:
    """Compute np.histogram."""
    data = low.readable(a)
    counts: Any
    counts, places = np.histogram(
        data, low.readable(bins), low.readable(range), weights=low.readable(weights)
    )
    edges = _edges(a, bins, range, places)
    if _in_operations(weights) and counts.size:
        if data.dtype.kind == "c":
            raise NotDifferentiableError(
                "histogram() of complex data has no derivative; give it the real part"
            )
        where, inside = _places(data.reshape(-1), places)
        weights = v.reshape(weights, shape=(-1,))
        if density:
            weights = real_numbers(weights)
        counts = _sums(where, inside, weights, len(places) - 1)
        if not density:
            counts = v.astype(counts, dtype=weights.dtype)
    return (_density(counts, [edges]) if density else counts), edges


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Compute np.histogram_bin_edges."""
    plain = [low.readable(x) for x in (a, bins, range, weights)]
    return _edges(a, bins, range, np.histogram_bin_edges(*plain))


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """Compute np.histogram2d."""
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (x_edges, y_edges) = histogramdd([x, y], bins, range, density, weights)
    return counts, x_edges, y_edges


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, list[Any]]:
    """Compute np.histogramdd."""
    columns = _columns(sample)
    plain = [low.readable(x) for x in columns]
    counts, places = np.histogramdd(
        plain, low.readable(bins), low.readable(range), weights=low.readable(weights)
    )
    each_bins = bins if hasattr(bins, "__len__") else [bins] * len(columns)
    each_range = [None] * len(columns) if range is None else range
    edges = [_edges(*given) for given in zip(columns, each_bins, each_range, places, strict=True)]
    if _in_operations(weights) and counts.size:
        found = [_places(x, p) for x, p in zip(plain, places, strict=True)]
        inside = functools.reduce(np.logical_and, [mask for _, mask in found])
        where = np.ravel_multi_index([i for i, _ in found], counts.shape, mode="clip")
        sums = _sums(where, inside, real_numbers(weights), counts.size)
        counts = v.reshape(sums, shape=counts.shape)
    return (_density(counts, edges) if density else counts), edges


def _in_operations(x: Any) -> bool:
    """Return whether x is for operations: it is being differentiated, or of another library.

    A NumPy array that a compiler traces is neither: NumPy adds running sums of constant weights, in
    which a NaN reaches all later bins, with and without `compile`.
    """
    return varies(x) and (moves(x) or not low.is_numpys(x))


def _columns(sample: Any) -> list[Any]:
    """Return the coordinates of the points, one array for each axis."""
    cls = type(sample)
    if not (issubclass(cls, Tracer) or type_info(cls).is_array):
        return [array_of(x, np.zeros(0)) for x in sample]
    if sample.ndim < 2:
        return [v.reshape(sample, shape=(-1,))]
    return [v.index(sample, (slice(None), i)) for i in np.arange(sample.shape[1]).tolist()]


def _places(x: Any, edges: Any) -> tuple[Any, Any]:
    """Return the bin of each element, and whether it is in any; the last bin includes its end."""
    n = len(edges) - 1
    where = np.searchsorted(edges, x, side="right") - 1
    where[x == edges[-1]] = n - 1
    return where, (where >= 0) & (where < n)


def _sums(where: Any, inside: Any, weights: Any, n: int) -> Any:
    """Sum the weights of the elements in each of n bins."""
    if not inside.any():
        return np.zeros(n)
    if not inside.all():
        where, weights = where[inside], v.index(weights, inside)
    whole = kind_of(weights) == "int"
    if not whole and getattr(weights.dtype, "char", None) not in ("g", "G"):
        return v.bincount(where, weights, minlength=n)
    # np.bincount takes no long doubles, and converts integers to floats; np.histogram does not.
    return v.put_along_axis_add(np.zeros(n, weights.dtype), weights, where, axis=0)


def _edges(a: Any, bins: Any, range: Sequence[Any] | None, places: Any) -> Any:
    """Return the edges: the given ones, or equally spaced ones."""
    if np.ndim(untraced(bins)):
        return array_of(bins, places)
    first, last = _ends(a) if range is None else range
    if not (_in_operations(first) or _in_operations(last)):
        return places
    if operator.eq(*untraced((first, last))):
        first, last = first - 0.5, last + 0.5
    edges = v.linspace(first, last, num=len(places))
    return edges if edges.dtype == places.dtype else v.astype(edges, dtype=places.dtype)


def _ends(a: Any) -> tuple[Any, Any]:
    return (v.min(a), v.max(a)) if math.prod(a.shape) else (0.0, 1.0)


def _density(counts: Any, edges: list[Any]) -> Any:
    """Compute each bin's share of the total, divided by the size of the bin."""
    y = counts = low.array_of(counts)
    for axis, places in enumerate(edges):
        widths = low.array_of(v.astype(v.diff(places), dtype=np.dtype(float)))
        shape = [1] * counts.ndim
        shape[axis] = widths.shape[0]
        y = y / v.reshape(widths, shape=tuple(shape))
    return y / v.sum(counts)
