"""Functions of each family of rules, of any size, beside the NumPy calls that their rules make."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrules_py import NoTangent, frule, rrule
from chainrules_py import ops as v

SIZES = (4, 1000, 1_000_000)
nothing = NoTangent()


@dataclass(frozen=True)
class Family:
    """A call, a tangent for each operand, a cotangent of the result, and the same work by hand.

    Where ``push`` and ``pull`` are None, nobody has written the work by hand here; then the value
    alone is what a rule is compared with.
    """

    call: Callable[..., Any]
    operands: tuple[Any, ...]
    tangents: tuple[Any, ...]
    y_bar: Any
    push: Callable[[], tuple[Any, Any]] | None = None
    pull: Callable[[], tuple[Any, tuple[Any, ...]]] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def value(self) -> Any:
        """Compute the value, without rules."""
        return self.call(*self.operands, **self.options)

    def frule(self) -> tuple[Any, Any]:
        """Value and tangent by the rule."""
        return frule(self.tangents, self.call, *self.operands, **self.options)

    def rrule(self) -> tuple[Any, tuple[Any, ...]]:
        """Value and cotangents by the rule."""
        y, pullback = rrule(self.call, *self.operands, **self.options)
        return y, pullback(self.y_bar)

    def pullback(self) -> Callable[[], tuple[Any, ...]]:
        """Return the pullback alone, to be called again and again."""
        _, pullback = rrule(self.call, *self.operands, **self.options)
        return lambda: pullback(self.y_bar)


class Draws:
    """Arrays of one size, of NumPy or of a library with its names."""

    def __init__(self, size: int, xp: Any) -> None:
        rng = np.random.default_rng(0)
        self.xp, self.size, self.side = xp, size, max(2, math.isqrt(size))
        self.x, self.y, self.g = (self.put(rng.uniform(0.5, 1.5, size)) for _ in range(3))
        shape = (self.side, self.side)
        self.a, self.b, self.c = (self.put(rng.normal(size=shape)) for _ in range(3))
        self.long = self.put(rng.normal(size=2 * size))
        self.one = xp.asarray(1.0)[()]
        self.places = self.put(rng.integers(0, size, max(1, 3 * size // 4)))
        self.mask = self.put(rng.normal(size=size) > 0)

    def put(self, x: Any) -> Any:
        """Convert an array to an array of the library."""
        return self.xp.asarray(x)

    def positive(self) -> Any:
        """Make a positive definite matrix."""
        return self.a @ self.a.T / self.side + self.xp.eye(self.side)

    def of_determinant_one(self) -> Any:
        """Make a positive definite matrix of determinant one, which does not overflow."""
        a = self.positive()
        return a / self.xp.exp(self.xp.linalg.slogdet(a)[1] / self.side)


# ------------------------------------------------------------------------ with the work by hand


def _sin(d: Draws) -> Family:
    xp, x, g = d.xp, d.x, d.g
    push = lambda: (xp.sin(x), xp.cos(x) * g)
    return Family(np.sin, (x,), (g,), g, push, lambda: (xp.sin(x), (xp.cos(x) * g,)))


def _exp(d: Draws) -> Family:
    xp, x, g = d.xp, d.x, d.g
    push = lambda: ((z := xp.exp(x)), z * g)
    return Family(np.exp, (x,), (g,), g, push, lambda: ((z := xp.exp(x)), (z * g,)))


def _multiply(d: Draws) -> Family:
    x, y, g = d.x, d.y, d.g
    push, pull = lambda: (x * y, g * y + x * g), lambda: (x * y, (g * y, g * x))
    return Family(np.multiply, (x, y), (g, g), g, push, pull)


def _divide(d: Draws) -> Family:
    x, y, g = d.x, d.y, d.g

    def pull() -> tuple[Any, tuple[Any, ...]]:
        z = x / y
        return z, (g / y, -g * z / y)

    push = lambda: ((z := x / y), g / y - g * z / y)
    return Family(np.divide, (x, y), (g, g), g, push, pull)


def _where(d: Draws) -> Family:
    xp, mask, x, y, g = d.xp, d.mask, d.x, d.y, d.g
    push = lambda: (xp.where(mask, x, y), xp.where(mask, g, g))
    pull = lambda: (xp.where(mask, x, y), (xp.where(mask, g, 0.0), xp.where(mask, 0.0, g)))
    return Family(np.where, (mask, x, y), (nothing, g, g), g, push, pull)


def _sum(d: Draws) -> Family:
    xp, x, g = d.xp, d.x, d.g
    pull = lambda: (xp.sum(x), (xp.broadcast_to(d.one, x.shape).copy(),))
    return Family(v.sum, (x,), (g,), d.one, lambda: (xp.sum(x), xp.sum(g)), pull)


def _max(d: Draws) -> Family:
    xp, x, g = d.xp, d.x, d.g

    def shares() -> tuple[Any, Any]:
        z = xp.max(x)
        ties = x == z
        return z, ties / xp.sum(ties)

    def push() -> tuple[Any, Any]:
        z, share = shares()
        return z, xp.sum(g * share)

    def pull() -> tuple[Any, tuple[Any, ...]]:
        z, share = shares()
        return z, (d.one * share,)

    return Family(v.max, (x,), (g,), d.one, push, pull)


def _reshape(d: Draws) -> Family:
    x, g, to = d.x, d.g, (2, d.size // 2)
    push = lambda: (x.reshape(to), g.reshape(to))
    bar = g.reshape(to)
    pull = lambda: (x.reshape(to), (bar.reshape(x.shape).copy(),))
    return Family(v.reshape, (x,), (g,), bar, push, pull, {"shape": to})


def _transpose(d: Draws) -> Family:
    a, c = d.a, d.c
    push, pull = lambda: (a.mT, c.mT), lambda: (a.mT, (c.mT.copy(),))
    return Family(v.matrix_transpose, (a,), (c,), c, push, pull)


def _take(d: Draws) -> Family:
    xp, x, g, places = d.xp, d.x, d.g, d.places
    bar = g[: len(places)]

    def pull() -> tuple[Any, tuple[Any, ...]]:
        x_bar = xp.zeros(d.size)
        xp.add.at(x_bar, places, bar)
        return x[places], (x_bar,)

    return Family(v.take, (x, places), (g, nothing), bar, lambda: (x[places], g[places]), pull)


def _concat(d: Draws) -> Family:
    xp, x, y, g, n = d.xp, d.x, d.y, d.g, d.size
    push = lambda: (xp.concatenate([x, y]), xp.concatenate([g, g]))
    pull = lambda: (xp.concatenate([x, y]), (d.long[:n].copy(), d.long[n:].copy()))
    return Family(v.concat, (x, y), (g, g), d.long, push, pull)


def _matmul(d: Draws) -> Family:
    a, b, c = d.a, d.b, d.c
    pull = lambda: (a @ b, (c @ b.T, a.T @ c))
    return Family(np.matmul, (a, b), (c, c), c, lambda: (a @ b, c @ b + a @ c), pull)


BY_HAND: dict[str, Callable[[Draws], Family]] = {
    "sin": _sin,
    "exp": _exp,
    "multiply": _multiply,
    "divide": _divide,
    "where": _where,
    "sum": _sum,
    "max": _max,
    "reshape": _reshape,
    "transpose": _transpose,
    "take": _take,
    "concat": _concat,
    "matmul": _matmul,
}
"""Those whose work is written by hand as well."""


# -------------------------------------------------------------------- beside the value alone

Of = Callable[[Draws], Sequence[Any]]


def _plain(call: Callable[..., Any], operands: Of, **options: Any) -> Callable[[Draws], Family]:
    """Make a family's builder; (co)tangents are those of a smooth path through what is there."""

    def build(d: Draws) -> Family:
        given = tuple(operands(d))
        tangents = tuple(0.1 * x + 0.01 if x.dtype.kind == "f" else nothing for x in given)
        y = call(*given, **options)
        y_bar = y + 0.1 if hasattr(y, "dtype") else tuple(part + 0.1 for part in y)
        return Family(call, given, tangents, y_bar, options=options)

    return build


