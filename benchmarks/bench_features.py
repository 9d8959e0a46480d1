"""Features whose point is what they cost: sparse gradients, maps, Taylor series, policies."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import scipy.optimize

from chainrules_compile import compile
from chainrules_tape import checkpoint, grad, jacobian
from chainrules_tape.tools import taylor, vmap


class Embedding:
    """Gradient of a table of a million rows of 64, of which 512 are read."""

    params = (False, True)
    param_names = ("sparse",)

    def setup(self, sparse):
        rng = np.random.default_rng(0)
        self.table, self.w = np.zeros((1_000_000, 64)), rng.standard_normal((64, 8))
        self.places = rng.integers(0, len(self.table), 512)
        self.slope = grad(self.loss, sparse=sparse, guard="off")

    def loss(self, table):
        return np.sum(np.tanh(table[self.places] @ self.w))

    def time_gradient(self, sparse):
        self.slope(self.table)

    def peakmem_gradient(self, sparse):
        self.slope(self.table)


class Examples:
    """Gradients of each of 64 examples of a small network."""

    params = ("map", "loop")
    param_names = ("way",)

    def setup(self, way):
        rng = np.random.default_rng(0)
        self.layers = [
            (rng.standard_normal((n, m)), rng.standard_normal(n)) for m, n in ((10, 20), (20, 5))
        ]
        self.xs = rng.standard_normal((64, 10))
        self.each = vmap(grad(self.loss), (None, 0))

    @staticmethod
    def loss(layers, x):
        for w, b in layers:
            x = np.tanh(w @ x + b)
        return np.sum(x * x)

    def time_gradients(self, way):
        if way == "map":
            self.each(self.layers, self.xs)
        else:
            _ = [grad(self.loss)(self.layers, x) for x in self.xs]


class LeastSquares:
    """SciPy's fit of 4 parameters to 400 numbers, by each way to give it a Jacobian."""

    params = ("differences", "jacobian", "compiled")
    param_names = ("way",)

    def setup(self, way):
        rng = np.random.default_rng(0)
        self.t = np.linspace(0.0, 4.0, 400)
        self.seen = self.model([2.0, 0.7, 1.3, 0.4]) + 0.05 * rng.standard_normal(400)
        derived = jacobian(self.residuals)
        ways: dict[str, Any] = {
            "differences": "2-point",
            "jacobian": derived,
            "compiled": compile(derived),
        }
        self.jac = ways[way]

    def model(self, p):
        return p[0] * np.exp(-p[1] * self.t) * np.cos(p[2] * self.t) + p[3]

    def residuals(self, p):
        return self.model(p) - self.seen

    def time_fit(self, way):
        scipy.optimize.least_squares(self.residuals, [2.6, 0.91, 1.69, 0.52], jac=self.jac)


class Series:
    """Taylor coefficients to order 10 of a program of 20 operations, beside its value."""

    params = ((10, 1000, 100_000), ("value", "series"))
    param_names = ("n", "what")

    def setup(self, n, what):
        self.x = np.linspace(0.1, 1.0, n)

    @staticmethod
    def program(x):
        for _ in range(4):
            x = np.sin(x) * x + np.exp(-x)
        return x

    def time_of(self, n, what):
        if what == "value":
            self.program(self.x)
        else:
            taylor(self.program, self.x, self.x, 10)


class Policies:
    """Memory and time of a chain of 400 operations on 100,000 numbers, under policies."""

    params = ("all", "nothing", "cheap", "16 MB")
    param_names = ("save",)

    def setup(self, save):
        self.x = np.ones(100_000)
        self.slope = grad(checkpoint(self.chain, save=16_000_000 if save == "16 MB" else save))

    @staticmethod
    def chain(x):
        for _ in range(200):
            x = np.sin(x) * 1.01
        return np.sum(x)

    def time_gradient(self, save):
        self.slope(self.x)

    def track_peak(self, save):
        tracemalloc.start()
        self.slope(self.x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / self.x.nbytes
