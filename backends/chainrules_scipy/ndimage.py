"""Filters and interpolation of ``scipy.ndimage``, in images, coefficients and coordinates."""

from __future__ import annotations

import builtins  # `sum` is SciPy's function here
import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as native

from chainrules_py import ops as v
from chainrules_py.extend import Tracer, kind_of
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import (
    along,
    anchored,
    array_of,
    attribute,
    constant,
    part,
    readable,
    refused,
    stands_for,
)
from chainrules_scipy.installation import choose
from chainrules_scipy.result_checks import agreeing, plainly, refuse_output
from chainrules_scipy.source_copies import follow, follow_all, followed, instead_of, numpy_with

_Compute = Callable[..., Any]


def _writing(theirs: _Compute, function: _Compute) -> _Compute:
    """Make a function write to a traced ``output``, which SciPy's source may pass.

    Integers and booleans are constant.
    """
    signature = inspect.signature(theirs)

    @functools.wraps(function)
    def writes(*args: Any, **options: Any) -> Any:
        run = choose(theirs, function, args, options)
        if run is not function:
            return run(*args, **options)
        given = signature.bind(*args, **options)
        output: Any = given.arguments.get("output")
        if isinstance(output, np.ndarray) and output.dtype.kind in "iub":
            return theirs(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
        if not issubclass(type(output), Tracer):
            refuse_output(theirs.__name__, output)
            return function(*args, **options)
        given.arguments["output"] = output.dtype
        output[...] = function(*given.args, **given.kwargs)
        return output

    return writes


def _like(name: str) -> Callable[[_Compute], _Compute]:
    """Declare a function to be SciPy's, with its parameters except ``output`` (a decorator)."""
    theirs = getattr(native, name)
    signature = inspect.signature(theirs)

    def enter(compute: _Compute) -> _Compute:
        @functools.wraps(theirs)
        def function(*args: Any, **options: Any) -> Any:
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            given = dict(bound.arguments)
            output = given.pop("output", None)
            y = compute(array_of(given.pop("input")), **given)
            return y if output in (None, np.float64) else v.astype(y, dtype=np.dtype(output))

        both = _writing(theirs, agreeing(theirs, function))
        both.__doc__, both.__module__ = compute.__doc__, __name__
        instead_of(theirs, both)
        return stands_for(theirs)(both)

    return enter


def _each(value: Any, n: int) -> list[Any]:
    """Return one value for each of n axes."""
    return [value] * n if isinstance(value, str) or np.ndim(value) == 0 else list(value)


def _axes(x: Any, axes: Any) -> list[int]:
    return [*range(x.ndim)] if axes is None else [range(x.ndim)[i] for i in np.atleast_1d(axes)]


# By mode, the index of the element that is used at an index outside of the n.
_PLACES: dict[str, Callable[[int, Any], Any]] = {
    "nearest": lambda n, at: np.clip(at, 0, n - 1),
    "wrap": lambda n, at: at % n,
    "reflect": lambda n, at: np.minimum(at % (2 * n), 2 * n - 1 - at % (2 * n)),
    "mirror": lambda n, at: np.minimum(at % max(2 * n - 2, 1), 2 * n - 2 - at % max(2 * n - 2, 1)),
}
_PLACES |= {"grid-wrap": _PLACES["wrap"], "grid-mirror": _PLACES["reflect"]}


def around(x: Any, axis: int, before: int, behind: int, mode: str, cval: Any) -> Any:
    """Extend an axis before and behind, as a mode defines."""
    n = x.shape[axis]
    if mode in ("constant", "grid-constant"):
        return v.pad(
            x, cval, widths=tuple((before, behind) if i == axis else (0, 0) for i in range(x.ndim))
        )
    return v.take(x, _PLACES[mode](n, np.arange(-before, n + behind)), axis=axis)


def _correlated(
    x: Any, w: Any, axes: Any, mode: str, cval: Any, origin: Any, reverses: bool = False
) -> Any:
    """Compute Σ_k w_k x_{i + k - m//2 - origin} along axes, or with w reversed a convolution."""
    w, whole, axes = array_of(w), x, _axes(x, axes)
    # SciPy sorts its axes, which are those of w.
    pairs = sorted(zip(axes, _each(origin, len(axes)), strict=True))
    for (axis, o), size in zip(pairs, w.shape, strict=True):
        before = (size - 1) // 2 - o if reverses else size // 2 + o
        whole = around(whole, axis, before, size - 1 - before, mode, cval)
    total: Any = 0.0
    for k in np.ndindex(*w.shape):
        piece = whole
        for (axis, _), start in zip(pairs, k, strict=True):
            piece = part(piece, axis, start, start + x.shape[axis])
        total = total + piece * w[k]
    return total


# -------------------------------------------------------------------------------- interpolation

_PADDED = 12


def _weights(t: Any, order: int) -> list[Any]:
    """Return the values at t, between two knots, of the B-splines that are not 0 there."""
    found: list[Any] = [1.0]
    for d in range(1, order + 1):
        before, behind = [0.0, *found], [*found, 0.0]
        found = [((t + d - k) * before[k] + (k + 1 - t) * behind[k]) / d for k in range(d + 1)]
    return found


def _filtered(x: Any, order: int, mode: str, axes: Sequence[int]) -> Any:
    """Return the coefficients of the splines that interpolate x."""
    for axis in axes:
        if order > 1 and x.shape[axis] > 1:
            x = along(native.spline_filter1d(np.eye(x.shape[axis]), order, 0, mode=mode), x, axis)
    return x


def _interpolated(
    x: Any,
    at: list[Any],
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Any:
    """Interpolate at coordinates, one array for each axis."""
    if mode == "wrap":  # SciPy's period is one less than the number of elements
        at = [_wrapped(c, n - 1) for c, n in zip(at, x.shape, strict=True)]
    mode = "reflect" if mode == "grid-mirror" else mode
    if mode in ("nearest", "grid-constant") and prefilter and order > 1:
        how = "nearest" if mode == "nearest" else "constant"
        for axis in range(x.ndim):
            x = around(x, axis, _PADDED, _PADDED, how, cval)
        at = [c + _PADDED for c in at]
    beyond = mode if mode in ("reflect", "grid-wrap", "nearest") else "mirror"
    coefficients = _filtered(x, order, beyond, range(x.ndim)) if prefilter else x
    outside: Any = False
    places, weights, beside = [], [], []
    for c, n in zip(at, x.shape, strict=True):
        known = readable(c)
        if mode == "constant":
            outside = outside | (known < 0) | (known > n - 1)
        first = np.floor(known if order % 2 else known + 0.5)
        t = c - first if order % 2 else c + 0.5 - first
        start = first.astype(int) - order // 2
        beside.append([(start + k < 0) | (start + k > n - 1) for k in range(order + 1)])
        places.append([_PLACES[beyond](n, start + k) for k in range(order + 1)])
        weights.append(_weights(t, order))
    total: Any = 0.0
    for k in np.ndindex(*map(len, weights)):
        weight: Any = 1.0
        for axis, i in enumerate(k):
            weight = weight * weights[axis][i]
        here = coefficients[tuple(places[axis][i] for axis, i in enumerate(k))]
        if mode == "grid-constant":
            here = v.where(np.any([beside[axis][i] for axis, i in enumerate(k)], 0), cval, here)
        total = total + weight * here
    return v.where(outside, cval, total) if np.any(outside) else total


def _wrapped(c: Any, period: int) -> Any:
    """Move coordinates by whole periods, as SciPy's mode "wrap" does."""
    known = readable(c)
    if period < 1:
        return c - known
    turns = np.where(known < 0, np.trunc(-known / period) + 1, -np.trunc(known / period))
    return c + period * np.where((known < 0) | (known > period), turns, 0.0)


@_like("affine_transform")
def affine_transform(
    x: Any,
    matrix: Any,
    offset: Any,
    output_shape: Any,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Any:
    """Interpolate at the points M i + offset, as ``scipy.ndimage.affine_transform``."""
    matrix, n = array_of(matrix), x.ndim
    grid = np.indices(x.shape if output_shape is None else tuple(output_shape), float)
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    offsets = _each(offset, n)
    if matrix.ndim == 1:
        at = [matrix[i] * grid[i] + offsets[i] for i in range(n)]
    else:  # one product after the other, as SciPy does, for the same last digit
        at = [builtins.sum(map(operator.mul, matrix[i], grid), start=offsets[i]) for i in range(n)]
    return _interpolated(x, at, order, mode, cval, prefilter)


@_like("zoom")
def zoom(
    x: Any, zoom: Any, order: int, mode: str, cval: Any, prefilter: bool, *, grid_mode: bool
) -> Any:
    """Stretch an image, as ``scipy.ndimage.zoom``, with derivatives in the image only."""
    factors = _each(readable(zoom), x.ndim)
    if all(f == 1 for f in factors) and prefilter:
        return x
    shape = [round(n * z) for n, z in zip(x.shape, factors, strict=True)]
    half, less = 0.5 * grid_mode, 1 - grid_mode  # elements have their coordinates in the middle
    scale = [
        (n - less) / (m - less) if m > less else 1.0 for n, m in zip(x.shape, shape, strict=True)
    ]
    at = [(i + half) * s - half for i, s in zip(np.indices(shape, float), scale, strict=True)]
    return _interpolated(x, at, order, mode, cval, prefilter)


rotate = follow(native.rotate, np=numpy_with(ptp=lambda x, axis: np.ptp(readable(x), axis=axis)))


def _windows(x: Any, footprint: Any, mode: Any, origin: Any, axes: Any) -> Any:
    """Return the indices of the elements in the window of each; -1 for those outside."""
    axes, places = _axes(x, axes), np.arange(math.prod(x.shape)).reshape(x.shape)
    sizes = dict(zip(sorted(axes), footprint.shape, strict=True))  # SciPy sorts its axes
    for axis, m, o in zip(axes, _each(mode, len(axes)), _each(origin, len(axes)), strict=True):
        before = sizes[axis] // 2 + o
        places = around(places, axis, before, sizes[axis] - 1 - before, m, -1)
    shape = [sizes.get(axis, 1) for axis in range(x.ndim)]
    return np.lib.stride_tricks.sliding_window_view(places, shape)[..., footprint.reshape(shape)]


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
    places = _windows(x, footprint, mode, origin, axes)
    seen = np.where(places < 0, readable(cval), readable(x).reshape(-1)[places])
    seen = seen if added is None else seen + readable(added)
    which = np.argsort(seen, axis=-1, kind="stable")[..., rank, None]
    where: Any = np.take_along_axis(places, which, -1)[..., 0]
    y = v.take(v.reshape(x, shape=(-1,)), np.maximum(where, 0), axis=0)
    y = y if (where >= 0).all() else v.where(where < 0, v.astype(array_of(cval), dtype=y.dtype), y)
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
    x = array_of(input)
    n = x.ndim if axes is None else np.size(axes)
    if structure is not None and footprint is None:
        footprint = np.ones(np.shape(structure), bool)
    if footprint is None and axes is not None:  # one axis after the other
        size = [_each(size, n)[i] for i in np.argsort(_axes(x, axes))]
    footprint = _footprint(size, footprint, n)
    added = None if structure is None else array_of(structure)[footprint] * (-1 if minimum else 1)
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
    """Choose the element of a rank in windows, as SciPy's ``_rank_filter``."""
    x = array_of(input)
    footprint = _footprint(size, footprint, x.ndim if axes is None else np.size(axes))
    n = int(footprint.sum())
    if operation == "percentile":
        share = rank + 100.0 if rank < 0 else rank
        rank = n - 1 if share == 100.0 else int(float(n) * share / 100.0)
    rank = n // 2 if operation == "median" else rank
    return _chosen(x, rank % n, footprint, mode, cval, origin, axes)


for _name, _ours in (
    ("_min_or_max_filter", _least_or_largest),
    ("_rank_filter", of_rank),
):
    _theirs = private(_name)
    if _theirs is not None:
        instead_of(_theirs, _writing(_theirs, agreeing(_theirs, _ours)))
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("black_tophat", "center_of_mass", "convolve1d", "extrema", "gaussian_filter"),
    *("gaussian_gradient_magnitude", "gaussian_laplace", "generic_laplace", "grey_closing"),
    *("grey_dilation", "grey_erosion", "grey_opening", "labeled_comprehension", "laplace"),
    *("maximum", "maximum_filter", "mean", "median", "median_filter", "minimum", "minimum_filter"),
    *("morphological_gradient", "morphological_laplace", "percentile_filter", "prewitt"),
    *("histogram", "rank_filter", "sobel", "standard_deviation", "sum", "sum_labels"),
    *("uniform_filter", "variance", "vectorized_filter", "white_tophat"),
)


_kernel: Any = private("_gaussian_kernel1d")  # SciPy's own, if no width is traced
_float: Any = lambda x: array_of(x).astype(np.float64) if isinstance(x, Tracer) else float(x)


instead_of(
    _kernel,
    lambda x, *how: (
        anchored(_kernel(readable(x), *how), followed(_kernel)(_float(x), *how))
        if isinstance(x, Tracer)
        else _kernel(x, *how)
    ),
)
FOLLOWED["gaussian_filter1d"] = follow(
    native.gaussian_filter1d, int=lambda radius: int(readable(radius)), float=_float
)


@stands_for(native.generic_filter)
@functools.partial(_writing, native.generic_filter)
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
    places = _windows(x, footprint, mode, origin, axes)
    seen = v.take(v.reshape(x, shape=(-1,)), np.maximum(places, 0), axis=0)
    seen = v.where(places < 0, v.astype(array_of(cval), dtype=seen.dtype), seen)
    seen = v.reshape(seen, shape=(-1, places.shape[-1]))
    found = [
        function(seen[i], *extra_arguments, **(extra_keywords or {})) for i in range(seen.shape[0])
    ]
    return v.reshape(v.stack(*map(array_of, found)), shape=x.shape)


@stands_for(native.generic_gradient_magnitude)
@functools.partial(_writing, native.generic_gradient_magnitude)
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
    """Compute the norm of a gradient, as ``scipy.ndimage.generic_gradient_magnitude``."""
    x, options = array_of(input), extra_keywords or {}
    axes = _axes(x, axes)
    parts = [
        derivative(x, a, None, m, cval, *extra_arguments, **options)
        for a, m in zip(axes, _each(mode, len(axes)), strict=True)
    ]
    if not parts:  # without axes; in an image that is a number, too
        return x
    if kind_of(parts[0]) == "complex":  # SciPy squares complex numbers, not their sizes
        return v.sqrt(builtins.sum(y * y for y in parts))
    return v.vector_norm(v.stack(*parts), axis=0)


@stands_for(native.geometric_transform)
@functools.partial(_writing, native.geometric_transform)
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
    """Interpolate at points from a function, as ``scipy.ndimage.geometric_transform``."""
    x = array_of(input)
    shape = x.shape if output_shape is None else tuple(output_shape)
    at = [mapping(i, *extra_arguments, **(extra_keywords or {})) for i in np.ndindex(*shape)]
    places = v.stack(*[v.stack(*map(array_of, i)) for i in at], axis=1)
    return v.reshape(
        FOLLOWED["map_coordinates"](x, places, None, order, mode, cval, prefilter), shape=shape
    )


def _in_frequencies(x: Any, size: Any, n: int, axis: int, factor: Any) -> Any:
    """Multiply a transform by a factor for each axis."""
    size = array_of(size)
    for k, m in enumerate(x.shape):
        f = np.arange(m) / n if n >= 0 and k == axis % x.ndim else np.fft.fftfreq(m)
        f = f.reshape((-1,) + (1,) * (x.ndim - 1 - k))
        x = x * factor(size if size.ndim == 0 else size[k], f)
    return x


_FORMULAS: dict[str, _Compute] = {
    "correlate": lambda x, weights, mode, cval, origin, axes: _correlated(
        x, v.conj(array_of(weights)), axes, mode, cval, origin
    ),
    "convolve": lambda x, weights, mode, cval, origin, axes: _correlated(
        x,
        v.flip(array_of(weights), axis=tuple(range(x.ndim if axes is None else np.size(axes)))),
        *(axes, mode, cval, origin, True),
    ),
    "correlate1d": lambda x, weights, axis, mode, cval, origin: _correlated(
        x, v.conj(array_of(weights)), axis, mode, cval, origin
    ),
    "uniform_filter1d": lambda x, size, axis, mode, cval, origin: _correlated(
        x, np.full(size, 1 / size), axis, mode, cval, origin
    ),
    "maximum_filter1d": lambda x, size, axis, mode, cval, origin: _chosen(
        x, -1, np.ones(size, bool), mode, cval, origin, (axis,)
    ),
    "minimum_filter1d": lambda x, size, axis, mode, cval, origin: _chosen(
        x, 0, np.ones(size, bool), mode, cval, origin, (axis,)
    ),
    "shift": lambda x, shift, order, mode, cval, prefilter: _interpolated(
        x,
        [i - s for i, s in zip(np.indices(x.shape, float), _each(shift, x.ndim), strict=True)],
        *(order, mode, cval, prefilter),
    ),
    "map_coordinates": lambda x, coordinates, order, mode, cval, prefilter: _interpolated(
        x, list(array_of(coordinates)), order, mode, cval, prefilter
    ),
    "spline_filter1d": lambda x, order, axis, mode: _filtered(x, order, mode, _axes(x, axis)),
    "spline_filter": lambda x, order, mode: _filtered(x, order, mode, range(x.ndim)),
    "fourier_gaussian": lambda x, sigma, n, axis: _in_frequencies(
        x, sigma, n, axis, lambda s, f: v.exp(-2 * np.pi**2 * (s * f) * (s * f))
    ),
    "fourier_uniform": lambda x, size, n, axis: _in_frequencies(
        x, size, n, axis, lambda s, f: np.sinc(s * f)
    ),
    "fourier_shift": lambda x, shift, n, axis: _in_frequencies(
        x, shift, n, axis, lambda s, f: v.exp(-2j * np.pi * s * f)
    ),
}
FOLLOWED |= {name: _like(name)(compute) for name, compute in _FORMULAS.items()} | {
    name: constant(getattr(native, name))
    for name in ("label", "maximum_position", "minimum_position")
}
refused(native, {"fourier_ellipsoid": "write x * fourier_ellipsoid(np.ones(x.shape), size)"})
__getattr__ = functools.partial(attribute, __name__, FOLLOWED)
