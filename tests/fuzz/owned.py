"""Programs that write in place around calls of the engine: what a call gives is the caller's own.

A program makes two arrays, gives them to a call, and writes to one of the arrays or of what the
call gave; then it uses all of them. The value is that of the program run plainly, and the
derivatives are those that differences tell, whether or not something is being differentiated
outside of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_kit.custom_derivatives import custom_vjp, user_grad
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    ZeroTangent,
    ignore_derivatives,
    linear_rule,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py.ops import fixed_point, linear_solve, map, minimize, reduce, root, scan
from chainrules_tape import (
    Tape,
    checkpoint,
    gauss_newton_vp,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)

W, U = np.array([0.3, 1.2, 0.7, -0.4]), np.array([1.0, -0.5, 2.0, 0.25])

SOURCES: dict[str, Callable[[Any], Any]] = {
    "an array": lambda w: w * 1.0,
    "a view": lambda w: (w * 1.0)[::-1],
    "a matrix": lambda w: (w * 1.0).reshape(2, 2),
    "a transposed matrix": lambda w: (w * 1.0).reshape(2, 2).T,
    "an array, and a plain one": lambda w: (w * 1.0, U.copy()),
    "a plain array, and one": lambda w: (U.copy(), w * 1.0),
    "parts of a plain array": lambda w: (lambda x: (x[:4], w * 1.0, x[4:0:-1], x))(np.append(U, 2)),
}
"""By name how the first array is made, which a second of its shape follows; or all of them."""


def _squares(x: Any) -> Any:
    return np.sum(x * x)


def _taped(b: Any, s: Any, **how: Any) -> Any:
    with Tape(**how) as tape:
        x, y = tape.variable(b), tape.variable(s)
        return tape.grad(np.sum(x + y * 1.0), [x, y])


def _filled(loop: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Make a call whose function writes to what it captured, and to a slice that it is given."""

    def call(b: Any, s: Any) -> Any:
        buffer = s * 1.0

        def step(*given: Any) -> Any:
            row = given[-1]
            buffer[0] += row * 0.5
            if np.ndim(row):
                row *= 2.0
            return given[0] * 1.0

        return buffer, loop(step, b, s)

    return call


