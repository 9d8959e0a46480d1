"""Filters of ``scipy.ndimage`` that choose elements, and measurements, by SciPy's own text.

What chooses has the derivative of what is chosen: of equal elements, of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy._private import private
from chainrules_scipy.agreeing import agreeing, refuse_output
from chainrules_scipy.following import follow_all, instead_of
from chainrules_scipy.ndimage.linear import _axes, _each, _like, map_coordinates
from chainrules_scipy.rows import array_of, constant, readable, reject, stands_for

_PADS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def _windows(shape: tuple[int, ...], footprint: Any, modes: list[str], origins: list[int]) -> Any:
    """Return the places of the elements around each; -1 for what is outside."""
    places = np.arange(np.prod(shape)).reshape(shape)
    for axis, (n, mode, origin) in enumerate(zip(footprint.shape, modes, origins, strict=True)):
        before = n // 2 + origin
        widths = [(0, 0)] * len(shape)
        widths[axis] = (before, n - 1 - before)
        if mode in ("constant", "grid-constant"):
            places = np.pad(places, widths, constant_values=-1)
        else:
            places = np.pad(places, widths, mode=_PADS[mode])  # type: ignore[call-overload]
    return np.lib.stride_tricks.sliding_window_view(places, footprint.shape)[..., footprint]


def _expanded(x: Any, axes: Any, footprint: Any, mode: Any, origin: Any) -> tuple[Any, Any, Any]:
    """Give a footprint, modes and origins all axes of an image."""
    axes = [a % x.ndim for a in (range(x.ndim) if axes is None else np.atleast_1d(axes))]
    shape = [1] * x.ndim
    modes, origins = ["nearest"] * x.ndim, [0] * x.ndim
    for axis, m, o in zip(axes, _each(mode, len(axes)), _each(origin, len(axes)), strict=True):
        modes[axis], origins[axis] = m, o
    for axis, n in zip(sorted(axes), footprint.shape, strict=True):  # as SciPy takes its axes
        shape[axis] = n
    return footprint.reshape(shape), modes, origins


def _chosen(
    x: Any,
    rank: int,
    footprint: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    added: Any = None,
) -> Any:
    """Take the element of a rank in each window."""
    footprint, modes, origins = _expanded(x, axes, footprint, mode, origin)
    places = _windows(x.shape, footprint, modes, origins)
    seen = np.where(places < 0, cval, readable(x).reshape(-1)[places])
    seen = seen if added is None else seen + readable(added)
    which = np.argsort(seen, axis=-1, kind="stable")[..., rank, None]
    where: Any = np.take_along_axis(places, which, -1)[..., 0]
    y = v.take(v.reshape(x, shape=(-1,)), np.maximum(where, 0), axis=0)
    y = y if (where >= 0).all() else v.where(where < 0, float(cval), y)
    return y if added is None else y + v.take(added, which[..., 0], axis=0)


def _footprint(size: Any, footprint: Any, n: int) -> Any:
    return np.ones(_each(size, n), bool) if footprint is None else np.asarray(footprint, bool)


def _least_or_largest(
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    minimum: Any,
    axes: Any = None,
) -> Any:
    refuse_output("minimum_filter" if minimum else "maximum_filter", output)
    x = array_of(input)
    n = x.ndim if axes is None else np.size(axes)
    if structure is not None and footprint is None:
        footprint = np.ones(np.shape(structure), bool)
    if footprint is None and axes is not None:  # along one axis after the other
        size = [_each(size, n)[i] for i in np.argsort(_axes(x, axes))]
    footprint = _footprint(size, footprint, n)
    added = None
    if structure is not None:
        added = array_of(structure)[np.asarray(footprint, bool)] * (-1 if minimum else 1)
    return _chosen(
        x, 0 if minimum else int(footprint.sum()) - 1, footprint, mode, cval, origin, axes, added
    )


def of_rank(
    input: Any,
    rank: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    operation: str = "rank",
    axes: Any = None,
) -> Any:
    """Choose the element of a rank in windows, as SciPy's function of this name."""
    refuse_output("rank_filter", output)
    x = array_of(input)
    footprint = _footprint(size, footprint, x.ndim if axes is None else np.size(axes))
    n = int(footprint.sum())
    if operation == "percentile":
        share = rank + 100.0 if rank < 0 else rank
        rank = n - 1 if share == 100.0 else int(float(n) * share / 100.0)
    rank = n // 2 if operation == "median" else rank
    if not -n <= rank < n:
        reject("rank not within filter footprint size", RuntimeError)
    return _chosen(x, rank % n, footprint, mode, cval, origin, axes)


