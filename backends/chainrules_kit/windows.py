"""Windows of arrays, for libraries whose arrays have no views."""

from __future__ import annotations

from typing import Any


def gathered_windows(xp: Any, x: Any, window_shape: Any, axis: Any) -> Any:
    """Gather windows along each axis, as `sliding_window_view` shows them.

    Parameters
    ----------
    xp : module
        The library's functions: ``arange``, ``take`` and ``moveaxis``.
    x : array
        Of that library.
    window_shape, axis : int or sequence of int
        As `numpy.lib.stride_tricks.sliding_window_view` takes them.

    Raises
    ------
    ValueError
        If a window is larger than the array.
    """
    lengths = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for n, k in zip(lengths, [k % x.ndim for k in axes], strict=True):
        count = x.shape[k] - n + 1
        if count < 1:
            msg = f"window_shape {window_shape} is larger than an array of shape {x.shape}"
            raise ValueError(msg)
        places = xp.arange(count)[:, None] + xp.arange(n)
        x = xp.moveaxis(xp.take(x, places, axis=k), k + 1, -1)
    return x
