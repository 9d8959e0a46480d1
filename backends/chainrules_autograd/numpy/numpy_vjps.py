"""The parts of autograd's internal rules that packages use: sums over broadcast axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def unbroadcast(x: Any, target_meta: Any) -> Any:
    """Sum a cotangent to the shape, and kind, of a broadcast argument with this ``metadata``.

    Examples
    --------
    >>> unbroadcast(np.ones((2, 3)), ((3,), 1, np.dtype(float), False))
    array([2., 2., 2.])
    """
    shape, ndim, _, is_complex = target_meta
    if np.ndim(x) > ndim:
        x = np.sum(x, axis=tuple(range(np.ndim(x) - ndim)))
    axes = tuple([i for i, n in enumerate(shape) if n == 1 and np.shape(x)[i] != 1])
    if axes:
        x = np.sum(x, axis=axes, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a vjp whose result is summed to the shape of an argument."""
    shape = np.shape(target)
    meta = (shape, len(shape), np.result_type(target), np.iscomplexobj(target))
    return lambda g: unbroadcast(f(g), meta)
