"""Operations that call a function, and the ways to differentiate what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.ops import fixed_point, linear_solve, map, minimize, odeint, reduce, root
from chainrules_tape import checkpoint, grad, jvp, linearize, value_and_grad

W, U = np.array([0.3, 1.2, 0.7]), np.array([1.0, -0.5, 2.0])
TIMES = np.array([0.0, 0.5])

CALLED: dict[str, Callable[[Any, Any], Any]] = {
    "root": lambda a, x: x * x - a,
    "fixed_point": lambda a, x: 0.5 * np.cos(x) * a,
    "minimize": lambda a, x: (x - a) ** 2,
    "linear_solve": lambda a, x: a * x,
    "odeint": lambda a, x: -a * x,
    "map": lambda a, x: a * x,
    "reduce": lambda a, x: a * x,
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "root": lambda f, w: root(f, 1.0),
    "fixed_point": lambda f, w: fixed_point(f, 1.0),
    "minimize": lambda f, w: minimize(f, 0.5),
    "linear_solve": lambda f, w: linear_solve(f, w[1]),
    "odeint": lambda f, w: odeint(f, w[1], TIMES)[-1],
    "map": lambda f, w: np.sum(map(f, w)),
    "reduce": lambda f, w: reduce(lambda s, x: s + f(x), w, 0.0),
}
"""By name the operations, with what their functions compute."""

DOORS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: (lambda y, g: (y, g @ U))(*value_and_grad(f)(W.copy())),
    "jvp": lambda f: jvp(f, (W.copy(),), (U,)),
    "linearize": lambda f: (lambda y, push: (y, push(U)))(*linearize(f, W.copy())),
    "checkpoint": lambda f: (f(W), grad(checkpoint(f))(W.copy()) @ U),
    "grad of grad": lambda f: (
        f(W), grad(lambda t: np.sum(grad(lambda w: t * f(w))(W.copy()) * U))(1.0)
    ),
}  # fmt: skip
