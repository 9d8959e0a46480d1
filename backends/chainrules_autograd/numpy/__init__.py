"""NumPy's functions, which accept traced values; those that make arrays of lists are replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_autograd.numpy import fft, linalg, numpy_boxes, random
from chainrules_autograd.numpy.arrays import array, asarray, listed
from chainrules_py.extend import find_tracers
from chainrules_tape import full

__all__ = [
    "append",
    "array",
    "asarray",
    "c_",
    "concatenate",
    "fft",
    "full",
    "linalg",
    "make_diagonal",
    "mean",
    "numpy_boxes",
    "r_",
    "random",
    "stack",
    "std",
    "var",
]


append, mean, std, var = listed(np.append), listed(np.mean), listed(np.std), listed(np.var)


def stack(arrays: Any, axis: int = 0) -> Any:
    """Stack arrays; iterators are read first."""
    return np.stack(list(arrays), axis)


def concatenate(arrays: Any, axis: int = 0) -> Any:
    """Join arrays; iterators are read first."""
    return np.concatenate(list(arrays), axis)


class _Joined:
    """``np.r_`` and ``np.c_``; traced values allow no strings.

    Examples
    --------
    >>> from chainrules_autograd import grad
    >>> print(grad(lambda x: np.sum(r_[x, 1.0:3.0, 2.0 * x]))(1.0))
    3.0
    """

    def __init__(self, native: Any, axis: int) -> None:
        self.native, self.axis = native, axis

    def __getitem__(self, key: Any) -> Any:
        if not find_tracers(key):
            return self.native[key]
        parts = [np.r_[x] if isinstance(x, slice) else x for x in _as_tuple(key)]
        parts = [x if np.ndim(x) else np.reshape(x, (1,)) for x in map(array, parts)]
        if self.axis:
            parts = [np.reshape(x, (-1, 1)) if np.ndim(x) == 1 else x for x in parts]
        return np.concatenate(parts, axis=self.axis)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


r_, c_ = _Joined(np.r_, 0), _Joined(np.c_, -1)


def make_diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return matrices with the last axis of x as their diagonals; only axes -1 and -2.

    Examples
    --------
    >>> make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError(
            "make_diagonal takes offset=0, axis1=-1, axis2=-2 alone; write np.diag or np.eye"
        )
    return x[..., None] * np.eye(np.shape(x)[-1])


def __getattr__(name: str) -> Any:
    return getattr(np, name)
