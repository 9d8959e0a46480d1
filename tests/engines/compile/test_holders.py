"""Functions that a compiled function calls through objects of ours: what they captured is seen.

A compiled function, a linear map or the pullback of one hold a function of somebody's. The code of
these packages is not looked into; what it was given is.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ChainRulesError, LinearMap
from chainrules_tape import checkpoint, grad, value_and_grad, vjp
from tests.fuzz.captures import X, made

pytestmark = pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")


def total(f):
    return lambda x: np.sum(f(x))


def itself(f):
    return f


def kept(held, f):
    return lambda x: f(held, x)


class Keeps:
    def __init__(self, f):
        self.f = f


HOLDERS = {
    "compiled": (compile, itself),
    "compiled, looser": (lambda f: compile(f, exact=False), itself),
    "compiled twice": (lambda f: compile(compile(f)), itself),
    "compiled gradient": (lambda f: compile(grad(total(f))), lambda f: grad(total(f))),
    "gradient of compiled": (lambda f: grad(total(compile(f))), lambda f: grad(total(f))),
    "pullback of compiled": (
        lambda f: kept(compile(lambda x: vjp(f, x)[1]), lambda pull, x: pull(x)(X)[0]),
        lambda f: lambda x: vjp(f, x)[1](X)[0],
    ),
    "in a checkpoint": (lambda f: checkpoint(compile(f)), itself),
    "compiled checkpoint": (lambda f: compile(checkpoint(f)), itself),
    "in a dict": (lambda f: kept({"f": compile(f)}, lambda held, x: held["f"](x)), itself),
    "in an object": (lambda f: kept(Keeps(compile(f)), lambda held, x: held.f(x)), itself),
    "bound": (lambda f: functools.partial(lambda f, x: f(x), compile(f)), itself),
    "method": (lambda f: Keeps(compile(lambda x: f(x))).f, itself),
}
"""Ways to hold a function, and what they do."""
DOORS = {
    "value": (compile, itself),
    "gradient": (lambda f: compile(value_and_grad(f)), value_and_grad),
    "looser": (lambda f: compile(value_and_grad(f), exact=False), value_and_grad),
    "second": (
        lambda f: compile(grad(lambda x: np.sum(grad(f)(x) ** 2))),
        lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    ),
}
"""What is compiled around what calls it, and is not."""
DRAWS = [
    ("scalar_rule", "cell", "array", "write"),
    ("scalar_rule", "global", "number", "replace"),
    ("rule", "dict", "array", "replace"),
    ("custom_vjp", "attribute", "array", "write"),
    ("user_grad", "list", "number", "replace"),
]


def answer(f):
    try:
        return np.concatenate([np.ravel(y) for y in np.atleast_1d(f(X))])
    except ValueError:
        value, slope = f(X)
        return np.append(slope, value)
    except ChainRulesError as error:
        return type(error).__name__


def agree(found, wanted):
    if isinstance(found, str) or isinstance(wanted, str):
        return isinstance(found, str)
    return np.allclose(found, wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_captured_behind_an_object_of_ours_is_seen(holder, door):
    compared = 0
    (hold, as_it_is), (around, plainly) = HOLDERS[holder], DOORS[door]
    for draw in DRAWS:
        ours, theirs = made(*draw), made(*draw)
        held, plain = hold(ours.f), as_it_is(theirs.f)
        f = around(lambda x, f=held: np.sum(x * f(x)))
        g = plainly(lambda x, f=plain: np.sum(x * f(x)))
        for turn in range(4):
            if turn == 2:
                ours.change()
                theirs.change()
            found, wanted = answer(f), answer(g)
            assert agree(found, wanted), f"{draw}, turn {turn}: {found} for {wanted}"
            compared += not isinstance(found, str)
    assert compared >= 8


def test_what_functions_of_a_linear_map_captured_is_seen():
    scale = [2.0]
    times = LinearMap(lambda t: t * scale[0], lambda c: c * scale[0])
    f = compile(value_and_grad(lambda x: np.sum(x * times(X))))
    for factor in (2.0, 2.0, 3.0, 3.0):
        scale[0] = factor
        assert np.array_equal(f(X)[1], X * factor)
