"""First and second derivatives at the ends of what functions take, against one-sided differences.

An end is 0, 1 or -1, from the side or the sides where there is a value. In every nesting of the two
modes there is the derivative from a side, or none (NaN, an infinity, an error), and never another
number. Differences of two widths tell where the value is smooth there.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_tape import grad, jvp

POINTS = 7
WIDTHS = ((0.02, 0.013), (0.004, 0.003))


def _weights(order: int) -> np.ndarray:
    """Solve for the weights of values at 0, 1, 2, ... that give a derivative at 0."""
    powers = np.vander(np.arange(POINTS), increasing=True).T.astype(float)
    right = np.zeros(POINTS)
    right[order] = (1, 1, 2)[order]
    return np.linalg.solve(powers, right)


_WEIGHTS = {order: _weights(order) for order in (1, 2)}


def one_sided(f: Callable[[float], Any], at: float, side: int, order: int) -> float:
    """Differentiate from a side, by values; NaN where these tell nothing."""
    for widths in WIDTHS:
        found = []
        for width in widths:
            values = np.array([float(np.real(f(at + side * k * width))) for k in range(POINTS)])
            found.append(float(_WEIGHTS[order] @ values) / (side * width) ** order)
        far, near = found
        size = 1e-5 if order == 1 else 1e-4
        if abs(near - far) <= size * (0.1 + abs(near)) and abs(near) < 1e6:
            return near
    return float("nan")


def forward(f: Callable[..., Any]) -> Callable[[float], Any]:
    return lambda x: jvp(f, (x,), (1.0,))[1]


@dataclass(frozen=True)
class Wrong:
    """A derivative that is another number than that from a side, or none."""

    name: str
    place: int
    at: float
    operands: tuple[float, ...]
    nesting: str
    found: float
    right: tuple[float, ...]

    @property
    def is_silent(self) -> bool:
        return bool(np.isfinite(self.found))


def wrongs_at(
    name: str, f: Callable[..., Any], operands: tuple[float, ...], place: int, at: float
) -> Iterator[Wrong]:
    """Judge a function at an end of one operand, in both orders and all nestings."""

    def along(x: Any) -> Any:
        return f(*operands[:place], x, *operands[place + 1 :])

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = along(at)
        if not (np.isrealobj(value) and np.isfinite(value)):
            return
        for order in (1, 2):
            sides = [one_sided(along, at, side, order) for side in (1, -1)]
            right = sorted(z for z in sides if np.isfinite(z))
            size = (2e-4 if order == 1 else 2e-3) * (0.05 + max(map(abs, right), default=0))
            if not right:
                return
            for way in itertools.product("rf", repeat=order):
                h: Any = along
                for step in way:
                    h = (grad if step == "r" else forward)(h)
                try:
                    found = float(h(at))
                except ChainRulesError:
                    continue
                if not right[0] - size <= found <= right[-1] + size:
                    yield Wrong(name, place, at, operands, "".join(way), found, tuple(right))
            if right[-1] - right[0] > size:
                return  # a kink


def wrongs(
    name: str, f: Callable[..., Any], count: int, others: Iterable[float], ends: Iterable[float]
) -> Iterator[Wrong]:
    """Judge a function of so many operands at the ends of each, for choices of the others."""
    for place in range(count):
        for rest in itertools.product(others, repeat=count - 1):
            for at in ends:
                operands = (*rest[:place], at, *rest[place:])
                yield from wrongs_at(name, f, operands, place, at)
