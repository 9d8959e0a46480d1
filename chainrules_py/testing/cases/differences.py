"""Derivatives by central differences, with steps chosen where two of them agree best."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

# Powers of two, so that a step is added to an operand without rounding. Later steps are used if the
# first disagree: near a singularity, beyond the edge of the domain, or where a function oscillates
# between 0 and its operand.
_STEPS = (7, 9, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47, 50)
_FIRST = 3
_GOOD = 1e-10
_EPS = 2.0**-52
_NORMAL = 2.0**-1022
"""The smallest normal number: smaller numbers have the same absolute rounding error."""


def power_of_two(x: Any) -> Any:
    """Round positive numbers down to powers of two; 1 for zero and numbers that are not finite.

    Examples
    --------
    >>> power_of_two(np.asarray([5.0, 0.3, 0.0, np.inf]))
    array([4.  , 0.25, 1.  , 1.  ])
    """
    x = np.abs(np.asarray(x, dtype=float))
    usable = np.isfinite(x) & (x > 1e-307)
    return np.where(usable, 2.0 ** np.floor(np.log2(np.where(usable, x, 1.0))), 1.0)


def derivative(f: Callable[[float], Any], size: float = 1.0, heights: Any = 0.0) -> tuple[Any, Any]:
    """Compute the derivative of a vector-valued function at the number 0, with an estimated error.

    Parameters
    ----------
    f : callable
        ``f(t)`` is a vector of real numbers, or an array of another shape.
    size : float
        The t that is comparable to the argument of f: steps begin at 1/128 of it.
    heights : float or vector
        Lower bounds of the numbers that each element of f(t) is computed from.

    Returns
    -------
    value : vector
        The five-point difference at the step where neighbouring steps agree best, for each element.
        The median relative error is about 1e-13.
    error : vector
        The distance between the two steps, including the effects of rounding and of bends of f;
        infinite where no two steps are finite.

    Examples
    --------
    >>> value, error = derivative(lambda t: np.exp(np.asarray([t])))
    >>> bool(abs(value[0] - 1) < 1e-12), bool(error[0] < 1e-9)
    (True, True)
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        center = f(0.0)
        if np.ndim(center) != 1:
            shape, line = np.shape(center), lambda t: np.ravel(f(t))
            heights = np.ravel(np.broadcast_to(heights, shape))
            value, error = derivative(line, size, heights)
            return value.reshape(shape), error.reshape(shape)
        if np.size(center) <= _MANY:
            return _settled(f, size, heights, center, _STEPS)[:2]
        # Of many elements most settle at the first steps; only the others need more.
        value, error, good = _settled(f, size, heights, center, _STEPS[:_FIRST])
        rest = np.flatnonzero(~good)
        if len(rest):
            some = lambda t: f(t)[rest]
            # At short steps the largest number rounds most: zeros of solve(A, A) are made of ones.
            heights = np.maximum(heights, np.max(np.abs(center)))
            heights = np.broadcast_to(heights, np.shape(center))[rest]
            found = _settled(some, size, heights, center[rest], _NEAR)
            value[rest], error[rest] = found[:2]
        return value, error


_MANY = 4096
_NEAR = (26, 29, 32)
"""Steps for the last few elements of many, which may be near kinks: these use two points."""