for _name, _ours in (
    ("_min_or_max_filter", _least_or_largest),
    ("_rank_filter", of_rank),
):
    _theirs = private(_name)
    if _theirs is not None:
        instead_of(_theirs, agreeing(_theirs, _ours))
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("black_tophat", "center_of_mass", "extrema", "generic_laplace", "grey_closing"),
    *("grey_dilation", "grey_erosion", "grey_opening", "labeled_comprehension", "maximum"),
    *("maximum_filter", "mean", "median", "median_filter", "minimum", "minimum_filter"),
    *("morphological_gradient", "morphological_laplace", "percentile_filter", "rank_filter"),
    *(
        "histogram",
        "standard_deviation",
        "sum",
        "sum_labels",
        "variance",
        "vectorized_filter",
        "white_tophat",
    ),
)


def _along_axis(largest: bool) -> Any:
    def function(
        input: Any,
        size: int,
        axis: int = -1,
        output: Any = None,
        mode: str = "reflect",
        cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:
        refuse_output(theirs.__name__, output)
        x, footprint = array_of(input), np.ones(size, bool)
        return _chosen(x, size - 1 if largest else 0, footprint, mode, cval, origin, (axis,))

    theirs = native.maximum_filter1d if largest else native.minimum_filter1d
    function.__name__ = function.__qualname__ = theirs.__name__
    function.__doc__ = f"Choose in windows, as ``scipy.ndimage.{theirs.__name__}`` does."
    return stands_for(theirs)(agreeing(theirs, function))


maximum_filter1d, minimum_filter1d = _along_axis(True), _along_axis(False)


@stands_for(native.generic_filter)
def generic_filter(
    input: Any,
    function: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Compute a function of each window, as ``scipy.ndimage.generic_filter``."""
    x = array_of(input)
    footprint = _footprint(size, footprint, x.ndim if axes is None else np.size(axes))
    places = _windows(x.shape, *_expanded(x, axes, footprint, mode, origin))
    seen = v.take(v.reshape(x, shape=(-1,)), np.maximum(places, 0), axis=0)
    seen = v.reshape(v.where(places < 0, float(cval), seen), shape=(-1, places.shape[-1]))
    options = extra_keywords or {}
    found = [function(seen[i], *extra_arguments, **options) for i in range(seen.shape[0])]
    return v.reshape(v.stack(*map(array_of, found)), shape=x.shape)


@stands_for(native.generic_gradient_magnitude)
def generic_gradient_magnitude(
    input: Any,
    derivative: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Compute the size of a gradient, as ``scipy.ndimage.generic_gradient_magnitude``."""
    x, options = array_of(input), extra_keywords or {}
    axes = range(x.ndim) if axes is None else np.atleast_1d(axes)
    parts = [
        derivative(x, int(a), None, m, cval, *extra_arguments, **options)
        for a, m in zip(axes, _each(mode, len(axes)), strict=True)
    ]
    return v.sqrt(sum((p * p for p in parts[1:]), parts[0] * parts[0]))


@stands_for(native.geometric_transform)
def geometric_transform(
    input: Any,
    mapping: Any,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
) -> Any:
    """Interpolate where a function says, as ``scipy.ndimage.geometric_transform``."""
    x = array_of(input)
    shape = x.shape if output_shape is None else tuple(output_shape)
    options = extra_keywords or {}
    at = [mapping(i, *extra_arguments, **options) for i in np.ndindex(*shape)]
    places = v.stack(*[v.stack(*map(array_of, i)) for i in at], axis=1)
    y = map_coordinates(x, places, None, order, mode, cval, prefilter)
    return v.reshape(y, shape=shape)


def _in_frequencies(name: str, factor: Any) -> Any:
    """Make a filter that multiplies a transform by a factor for each axis."""

    def compute(x: Any, n: int, axis: int, **named: Any) -> Any:
        (size,) = map(array_of, named.values())
        for k, m in enumerate(x.shape):
            f = np.fft.fftfreq(m)
            if n >= 0 and k == axis % x.ndim:
                f = np.arange(m) / n
            f = f.reshape((-1,) + (1,) * (x.ndim - 1 - k))
            x = x * factor(size if size.ndim == 0 else size[k], f)
        return x

    compute.__doc__ = f"Multiply a transform, as ``scipy.ndimage.{name}`` does."
    return _like(name)(compute)


fourier_gaussian = _in_frequencies(
    "fourier_gaussian", lambda s, f: v.exp(-2 * np.pi**2 * (s * f) * (s * f))
)
fourier_uniform = _in_frequencies("fourier_uniform", lambda s, f: np.sinc(s * f))
fourier_shift = _in_frequencies("fourier_shift", lambda s, f: v.exp(-2j * np.pi * s * f))


@_like("fourier_ellipsoid")
def fourier_ellipsoid(x: Any, size: Any, n: int, axis: int) -> Any:
    """Multiply a transform, as ``scipy.ndimage.fourier_ellipsoid`` does; sizes are constant."""
    if varies(size):
        reject("fourier_ellipsoid has derivatives in the transform, and none in the size")
    return x * native.fourier_ellipsoid(np.ones(x.shape), size, n, axis)


FOLLOWED |= {
    name: constant(getattr(native, name))
    for name in ("label", "maximum_position", "minimum_position")
}
