"""Values that were kept of a differentiation inside, which has ended, and that a function uses.

Every way to differentiate inside, times what is done with the value that was kept, times every way
to differentiate the function. Such a value stands for what it was at the level of the function.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import statistics
import weakref
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import NotDifferentiableError, TracerError, linear_rule, primitive
from chainrules_py.extend import innermost, objects
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
from tests.fuzz.leftovers import INNER as BEGUN

X, ONE = np.array([0.5, -1.2, 2.3]), np.ones(3)
KEPT: dict[str, Any] = {}


class _StopError(Exception):
    pass


def _inside(z: Any) -> Any:
    KEPT["sum"], KEPT["square"] = np.sum(z * z), z * z
    return np.sum(z**3)


def _by_tape(x: Any) -> None:
    with Tape() as tape:
        _inside(tape.variable(x))


def _never_closed(x: Any) -> None:
    _inside(Tape().variable(x))


def _by_exception(x: Any) -> None:
    def f(z: Any) -> Any:
        raise _StopError(_inside(z))

    with pytest.raises(_StopError):
        grad(f)(x)


INNER: dict[str, Any] = {name: functools.partial(call, _inside) for name, call in BEGUN.items()}
INNER |= {
    "compiled": lambda x: compile(grad(_inside))(x),
    "closed": _by_tape,
    "never closed": _never_closed,
    "exception": _by_exception,
}
USES: dict[str, Any] = {
    "returned": lambda x: KEPT["sum"],
    "in a dict": lambda x: {"a": KEPT["sum"]},
    "summed": lambda x: np.sum(x) * 0.0 + np.sum(KEPT["square"]),
    "chosen": lambda x: np.sum(np.where(x > -9, KEPT["square"], x)),
}
READS: dict[str, Any] = {
    "float": lambda y: float(y),
    "sqrt": lambda y: math.sqrt(y) ** 2,
    "array": lambda y: np.array([y])[0],
    "array of floats": lambda y: np.asarray(y, dtype=float),
    "mean": lambda y: np.mean([y, y]),
    "mean of Python": lambda y: statistics.fmean([y, y]),
    "buffer": lambda y: _written(np.zeros(1), y),
    "text": lambda y: float(f"{y:.17g}"),
    "item": lambda y: y.item(),
}
"""Reads of a number that was kept. None may give a constant."""
USES |= {
    name: lambda x, read=read: np.sum(x) * 0.0 + read(KEPT["sum"]) for name, read in READS.items()
}


def _written(buffer: Any, y: Any) -> Any:
    buffer[0] = y
    return buffer[0]


def _number(y: Any) -> Any:
    return y["a"] if type(y) is dict else y


def _on_a_tape(f: Any) -> Any:
    with Tape() as tape:
        x = tape.variable(X)
        y = f(x)
    return tape.grad(y, x)


OUTER: dict[str, tuple[Any, Any]] = {
    "grad": (lambda f: grad(f)(X), 2 * X),
    "jvp": (lambda f: jvp(f, (X,), (X,))[1], 2 * X @ X),
    "linearize": (lambda f: linearize(f, X)[1](X), 2 * X @ X),
    "jacobian": (lambda f: jacobian(f)(X), 2 * X),
    "hvp": (lambda f: hvp(f, (X,), (X,))[0], 2 * X),
    "hessian": (lambda f: hessian(f)(X), 2 * np.eye(3)),
    "checkpoint": (lambda f: grad(checkpoint(f))(X), 2 * X),
    "compiled": (lambda f: compile(grad(f))(X), 2 * X),
    "tape": (_on_a_tape, 2 * X),
}


@pytest.mark.filterwarnings("ignore:.*is not a program")
@pytest.mark.parametrize("outer", OUTER)
def test_what_was_kept_of_an_ended_differentiation_counts(outer: str) -> None:
    call, right = OUTER[outer]
    for inner, use in itertools.product(INNER, USES):
        KEPT.clear()

        def f(x: Any, inner: str = inner, use: str = use) -> Any:
            INNER[inner](x)
            return _number(USES[use](x))

        try:
            found = call(f)
        except TracerError:
            # Computing on with a value of a tape that is closed is refused, whatever comes of it,
            # and so is one example of many.
            may = ("summed", "chosen", *READS)
            assert use in may or inner == "vmap" or outer == "tape", (inner, use)
        else:
            np.testing.assert_allclose(found, right, err_msg=f"{inner}, {use}")
        assert not objects or inner == "never closed"  # known while a differentiation is under way
        objects.clear()


def test_a_structure_of_kept_values_is_pulled_back() -> None:
    def f(x: Any) -> Any:
        jvp(_inside, (x,), (ONE,))
        grad(_inside)(x)
        return {"a": KEPT["sum"], "b": [KEPT["square"], x]}

    y, pullback = vjp(f, X)
    assert type(y["a"]) is np.float64
    assert type(y["b"][0]) is np.ndarray
    (bar,) = pullback({"a": 1.0, "b": [ONE, ONE]})
    np.testing.assert_allclose(bar, 4 * X + 1)


def test_what_was_kept_comes_out_of_aux_as_a_plain_value() -> None:
    def f(x: Any) -> Any:
        grad(_inside)(x)
        return np.sum(x), KEPT["square"]

    _, aux = grad(f, has_aux=True)(X)
    assert type(aux) is np.ndarray
    np.testing.assert_allclose(aux, X * X)


LATER = {
    "computed with": lambda: KEPT["square"] * 2.0,
    "beside it": lambda: np.ones(3) + KEPT["square"],
    "multiplied with itself": lambda: KEPT["square"] * KEPT["square"],
    "a function of it": lambda: np.sin(KEPT["square"]),
    "an element": lambda: KEPT["square"][0],
    "a sum": lambda: np.sum(KEPT["square"]),
    "grad": lambda: grad(lambda z: np.sum(z * KEPT["square"]))(X),
    "jvp": lambda: jvp(lambda z: z * KEPT["square"], (X,), (ONE,)),
    "rule": lambda: _twice(KEPT["square"]),
}


@primitive
def _twice(x: Any) -> Any:
    return 2.0 * x


linear_rule(_twice, lambda y_bar, x: 2.0 * y_bar)


OPEN_OR_PLAIN = {"vmap", "taylor", "compiled", "checkpoint", "never closed"}


@pytest.mark.parametrize("inner", sorted(INNER.keys() - OPEN_OR_PLAIN))
@pytest.mark.parametrize("later", LATER)
def test_using_what_was_kept_after_all_are_over_is_an_error(inner: str, later: str) -> None:
    KEPT.clear()
    INNER[inner](X)
    with pytest.raises(TracerError, match="was used after"):
        LATER[later]()


def _caught(f: Any) -> None:
    def raising(x: Any) -> Any:
        raise _StopError(f(x))

    with pytest.raises(_StopError):
        grad(raising)(X)


@pytest.mark.parametrize(
    "call",
    [
        _caught,
        lambda f: grad(f)(X),
        lambda f: jvp(f, (X,), (ONE,)),
        lambda f: hvp(f, X, ONE),
        lambda f: hessian(f)(X),
        lambda f: jacobian(f)(X),
        lambda f: jacobian(f, mode="forward")(X),
    ],
)
def test_a_loss_that_is_kept_keeps_no_records(call: Any) -> None:
    losses, arrays = [], []

    def loss(x: Any) -> Any:
        y = np.exp(np.tanh(x))
        arrays.append(weakref.ref(innermost(y)))
        losses.append(np.sum(y * y))
        return losses[-1]

    call(loss)
    gc.collect()
    assert len(losses) == len(arrays) > 0
    assert [ref() for ref in arrays] == [None] * len(arrays)


RETURNING: dict[str, Any] = {
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "aux": lambda f: grad(lambda x: (np.sum(x), f(x)), has_aux=True)(X),
    "vjp of two": lambda f: vjp(lambda x: (f(x), np.sum(x)), X),
    "jvp": lambda f: jvp(f, (X,), (ONE,)),
    "linearize": lambda f: linearize(f, X),
    "jacobian": lambda f: jacobian(f)(X),
    "hessian": lambda f: hessian(f)(X),
}


@pytest.mark.parametrize("first", RETURNING)
@pytest.mark.parametrize("again", RETURNING)
def test_a_result_that_an_earlier_call_made_is_an_error(first: str, again: str) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(np.sum(x**2))
        return kept[0]

    RETURNING[first](f)
    with pytest.raises(
        NotDifferentiableError, match=r"f.* float64\[\], which an earlier call made"
    ):
        RETURNING[again](f)


def test_a_stored_value_that_an_outer_derivative_depends_on_is_to_be_returned() -> None:
    def f(x: float, returns: bool) -> Any:
        seen: list[Any] = []

        def inner(z: Any) -> Any:
            seen.append(z * x)
            return (z * z * x, z * x) if returns else z * z * x

        found = grad(inner, has_aux=returns)(2.0)
        return found[0] * found[1] if returns else found * seen[-1]

    with pytest.raises(TracerError, match=r"return it beside .* grad\(f, has_aux=True\)"):
        grad(f)(0.7, False)
    assert math.isclose(grad(f)(0.7, True), 16 * 0.7)  # of 4 x 2 x
