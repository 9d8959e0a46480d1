"""One function of each family of rules, beside the NumPy calls that its rule makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrules_py import NoTangent, frule, rrule
from chainrules_py import vocabulary as v

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True)
class Family:
    """A call, a tangent for each operand, a cotangent of the result, and the same work by hand."""

    call: Callable[..., Any]
    operands: tuple[Any, ...]
    tangents: tuple[Any, ...]
    y_bar: Any
    push: Callable[[], tuple[Any, Any]]
    pull: Callable[[], tuple[Any, tuple[Any, ...]]]
    options: dict[str, Any] = field(default_factory=dict)

    def frule(self) -> tuple[Any, Any]:
        """Value and tangent by the rule."""
        return frule(self.tangents, self.call, *self.operands, **self.options)

    def rrule(self) -> tuple[Any, tuple[Any, ...]]:
        """Value and cotangents by the rule."""
        y, pullback = rrule(self.call, *self.operands, **self.options)
        return y, pullback(self.y_bar)


_rng = np.random.default_rng(0)
x, y, g = (_rng.uniform(0.5, 1.5, size=4) for _ in range(3))
a, b, c = (_rng.normal(size=(4, 4)) for _ in range(3))
g8 = _rng.normal(size=8)
one = np.float64(1.0)
places = np.array([2, 0, 2])
mask = np.array([True, False, True, True])
nothing = NoTangent()


def _divided() -> tuple[Any, tuple[Any, ...]]:
    z = x / y
    return z, (g / y, -g * z / y)


def _at_max(pull: bool) -> tuple[Any, Any]:
    z = np.max(x)
    ties = x == z
    shares = ties / np.sum(ties)
    return z, (one * shares,) if pull else np.sum(g * shares)


def _taken() -> tuple[Any, tuple[Any, ...]]:
    x_bar = np.zeros(4)
    np.add.at(x_bar, places, g[:3])
    return x[places], (x_bar,)


def _summed() -> tuple[Any, tuple[Any, ...]]:
    return np.sum(x), (np.broadcast_to(one, (4,)).copy(),)


FAMILIES = {
    "sin": Family(
        np.sin,
        (x,),
        (g,),
        g,
        lambda: (np.sin(x), np.cos(x) * g),
        lambda: (np.sin(x), (np.cos(x) * g,)),
    ),
    "exp": Family(
        np.exp,
        (x,),
        (g,),
        g,
        lambda: ((z := np.exp(x)), z * g),
        lambda: ((z := np.exp(x)), (z * g,)),
    ),
    "multiply": Family(
        np.multiply,
        (x, y),
        (g, g),
        g,
        lambda: (x * y, g * y + x * g),
        lambda: (x * y, (g * y, g * x)),
    ),
    "divide": Family(
        np.divide, (x, y), (g, g), g, lambda: ((z := x / y), g / y - g * z / y), _divided
    ),
    "where": Family(
        np.where,
        (mask, x, y),
        (nothing, g, g),
        g,
        lambda: (np.where(mask, x, y), np.where(mask, g, g)),
        lambda: (np.where(mask, x, y), (np.where(mask, g, 0.0), np.where(mask, 0.0, g))),
    ),
    "sum": Family(v.sum, (x,), (g,), one, lambda: (np.sum(x), np.sum(g)), _summed),
    "max": Family(v.max, (x,), (g,), one, lambda: _at_max(False), lambda: _at_max(True)),
    "reshape": Family(
        v.reshape,
        (x,),
        (g,),
        g.reshape(2, 2),
        lambda: (x.reshape(2, 2), g.reshape(2, 2)),
        lambda: (x.reshape(2, 2), (g.reshape(2, 2).reshape(4).copy(),)),
        {"shape": (2, 2)},
    ),
    "transpose": Family(
        v.matrix_transpose, (a,), (c,), c, lambda: (a.mT, c.mT), lambda: (a.mT, (c.mT.copy(),))
    ),
    "take": Family(
        v.take, (x, places), (g, nothing), g[:3], lambda: (x[places], g[places]), _taken
    ),
    "concat": Family(
        v.concat,
        (x, y),
        (g, g),
        g8,
        lambda: (np.concatenate([x, y]), np.concatenate([g, g])),
        lambda: (np.concatenate([x, y]), (g8[:4].copy(), g8[4:].copy())),
    ),
    "matmul": Family(
        np.matmul,
        (a, b),
        (c, c),
        c,
        lambda: (a @ b, c @ b + a @ c),
        lambda: (a @ b, (c @ b.T, a.T @ c)),
    ),
}
