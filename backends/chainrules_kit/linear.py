"""Linearity by numbers, of functions that call an engine's own derivatives, which take no marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError

_SCALES = (-1.0, 1e-6, 1e6)


def check_linear(
    f: Callable[..., Sequence[Any]],
    at: Sequence[np.ndarray[Any, Any]],
    made: Callable[[Any, int], Any],
    left: Callable[[Any], np.ndarray[Any, Any]],
) -> None:
    """Raise unless a function is linear at numbers that are drawn, and at multiples of them.

    Parameters
    ----------
    f : callable
        It gives several results.
    at : sequence of array
        Zeros as its operands.
    made, left : callable
        ``made(x, i)`` makes the i-th operand of NumPy's array, ``left`` an array of a result.

    Raises
    ------
    NotDifferentiableError
        It says what it does at which it is not.
    """
    rng = np.random.default_rng(0)

    def drawn(x: np.ndarray[Any, Any]) -> Any:
        parts = [rng.uniform(0.5, 2.0, x.shape) * rng.choice([-1.0, 1.0], x.shape) for _ in "ri"]
        return (parts[0] + 1j * parts[1] if x.dtype.kind == "c" else parts[0]).astype(x.dtype)

    def of(xs: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [left(y) for y in f(*[made(x, i) for i, x in enumerate(xs)])]

    a, b = [drawn(x) for x in at], [drawn(x) for x in at]
    ya, yb = of(a), of(b)
    both = of([x + y for x, y in zip(a, b, strict=True)])
    kinds = [x.dtype for x in (*at, *ya) if x.dtype.kind in "fc"]
    precision = max([float(np.finfo(dtype).eps) for dtype in kinds], default=0.0) ** 0.6
    _compare(both, [x + y for x, y in zip(ya, yb, strict=True)], precision, "a sum")
    for scale in _SCALES:
        some = of([(x * scale).astype(x.dtype) for x in a])
        _compare(some, [y * scale for y in ya], precision, f"{scale:g} times a number")


def _compare(have: Sequence[Any], want: Sequence[Any], precision: float, what: str) -> None:
    for x, y in zip(have, want, strict=True):
        if not np.allclose(x, y, rtol=precision, atol=precision * np.max(np.abs(y), initial=0.0)):
            msg = f"it is not linear: of {what} it gives something else"
            raise NotDifferentiableError(msg)
