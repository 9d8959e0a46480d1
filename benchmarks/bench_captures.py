"""Words that are given functions: what these captured costs nothing, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.vocabulary import map, odeint, root, scan
from chainrules_tape import checkpoint, grad

TIMES, STEPS = np.linspace(0.0, 1.0, 3), np.arange(5.0)


class Model:
    """Holds a list of arrays and a dict, as models do."""

    def __init__(self) -> None:
        self.layers = [np.ones(100) for _ in range(1000)]
        self.settings = {f"k{i}": np.ones(3) for i in range(5000)}


CAPTURED: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a dict of 5,000 arrays": lambda: {f"k{i}": np.ones(3) for i in range(5000)},
    "a list of 1e5 floats": lambda: [float(i) for i in range(100_000)],
    "an array of 1e6": lambda: np.ones(10**6),
    "a model": Model,
}
WORDS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "root": lambda c: lambda a: root(lambda x: (x * x - a, c)[0], 1.0),
    "odeint": lambda c: lambda a: odeint(lambda y, t: (-a * y, c)[0], 1.0, TIMES)[-1],
    "scan": lambda c: lambda a: scan(lambda s, x: ((s * a + x, None), c)[0], 1.0, STEPS)[0],
    "map": lambda c: lambda a: np.sum(map(lambda x: (x * a, c)[0], STEPS)),
    "checkpoint": lambda c: lambda a: checkpoint(lambda x: (np.sin(x * a), c)[0])(2.0),
}


class Captured:
    """Seconds of a gradient, by the word and by what its function captured besides."""

    params = (tuple(WORDS), tuple(CAPTURED))
    param_names = ("word", "captured")

    def setup(self, word: str, captured: str) -> None:
        self.gradient = grad(WORDS[word](CAPTURED[captured]()))
        self.gradient(2.0)

    def time_gradient(self, word: str, captured: str) -> None:
        self.gradient(2.0)
