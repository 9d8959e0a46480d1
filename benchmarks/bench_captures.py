"""Functions given to operations, and rules of people: what they captured costs nothing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import LinearMap, primitive, rrule, rule, scalar_rule
from chainrules_py.ops import map, odeint, root, scan
from chainrules_tape import checkpoint, grad

TIMES, STEPS = np.linspace(0.0, 1.0, 3), np.arange(5.0)


class Model:
    """Holds a list of arrays and a dict, as models do."""

    def __init__(self) -> None:
        self.layers = [np.ones(100) for _ in range(1000)]
        self.settings = {f"k{i}": np.ones(3) for i in range(5000)}


class Layers:
    """Holds 100 arrays, in a dict for each layer."""

    def __init__(self) -> None:
        self.layers = [{"w": np.ones(3), "b": np.ones(3)} for _ in range(50)]


CAPTURED: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a dict of 5,000 arrays": lambda: {f"k{i}": np.ones(3) for i in range(5000)},
    "a list of 1e5 floats": lambda: [float(i) for i in range(100_000)],
    "an array of 1e6": lambda: np.ones(10**6),
    "a model": Model,
    "a model of layers": Layers,
}
OPERATIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "root": lambda c: lambda a: root(lambda x: (x * x - a, c)[0], 1.0),
    "odeint": lambda c: lambda a: odeint(lambda y, t: (-a * y, c)[0], 1.0, TIMES)[-1],
    "scan": lambda c: lambda a: scan(lambda s, x: ((s * a + x, None), c)[0], 1.0, STEPS)[0],
    "map": lambda c: lambda a: np.sum(map(lambda x: (x * a, c)[0], STEPS)),
    "checkpoint": lambda c: lambda a: checkpoint(lambda x: (np.sin(x * a), c)[0])(2.0),
}


class Captured:
    """Seconds of a gradient, by the operation and by what its function captured besides."""

    params = (tuple(OPERATIONS), tuple(CAPTURED))
    param_names = ("operation", "captured")

    def setup(self, operation: str, captured: str) -> None:
        self.gradient = grad(OPERATIONS[operation](CAPTURED[captured]()))
        self.gradient(2.0)

    def time_gradient(self, operation: str, captured: str) -> None:
        self.gradient(2.0)


def _by_scalar_rule(read: Callable[[], Any]) -> Any:
    f = primitive(np.sin)
    scalar_rule(f, lambda _y, x: (np.cos(x), read())[0])
    return f


def _by_rule(read: Callable[[], Any]) -> Any:
    f = primitive(np.sin)
    half = lambda t, x: (t * np.cos(x), read())[0]
    rule(f)(lambda x: (np.sin(x), (LinearMap(half, half, x),)))
    return f


def _by_rrule(read: Callable[[], Any]) -> Any:
    f = primitive(np.sin)
    rrule.register(f)(lambda x: (np.sin(x), lambda y_bar: ((y_bar * np.cos(x), read())[0],)))
    return f


CONSTRUCTORS = {"scalar_rule": _by_scalar_rule, "rule": _by_rule, "rrule": _by_rrule}


def frames(f: Callable[[Any], Any]) -> int:
    """Count the calls of these packages' functions for one operation, forward and back."""
    x, counts = np.linspace(0.1, 1.0, 5), []
    for n in (1, 2):
        gradient = grad(lambda x, n=n: np.sum(functools.reduce(lambda y, _: f(y), range(n), x)))
        for _ in range(3):
            gradient(x)
        called: list[str] = []

        def profile(frame: Any, event: str, _: Any, called: list[str] = called) -> None:
            if event == "call" and "/chainrules_" in frame.f_code.co_filename:
                called.append(frame.f_code.co_name)

        sys.setprofile(profile)
        try:
            gradient(x)
        finally:
            sys.setprofile(None)
        counts.append(len(called))
    return counts[1] - counts[0]


class Rules:
    """Seconds of a gradient through a person's rule, by what the rule captured; its frames."""

    params = (tuple(CONSTRUCTORS), tuple(CAPTURED))
    param_names = ("constructor", "captured")

    def setup(self, constructor: str, captured: str) -> None:
        held = CAPTURED[captured]()
        self.f = CONSTRUCTORS[constructor](lambda: held)
        self.gradient, self.x = grad(lambda x: np.sum(self.f(x))), np.linspace(0.1, 1.0, 5)
        self.gradient(self.x)

    def time_gradient(self, constructor: str, captured: str) -> None:
        self.gradient(self.x)

    def track_frames(self, constructor: str, captured: str) -> int:
        return frames(self.f)
