"""What a function rounds inside: how finely, and the slope of what is behind the stairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDING = {"round", "around", "rint", "floor", "ceil", "trunc", "fix", "digitize"}
"""The names of functions that are meant to be flat, with jumps."""


def grain(f: Callable[[float], Any], size: float = 1.0) -> float:
    """Measure how far apart, relative to them, the numbers are that f rounds to inside, or 0.

    A kink bends a function at one place, and a wave in turns; rounding inside it, as to single
    precision, bends it anew at each step, and never by more than a small part of it.

    Examples
    --------
    >>> x = np.linspace(0.1, 2.0, 5)
    >>> fine, coarse = [grain(lambda t, d=d: np.tanh((x + t).astype(d))) for d in ("f8", "f4")]
    >>> fine, 2.0**-26 < coarse < 2.0**-20
    (0.0, True)
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for h in (2.0 ** np.floor(np.log2(size)) * 2.0**-k for k in (13, 8)):
            # At even steps, rounding may be alike at each of them.
            found = np.stack([np.ravel(f(h * (k + k * k / 23))) for k in range(-8, 9)])
            fourth = np.diff(found, 4, axis=0)
            parts = np.quantile(np.abs(fourth), 0.25, axis=0) / np.max(np.abs(found), axis=0)
            turns = np.mean(fourth[1:] * fourth[:-1] < 0, axis=0) >= 0.5
            if np.any(seen := turns & (parts > _COARSE) & (parts < _COARSEST)):
                return float(np.max(parts[seen]))
    return 0.0


def narrows(f: Callable[[Any], Any], numbers: Any) -> Any:
    """Tell which results are of operands that f rounds to single or half precision at first.

    Such a result is another at each of the numbers which that precision has, and the same at all
    that are rounded to one of these: its steps are those of the format, and mean nothing else.

    Parameters
    ----------
    f : callable
        Takes what is added to all numbers of the operands, and gives all those of the result.
    numbers : array
        Those of the operands.

    Examples
    --------
    >>> x = np.linspace(0.3, 2.0, 3)
    >>> narrows(lambda t: np.sin(np.float32(x + t)), x)
    array([ True,  True,  True])
    >>> narrows(lambda t: np.round(x + t, 7), x)
    array([False, False, False])
    """
    found = False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for dtype in (np.float32, np.float16):
            at, same, steps, before = numbers.astype(dtype), True, 0, None
            for _ in range(8):
                at = np.where(numbers == 0.0, at, np.nextafter(at, dtype(np.inf)))
                gaps = np.where(numbers == 0.0, 0.0, np.spacing(at)).astype(float)
                here, *beside = (f(at + k * np.abs(gaps) - numbers) for k in (0.0, 0.3, -0.2))
                same = same & np.all([y == here for y in beside], axis=0)
                steps = steps + (before is not None and here != before)
                before = here
            found = found | (same & (steps >= 6))
    return found


def slope_behind_stairs(f: Callable[[float], Any], size: float, digits: float) -> tuple[Any, Any]:
    """Compute the slope of what f rounds, by a polynomial through many points, with its error.

    Examples
    --------
    >>> f = lambda t: np.sin(np.asarray([t], "f2"))
    >>> slope, error = slope_behind_stairs(f, 1.0, 2.0**-11)
    >>> bool(abs(slope[0] - 1) < error[0] < 0.01)
    True
    """
    t = np.cos(np.pi * (np.arange(48) + 0.5) / 48)
    fits = [np.linalg.pinv(np.vander(t, n, increasing=True)) for n in (6, 8)]
    found, errors, largest = [], [], 0.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k in (1, 3, 5, 8, 11, 14):
            h = 2.0 ** np.floor(np.log2(size)) * 2.0**-k
            values = np.stack([f(h * x) for x in t])
            (first, *_), (second, *_) = ((fit @ values)[1:] / h for fit in fits)
            rest = values - np.vander(t, 8, increasing=True) @ (fits[1] @ values)
            found.append(second)
            largest = np.fmax(largest, np.nan_to_num(np.max(np.abs(values), axis=0), posinf=0.0))
            least = digits * largest / 8
            errors.append(np.abs(first - second) + 4.0 * np.fmax(np.std(rest, axis=0), least) / h)
    apart = np.where(np.isfinite(errors), errors, np.inf)
    best = np.argmin(apart, axis=0)[None]
    return np.take_along_axis(np.asarray(found), best, 0)[0], np.take_along_axis(apart, best, 0)[0]


def jumps(there: Callable[[float], Any], size: float) -> Any:
    """Tell which values a very small step changes by as much as a smaller one does.

    Examples
    --------
    >>> jumps(lambda t: np.array([np.sign(t), 1.0 + t]), 1.0)
    array([ True, False])
    """
    here = there(0.0)
    found = np.zeros(here.shape, bool)
    for step in (size, -size):
        apart = np.abs([there(step * 2.0**-k) - here for k in (41, 44, 47)])
        most = apart.max(axis=0)
        found |= (apart.min(axis=0) > 0.9 * most) & (most > 64 * 2.0**-52 * np.abs(here))
    return found


_COARSE, _COARSEST = 2.0**-30, 2.0**-8


_DIGIT, _LEAST = 2.0**-52, 2.0**-1022
"""The distance of 1 to the next number, and the least number of full precision."""


def slopes(f: Callable[[float], Any], size: float = 1.0, digits: int = 20) -> tuple[Any, Any, Any]:
    """Compute the quotients to both sides of 0, and what rounding and bending make of them.

    Parameters
    ----------
    f, size
        A function of one number, and which number is comparable to what it is a function of.
    digits : int
        The step is two to the power of minus this, times the size.

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
        largest = np.maximum(np.maximum(np.abs(ahead), np.abs(behind)), _LEAST)
        slack = 1e-4 * np.maximum(np.abs(left), np.abs(right)) + 64 * _DIGIT * largest / h
    return left, right, slack
