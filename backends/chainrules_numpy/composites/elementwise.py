"""Elementwise functions that are composed of several operations."""

import math
from collections.abc import Callable
from typing import Any

from chainrules_numpy.keyword_lowerings import in_memory_order
from chainrules_py import Numeric
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, untraced


def angle(z: Numeric, deg: bool = False) -> Any:
    """Compute the angle of complex numbers, in radians or degrees; of real ones it is 0 or π."""
    x = z if kind_of(z) == "complex" else untraced(z)
    radians = v.atan2(v.imag(x), v.real(x))
    if kind_of(z) == "real":  # the derivative of a step: 0, also at 0
        radians = radians + 0 * v.sign(z)
    return radians * (180 / math.pi) if deg else radians


def bounded(x: Numeric, lo: Numeric | None = None, hi: Numeric | None = None) -> Any:
    """Clip x to bounds, each of which may be absent."""
    if lo is None:
        return v.positive(x) if hi is None else v.clip_above(x, hi)
    return v.clip_below(x, lo) if hi is None else v.clip(x, lo, hi)


# ---------------------------------------------------------------------------------- choosing


def select(conditions: list[Any], choices: list[Any], default: Any = 0) -> Any:
    """Return at each index the choice of the first condition that holds, or the default."""
    if len(conditions) != len(choices) or not conditions:
        raise ValueError(
            f"select takes a choice for each condition, and got {len(conditions)}, {len(choices)}"
        )
    y = default
    for i, (condition, x) in enumerate(reversed(list(zip(conditions, choices, strict=True)))):
        if kind_of(condition) != "bool":
            raise TypeError(
                f"condition {len(choices) - 1 - i} is {condition.dtype}, and has to be boolean"
            )
        y = v.where(condition, x, y)
    return in_memory_order(y, y, "C")


def choose(a: Any, choices: list[Any], mode: str = "raise") -> Any:
    """Return at each index the element of the choice whose number is in a.

    ``mode`` is what happens to a number without a choice: ``"raise"``, ``"clip"`` to the nearest
    one, or ``"wrap"`` around.
    """
    n = len(choices)
    a = v.where(a, 1, 0) if kind_of(a) == "bool" else a
    if mode == "wrap":
        a = v.remainder(a, n)
    elif mode == "clip":
        a = v.clip(a, 0, n - 1)
    elif mode != "raise":
        raise ValueError(f"choose(mode={mode!r}): mode is 'raise', 'wrap' or 'clip'")
    return v.choose(a, *choices)


# ------------------------------------------------------------------------------ interpolation


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Interpolate linearly at x between points (xp, fp); return ``left``, ``right`` beyond them."""
    y = v.interp(x, xp, fp)
    if left is not None:
        y = v.where(v.less(x, v.index(xp, 0)), left, y)
    return y if right is None else v.where(v.greater(x, v.index(xp, -1)), right, y)


def interp_periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    """Interpolate linearly between periodic points, in any order."""
    period = v.abs(period)
    x, xp = v.remainder(x, period), v.remainder(xp, period)
    order = v.argsort(xp)
    xp, fp = v.take(xp, order, axis=0), v.take(fp, order, axis=0)
    first, last = slice(0, 1), slice(-1, None)
    before, after = v.index(xp, last) - period, v.index(xp, first) + period
    fp = v.concat(v.index(fp, last), fp, v.index(fp, first))
    return v.interp(x, v.concat(before, xp, after), fp)


# --------------------------------------------------------------------------------- reductions


def _log_of_sum(exp: Callable[[Any], Any], log: Callable[[Any], Any]) -> Callable[..., Any]:
    def log_of_sum(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        # The shift cancels, so no derivative flows through it.
        shift: Any = 0
        if kind_of(x) in ("int", "bool"):  # differences may overflow
            x = v.astype(x, dtype=exp(untraced(x)).dtype)
        if 0 not in x.shape:
            shift = v.max(untraced(x), axis=axis, keepdims=True)
            shift = v.where(v.isfinite(shift), shift, 0)
        total = log(v.sum(exp(x - shift), axis=axis, keepdims=True)) + shift
        return total if keepdims else v.sum(total, axis=axis)

    return log_of_sum


logaddexp_reduce = _log_of_sum(v.exp, v.log)
logaddexp2_reduce = _log_of_sum(v.exp2, v.log2)
