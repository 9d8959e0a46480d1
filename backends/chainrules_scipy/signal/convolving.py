"""Convolutions and correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import fourier_composites, kind_of, varies
from chainrules_scipy.ndimage import around
from chainrules_scipy.rows import array_of, reject, stands_for


def last(x: Any, axis: int) -> Any:
    """Put an axis last."""
    axis = range(x.ndim)[axis]
    return v.permute_dims(x, axes=(*(i for i in range(x.ndim) if i != axis), axis))


def back(y: Any, axis: int) -> Any:
    """Put the last axis where it was."""
    axis = range(y.ndim)[axis]
    order = [*range(y.ndim - 1)]
    order.insert(axis, y.ndim - 1)
    return v.permute_dims(y, axes=tuple(order))


_DIRECT = 1 << 18
"""So many products at most are added one by one; above, Fourier transforms are multiplied."""


def _cut(full: Any, mode: str, x: tuple[int, ...], k: tuple[int, ...], axes: Any) -> Any:
    """Take the part of a whole convolution that a mode asks for."""
    if mode not in ("full", "same", "valid"):
        reject(f"mode is {mode!r}, and has to be 'full', 'same' or 'valid'", ValueError)
    if mode == "full":
        return full
    index = [slice(None)] * full.ndim
    for i in axes:
        n = x[i] if mode == "same" else abs(x[i] - k[i]) + 1
        start = (full.shape[i] - n) // 2
        index[i] = slice(start, start + n)
    return full[tuple(index)]


def convolved(x: Any, k: Any, mode: str, axes: Any = None) -> Any:
    """Convolve along axes: all by default."""
    x, k = array_of(x), array_of(k)
    if x.ndim != k.ndim:
        reject(f"arrays of {x.ndim} and {k.ndim} axes; give both as many", ValueError)
    axes = range(x.ndim) if axes is None else [range(x.ndim)[i] for i in np.atleast_1d(axes)]
    if mode == "valid" and not (
        all(x.shape[i] >= k.shape[i] for i in axes) or all(x.shape[i] <= k.shape[i] for i in axes)
    ):
        reject(
            "For 'valid' mode, one must be at least as large as the other in every dimension",
            ValueError,
        )
    if x.ndim == 0:
        return x * k
    taps = math.prod(k.shape[i] for i in axes)
    few = len(axes) == x.ndim and taps * math.prod(x.shape) <= _DIRECT and taps <= 64
    return _cut(_added(x, k) if few else _multiplied(x, k, axes), mode, x.shape, k.shape, axes)


def _added(x: Any, k: Any) -> Any:
    """Σ_j k_j x moved by j."""
    total: Any = None
    for j in np.ndindex(*k.shape):
        widths = tuple((i, n - 1 - i) for i, n in zip(j, k.shape, strict=True))
        part = v.pad(x, 0.0, widths=widths) * k[j]
        total = part if total is None else total + part
    return total


def _multiplied(x: Any, k: Any, axes: Any) -> Any:
    shape = [x.shape[i] + k.shape[i] - 1 for i in axes]
    axes = list(axes)
    if "complex" in (kind_of(x), kind_of(k)):
        a, b = (fourier_composites.fftn(y, shape, axes) for y in (x, k))
        return fourier_composites.ifftn(a * b, shape, axes)
    a, b = (fourier_composites.rfftn(y, shape, axes) for y in (x, k))
    return fourier_composites.irfftn(a * b, shape, axes)


@stands_for(native.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays along all axes."""
    return convolved(in1, in2, mode)


@stands_for(native.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays along some axes."""
    return convolved(in1, in2, mode, axes)


@stands_for(native.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays along some axes, as `fftconvolve` does."""
    return convolved(in1, in2, mode, axes)


@stands_for(native.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays along all axes: convolve with the second one's conjugate, turned."""
    k = array_of(in2)
    return convolved(in1, v.conj(v.flip(k, axis=tuple(range(k.ndim)))) if k.ndim else k, mode)


_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "reflect",
    "symmetric": "reflect",
}


def _in_the_plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """Convolve what goes on behind its edges: the parts that need nothing from there are valid."""
    x, k = array_of(in1), array_of(in2)
    if boundary not in _BOUNDARIES:
        reject(f"boundary is {boundary!r}, and has to be 'fill', 'wrap' or 'symm'", ValueError)
    boundary = _BOUNDARIES[boundary]
    plain = boundary == "constant" and not varies(fillvalue) and fillvalue == 0
    if plain or mode == "valid":
        return convolved(x, k, mode)
    sizes, wide = tuple(x.shape), x
    for axis, m in enumerate(k.shape):
        wide = around(wide, axis, m - 1, m - 1, boundary, fillvalue)
    return _cut(convolved(wide, k, "valid"), mode, sizes, k.shape, (0, 1))


@stands_for(native.convolve2d)
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolve two matrices."""
    return _in_the_plane(in1, in2, mode, boundary, fillvalue)


@stands_for(native.correlate2d)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate two matrices."""
    x, k = array_of(in1), v.conj(v.flip(array_of(in2), axis=(0, 1)))
    if mode != "same":
        return _in_the_plane(x, k, mode, boundary, fillvalue)
    full = _in_the_plane(x, k, "full", boundary, fillvalue)  # the middle, rounded up
    return full[tuple(slice(m // 2, m // 2 + n) for m, n in zip(k.shape, x.shape, strict=True))]
