"""Programs that compute with an object array beside what is differentiated."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_tape import Tape, grad, hvp, jacobian, jvp, linearize, vjp

X = np.array([1.3, 0.7, 2.1])


def _written(x: Any, buffer: Any) -> Any:
    x = x * 1.0
    x[:2] = buffer[:2]
    return x


def _of_both(f: Any, x: Any, buffer: Any) -> Any:
    return f([x, buffer])


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f.__name__: f
        for f in (
            *(np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum),
            *(np.fmax, np.hypot, np.arctan2, np.logaddexp, np.copysign, np.fmod, np.float_power),
            *(np.dot, np.matmul, np.outer, np.inner, np.vdot, np.kron, np.convolve, np.tensordot),
            *(np.append, np.cross, np.vecdot, np.correlate, np.linspace, np.polyval, np.heaviside),
        )
    },
    **{
        f"{f.__name__} of both": functools.partial(_of_both, f)
        for f in (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.block)
    },
    "np.where": lambda x, b: np.where(X > 1, x, b),
    "np.choose": lambda x, b: np.choose([0, 1, 0], [x, b]),
    "np.select": lambda x, b: np.select([X > 1], [x], b),
    "np.clip": lambda x, b: np.clip(x, b, 3.0),
    "np.einsum": lambda x, b: np.einsum("i,i->i", x, b),
    "np.interp": lambda x, b: np.interp(1.0, x, b),
    "np.average": lambda x, b: np.average(x, weights=b),
    "np.trapezoid": lambda x, b: np.trapezoid(x, b),
    "with a scalar": lambda x, b: x[0] * b,
    "with a number": lambda x, b: float(X[0]) * b + x,
    "x += b": lambda x, b: _added(x, b),
    "x[:2] = b": _written,
    "x[i] * b[i]": lambda x, b: x[0] * b[0] + x[1] * b[2],
    "sum": lambda x, b: sum(x * 1.0) + sum(b),
    "np.add.reduce": lambda x, b: np.add.reduce(b) * x,
    "np.full_like": lambda x, b: np.full_like(x, b[0]) * x,
    "np.linalg.norm": lambda x, b: np.linalg.norm(b) * x,
    "b.astype(float)": lambda x, b: b.astype(float) * x,
    "np.asarray(b, float)": lambda x, b: np.asarray(b, float) * x,
    "x.astype(object)": lambda x, b: x.astype(object) * b,
    "x.astype(str)": lambda x, b: x.astype(str).astype(float) * 2.0,
    "np.asarray(x, object)": lambda x, b: np.asarray(x, object) * b,
}


def _added(x: Any, buffer: Any) -> Any:
    x = x * 1.0
    x += buffer
    return x


FILLED: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda x: [3.0, 2.0, 1.0],
    "whole numbers": lambda x: [3, 2, 1],
    "fractions": lambda x: [Fraction(3), Fraction(2), Fraction(1)],
    "traced": lambda x: [x[0], 2.0, 1.0],
    "all traced": lambda x: [x[0] * x[1], x[1], x[2]],
}


def _buffer(values: list[Any], dtype: Any) -> Any:
    buffer = np.empty(3, dtype)
    for i, value in enumerate(values):
        buffer[i] = value
    return buffer


def program(operation: str, filled: str, side: int, dtype: Any) -> Callable[[Any], Any]:
    """Return a function of an array that computes with a buffer of a dtype."""

    def f(x: Any) -> Any:
        both = (x, _buffer(FILLED[filled](x), dtype))
        return np.sum(OPERATIONS[operation](*(both[::-1] if side else both)) * 1.0)

    return f


def _taped(f: Any, x: Any) -> Any:
    with Tape() as tape:
        v = tape.variable(x)
        y = f(v)
    return tape.grad(y, v)


ONES = np.ones(3)
DOORS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: np.sum(grad(f)(X)),
    "vjp": lambda f: np.sum(vjp(f, X)[1](1.0)[0]),
    "Tape": lambda f: _taped(f, X) @ ONES,
    "jvp": lambda f: jvp(f, (X,), (ONES,))[1],
    "linearize": lambda f: linearize(f, X)[1](ONES),
    "jacobian forward": lambda f: np.sum(jacobian(f, mode="forward")(X)),
    "jvp of grad": lambda f: jvp(lambda t: np.sum(grad(f)(X * t)), (1.0,), (0.0,))[0],
    "grad of jvp": lambda f: grad(lambda t: jvp(f, (X,), (ONES * t,))[1])(1.0),
    "hvp": lambda f: hvp(lambda x: f(x) ** 2, (X,), (ONES * 0,))[0] * 0,
}


def sample(seed: int, n: int | None = None) -> Iterator[tuple[str, str, int, str]]:
    """Draw some programs, without return; all without a number."""
    every = list(itertools.product(OPERATIONS, FILLED, (0, 1), DOORS))
    yield from every if n is None else random.Random(seed).sample(every, n)


def verdict(operation: str, filled: str, side: int, door: str) -> str:
    """Tell what is wrong with a draw: neither the derivative nor an error of ours."""
    f = program(operation, filled, side, object)
    if operation == "x.astype(str)" and side:
        return ""  # texts of what is in the buffer, which NumPy asks for itself
    try:
        plain = float(f(X))
        h = 1e-6
        slope = (float(f(X + h)) - float(f(X - h))) / (2 * h)
    except Exception:
        return ""  # nothing that NumPy computes
    try:
        found = DOORS[door](f)
    except ChainRulesError:
        return ""
    except Exception as error:
        unsupported = type(error) is TypeError and "unsupported operand" in str(error)
        return "" if unsupported else f"{type(error).__name__}: {error}"[:200]
    wanted = slope if door != "hvp" else 0.0
    if np.isfinite(plain) and not np.allclose(float(np.sum(found)), wanted, rtol=1e-4, atol=1e-5):
        return f"{found!r} for {wanted!r}"
    return ""
