"""Reading and adding rows of arrays at an array of indices, in NumPy's fastest ways."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

_PIECE = 16_384
"""The number of elements that are added at once."""
_NARROW, _LONG = 12, 120
"""np.add.at is faster for one part of a buffer after the other up to this number of parts, if this
many elements are added for each of them.
"""
_PAIRS = {"d": np.complex128, "f": np.complex64}
"""Two neighbours are added at once as one complex number, in two thirds of the time."""


def read_rows(x: Any, places: Any) -> Any:
    """Return ``x[places]``; for matrices by `numpy.take`, in a fourth of the time."""
    if type(x) is not np.ndarray or type(places) is not np.ndarray or x.ndim < 2 or not len(x):
        return x[places]
    in_order = x.flags.c_contiguous and places.flags.c_contiguous  # so the layout is the same
    return x.take(places, 0) if in_order and places.ndim and places.dtype.kind == "i" else x[places]


def read_columns(x: Any, places: Any) -> Any:
    """Return ``x[:, places]``; for long indices by `numpy.take`, in a third of the time."""
    if type(x) is type(places) is np.ndarray and x.ndim == 2 and places.ndim == 1:
        # This copies the matrix as well, so it pays for many columns. The layout is NumPy's.
        pays = x.shape[1] + 500 <= 2 * len(places) and x.flags.c_contiguous
        if pays and places.dtype.kind == "i":
            with contextlib.suppress(IndexError):  # NumPy's names the axis
                return x.T.take(places, 0).T
    return x[:, places]


def add_along(buffer: np.ndarray, y: Any, places: np.ndarray, axis: int) -> None:
    """Add y in place at an array of indices along an axis."""
    # One loop over flat indices is four times as fast as np.add.at with axes, if there are many:
    # computing the flat indices takes as long as adding 500 elements.
    before, n, after = buffer.shape[:axis], buffer.shape[axis], buffer.shape[axis + 1 :]
    lead, width = math.prod(before), math.prod(after)
    flat = places.reshape(-1).astype(np.intp, copy=False)  # a small dtype would overflow
    if np.maximum.reduce(flat.view(np.uintp)) >= n:  # or one is negative
        if np.minimum.reduce(places, axis=None) < -n or np.maximum.reduce(places, axis=None) >= n:
            where: Any = (*(slice(None),) * axis, places)
            np.add.at(buffer, where, y)  # raises
        flat = np.where(flat < 0, flat + n, flat)
    shape = (*before, *places.shape, *after)
    y = y if getattr(y, "shape", None) == shape else np.broadcast_to(y, shape)
    pair = _PAIRS.get(buffer.dtype.char)
    if pair and width % 2 == 0 and y.dtype == buffer.dtype and y.flags.c_contiguous:
        buffer, y = buffer.reshape(-1, width).view(pair), y.reshape(-1, width).view(pair)
        width //= 2
    parts = lead * width
    if parts <= _NARROW and parts in (lead, width) and flat.size >= _LONG * parts:
        if width == 1:
            into, ys = buffer.reshape(lead, n), y.reshape(lead, flat.size)
        else:
            into, ys = buffer.reshape(n, width).T, y.reshape(flat.size, width).T
        for part, y_part in zip(into, ys, strict=True):
            np.add.at(part, flat, y_part)
        return
    if axis:
        flat = (np.arange(0, lead * n, n)[:, None] + flat).reshape(-1)
    if axis or not places.ndim:
        _add_rows(buffer, y, flat, width)
        return
    per = flat.size // len(y)  # in pieces, one after the other, to save memory
    rows = max(_PIECE // (per * width or 1), 1)
    for k in range(0, len(y), rows):
        _add_rows(buffer, y[k : k + rows], flat[k * per : (k + rows) * per], width)


def _add_rows(buffer: np.ndarray, y: Any, places: np.ndarray, width: int) -> None:
    if width > 1:
        places = (places[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(buffer.reshape(-1), places, y.reshape(-1))
