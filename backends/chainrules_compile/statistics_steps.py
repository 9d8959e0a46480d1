"""Statistics: means, variances, norms, differences and softmaxes as the operations that they are.

NumPy's functions have an overhead of 4 to 10 us, and every target supports the steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import is_finite
from chainrules_compile.passes.analysis import axes_of
from chainrules_compile.recorded_values import Noted
from chainrules_py import ops as v
from chainrules_py.extend import entropy_rules, reduction_rules

_OPTIONS = frozenset(("axis", "keepdims", "ord", "n", "correction", "ddof"))


def in_steps(function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return a statistic of a recorded floating array by its steps; None if it has none."""
    step, positional = STEPS.get(function, (None, 0))
    if step is None or not isinstance(operands[0], Noted) or len(operands) > positional:
        return None
    x = operands[0].payload
    floats = type(x) is np.ndarray and x.dtype.char in "fd" and x.shape and x.size
    return step(*operands, **options) if floats and options.keys() <= _OPTIONS else None


def _reduction(operation: Any) -> Callable[..., Any]:
    """Return the operation for a reduction of NumPy."""

    def reduce(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        n = x.ndim
        axes = sorted({*axes_of(axis, n)})
        axis = None if len(axes) == n else axes[0] if len(axes) == 1 else tuple(axes)
        return operation(x, axis=axis, keepdims=keepdims)

    return reduce


_sum = _reduction(v.sum)


def _count(x: Any, axis: Any) -> int:
    """Return the number of elements that are summed."""
    return math.prod([x.shape[d] for d in axes_of(axis, x.ndim)])


def _mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _sum(x, axis, keepdims=keepdims) / _count(x, axis)


def _var(
    x: Any, axis: Any = None, *, ddof: Any = 0, correction: Any = 0, keepdims: bool = False
) -> Any:
    freedom = _count(x, axis) - ddof - correction
    if freedom <= 0:
        return None
    apart = x - _mean(x, axis, keepdims=True)
    return _sum(apart * apart, axis, keepdims=keepdims) / freedom


def _std(x: Any, axis: Any = None, **options: Any) -> Any:
    variance = _var(x, axis, **options)
    return None if variance is None else np.sqrt(variance)


def _vector_norm(x: Any, *, ord: Any = 2, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sqrt(_sum(x * x, axis, keepdims=keepdims)) if ord == 2 else None


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    of_vectors = x.ndim == 1 or (axis is not None and type(axis) is not tuple)
    order = 2 if ord is None else ord if of_vectors else None
    return _vector_norm(x, ord=order, axis=axis, keepdims=keepdims)


def _diff(x: Any, n: Any = 1, axis: Any = -1) -> Any:
    lead = (slice(None),) * (axis % x.ndim)
    if n != 1 or x.shape[axis] < 2:
        return None
    return x[(*lead, slice(1, None))] - x[(*lead, slice(None, -1))]


def _weighted_pull(y_bar: Any, weights: Any, axis: Any, keepdims: bool, *saved: Any) -> Any:
    """Return the pullback of `logsumexp` by its steps; None for others, and for infinite sums."""
    if weights is not _shares or not all([isinstance(x, Noted) for x in saved[:2]]):
        return None
    x, y, _ = saved
    if x.dtype.char not in "fd" or not y.recorder.call(is_finite, (y,), {"like": np.ndarray}):
        return None
    return np.exp(x - _kept(y, axis, keepdims)) * _kept(y_bar, axis, keepdims)


_shares: Any = entropy_rules.shares
_kept: Any = reduction_rules.kept
PULLBACKS: dict[Any, Callable[..., Any]] = {reduction_rules.weighted_pull: _weighted_pull}
"""The steps of pullbacks, by those of the rules."""
STEPS: dict[Any, tuple[Callable[..., Any], int]] = {
    np.sum: (_sum, 2),
    np.max: (_reduction(v.max), 2),
    np.min: (_reduction(v.min), 2),
    np.prod: (_reduction(v.prod), 2),
    **dict.fromkeys((v.mean, np.mean), (_mean, 2)),
    **dict.fromkeys((v.var, np.var), (_var, 2)),
    **dict.fromkeys((v.std, np.std), (_std, 2)),
    **dict.fromkeys((v.diff, np.diff), (_diff, 3)),
    np.linalg.norm: (_norm, 4),
    v.vector_norm: (_vector_norm, 1),
}
"""The steps of operations and of NumPy's functions, and how many positional arguments they take."""
