"""Filters and interpolation of ``scipy.ndimage``, in images, coefficients and coordinates."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as native
from scipy import special

from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy._private import private
from chainrules_scipy.agreeing import agreeing, refuse_output
from chainrules_scipy.following import follow_all, instead_of
from chainrules_scipy.rows import anchored, array_of, constant, part, readable, reject, stands_for

_OTHER_NAMES = {"grid-mirror": "reflect", "grid-constant": "constant"}
_MODES = ("reflect", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap")


def _like(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function is SciPy's, of its parameters but ``output`` (a decorator)."""
    theirs = getattr(native, name)
    signature = inspect.signature(theirs)

    def enter(compute: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(theirs)
        def function(*args: Any, **options: Any) -> Any:
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            given = dict(bound.arguments)
            output = given.pop("output", None)
            refuse_output(name, output)
            x = array_of(given.pop("input"))
            y = compute(x, **given)
            return y if output in (None, np.float64) else v.astype(y, dtype=np.dtype(output))

        both = agreeing(theirs, function)
        both.__doc__ = compute.__doc__
        both.__module__ = __name__
        return stands_for(theirs)(both)

    return enter


def _each(value: Any, n: int) -> list[Any]:
    """Return one value for each of n axes."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return [value] * n
    found = list(value)
    if len(found) != n:
        reject(f"{len(found)} values for {n} axes; give one for each", ValueError)
    return found


def _axes(x: Any, axes: Any) -> list[int]:
    return [*range(x.ndim)] if axes is None else [range(x.ndim)[i] for i in np.atleast_1d(axes)]


def _places(n: int, at: Any, mode: str) -> Any:
    """Return which element stands at places outside of the n, by a mode."""
    if mode == "nearest":
        return np.clip(at, 0, n - 1)
    if mode in ("wrap", "grid-wrap"):
        return at % n
    period = 2 * n if mode == "reflect" else max(2 * n - 2, 1)
    at = at % period
    return np.where(at < n, at, (2 * n - 1 if mode == "reflect" else 2 * n - 2) - at)


def around(x: Any, axis: int, before: int, behind: int, mode: str, cval: Any) -> Any:
    """Go on before and behind an axis."""
    mode = _OTHER_NAMES.get(mode, mode)
    n = x.shape[axis]
    if mode == "constant":
        widths = tuple((before, behind) if i == axis else (0, 0) for i in range(x.ndim))
        return v.pad(x, cval, widths=widths)
    if mode not in ("reflect", "nearest", "mirror", "wrap", "grid-wrap"):
        reject(f"boundary mode not supported: {mode!r}", RuntimeError)
    return v.take(x, _places(n, np.arange(-before, n + behind), mode), axis=axis)


def _correlated(x: Any, w: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """Σ_k w_k x_{i + k - m//2 - origin} along an axis."""
    w, n, axis = array_of(w), x.shape[axis], range(x.ndim)[axis]
    size = w.shape[0]
    before = size // 2 + origin
    if not 0 <= before < size:
        reject(
            f"Invalid origin; -{size // 2} <= origin <= {(size - 1) // 2} has to hold", ValueError
        )
    whole = around(x, axis, before, size - 1 - before, mode, cval)
    total: Any = None
    for k in range(size):
        term = part(whole, axis, k, k + n) * w[k]
        total = term if total is None else total + term
    return total


def _turned(w: Any, origin: int) -> tuple[Any, int]:
    """Return the weights and the origin with which a convolution is a correlation."""
    w = array_of(w)
    return v.flip(w, axis=0), -origin - (w.shape[0] % 2 == 0)


@_like("correlate1d")
def correlate1d(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """Correlate along an axis, as ``scipy.ndimage.correlate1d``."""
    return _correlated(x, weights, axis, mode, cval, origin)


@_like("convolve1d")
def convolve1d(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """Convolve along an axis, as ``scipy.ndimage.convolve1d``."""
    weights, origin = _turned(weights, origin)
    return _correlated(x, weights, axis, mode, cval, origin)


def _of_all_axes(x: Any, w: Any, mode: Any, cval: Any, origin: Any, axes: Any, turn: bool) -> Any:
    axes, w = _axes(x, axes), array_of(w)
    if w.ndim != len(axes):
        reject(f"weights of {w.ndim} axes for {len(axes)} of the input", RuntimeError)
    origins, modes = _each(origin, len(axes)), _each(mode, len(axes))
    if turn:
        w = v.flip(w, axis=tuple(range(w.ndim)))
        origins = [-o - (m % 2 == 0) for o, m in zip(origins, w.shape, strict=True)]
    whole = x
    order = np.argsort(axes)  # SciPy's: the axes of weights are those of the image, in order
    axes, modes = [axes[i] for i in order], [modes[i] for i in order]
    if not turn:
        origins = [origins[i] for i in order]
    for axis, size, o, m in zip(axes, w.shape, origins, modes, strict=True):
        before = size // 2 + o
        whole = around(whole, axis, before, size - 1 - before, m, cval)
    total: Any = 0.0
    for k in np.ndindex(*w.shape):
        piece = whole
        for axis, start in zip(axes, k, strict=True):
            piece = part(piece, axis, start, start + x.shape[axis])
        total = total + piece * w[k]
    return total


@_like("correlate")
def correlate(x: Any, weights: Any, mode: Any, cval: Any, origin: Any, *, axes: Any) -> Any:
    """Correlate with weights of as many axes, as ``scipy.ndimage.correlate``."""
    return _of_all_axes(x, weights, mode, cval, origin, axes, False)


@_like("convolve")
def convolve(x: Any, weights: Any, mode: Any, cval: Any, origin: Any, *, axes: Any) -> Any:
    """Convolve with weights of as many axes, as ``scipy.ndimage.convolve``."""
    return _of_all_axes(x, weights, mode, cval, origin, axes, True)


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """Return a derivative of Gauss's function of sum 1, at whole numbers."""
    x = np.arange(-radius, radius + 1.0)
    rate = 1 / (sigma * sigma)
    phi = v.exp(-0.5 * rate * x**2)
    phi = phi / v.sum(phi)
    polynomial: list[Any] = [1.0]  # q with q φ the derivative: q ← q′ - x q / σ²
    for _ in range(order):
        slope = [*[k * c for k, c in enumerate(polynomial)][1:], 0.0, 0.0]
        lifted = [0.0, *[-rate * c for c in polynomial]]
        polynomial = [a + b for a, b in zip(slope, lifted, strict=False)][: len(lifted)]
    return phi * sum(c * x**k for k, c in enumerate(polynomial))


def _smoothed(
    x: Any, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: Any, radius: Any
) -> Any:
    reach = int(truncate * float(readable(sigma)) + 0.5) if radius is None else int(radius)
    return _correlated(x, v.flip(_gaussian(sigma, order, reach), axis=0), axis, mode, cval, 0)


@_like("gaussian_filter1d")
def gaussian_filter1d(
    x: Any, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: Any, *, radius: Any
) -> Any:
    """Smooth along an axis, in images and widths, as ``scipy.ndimage.gaussian_filter1d``."""
    return _smoothed(x, sigma, axis, order, mode, cval, truncate, radius)


@_like("gaussian_filter")
def gaussian_filter(
    x: Any, sigma: Any, order: Any, mode: Any, cval: Any, truncate: Any, *, radius: Any, axes: Any
) -> Any:
    """Smooth along axes, in images and widths, as ``scipy.ndimage.gaussian_filter``."""
    axes = _axes(x, axes)
    n = len(axes)
    each = (_each(given, n) for given in (sigma, order, mode, radius))
    for axis, s, o, m, r in zip(axes, *each, strict=True):
        if readable(s) > 1e-15:
            x = _smoothed(x, s, axis, o, m, cval, truncate, r)
    return x


@_like("uniform_filter1d")
def uniform_filter1d(x: Any, size: int, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """Average windows along an axis, as ``scipy.ndimage.uniform_filter1d``."""
    return _correlated(x, np.full(size, 1 / size), axis, mode, cval, origin)


@_like("uniform_filter")
def uniform_filter(x: Any, size: Any, mode: Any, cval: Any, origin: Any, *, axes: Any) -> Any:
    """Average windows, as ``scipy.ndimage.uniform_filter``."""
    axes = _axes(x, axes)
    each = (_each(given, len(axes)) for given in (size, mode, origin))
    for axis, n, m, o in zip(axes, *each, strict=True):
        if n > 1:
            x = _correlated(x, np.full(n, 1 / n), axis, m, cval, o)
    return x


def _edges(x: Any, axis: int, mode: Any, cval: Any, across: Sequence[float]) -> Any:
    modes, axis = _each(mode, x.ndim), range(x.ndim)[axis]
    y = _correlated(x, [-1.0, 0.0, 1.0], axis, modes[axis], cval, 0)
    for other in range(x.ndim):
        if other != axis:
            y = _correlated(y, across, other, modes[other], cval, 0)
    return y


@_like("sobel")
def sobel(x: Any, axis: int, mode: Any, cval: Any) -> Any:
    """Differentiate along an axis and smooth along the others, as ``scipy.ndimage.sobel``."""
    return _edges(x, axis, mode, cval, [1.0, 2.0, 1.0])


@_like("prewitt")
def prewitt(x: Any, axis: int, mode: Any, cval: Any) -> Any:
    """Differentiate along an axis and add along the others, as ``scipy.ndimage.prewitt``."""
    return _edges(x, axis, mode, cval, [1.0, 1.0, 1.0])


@_like("laplace")
def laplace(x: Any, mode: Any, cval: Any, *, axes: Any) -> Any:
    """Add the second differences along axes, as ``scipy.ndimage.laplace``."""
    axes = _axes(x, axes)
    modes = _each(mode, len(axes))
    parts = [
        _correlated(x, [1.0, -2.0, 1.0], i, m, cval, 0) for i, m in zip(axes, modes, strict=True)
    ]
    return sum(parts[1:], parts[0])


def _of_derivatives(
    x: Any, sigmas: Any, order: int, mode: Any, cval: Any, axes: Any, given: Any
) -> Any:
    """Differentiate along each of some axes, and smooth along all in its mode."""
    truncate, radius = given.get("truncate", 4.0), _each(given.get("radius"), x.ndim)
    found = []
    for chosen, how in zip(axes, _each(mode, len(axes)), strict=True):
        y = x
        for axis, sigma in enumerate(sigmas):
            if readable(sigma) > 1e-15:
                at = order if axis == chosen else 0
                y = _smoothed(y, sigma, axis, at, how, cval, truncate, radius[axis])
        found.append(y)
    return found


@_like("gaussian_laplace")
def gaussian_laplace(x: Any, sigma: Any, mode: Any, cval: Any, *, axes: Any, **kwargs: Any) -> Any:
    """Add the second derivatives of Gauss's function, as ``scipy.ndimage.gaussian_laplace``."""
    axes = _axes(x, axes)
    sigmas = _each(sigma, len(axes))  # of all axes they are in order, whatever that of the axes is
    if len(axes) < x.ndim:
        given = dict(zip(axes, sigmas, strict=True))
        sigmas = [given.get(axis, 0.0) for axis in range(x.ndim)]
    parts = _of_derivatives(x, sigmas, 2, mode, cval, axes, kwargs.get("kwargs", kwargs))
    return sum(parts[1:], parts[0])


@_like("gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(
    x: Any, sigma: Any, mode: Any, cval: Any, *, axes: Any, **kwargs: Any
) -> Any:
    """Compute the length of the gradient, as ``scipy.ndimage.gaussian_gradient_magnitude``."""
    sigmas, axes = _each(sigma, x.ndim), _axes(x, axes)
    parts = _of_derivatives(x, sigmas, 1, mode, cval, axes, kwargs.get("kwargs", kwargs))
    return v.vector_norm(v.stack(*parts, axis=0), axis=0)


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
    """Return the coefficients of the splines that go through x."""
    if order < 2:
        return x
    for axis in axes:
        if x.shape[axis] > 1:
            unit = native.spline_filter1d(np.eye(x.shape[axis]), order, axis=0, mode=mode)
            x = _along(unit, x, axis)
    return x


def _along(matrix: Any, x: Any, axis: int) -> Any:
    y = v.tensordot(matrix, x, axes=((1,), (axis,)))
    return v.permute_dims(y, axes=(*range(1, axis + 1), 0, *range(axis + 1, x.ndim)))


def _interpolated(
    x: Any,
    at: list[Any],
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
    axes: Sequence[int] | None = None,
) -> Any:
    """Interpolate at coordinates, one array for each axis; along some axes, if not along all."""
    axes = range(x.ndim) if axes is None else axes
    if order not in range(6):
        reject("spline order not supported", RuntimeError)
    if mode == "wrap":  # SciPy's period is one less than the number of elements
        at = [_wrapped(c, n - 1) for c, n in zip(at, x.shape, strict=True)]
    mode = "reflect" if mode == "grid-mirror" else mode
    if mode not in _MODES:
        reject(f"boundary mode not supported: {mode!r}", RuntimeError)
    if mode in ("nearest", "grid-constant") and prefilter and order > 1:
        how = "nearest" if mode == "nearest" else "constant"
        for axis in axes:
            x = around(x, axis, _PADDED, _PADDED, how, cval)
        at = [c + _PADDED if axis in axes else c for axis, c in enumerate(at)]
    beyond = mode if mode in ("reflect", "grid-wrap", "nearest") else "mirror"
    coefficients = _filtered(x, order, beyond, axes) if prefilter else x
    outside: Any = False
    places, weights, beside = [], [], []
    for axis, (c, n) in enumerate(zip(at, x.shape, strict=True)):
        known = readable(c)
        if axis not in axes:
            places.append([known.astype(int)])
            weights.append([1.0])
            beside.append([np.zeros(known.shape, bool)])
            continue
        if mode == "constant":
            outside = outside | (known < 0) | (known > n - 1)
        first = np.floor(known if order % 2 else known + 0.5)
        t = c - first if order % 2 else c + 0.5 - first
        start = first.astype(int) - order // 2
        beside.append([(start + k < 0) | (start + k > n - 1) for k in range(order + 1)])
        places.append([_places(n, start + k, beyond) for k in range(order + 1)])
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


@_like("map_coordinates")
def map_coordinates(
    x: Any, coordinates: Any, order: int, mode: str, cval: Any, prefilter: bool
) -> Any:
    """Interpolate, in images and coordinates, as ``scipy.ndimage.map_coordinates``."""
    at = array_of(coordinates)
    return _interpolated(x, [at[i] for i in range(x.ndim)], order, mode, cval, prefilter)


@_like("spline_filter1d")
def spline_filter1d(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return coefficients of splines along an axis, as ``scipy.ndimage.spline_filter1d``."""
    if order < 2:
        return x
    return _filtered(x, order, mode, [range(x.ndim)[axis]])


@_like("spline_filter")
def spline_filter(x: Any, order: int, mode: str) -> Any:
    """Return coefficients of splines along all axes, as ``scipy.ndimage.spline_filter``."""
    return _filtered(x, order, mode, range(x.ndim))


def _grid(shape: Sequence[int]) -> list[Any]:
    return [np.asarray(i, float) for i in np.indices(tuple(shape), dtype=float)]


@_like("shift")
def shift(x: Any, shift: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """Move an image, in image and way, as ``scipy.ndimage.shift``."""
    steps = [shift] * x.ndim if np.ndim(shift) == 0 else [shift[i] for i in range(x.ndim)]
    at = [i - s for i, s in zip(_grid(x.shape), steps, strict=True)]
    return _interpolated(x, at, order, mode, cval, prefilter)


def _added(start: Any, factors: Any, grid: list[Any]) -> Any:
    """Return the start and the products, added one by one as SciPy does: to the last digit."""
    for factor, part_of_grid in zip(factors, grid, strict=True):
        start = start + factor * part_of_grid
    return start


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
    """Take from the places M i + offset, in all of these, as ``scipy.ndimage.affine_transform``."""
    matrix, n = array_of(matrix), x.ndim
    grid = _grid(x.shape if output_shape is None else output_shape)
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    offsets = [offset] * n if np.ndim(offset) == 0 else [offset[i] for i in range(n)]
    if matrix.ndim == 1:
        at = [matrix[i] * grid[i] + offsets[i] for i in range(n)]
    else:
        at = [_added(offsets[i], matrix[i], grid) for i in range(n)]
    return _interpolated(x, at, order, mode, cval, prefilter)


@_like("zoom")
def zoom(
    x: Any, zoom: Any, order: int, mode: str, cval: Any, prefilter: bool, *, grid_mode: bool
) -> Any:
    """Stretch an image, as ``scipy.ndimage.zoom``: in the image, for its size is whole."""
    factors = _each(readable(zoom), x.ndim)
    if all(f == 1 for f in factors) and prefilter:
        return x
    shape = [round(n * z) for n, z in zip(x.shape, factors, strict=True)]
    sizes = list(zip(x.shape, shape, strict=True))
    if grid_mode:
        at = [(i + 0.5) * n / m - 0.5 for i, (n, m) in zip(_grid(shape), sizes, strict=True)]
    else:
        scale = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in sizes]
        at = [i * s for i, s in zip(_grid(shape), scale, strict=True)]
    return _interpolated(x, at, order, mode, cval, prefilter)


@_like("rotate")
def rotate(
    x: Any,
    angle: Any,
    axes: Any,
    reshape: bool,
    order: int,
    mode: str,
    cval: Any,
    prefilter: bool,
) -> Any:
    """Turn an image in a plane, in image and angle, as ``scipy.ndimage.rotate``."""
    i, j = sorted(range(x.ndim)[a] for a in axes)
    turn = angle * (math.pi / 180)
    c = anchored(special.cosdg(readable(angle)), v.cos(turn))
    s = anchored(special.sindg(readable(angle)), v.sin(turn))
    shape = list(x.shape)
    if reshape:
        a, b = float(readable(c)), float(readable(s))
        corners = np.array([[a, b], [-b, a]]) @ [
            [0, 0, shape[i], shape[i]],
            [0, shape[j], 0, shape[j]],
        ]
        shape[i], shape[j] = (int(n) for n in np.ptp(corners, axis=1) + 0.5)
    at = _grid(shape)
    rows = ((c, s), (-s, c))
    centre = [(shape[k] - 1) / 2 for k in (i, j)]
    plane = [at[i], at[j]]
    for k, row in zip((i, j), rows, strict=True):
        middle = (x.shape[k] - 1) / 2 - (row[0] * centre[0] + row[1] * centre[1])
        at[k] = _added(middle, row, plane)
    return _interpolated(x, at, order, mode, cval, prefilter, (i, j))


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
