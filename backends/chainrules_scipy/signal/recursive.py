"""The word that recursive filters are made of, and its rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v


@primitive
def recursive_filter(a: Array, x: Array, /) -> Any:
    """Solve Σ_k a_k y_{n - k} = x_n along the last axis, where y is 0 before the first element."""


@recursive_filter.implement
def recursive_filter_numpy(a: np.ndarray, x: np.ndarray) -> Any:
    """By SciPy's filter."""
    return scipy.signal.lfilter([1.0], a, x, axis=-1)


@rule(recursive_filter)
def recursive_filter_rule(a: Array, x: Array) -> Any:
    """Differentiate A y = x, where A is Toeplitz: ẏ = A⁻¹ (ẋ - Ȧ y), x̄ = A⁻ᴴ ȳ.

    And ā_k = -Σ_n x̄_n conj(y_{n - k}).
    """
    y = recursive_filter(a, x)
    return y, (
        LinearMap(_factors_push, _factors_pull, a, y),
        LinearMap(_solve, _solve_back, a),
    )


def _solve(x_dot: Any, a: Any) -> Any:
    return recursive_filter(a, x_dot)


def _solve_back(y_bar: Any, a: Any) -> Any:
    turned = v.flip(y_bar, axis=-1)
    return v.flip(recursive_filter(v.conj(a), turned), axis=-1)


def _factors_push(a_dot: Any, a: Any, y: Any) -> Any:
    total: Any = 0.0
    for k in range(a.shape[0]):
        total = total + a_dot[..., k] * delayed(y, k)
    return -_solve(total, a)


def _factors_pull(y_bar: Any, a: Any, y: Any) -> Any:
    x_bar = _solve_back(y_bar, a)
    return -v.stack(*[v.sum(x_bar * v.conj(delayed(y, k))) for k in range(a.shape[0])], axis=0)


def delayed(y: Any, k: int) -> Any:
    """Shift by k places along the last axis; zeros enter."""
    if k == 0:
        return y
    n = y.shape[-1]
    if k >= n:
        return v.zeros_like(y)
    widths = ((0, 0),) * (y.ndim - 1) + ((k, 0),)
    return v.pad(y[..., : n - k], 0.0, widths=widths)
