"""Aliases of functions that change the shape, or the order of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import manipulation as m
from chainrules_numpy.composites.padding import pad, padded_by
from chainrules_numpy.function_aliases.alias_constructors import (
    axes,
    axis,
    counted_axis,
    ignored,
    one_axis,
    row,
    shape,
)
from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call, plain

_f: Any
_composite: Any


def copied(call: Call, copy: bool | None) -> None:
    """Lower ``copy=``; the result of a copy is not shared with the operand."""
    if copy:
        call.after.append(v.copy)
    elif copy is False:
        raise UnsupportedKeywordError(
            "copy=False asks that memory be shared, which has no derivative; leave copy out"
        )


def ravel(x: Any, order: str = "C") -> Any:
    """Return a view of a contiguous array, else a copy: reshaping would return more views."""
    order = low.order_of(x, order)
    y = m.ravel(x, order)
    flags = getattr(low.laid_out(x), "flags", None)
    if flags is None:  # another library, or unknown
        return y
    return y if flags[f"{order}_CONTIGUOUS"] else v.copy(y)


def _truncated(x: Any) -> Any:
    """Truncate a float, or each in a list, as np.roll and np.repeat do."""
    if isinstance(x, (list, tuple)):
        return list(map(_truncated, x))
    return int(x) if isinstance(x, (float, np.floating)) else x


def _counts(x: Any) -> Any:
    """Return one number unchanged: compilers need the length of the result."""
    x = _truncated(x)
    return x if type(x) is int else low.array_of(x)


def _shifts(x: Any) -> Any:
    """Return a shift, or one for each axis."""
    return low.static(_truncated(x.tolist() if isinstance(x, np.ndarray) else x))


row(
    np.reshape,
    v.reshape,
    refuse=("newshape",),
    shape=shape,
    order=low.element_order,
    copy=copied,
)
for _f, _composite in (
    (np.ravel, ravel),
    (np.swapaxes, m.swapaxes),
    (np.moveaxis, m.moveaxis),
):
    row(_f, _composite)
row(np.transpose, v.permute_dims, axes=low.as_option("axes"))
for _f in (np.matrix_transpose, np.linalg.matrix_transpose):
    row(_f, v.matrix_transpose, None)
row(np.rollaxis, m.rollaxis, axis=counted_axis)
row(np.expand_dims, v.expand_dims, axis=axis)
row(np.squeeze, v.squeeze, axis=axes)
row(np.broadcast_to, v.broadcast_to, "array", shape=shape, subok=ignored)
row(
    np.broadcast_arrays,
    low.gives_arrays(m.broadcast_arrays),
    None,
    gather="arrays",
    parameters={"arrays": None, "subok": False},
    arrays=low.as_arrays,
    subok=ignored,
)
for _f, _composite in (
    (np.atleast_1d, m.atleast_1d),
    (np.atleast_2d, m.atleast_2d),
    (np.atleast_3d, m.atleast_3d),
):
    row(_f, _composite, None, gather="arrays", parameters={"arrays": None}, arrays=low.as_arrays)
row(np.flip, v.flip, "m", axis=axis)
for _f, _composite in ((np.fliplr, m.fliplr), (np.flipud, m.flipud), (np.rot90, m.rot90)):
    row(_f, _composite, "m")
row(np.roll, v.roll, shift=AsArgument("shift", _shifts), axis=axis)
row(np.tile, v.tile, "A", reps=low.as_option("repetitions", sequence=True))
row(np.repeat, v.repeat, axis=one_axis, repeats=low.as_array("repeats", _counts))
row(np.resize, m.resize, new_shape=low.as_option("new_shape"))
for _f, _composite in ((np.diag, m.diag), (np.diagflat, m.diagflat)):
    row(_f, _composite, "v", v=low.as_array("x"), k=low.as_option("k"))
for _f, _composite in ((np.tril, v.tril), (np.triu, v.triu)):
    row(_f, _composite, "m", m=low.as_array("x"))
row(np.astype, v.astype, None, copy=ignored, device=ignored)


def copy_order(call: Call, order: str) -> None:
    """Lower ``order=`` of np.copy, which makes a 0-d array of a number."""
    low.memory_order(call, order)
    call.after.append(low.in_array)


row(np.copy, v.copy, order=copy_order, subok=ignored)


# --------------------------------------------------------------------------------------- windows


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """Make windows, with their lengths and axes as tuples."""
    lengths = low.static(window_shape)
    lengths = lengths if type(lengths) is tuple else (lengths,)
    axes = tuple(range(x.ndim)) if axis is None else m.normal_axes(axis, x.ndim)
    return v.sliding_window_view(x, window_shape=lengths, axis=axes)


row(
    np.lib.stride_tricks.sliding_window_view,
    sliding_window_view,
    None,
    refuse=("subok", "writeable"),
)


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """Raise: the memory of x determines which elements are read."""
    raise UnsupportedKeywordError(
        "as_strided() reads the memory of x, which has no derivative; take sliding_window_view, "
        "broadcast_to, or an index"
    )


row(
    np.lib.stride_tricks.as_strided,
    as_strided,
    None,
    refuse=("subok", "writeable", "check_bounds"),  # the last since NumPy 2.5
)

# --------------------------------------------------------------------------------------- padding


def pad_call(array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Any:
    """Call np.pad, with widths and lengths as pairs of Python integers."""
    widths = pairs(pad_width, array.ndim)
    if callable(mode):
        return padded_by(mode, array, widths, keywords)
    for name in {"constant_values", "end_values"} & keywords.keys():
        keywords[name] = low.array_of(keywords[name])
    if keywords.get("stat_length") is not None:
        keywords["stat_length"] = pairs(keywords["stat_length"], array.ndim)
    return pad(array, widths, mode, **keywords)


def pairs(widths: Any, ndim: int) -> Any:
    """Return one pair of widths for each axis."""
    if isinstance(widths, dict):
        given = {axis % ndim: width for axis, width in widths.items()}
        widths = [given.get(axis, 0) for axis in range(ndim)]
        widths = [w if isinstance(w, tuple) else (w, w) for w in widths]
    array = np.asarray(plain(widths))
    if array.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if np.any(array < 0):
        raise ValueError("index can't contain negative values")
    if array.size <= 2 and array.shape != (2, 1):
        array = array.reshape(-1)
    return tuple([tuple(pair) for pair in np.broadcast_to(array, (ndim, 2)).tolist()])


row(np.pad, low.gives_arrays(pad_call), None)
