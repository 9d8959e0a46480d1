"""NumPy implementations of special functions that need only exponentials and sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_numpy.array_types import finite, half
from chainrules_numpy.without_warnings import quietly
from chainrules_py import ops as v
from chainrules_py.extend import entropy_rules, reduction_rules

_entropies: Any = entropy_rules  # rules have no type annotations
_reductions: Any = reduction_rules
_maximum: Any = np.maximum.reduce


def _shifted(x: Any, axis: Any, of: Any = np.real) -> tuple[Any, Any]:
    """Return x minus its largest element or largest real part, and that value."""
    x = np.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    largest = _maximum(of(x), axis=axis, keepdims=True, initial=-np.inf)
    if not finite(largest):
        largest = np.where(np.isfinite(largest), largest, x.real.dtype.type(0))
    return x - largest, largest


@v.logsumexp.implement
def logsumexp_numpy(x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Add the largest terms separately, so that small ones count beside a sum near 0."""
    if x.dtype.char == "d" and x.ndim == 1 and x.size and axis in (None, 0, -1) and not keepdims:
        largest = x.max()
        if math.isfinite(largest):
            return _of_vector(x - largest) + largest
    x, largest = _shifted(x, axis)
    if x.dtype.kind == "c":
        y = quietly(np.log, np.add.reduce(np.exp(x), axis=axis, keepdims=True)) + largest
    else:
        top = x == 0
        terms = np.asarray(np.exp(x))
        terms[top] = 0
        rest = np.add.reduce(terms, axis=axis, keepdims=True)
        count = np.add.reduce(top, axis=axis, keepdims=True, dtype=x.dtype)
        if np.count_nonzero(count) == count.size:
            y = np.log(count) + np.log1p(rest / count) + largest
        else:  # where nothing is finite
            y = quietly(np.log, count) + np.log1p(rest / np.maximum(count, 1)) + largest
            y = np.where(count == 0, quietly(np.log, rest), y)
    return y if keepdims else y.squeeze(axis)[()]


def _of_vector(x: Any) -> Any:
    """Compute the logarithm for a vector whose largest element is 0; scalars take less time."""
    terms = np.exp(x)
    top = (x == 0).nonzero()[0]
    terms[top] = 0
    count = float(len(top))
    return np.log(count) + np.log1p(np.add.reduce(terms) / count)


def shares_numpy(x: Any, y: Any, keepdims: bool, axis: Any) -> Any:
    """Compute the shares of a sum of exponentials; finite sums need no replacement."""
    if y.dtype.kind == "c" or not finite(y):
        return _entropies.shares(x, y, keepdims, axis)
    return np.exp(x - _reductions.kept(y, axis, keepdims))


half[_entropies.shares] = shares_numpy


@v.softmax.implement
def softmax_numpy(x: np.ndarray | np.generic, *, axis: Any = None) -> Any:
    """Compute the softmax as SciPy does, to the last bit."""
    y = np.exp(_shifted(x, axis, np.asarray)[0])
    return y / np.add.reduce(y, axis=axis, keepdims=True)


@v.log_softmax.implement
def log_softmax_numpy(x: np.ndarray | np.generic, *, axis: Any = None) -> Any:
    """Compute the logarithm of the softmax as SciPy does, to the last bit."""
    x = _shifted(x, axis, np.asarray)[0]
    return x - quietly(np.log, np.add.reduce(np.exp(x), axis=axis, keepdims=True))