PLAIN = {
    "arctan2": _plain(v.atan2, lambda d: (d.x, d.y)),
    "power": _plain(v.pow, lambda d: (d.x, d.y)),
    "prod": _plain(v.prod, lambda d: (d.x + 0.1 / d.size,)),
    "cumulative_sum": _plain(v.cumulative_sum, lambda d: (d.x,)),
    "var": _plain(v.var, lambda d: (d.x,)),
    "sort": _plain(v.sort, lambda d: (d.x,)),
    "real Fourier transform": _plain(v.rfft, lambda d: (d.x,)),
    "einsum": _plain(v.einsum, lambda d: (d.a, d.b), subscripts="ij,jk->ik"),
    "outer sum": _plain(v.add, lambda d: (d.a, d.b[0])),
    "det": _plain(v.det, lambda d: (d.of_determinant_one(),)),
    "solve": _plain(v.solve, lambda d: (d.positive(), d.b)),
    "cholesky": _plain(v.cholesky, lambda d: (d.positive(),)),
    "log of gamma": _plain(v.gammaln, lambda d: (d.x,)),
    "erf": _plain(v.erf, lambda d: (d.x,)),
}
"""Those that are compared with what their value costs."""

_BUILD = {**BY_HAND, **PLAIN}
FAMILIES = tuple(_BUILD)
"""The names of all of them."""


def family(name: str, size: int = 4, xp: Any = np) -> Family:
    """Build a family on arrays of a library with ``size`` elements."""
    return _BUILD[name](Draws(size, xp))