def _settled(
    f: Callable[[float], Any], size: float, heights: Any, center: Any, steps: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """Compute the derivative, its error, and which of its elements are known."""
    found: list[Any] = []
    noises: list[Any] = []
    bends: list[Any] = []
    unit = float(power_of_two(size))
    value = error = np.full_like(center, np.inf)
    good, largest = np.zeros(np.shape(center), bool), np.abs(center)
    for count, k in enumerate(steps, 1):
        h = unit * 2.0**-k * _ODD[count % len(_ODD)]
        ahead, behind = f(h), f(-h)
        if steps is _NEAR:
            found.append((ahead - behind) / (2 * h))
        else:
            found.append((8 * (ahead - behind) - (f(2 * h) - f(-2 * h))) / (12 * h))
        largest = np.maximum(np.maximum(np.abs(ahead), np.abs(behind)), np.fmax(heights, _NORMAL))
        noises.append(_EPS * largest / h)
        bends.append(np.abs(ahead + behind - 2 * center) / h)
        if count < _FIRST:
            continue
        value, error = _best(np.asarray(found), np.asarray(noises), np.asarray(bends))
        good = (error <= _GOOD * _within(value, found)) | (error <= 8 * noises[0])
        if count == len(steps) == _FIRST:
            break  # further steps are taken for fewer elements
        # At shorter steps, rounding exceeds the present error.
        best = (noises[-1] > error) & (error <= 1e-3 * _within(value, found))
        if np.all(good | best) or not np.all(np.isfinite(center)):
            break
    return value, error, good


_ODD = (13 / 16, 11 / 16, 19 / 32)
"""Factors of steps, so that no step is a whole number of periods, as powers of two may be."""


def _within(value: Any, found: Any) -> Any:
    """Return the absolute values, with a lower bound relative to the largest."""
    return np.maximum(np.abs(value), _floor(np.asarray(found)))


def _floor(found: Any) -> Any:
    """Return what is negligible beside the largest; diverging quotients count by their least."""
    least = np.min(np.abs(found), axis=0, initial=np.inf, where=np.isfinite(found))
    return 1e-3 * np.max(least, initial=0.0, where=np.isfinite(least))


def _best(found: Any, noises: Any, bends: Any) -> tuple[Any, Any]:
    apart = np.abs(found[1:] - found[:-1]) + noises[1:]
    # The second difference over the step shrinks with the step where a function is smooth. It does
    # not across a kink, nor where steps exceed the period of a function.
    size = np.maximum(np.abs(found[1:]), np.abs(found[:-1]))
    size = np.maximum(np.where(np.isfinite(size), size, 0.0), _floor(found))
    rough = (bends[1:] > 0.5 * bends[:-1]) & (bends[1:] > 32 * noises[1:])
    rough &= bends[1:] > 1e-6 * size
    apart = np.where(rough, np.maximum(apart, bends[1:]), apart)
    apart = np.where(np.isfinite(apart), apart, np.inf)
    with np.errstate(all="ignore"):
        score = np.where(apart == 0.0, 0.0, apart / size)
    score = np.where(np.isnan(score), np.inf, score)
    # Where all is rounding, the longest step has the least.
    each = np.arange(apart.shape[1])
    least, best = apart.argmin(axis=0), score.argmin(axis=0)
    is_noise = apart[least, each] <= 8 * noises[1:][least, each]
    best = np.where(is_noise & (score[best, each] > 1e-3), least, best)
    return found[best + 1, each], apart[best, each]


def rounds(f: Callable[[float], Any], size: float = 1.0) -> bool:
    """Return whether f rounds inside to fewer digits than it has.

    A kink bends a function at one point, and a wave alternately; rounding inside it, as to single
    precision, bends it anew at each step, and never by more than a small part of its value.

    Examples
    --------
    >>> x = np.linspace(0.1, 2.0, 5)
    >>> [rounds(lambda t, d=d: np.tanh((x + t).astype(d))) for d in ("f8", "f4", "f2")]
    [False, True, True]
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for h in (2.0 ** np.floor(np.log2(size)) * 2.0**-k for k in (13, 8)):
            # At equal steps, rounding may be the same at each of them.
            found = np.stack([np.ravel(f(h * (k + k * k / 23))) for k in range(-8, 9)])
            fourth = np.diff(found, 4, axis=0)
            parts = np.quantile(np.abs(fourth), 0.25, axis=0) / np.max(np.abs(found), axis=0)
            turns = np.mean(fourth[1:] * fourth[:-1] < 0, axis=0) >= 0.5
            if np.any(turns & (parts > 2.0**-30) & (parts < 2.0**-8)):
                return True
    return False


def slopes(f: Callable[[float], Any], size: float = 1.0, digits: int = 20) -> tuple[Any, Any, Any]:
    """Compute the one-sided difference quotients at 0, and their tolerance.

    Parameters
    ----------
    f, size
        As in `derivative`.
    digits : int
        The step is ``size`` times two to the power of minus this.

    Examples
    --------
    >>> left, right, slack = slopes(lambda t: np.abs([t]))
    >>> left, right
    (array([-1.]), array([1.]))
    """
    h = 2.0 ** np.floor(np.log2(size)) * 2.0**-digits
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        center, ahead, behind = f(0.0), f(h), f(-h)
        left, right = (center - behind) / h, (ahead - center) / h
        largest = np.maximum(np.maximum(np.abs(ahead), np.abs(behind)), _NORMAL)
        slack = 1e-4 * np.maximum(np.abs(left), np.abs(right)) + 64 * _EPS * largest / h
    return left, right, slack
