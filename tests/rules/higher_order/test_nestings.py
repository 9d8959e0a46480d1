"""Operations that are given functions, in each nesting of two ways to differentiate.

What each function captured, or was passed, belongs to the inner differentiation or to the outer
one; the truth is a difference of the function on plain numbers.
"""

import functools
import itertools

import numpy as np
import pytest

from chainrules_numpy.composites.mapping import vectorize
from chainrules_py.composites.higher_order import (
    fixed_point,
    linear_solve,
    map,
    minimize,
    odeint,
    reduce,
    root,
    scan,
)
from chainrules_tape import (
    checkpoint,
    grad,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import checkpoint_chain

W = np.array([0.5, 0.8])
TIMES = np.array([0.0, 0.4])
HOW = {"rtol": 1e-11, "atol": 1e-11}

WAYS = {
    "grad": grad,
    "value_and_grad": lambda f: lambda x: value_and_grad(f)(x)[1],
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "jvp of many": lambda f: lambda x: jvp(f, (x,), (np.ones(1),), batched=True)[1][0],
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "vjp of many": lambda f: lambda x: vjp(f, x)[1](np.ones(1), batched=True)[0][0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
    "forward jacobian": lambda f: jacobian(f, mode="forward"),
    "reverse jacobian": lambda f: jacobian(f, mode="reverse"),
}


class Cell:
    """A method that looks a value up."""

    def __init__(self, v):
        self.v = v

    def step(self, s):
        return s + 0.1 * np.sin(s * self.v)


def through_a_function(v):
    def inner(s):
        return s + 0.1 * np.sin(s * v)

    return lambda s: inner(s)


def chained(u, v, **how):
    return checkpoint_chain(lambda s, k: s + 0.1 * np.sin(s * v), 5, **how)(u)


# Of two numbers: each is captured by a function, passed to it, or where it starts.
PROGRAMS = {
    "root: captured": lambda u, v: root(lambda e: e**3 + e - u * v - u, 1.0),
    "root: arrays": lambda u, v: np.sum(root(lambda e: e**3 + e - u * v * W - u, np.ones(2))),
    "root: passed": lambda u, v: root(lambda e, p: e**3 + e - p * v - p, 1.0, u),
    "root: both passed": lambda u, v: root(lambda e, p, q: e**3 + e - p * q - p, 1.0, u, v),
    "fixed_point": lambda u, v: fixed_point(lambda e: 0.3 * u * np.cos(e * v), 0.5),
    "fixed_point: passed": lambda u, v: fixed_point(lambda e, p: 0.3 * p * np.cos(e * v), 0.5, u),
    "minimize": lambda u, v: minimize(lambda e: (e - u * v) ** 2 + 0.1 * e**4 * u, 0.5),
    "minimize: passed": lambda u, v: minimize(
        lambda e, p: (e - p * v) ** 2 + 0.1 * e**4 * p, 0.5, u
    ),
    "linear_solve": lambda u, v: np.sum(linear_solve(lambda e: (u * v + u) * e + W[::-1] * e, W)),
    "linear_solve: right-hand side": lambda u, v: np.sum(
        linear_solve(lambda e: (v * v + W) * e, u * W)
    ),
    "linear_solve: symmetric": lambda u, v: np.sum(
        linear_solve(lambda e: (v * v + W) * e, u * W, symmetric=True)
    ),
    "linear_solve: cg": lambda u, v: np.sum(
        linear_solve(lambda e: (v * v + W) * e, u * W, solver="cg", tol=1e-13)
    ),
    "odeint": lambda u, v: odeint(lambda y, t: np.sin(y * u) * v, 0.7, TIMES, **HOW)[-1],
    "odeint: start": lambda u, v: odeint(lambda y, t: np.sin(y * v), u, TIMES, **HOW)[-1],
    "odeint: passed": lambda u, v: odeint(lambda y, t, p: np.sin(y * v) * p, 0.7, TIMES, u, **HOW)[
        -1
    ],
    "map": lambda u, v: np.sum(map(lambda e: np.sin(e * u) * v, W)),
    "map: slices": lambda u, v: np.sum(map(lambda e: np.sin(e * v), u * W)),
    "reduce": lambda u, v: reduce(lambda s, e: s + e * np.sin(s * v), W, u),
    "scan": lambda u, v: np.sum(scan(lambda s, e: (s + e * np.sin(s * v), s * s), u, W)[1]),
    "vectorize": lambda u, v: np.sum(vectorize(lambda e: np.sin(e * v))(u * W)),
    "checkpoint": lambda u, v: checkpoint(lambda s: s + np.sin(s * v))(u),
    "checkpoint: captured by another": lambda u, v: checkpoint(through_a_function(v))(u),
    "checkpoint: a method": lambda u, v: checkpoint(Cell(v).step)(u),
    "checkpoint: cheap": lambda u, v: checkpoint(through_a_function(v), save="cheap")(u),
    "checkpoint: mincut": lambda u, v: checkpoint(through_a_function(v), save="mincut")(u),
    "checkpoint_chain": chained,
    "checkpoint_chain: slots": functools.partial(chained, slots=2),
    "a checkpoint in a root": lambda u, v: root(
        lambda e: checkpoint(through_a_function(v))(e) + e**3 - u, 1.0
    ),
    "a root in a scan": lambda u, v: scan(
        lambda s, e: (root(lambda z: z**3 + z - s * v - e, 1.0), None), u, W
    )[0],
    "a root in a checkpoint": lambda u, v: checkpoint(
        lambda s: root(lambda z: z**3 + z - s * v, 1.0)
    )(u),
    "a root in an integration": lambda u, v: odeint(
        lambda y, t: root(lambda z: z**3 + z - y * v, 1.0), u, TIMES / 20, **HOW
    )[-1],
}
U, V = 1.2, 0.7

# What is differentiated by the inner way, and by the outer.
SHARES = {
    "inner first": lambda f, inner, outer: outer(lambda v: inner(lambda u: f(u, v))(U))(V),
    "inner second": lambda f, inner, outer: outer(lambda u: inner(lambda v: f(u, v))(V))(U),
    "point of the first": lambda f, inner, outer: outer(inner(lambda u: f(u, V)))(U),
    "point of the second": lambda f, inner, outer: outer(inner(lambda v: f(U, v)))(V),
    "both in both": lambda f, inner, outer: outer(
        lambda s: inner(lambda t: f(U * t, V * s * t))(s)
    )(1.0),
}


def slope(f, h=1 / 64):
    """The five-point difference, which is right to about h to the fourth."""
    return lambda x: (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@functools.cache
def difference(name, share):
    """The difference of differences, of plain numbers."""
    return SHARES[share](PROGRAMS[name], slope, slope)


def compare(name, share, inner, outer):
    found = SHARES[share](PROGRAMS[name], WAYS[inner], WAYS[outer])
    np.testing.assert_allclose(found, difference(name, share), rtol=3e-4, atol=2e-5)


# One nesting that is deferred in both, and others in turn.
SAMPLE = [
    (name, [*SHARES][i % 4], inner, outer)
    for i, name in enumerate(PROGRAMS)
    for inner, outer in (
        ("linearize", "linearize"),
        ("grad", "grad"),
        ([*WAYS][i % len(WAYS)], [*WAYS][(5 * i + 2) % len(WAYS)]),
    )
]


@pytest.mark.parametrize("name, share, inner, outer", SAMPLE)
def test_nested(name, share, inner, outer):
    compare(name, share, inner, outer)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pair_of_ways(name):
    for share, pair in zip(itertools.cycle(SHARES), itertools.product(WAYS, WAYS)):
        compare_and_say(name, share, *pair)


@pytest.mark.nightly
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_nesting(name, share):
    for pair in itertools.product(WAYS, WAYS):
        compare_and_say(name, share, *pair)


def compare_and_say(name, share, inner, outer):
    try:
        compare(name, share, inner, outer)
    except Exception as error:
        error.add_note(f"{share}: {outer} of {inner}")
        raise
