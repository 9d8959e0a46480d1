"""Exported rules in autograd, beside autograd's own `primitive` and `defvjp` with a rule by hand.

A chain of a hundred calls on small values, so that what is paid per call shows; in each mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.core import make_jvp, make_vjp
from autograd.extend import defjvp, defvjp, primitive

from benchmarks.timing import CLOCKS, medians, ratio
from chainrules_autograd import export
from chainrules_py import ops as v
from tests.engines.battery import softplus

LENGTH = 100
X = np.array([0.1, 0.2, 0.3, 0.4])
C = np.array([1.0, 0.9, 1.1, 1.0])


@primitive
def own_sin(x: Any) -> Any:
    return np.sin(x)


defvjp(own_sin, lambda ans, x: lambda g: g * anp.cos(x))
defjvp(own_sin, lambda g, ans, x: g * anp.cos(x))


@primitive
def own_multiply(x: Any, y: Any) -> Any:
    return np.multiply(x, y)


defvjp(own_multiply, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
defjvp(own_multiply, lambda g, ans, x, y: g * y, lambda g, ans, x, y: g * x)


@primitive
def own_softplus(x: Any) -> Any:
    return np.log1p(np.exp(x))


defvjp(own_softplus, lambda ans, x: lambda g: g * anp.exp(x - ans))
defjvp(own_softplus, lambda g, ans, x: g * anp.exp(x - ans))


@primitive
def own_sum(x: Any, axis: Any = None) -> Any:
    return np.sum(x, axis=axis)


defvjp(own_sum, lambda ans, x, axis=None: lambda g: anp.ones(x.shape) * g)
defjvp(own_sum, lambda g, ans, x, axis=None: anp.sum(g, axis=axis))


def again(x: Any, total: Callable[..., Any]) -> Any:
    return x * total(x, axis=0)


ours_multiply, ours_sum = export(v.multiply), export(v.sum)
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Any]] = {
    "sin, four": (export(v.sin), own_sin, X),
    "sin, a number": (export(v.sin), own_sin, 0.3),
    "multiply, four": (lambda x: ours_multiply(x, C), lambda x: own_multiply(x, C), X),
    "multiply, twice the same": (lambda x: ours_multiply(x, x), lambda x: own_multiply(x, x), X),
    "softplus, the user's own": (export(softplus), own_softplus, X),
    "sum, with an option": (
        functools.partial(again, total=ours_sum),
        functools.partial(again, total=own_sum),
        0.1 * X,
    ),
}
"""Ours, autograd's own, and where."""


def chain(f: Callable[..., Any], x: Any, length: int = LENGTH) -> Any:
    """f of f of ... x."""
    for _ in range(length):
        x = f(x)
    return x


def reverse(f: Callable[..., Any], x: Any, length: int = LENGTH) -> Callable[[], Any]:
    """Value and pullback."""
    g = np.ones_like(x)

    def run() -> Any:
        pull, _ = make_vjp(lambda x: chain(f, x, length), x)
        return pull(g)

    return run


def forward(f: Callable[..., Any], x: Any, length: int = LENGTH) -> Callable[[], Any]:
    """Value and tangent."""
    g = np.ones_like(x)
    return lambda: make_jvp(lambda x: chain(f, x, length), x)(g)[1]


MODES = {"reverse": reverse, "forward": forward}


class Exported:
    """Cost of one call in a chain of a hundred calls."""

    params = (tuple(CASES), tuple(MODES))
    param_names = ("case", "mode")
    timeout = 300.0

    def setup(self, case: str, mode: str) -> None:
        ours, own, x = CASES[case]
        self.ours = MODES[mode](ours, x)
        self.own = MODES[mode](own, x)

    def track_microseconds(self, case: str, mode: str) -> float:
        found = medians({"ours": self.ours}, rounds=15, clock=CLOCKS["process"])
        return found["ours"] * 1e6 / LENGTH

    def track_ratio(self, case: str, mode: str) -> float:
        return ratio(self.ours, self.own, rounds=15, clock=CLOCKS["process"])

    track_microseconds.unit = "us per call"  # type: ignore[attr-defined]
    track_ratio.unit = "x autograd's own primitive"  # type: ignore[attr-defined]
