"""Programs that faults are injected into: each gives the same bytes whenever it is run in peace."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from typing import Any

import numpy as np

from chainrules_compile import compile
from chainrules_py import LinearMap, primitive, rrule, rule, scalar_rule
from chainrules_py.ops import strict
from chainrules_py.ops.degeneracy_reports import is_strict
from chainrules_py.primitives.method_table import lock
from chainrules_tape import Tape, checkpoint, grad, hessian, jacobian, jvp, linearize, vjp
from chainrules_tape.inspect.kept_calls import trap

X = np.linspace(0.1, 0.9, 12)
LARGE = np.ones(1_000_001)
ERRORS = np.geterr()
MATRIX = np.random.default_rng(0).standard_normal((6, 6))


_ENDED: list[Any] = []  # a context that is dropped would end


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


def fresh() -> Any:
    @primitive
    def cube(x):
        return x * x * x

    scalar_rule(cube, lambda y, x: 3.0 * x * x)
    return cube


def own_rule():
    cube = fresh()
    return grad(lambda x: np.sum(cube(x) * np.sin(x)))(X)


def written_out():
    @primitive
    def twice(x):
        return 2.0 * x

    @rule(twice)
    def twice_rule(x):
        return 2.0 * x, (LinearMap(lambda t: 2.0 * t, lambda t: 2.0 * t),)

    return rrule(twice, X)[1](X)[0], vjp(twice, X)[1](X)[0]


def layers():
    def loss(layers, x):
        for layer in layers:
            x = np.tanh(layer.weight @ x + layer.bias)
        return np.sum(x * x)

    stack = [Layer(MATRIX, MATRIX[0]), Layer(MATRIX.T, MATRIX[1])]
    found = grad(loss)(stack, X[:6])
    return [found[0].weight, found[1].bias]


def class_made_here():
    class Here(np.ndarray):
        pass

    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    found = grad(lambda p: np.sum(p.a * p.b * p.a))(Pair(X.view(Here), X))
    return [np.asarray(found.a), found.b]


def decomposed():
    return grad(lambda a: np.sum(np.linalg.svd(a)[1] ** 2) + np.linalg.slogdet(a)[1])(MATRIX)


def second_order():
    return [hessian(lambda x: np.sum(x**3))(X), jacobian(lambda x: np.cumsum(x * x))(X)]


def checkpointed():
    block = checkpoint(lambda x: np.sin(x) * np.cos(x) + x)
    return grad(lambda x: np.sum(block(block(block(x)))))(X)


@functools.cache
def pullback_kept():
    block = checkpoint(lambda x: np.sin(x) * x)
    return vjp(lambda x: block(block(x) * x), X)[1]


def pulled_again():
    return pullback_kept()(X)[0]


def in_place():
    def f(x):
        y = np.zeros_like(x)
        y[2:] = x[2:] * x[:-2]
        y += np.exp(x)
        y[::2] *= 2.0
        return np.sum(y * y)

    return grad(f)(X)


def forward():
    return [
        jvp(lambda x: np.exp(np.sin(x)), (X,), (X,))[1],
        linearize(lambda x: np.log(x) * x, X)[1](X),
    ]


def strictly():
    with strict():
        return grad(lambda a: np.sum(np.linalg.svd(a)[1]))(MATRIX)


def on_a_tape():
    with Tape() as tape:
        x = tape.variable(X)
        y = np.sum(np.sqrt(x) * x)
    return tape.grad(y, x)


_slope = compile(grad(lambda x: np.sum(np.log(x) / x)))


def compiled():
    return _slope(X)


def large():
    return grad(lambda x: np.sum(x * LARGE))(LARGE)[:5]


PROGRAMS = (
    own_rule,
    written_out,
    layers,
    class_made_here,
    decomposed,
    second_order,
    checkpointed,
    pulled_again,
    in_place,
    forward,
    strictly,
    on_a_tape,
    compiled,
    large,
)


def answer(program: Any) -> bytes:
    """The bytes of what a program gives."""
    found = program()
    parts = found if isinstance(found, (list, tuple)) else [found]
    return b"".join([np.asarray(part).tobytes() for part in parts])


@functools.cache
def quiet() -> dict[Any, bytes]:
    """What the programs give in peace."""
    for program in PROGRAMS:
        answer(program)
    return {program: answer(program) for program in PROGRAMS}


def left_behind() -> list[str]:
    """Name what is not as it was before: locked arrays, locks, modes that were to end."""
    found = [] if LARGE.flags.writeable else ["a large array is read-only"]
    LARGE.flags.writeable = True
    with contextlib.suppress(LookupError):
        found += ["strict"] * is_strict() + ["the trap"] * trap.get()
    if is_strict():  # else every program after this one would be found strict as well
        _ENDED.append(strict(False))
        _ENDED[-1].__enter__()
    errors = np.seterr(**ERRORS)
    if errors != ERRORS and errors["invalid"] != "call":  # np.linalg's own blocks leave that
        found += [f"NumPy's errors: {errors}"]
    while lock._is_owned():
        lock.release()
        found.append("the lock of the table of rules")
    return found