def _at_start(operation: Callable[..., Any], f: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Make a call of an operation whose solver finds that it starts at the solution."""
    return lambda b, s: [operation(f, b, b, solver=lambda _, x0: x0)]


@primitive
def _same(x: Any) -> Any:
    return x


@primitive
def _second(x: Any, y: Any) -> Any:
    return y


@primitive
def _both(x: Any, y: Any) -> Any:
    return y, x[::-1]


@custom_vjp
def _custom(x: Any, y: Any) -> Any:
    return y


scalar_rule(_same, lambda y, x: 1.0 + 0.0 * x)
linear_rule(_second, ZeroTangent(), lambda bar, x, y: bar)
_custom.defvjp(lambda x, y: (y, None), lambda _, bar: (0.0 * bar, bar))


@rule(_both)
def _both_rule(x: Any, y: Any) -> Any:
    first = LinearMap(lambda t: (0.0 * t, t[::-1]), lambda bar: bar[1][::-1])
    return (y, x[::-1]), (first, LinearMap(lambda t: (t, 0.0 * t), lambda bar: bar[0]))


def _region(b: Any, s: Any) -> Any:
    return [user_grad(b, s)(lambda x, y: (y, lambda bar: (0.0 * bar, bar)))]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "vjp: value": lambda b, s: [vjp(lambda x: x, b)[0]],
    "vjp: pull": lambda b, s: vjp(lambda x: x + 0.0, b)[1](s),
    "vjp: two pulls": lambda b, s: [p(s)[0] for p in [vjp(lambda x: x + s, b)[1]] * 2],
    "vjp: captured": lambda b, s: [vjp(lambda x: s, b)[0]],
    "vjp: pair": lambda b, s: vjp(lambda x: (x, x, s), b)[0],
    "vjp: view": lambda b, s: vjp(lambda x: x[::-1], b)[1](s),
    "grad": lambda b, s: [grad(lambda x: np.sum(x * s))(b)],
    "grad: two": lambda b, s: grad(lambda x, y: np.sum(x + y), (0, 1))(b, s),
    "grad: shared": lambda b, s: grad(lambda x, y: _squares(x + y), (0, 1))(b, s),
    "grad: dict": lambda b, s: grad(lambda p: np.sum(p["x"] + p["y"]))({"x": b, "y": s}).values(),
    "grad: aux": lambda b, s: grad(lambda x: (np.sum(x), (x, s)), has_aux=True)(b)[1],
    "value_and_grad": lambda b, s: [value_and_grad(lambda x: np.sum(x * s))(b)[1]],
    "jvp": lambda b, s: jvp(lambda x: x, (b,), (s,)),
    "jvp: fixed": lambda b, s: [jvp(lambda x, y: y, (b, s), (s, ZeroTangent()))[0]],
    "linearize": lambda b, s: [linearize(lambda x: x + 0.0, b)[1](s)],
    "linearize: pair": lambda b, s: linearize(lambda x: (x, x * 1.0), b)[1](s),
    "hvp": lambda b, s: [hvp(_squares, (b,), (s,))[0]],
    "hessian": lambda b, s: [hessian(_squares)(b)],
    "jacobian": lambda b, s: [jacobian(lambda x: x)(b)],
    "gauss_newton_vp": lambda b, s: [gauss_newton_vp(lambda x: x, _squares, (b,), (s,))[0]],
    "Tape": _taped,
    "Tape(differentiable=True)": lambda b, s: [x.value for x in _taped(b, s, differentiable=True)],
    "checkpoint": lambda b, s: [checkpoint(lambda x: x)(b)],
    "stop_gradient": lambda b, s: stop_gradient((b, s)),
    "ignore_derivatives": lambda b, s: ignore_derivatives([b, s]),
    "ignore_derivatives of a function": lambda b, s: [ignore_derivatives(lambda x: x)(b)],
    "map": _filled(lambda f, b, s: map(f, b)),
    "reduce": _filled(lambda f, b, s: reduce(f, b, s)),
    "scan": _filled(lambda f, b, s: scan(lambda a, x: (f(a, x), a), s, b)[0]),
    "reduce of a list": lambda b, s: [reduce(lambda _, x: x, [s, b])],
    "root": _at_start(root, lambda x, p: x - stop_gradient(p)),
    "fixed_point": _at_start(fixed_point, lambda x, p: stop_gradient(p) + 0.0 * x),
    "minimize": _at_start(minimize, lambda x, p: _squares(x - stop_gradient(p))),
    "scalar_rule": lambda b, s: [_same(b)],
    "linear_rule": lambda b, s: [_second(s, b)],
    "rule": _both,
    "custom_vjp": lambda b, s: [_custom(s, b)],
    "user_grad": _region,
    "linear_solve": lambda b, s: [linear_solve(lambda x: x, b, solver=lambda _, x0: x0)],
}
"""By name what is called, with two arrays; it gives the arrays of the result."""

WRITES: dict[str, Callable[[Any], Any]] = {
    "x *= 2": lambda x: x.__imul__(2.0),
    "x[0] = 5": lambda x: x.__setitem__(0, 5.0),
    "x[1:] -= 1": lambda x: x[1:].__isub__(1.0),
    "x.reshape(-1)[1] = 3": lambda x: x.reshape(-1).__setitem__(1, 3.0),
}


def _program(call: str, source: str, written: int, write: str) -> Callable[[Any], Any]:
    def program(w: Any) -> Any:
        made = SOURCES[source](w)
        arrays = [*made] if type(made) is tuple else [made, made * made + 1.0]
        arrays += CALLS[call](*arrays[:2])
        WRITES[write](arrays[written % len(arrays)])
        return sum([(k + 1.0) * np.sum(x * np.sum(w)) for k, x in enumerate(arrays)])

    return program


DOORS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: (lambda y, g: (y, g @ U))(*value_and_grad(f)(W.copy())),
    "jvp": lambda f: jvp(f, (W.copy(),), (U,)),
    "linearize": lambda f: (lambda y, push: (y, push(U)))(*linearize(f, W.copy())),
    "grad of grad": lambda f: (
        f(W.copy()),
        grad(lambda t: np.sum(grad(lambda w: t * f(w))(W.copy()) * U))(1.0),
    ),
}


def verdict(call: str, source: str, written: int, write: str, door: str) -> str:
    """Tell what is wrong with a value or derivative; the empty text if nothing is."""
    f = _program(call, source, written, write)
    due: Any = None
    refused: Any = None
    try:
        due = f(W.copy())
    except (ChainRulesError, ValueError) as error:
        refused = error
    try:
        found = DOORS[door](f)
    except (ChainRulesError, ValueError) as error:
        clear = isinstance(error, ChainRulesError) or "read-only" in str(error)
        allowed = (
            due is None or call in REFUSED or "it is not known" in str(error) or "plain" in source
        )
        return "" if clear and allowed else f"{error!r} for {due}"
    if due is None:
        return f"{found} for {refused!r}"
    h = 1e-6
    slope = (f(W + h * U) - f(W - h * U)) / (2 * h)
    if np.isclose(found[0], due) and (call in CONSTANT or np.isclose(found[1], slope, rtol=1e-4)):
        return ""
    return f"{found} for {due, slope}"


REFUSED = {"scalar_rule", "linear_rule", "rule", "custom_vjp", "user_grad"}
"""Functions that people wrote, which give memory of their operands: a write may be refused."""
CONSTANT = {
    "stop_gradient", "ignore_derivatives", "ignore_derivatives of a function", "root",
    "fixed_point", "minimize", "Tape(differentiable=True)",
}  # fmt: skip
"""Calls that hold a value constant, so that differences do not tell the derivative."""
