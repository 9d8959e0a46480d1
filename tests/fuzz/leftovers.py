"""Values that leave a differentiation by another way than its result, and are used after it.

Inside of a function that is differentiated, another one is; what it computed on the way is kept, in
a dict, an exception, a tape that is closed, and used. Its derivative is that of the same program
without the inner differentiation, or there is an error; it is never a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import TracerError
from chainrules_tape import (
    Tape,
    checkpoint,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import taylor, vmap

X = np.array([0.5, -1.2, 2.3])
ONES = np.ones(3)


class LeftError(Exception):
    """Carries a value out of a differentiation."""


def _by_tape(f: Any, x: Any) -> None:
    with Tape(persistent=True) as tape:
        tape.grad(f(a := tape.variable(x)), a)


INNER: dict[str, Callable[[Any, Any], Any]] = {
    "checkpoint": lambda f, x: checkpoint(f)(x),
    "grad": lambda f, x: grad(f)(x),
    "value_and_grad": lambda f, x: value_and_grad(f)(x),
    "vjp": vjp,
    "vjp, pulled": lambda f, x: vjp(f, x)[1](1.0),
    "linearize": linearize,
    "jvp": lambda f, x: jvp(f, (x,), (ONES,)),
    "hvp": lambda f, x: hvp(f, (x,), (ONES,)),
    "hessian": lambda f, x: hessian(f)(x),
    "jacobian": lambda f, x: jacobian(f)(x),
    "grad of grad": lambda f, x: grad(lambda z: np.sum(grad(f)(z)))(x),
    "a tape": _by_tape,
    "vmap": lambda f, x: vmap(f)(np.stack([x, x])) if np.ndim(x) else vmap(f)(x),
    "taylor": lambda f, x: taylor(f, x, ONES, 2),
}
"""Differentiations of a function, of which the result is not looked at."""

WAYS = ("a dict", "an error", "a result beside")

USES: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda kept, x: kept,
    "in a dict": lambda kept, x: {"kept": kept, "x": x},
    "beside x": lambda kept, x: [x, kept],
    "once": lambda kept, x: kept * 1.0,
    "added": lambda kept, x: kept + x,
    "stacked": lambda kept, x: np.stack([x, kept]),
    "chosen": lambda kept, x: np.where(x > 0, x, kept),
    "a part": lambda kept, x: kept[1:],
    "summed": lambda kept, x: np.sum(kept),
}


def _leaves(y: Any) -> Any:
    """Return what a program gives as one array."""
    parts = [*y.values()] if isinstance(y, dict) else y if isinstance(y, list) else [y]
    return np.concatenate([np.reshape(p, (-1,)) for p in parts])


OUTER: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda f: _leaves(jvp(f, (X,), (ONES,))[1]),
    "linearize": lambda f: _leaves(linearize(f, X)[1](ONES)),
    "vjp": lambda f: _by_vjp(f),
    "of what is joined": lambda f: _by_vjp(lambda x: _leaves(f(x))),
    "jacobian": lambda f: jacobian(lambda x: _leaves(f(x)))(X) @ ONES,
}
"""The derivative along ones; of what only gives a gradient, its sum."""


def _by_vjp(f: Any) -> Any:
    y, pull = vjp(f, X)
    return np.sum(pull(y)[0])


def _program(inner: str, way: str, use: str) -> Callable[[Any], Any]:
    kept: dict[str, Any] = {}

    def f(z: Any) -> Any:
        kept["z"] = z * z
        if way == "an error":
            raise LeftError(kept["z"])
        return np.sum(z**3)

    def program(x: Any) -> Any:
        try:
            INNER[inner](f, x)
        except LeftError as error:
            return USES[use](error.args[0], x)
        return USES[use](kept["z"], x)

    return program


def _aside(inner: str, use: str) -> Callable[[Any], Any]:
    """Make the program that hands the value out as its ``aux``."""

    def program(x: Any) -> Any:
        kept: list[Any] = []

        def f(z: Any) -> Any:
            def keeping(w: Any) -> Any:
                kept.append(w * w)
                return np.sum(w)

            INNER[inner](keeping, z)
            return np.sum(z), kept[0]

        return USES[use](grad(f, has_aux=True)(x)[1], x)

    return program


def verdict(inner: str, way: str, use: str, outer: str) -> str:
    """Tell what is wrong with a derivative; nothing, if it is right or an error."""
    plain = lambda x: USES[use](x * x, x)
    program = _aside(inner, use) if way == "a result beside" else _program(inner, way, use)
    want = OUTER[outer](plain)
    try:
        found = OUTER[outer](program)
    except TracerError:
        return ""
    right = np.shape(found) == np.shape(want) and np.allclose(found, want)
    return "" if right else f"{found!r}, and {want!r} without the inner differentiation"
