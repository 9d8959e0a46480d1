"""What the guard costs: a gradient with locks, with samples and with no guard."""

from __future__ import annotations

import numpy as np

from chainrules_tape import grad


class Guard:
    """The gradient of a sum of products, in one of the factors; the other is captured."""

    params = ((1_000, 10_000, 1_000_000), ("off", "sample", "lock"))
    param_names = ("elements", "guard")

    def setup(self, n: int, guard: str) -> None:
        x, c = np.random.default_rng(0).random((2, n))
        self.x, c = x.copy(), c.copy()
        self.gradient = grad(lambda x: np.sum(x * c), guard=guard)
        self.gradient(self.x)

    def time_gradient(self, n: int, guard: str) -> None:
        self.gradient(self.x)
