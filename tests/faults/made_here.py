"""Functions of an importable module, and what is made of them: to be pickled by their names."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from chainrules_compile import compile
from chainrules_kit.custom_derivatives import custom_jvp
from chainrules_numpy.composites.mapping import vectorize
from chainrules_py import (
    LinearMap,
    export,
    ignore_derivatives,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import (
    checkpoint,
    grad,
    hessian,
    jacobian,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import checkpoint_chain

X = np.array([0.5, 0.25])


def total(x):
    return np.sum(np.sin(x) * x)


def each(x):
    return np.sin(x) * x


@primitive
def softplus(x):
    return np.logaddexp(0.0, x)


scalar_rule(softplus, lambda y, x: np.exp(x - y))


@primitive
def scaled(x, *, by):
    return by * x


@rule(scaled)
def scaled_rule(x, *, by):
    return by * x, (LinearMap(lambda t: by * t, lambda t: by * t),)


@checkpoint
def layer(x):
    return np.tanh(x) * softplus(x)


@grad
def slope(x):
    return np.sum(layer(x))


@custom_jvp
def square(x):
    return x * x


@square.defjvp
def square_jvp(primals, tangents):
    return primals[0] * primals[0], 2.0 * primals[0] * tangents[0]


@ignore_derivatives
def held(x):
    return x * x


@compile
def compiled(x):
    return np.sum(x * x)


@vectorize
def ramp(x):
    return x if x > 0.3 else 0.0 * x


def step(x, k):
    return x * (k + 1)


def of_x(f: Any) -> Any:
    return f(X)


def first_of_x(f: Any) -> Any:
    return f(X)[0]


def of_two(f: Any) -> Any:
    return f(X, 2)


def of_one(f: Any) -> Any:
    return f(1.0)


def maps() -> dict[str, tuple[Any, Any]]:
    """What is made of them, by name, and what to ask of it."""
    return {
        "grad": (grad(total), of_x),
        "value_and_grad": (value_and_grad(total), of_x),
        "hessian": (hessian(total), of_x),
        "jacobian": (jacobian(each), of_x),
        "checkpoint": (checkpoint(each), of_x),
        "grad under its own name": (slope, of_x),
        "grad of a checkpoint": (grad(total), of_x),
        "hessian of a checkpoint": (jacobian(slope), of_x),
        "checkpoint_chain": (checkpoint_chain(step, 4), of_x),
        "grad of a checkpoint_chain": (grad(checkpoint_chain(step, 4, segments=2)), of_one),
        "ignore_derivatives": (ignore_derivatives(each), of_x),
        "ignore_derivatives by its own name": (held, of_x),
        "compile": (compile(grad(total)), of_x),
        "compile by its own name": (compiled, of_x),
        "vectorize": (vectorize(step), of_two),
        "vectorize by its own name": (ramp, of_x),
        "primitive": (softplus, of_x),
        "custom_jvp": (square, of_x),
        "pullback of vjp": (vjp(total, X)[1], of_one),
        "push of linearize": (linearize(each, X)[1], of_x),
        "pullback of rrule": (rrule(softplus, X)[1], of_x),
        "pullback with options": (rrule(scaled, X, by=3.0)[1], of_x),
        "pullback of NumPy's": (rrule(np.sum, np.ones((2, 2)), axis=0)[1], of_x),
        "pullback of several operations": (rrule(np.median, X)[1], of_one),
        "pullback of several operations beside an axis": (rrule(np.roll, X, 1)[1], first_of_x),
    }


def exports() -> dict[str, Any]:
    """Exports, by engine."""
    engines = [e for e in ("autograd", "jax", "mlx", "mygrad", "torch") if find_spec(e)]
    found = export(softplus, to=engines)
    return {f"export to {name}": (f, None) for name, f in found.items()}
