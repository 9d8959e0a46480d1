"""Derivatives by central differences, with steps chosen where two of them agree best."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["derivative"]

# Relative to the length of the direction. The later ones are tried if the first disagree: near a
# singularity, or beyond the edge of the domain.
_STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
_FIRST = 3
_GOOD = 1e-10


def derivative(f: Callable[[float], Any]) -> tuple[Any, Any]:
    """Compute the derivative of a vector-valued function at the number 0, with an estimated error.

    Parameters
    ----------
    f : callable
        ``f(t)`` is a vector of real numbers.

    Returns
    -------
    value : vector
        The five-point difference of the step at which neighbouring steps agree best, element by
        element. The median relative error is about 1e-13.
    error : vector
        How far the two steps are apart; at a kink, the jump of the slope; infinite where no two of
        them are finite.

    Examples
    --------
    >>> value, error = derivative(lambda t: np.exp(np.asarray([t])))
    >>> bool(abs(value[0] - 1) < 1e-12), bool(error[0] < 1e-9)
    (True, True)
    """
    found: list[Any] = []
    bends: list[Any] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        center = f(0.0)
        value = error = np.full_like(center, np.inf)
        for count, h in enumerate(_STEPS, 1):
            ahead, behind = f(h), f(-h)
            found.append((8 * (ahead - behind) - (f(2 * h) - f(-2 * h))) / (12 * h))
            bends.append(np.abs(ahead + behind - 2 * center) / h)
            if count >= _FIRST:
                value, error = _best(np.asarray(found))
                if np.all(error <= _GOOD * np.maximum(1.0, np.abs(value))):
                    break
        return value, np.maximum(error, _bend(bends[-2], bends[-1], value))


def _bend(before: Any, last: Any, value: Any) -> Any:
    """Return the jump of the slope, where it does not shrink with the step: at a kink."""
    is_kink = (last > 0.7 * before) & (last > 1e-6 * np.maximum(1.0, np.abs(value)))
    return np.where(is_kink, last, 0.0)


def _best(found: Any) -> tuple[Any, Any]:
    apart = np.abs(np.diff(found, axis=0))
    apart = np.where(np.isfinite(apart), apart, np.inf)
    best = np.argmin(apart, axis=0, keepdims=True)
    value = np.take_along_axis(found, best + 1, axis=0)[0]
    return value, np.take_along_axis(apart, best, axis=0)[0]
