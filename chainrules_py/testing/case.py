"""One call of a function, and the two halves of its rule as matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py.calling import frule, rrule
from chainrules_py.project import space
from chainrules_py.registry import unbind
from chainrules_py.tangents import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.coordinates import Coordinates
from chainrules_py.testing.differences import derivative
from chainrules_py.testing.values import resolution, value_vector, widened

__all__ = ["Case"]

# Up to this size every coordinate is a direction of its own; beyond, random directions are taken.
SMALL = 48
_RANDOM = 6


@final
class Case:
    """One call of a function, with the directions in which its rule is looked at.

    Attributes
    ----------
    f, operands, options
        The call, with an object that is called as the first operand.
    inputs, output : Coordinates
        Of the operands together, and of the result as the gauge makes it.
    u, w : matrix
        Directions among the inputs, and among the outputs, as columns.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        gauge: Callable[[Any], Any] | None,
        smooth: bool,
        seed: int,
        tolerance: float | None,
    ) -> None:
        self.f, self.operands = unbind(f, operands)
        self.options = options
        self.gauge = gauge
        self.smooth = smooth
        self.rng = np.random.default_rng(seed)
        self.y = self.call(*self.operands)
        self.parts = [Coordinates(x) for x in self.operands]
        self.inputs = Coordinates(self.operands)
        self.raw = Coordinates(self.y)
        self.precision = max([1e-15, *(resolution(x) for x in (*self.operands, self.y))])
        self.tolerance = tolerance if tolerance is not None else max(1e-8, 1e4 * self.precision)
        self.u = self._directions(self.inputs.size)
        self.pick = self._gauge_matrix()
        self.w = self._directions(self.raw.size if self.pick is None else len(self.pick))
        self.has_push = True
        self.has_pull = True
        self._pushed: Any = None
        self._pulled: Any = None

    def call(self, *operands: Any) -> Any:
        """The function with its options."""
        return self.f(*operands, **self.options)

    def _directions(self, n: int) -> Any:
        if n > SMALL:
            return self.rng.standard_normal((n, _RANDOM)) / np.sqrt(n)
        return np.concatenate([np.eye(n), self.rng.standard_normal((n, 1))], axis=1)

    def _gauge_matrix(self) -> Any:
        """The derivative of the gauge at the result, as a matrix; None without a gauge."""
        if self.gauge is None:
            return None
        columns = [self._along(e, self.raw, self.seen)[0] for e in np.eye(self.raw.size)]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

    @staticmethod
    def _along(direction: Any, of: Coordinates, f: Callable[[Any], Any]) -> tuple[Any, Any]:
        return derivative(lambda t: f(of.moved(t * direction)))

    def seen(self, y: Any) -> Any:
        """What of a result is determined, as a vector."""
        seen = y if self.gauge is None else self.gauge(y)
        return value_vector(seen)

    # -- the two halves, as matrices

    def push(self, vector: Any) -> Any:
        """The tangent of the result along a direction, as the rule gives it."""
        tangents: list[Any] = []
        for part, x, segment in zip(self.parts, self.operands, self._split(vector), strict=True):
            if is_zero(space(x)):
                tangents.append(NoTangent())
            else:
                tangents.append(part.tangent(segment) if np.any(segment) else ZeroTangent())
        return frule(tuple(tangents), self.f, *self.operands, **self.options)

    def pullback(self) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """The value and the pullback."""
        return rrule(self.f, *self.operands, **self.options)

    def cotangent(self, vector: Any) -> Any:
        """The cotangent of the result that belongs to a direction behind the gauge."""
        return self.raw.tangent(vector if self.pick is None else self.pick.T @ vector)

    def seen_tangent(self, y_dot: Any) -> Any:
        """A tangent of the result, as the gauge lets it be seen, as a vector."""
        vector = self.raw.vector(y_dot)
        return vector if self.pick is None else self.pick @ vector

    def bars_vector(self, bars: tuple[Any, ...]) -> Any:
        """The cotangents of all operands as one vector."""
        return np.concatenate(
            [np.zeros(0), *(p.vector(bar) for p, bar in zip(self.parts, bars, strict=True))]
        )

    def pushed(self) -> Any:
        """One column per input direction."""
        if self._pushed is None:
            columns = [self.seen_tangent(self.push(d)[1]) for d in self.u.T]
            self._pushed = np.stack(columns, axis=1)
        return self._pushed

    def pulled(self) -> Any:
        """One column per output direction."""
        if self._pulled is None:
            _, pullback = self.pullback()
            columns = [self.bars_vector(pullback(self.cotangent(d))) for d in self.w.T]
            self._pulled = np.stack(columns, axis=1)
        return self._pulled

    def differences(self) -> tuple[Any, Any]:
        """One column per input direction, by differences in double precision, and the errors."""
        wide = Coordinates(tuple([widened(x) for x in self.operands]))
        columns = [self._along(d, wide, lambda xs: self.seen(self.call(*xs))) for d in self.u.T]
        return np.stack([c for c, _ in columns], axis=1), np.stack([e for _, e in columns], axis=1)

    def _split(self, vector: Any) -> list[Any]:
        return np.split(vector, np.cumsum([part.size for part in self.parts])[:-1])

    # -- names for the tables

    def input_names(self) -> list[str]:
        """One per input direction."""
        names = [
            f"{name}{label}"
            for name, part in zip(self.operand_names(), self.parts, strict=True)
            for label in part.labels()
        ]
        return _named(names, self.u.shape[1])

    def output_names(self) -> list[str]:
        """One per output direction, without the random ones."""
        if self.pick is None:
            return [f"y{label}" for label in self.raw.labels()]
        return [f"gauge(y)[{i}]" for i in range(len(self.pick))]

    def weight_names(self) -> list[str]:
        """One per output direction."""
        return _named(self.output_names(), self.w.shape[1])

    def operand_names(self) -> list[str]:
        """One per operand."""
        names = list(getattr(self.f, "operands", ()))
        n = len(self.operands)
        variadic = getattr(self.f, "variadic", None) or "x"
        return [names[i] if i < len(names) else f"{variadic}{i - len(names)}" for i in range(n)]


def _named(names: list[str], columns: int) -> list[str]:
    small = names if len(names) <= SMALL else []
    return [*small, *[f"a random direction ({k})" for k in range(columns - len(small))]]
