"""What a derivative costs: calls of ours and time, of single operations and of small functions.

``python -m benchmarks.costs`` counts the calls, which are the same on every machine, draws those of
one gradient, and writes both for docs/costs.md. ``--times`` measures microseconds as well, which is
refused while the machine does other things.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import counts, flames, machine
from benchmarks.machine import ROOT
from chainrules_py import LinearMap, frule, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_tape import grad, hessian, jvp, value_and_grad

KEPT = ROOT / "benchmarks" / "results" / "costs.json"
PICTURE = flames.PICTURES / "flame-gradient.svg"
X = np.linspace(0.1, 1.0, 10)
C = np.linspace(0.5, 1.0, 10)
TURN = np.exp(0.1j)
EQUATIONS = np.diag(C) + 0.01
Call = Callable[[], Any]

# ------------------------------------------------------------------------- one call in a chain


def _sine(x: Any) -> Any:
    return np.sin(x)


partial, maps, pullback, pushed = [primitive(_sine) for _ in range(4)]
mapped: Any = primitive(lambda x, *, k=1.0: np.sin(k * x))
times: Any = primitive(lambda x, y: x * y)
_times = lambda t, c: c * t
scalar_rule(partial, lambda _y, x: v.cos(x))


@rule(maps)
def _maps_rule(x: np.ndarray) -> Any:
    return np.sin(x), (LinearMap(_times, _times, np.cos(x)),)


@rrule.register(pullback)
def _pullback_rule(x: np.ndarray) -> Any:
    c = np.cos(x)
    return np.sin(x), lambda y_bar: (c * y_bar,)


@frule.register(pushed)
def _pushed_rule(tangents: Any, x: np.ndarray) -> Any:
    return np.sin(x), np.cos(x) * tangents[0]


@rule(mapped)
def _mapped_rule(x: np.ndarray, *, k: float) -> Any:
    return np.sin(k * x), (LinearMap(_times, _times, k * np.cos(k * x)),)


@rule(times)
def _times_rule(x: np.ndarray, y: np.ndarray) -> Any:
    return x * y, (LinearMap(_times, _times, y), LinearMap(_times, _times, x))


OPERATIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "`np.sin(x)`": ("reverse", np.sin),
    "the same by `scalar_rule`": ("reverse", partial),
    "by `@rule`": ("reverse", maps),
    "by `rrule.register`": ("reverse", pullback),
    "by `@rule`, an option given": ("reverse", lambda x: mapped(x, k=0.9)),
    "`np.multiply(x, c)`, c a plain array": ("reverse", lambda x: np.multiply(x, C)),
    "the same by `@rule`": ("reverse", lambda x: times(x, C)),
    "`np.sin(x)`, forward": ("forward", np.sin),
    "by `scalar_rule`, forward": ("forward", partial),
    "by `@rule`, forward": ("forward", maps),
    "by `frule.register`, forward": ("forward", pushed),
}
"""One operation on 10 elements, with its derivative: the mode, and the function."""


def chained(name: str, n: int) -> Call:
    """Return the call of a derivative through n of an operation."""
    mode, f = OPERATIONS[name]

    def loss(x: Any) -> Any:
        for _ in range(n):
            x = f(x)
        return np.sum(x)

    gradient = grad(loss)
    return (lambda: gradient(X)) if mode == "reverse" else (lambda: jvp(loss, (X,), (X,)))


# ------------------------------------------------------------------------------ small functions


def _ten(*xs: Any) -> Any:
    a, b, c, d, e, f, g, h, i, j = xs
    return np.sin(a) * b + np.exp(c) * d + np.cos(e) * f + np.tanh(g) * h + np.sqrt(i) * j


def _rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _unused() -> Call:
    gradient, ps = grad(lambda ps: np.sum(ps[0] * ps[1])), [np.zeros(10) for _ in range(10_000)]
    return lambda: gradient(ps)


def _fit() -> Call:
    x = np.linspace(0.0, 1.0, 50)
    loss = value_and_grad(lambda a, b, c: np.sum((a * np.exp(-b * x) + c) ** 2), (0, 1, 2))
    return lambda: loss(1.0, 2.0, 0.5)


def _product(z: Any) -> Any:
    for _ in range(20):
        z = z * z
    return abs(z)


_turned = value_and_grad(_product)
_solved = grad(lambda a, b: np.sum(np.linalg.solve(a, b)), (0, 1))
_least = grad(lambda x: x)
_array = grad(lambda x: np.sum(np.array([x[1], -x[0]])))
_five = value_and_grad(lambda x: np.sin(x) * x * x + np.exp(-x))
_of_ten = value_and_grad(_ten, tuple(range(10)))
_second = hessian(_rosenbrock)
FLOATS = [0.1 * i + 0.3 for i in range(10)]
FUNCTIONS: dict[str, Callable[[], Call]] = {
    "`grad(lambda x: x)(1.5)`": lambda: lambda: _least(1.5),
    "`value_and_grad(lambda x: np.sin(x)*x*x + np.exp(-x))(1.3)`": lambda: lambda: _five(1.3),
    "ten floats, 14 operations": lambda: lambda: _of_ten(*FLOATS),
    "`np.sum((a * np.exp(-b * x) + c)**2)`, `a`, `b`, `c` floats, `x` of 50": _fit,
    "`np.sum(np.array([x[1], -x[0]]))`": lambda: lambda: _array(X),
    "20 squares of `np.complex128`": lambda: lambda: _turned(TURN),
    "`np.linalg.solve(a, b)` of 10 equations, in both": lambda: lambda: _solved(EQUATIONS, X),
    "10,000 arrays of which two are used": _unused,
    "Hessian of Rosenbrock's function of 10 numbers": lambda: lambda: _second(X),
    "`root(lambda y: y*y - x, x)` of 10 numbers": lambda: (
        lambda: v.root(lambda y: y * y - X, np.ones(10))
    ),
}
"""What makes the call of a small function."""


def calls(call: Call) -> int:
    """Count the calls of ours, when all that is found out once has been."""
    for _ in range(4):
        call()
    return counts.calls(call)


def counted() -> dict[str, float]:
    """Count all: of an operation what one more costs."""
    found = {name: (calls(chained(name, 11)) - calls(chained(name, 1))) / 10 for name in OPERATIONS}
    return found | {name: calls(make()) for name, make in FUNCTIONS.items()}


def measured(rounds: int = 40) -> dict[str, float]:
    """Measure the least of many calls, in microseconds: all take turns."""
    chains = {(name, n): chained(name, n) for name in OPERATIONS for n in (100, 10)}
    every: dict[Any, Call] = chains | {name: make() for name, make in FUNCTIONS.items()}
    least: dict[Any, float] = {}
    for _ in range(rounds):
        for name, call in every.items():
            for _ in range(4):  # what the others left in caches is none of this one's cost
                start = time.process_time_ns()
                call()
                call()
                spent = (time.process_time_ns() - start) / 2e3
                least[name] = min(spent, least.get(name, spent))
    found = {name: (least[name, 100] - least[name, 10]) / 90 for name in OPERATIONS}
    return found | {name: least[name] for name in FUNCTIONS}


def picture() -> str:
    """Draw the calls of the gradient of a small function, one above the other."""
    gradient = grad(lambda x: np.sum(np.sin(x) * x))
    for _ in range(4):
        gradient(X)
    root = flames.parsed(counts.stacks(lambda: gradient(X)), "below")
    return flames.svg(root, "Calls of grad(lambda x: np.sum(np.sin(x) * x))(x)")


def main(arguments: list[str] | None = None) -> int:
    """Count, measure if that is asked for, and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--times", action="store_true", help="measure microseconds as well")
    given = parser.parse_args(arguments)
    if given.times and (reason := machine.noise()):
        parser.error(reason)
    found: dict[str, Any] = {"calls": counted()}
    if given.times:
        found |= {**machine.describe(), "microseconds": measured()}
    KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
