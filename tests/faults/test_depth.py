"""Structures that nobody can go through: nested very deep, or holding themselves."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    LinearMap,
    frule,
    ignore_derivatives,
    primitive,
    rule,
    space,
    zero_tangent,
)
from chainrules_tape import Tape, checkpoint, grad, hessian, jacobian, jvp, linearize, vjp


def nested(depth):
    x = 1.0
    for k in range(depth):
        x = {"a": x} if k % 3 == 0 else [x, 2.0] if k % 3 == 1 else (x,)
    return x


def holding_itself():
    x = [1.0]
    x.append({"again": x})
    return x


@pytest.fixture(autouse=True)
def depth():
    """As Python has it: there are libraries that set it higher."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@primitive
def held(x):
    return 1.0


@rule(held)
def held_rule(x: object):
    return 1.0, (LinearMap(lambda t: 0.0, lambda t: zero_tangent(x)),)


THINGS = {"1,000": nested(1_000), "50,000": nested(50_000), "itself": holding_itself()}
CALLS = {
    "grad": lambda f, x: grad(f)(x),
    "vjp": vjp,
    "jvp": lambda f, x: jvp(f, (x,), (x,)),
    "linearize": linearize,
    "jacobian": lambda f, x: jacobian(f)(x),
    "hessian": lambda f, x: hessian(f)(x),
    "a variable": lambda f, x: Tape().variable(x),
    "a result": lambda f, x: vjp(lambda y: x, 1.0),
    "checkpoint": lambda f, x: grad(lambda y: checkpoint(lambda a: y)(x))(1.0),
    "space": lambda f, x: space(x),
    "zero_tangent": lambda f, x: zero_tangent(x),
    "frule": lambda f, x: frule((x,), held, x),
    "ignore_derivatives": lambda f, x: ignore_derivatives(x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("thing", THINGS)
def test_python_says_so(thing, call):
    with pytest.raises(RecursionError):
        CALLS[call](lambda x: 1.0, THINGS[thing])


def test_a_structure_of_some_depth_is_one():
    assert isinstance(grad(lambda x: _first(x) * 2.0)(nested(150)), tuple)
    assert not issubclass(RecursionError, ChainRulesError)


def test_a_function_that_calls_itself_too_often_is_told_so_by_python():
    def f(x, n):
        return x if n == 0 else np.sin(f(x, n - 1))

    with pytest.raises(RecursionError):
        grad(f)(0.7, 2000)


def _first(x):
    while not isinstance(x, float) and not hasattr(x, "tape"):
        x = x["a"] if isinstance(x, dict) else x[0]
    return x
