"""What an option holds is changed before the derivative: as at the call, or an error."""

from __future__ import annotations

import itertools
import types

import numpy as np
import pytest

import chainrules_tape as tape
from chainrules_compat import custom_vjp
from chainrules_py import (
    LinearMap,
    MutationError,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
)

X = np.array([1.0, 2.0, 3.0])


class Plan:
    k = 2.0


class Slots:
    __slots__ = ("k",)

    def __init__(self):
        self.k = 2.0


def reading():
    k = 2.0
    return lambda: k


def set_cell(f):
    f.__closure__[0].cell_contents = 10.0


HOLDERS = {
    "an object": (Plan, "o.k", lambda o: setattr(o, "k", 10.0)),
    "slots": (Slots, "o.k", lambda o: setattr(o, "k", 10.0)),
    "a namespace": (
        lambda: types.SimpleNamespace(k=2.0),
        "vars(o)['k']",
        lambda o: vars(o).update(k=10.0),
    ),
    "a dict": (lambda: {"k": 2.0}, "o['k']", lambda o: o.update(k=10.0)),
    "a list": (lambda: [2.0], "o[0]", lambda o: o.__setitem__(0, 10.0)),
    "nested": (
        lambda: {"of": [Plan()]},
        "o['of'][0].k",
        lambda o: setattr(o["of"][0], "k", 10.0),
    ),
    "a function": (reading, "o()", set_cell),
    "functions": (lambda: [reading()], "o[0]()", lambda o: set_cell(o[0])),
}
"""What makes an option, how a rule reads a number of it, and what changes that."""
PENS = {
    "rrule": "rrule.register(f)(lambda x, *, o: (f(x, o=o), lambda g: (g * READ,)))",
    "frule": "rrule.register(f)(lambda x, *, o: (f(x, o=o), lambda g: (g * READ,)))\n"
    "frule.register(f)(lambda dots, x, *, o: (f(x, o=o), dots[0] * READ))",
    "rule": "rule(f)(lambda x, *, o: "
    "(f(x, o=o), (LinearMap(lambda t: t * READ, lambda t: t * READ),)))",
    "saved": "rule(f)(lambda x, *, o: "
    "(f(x, o=o), (LinearMap(lambda t, o: t * READ, lambda t, o: t * READ, o),)))",
    "linear_rule": "linear_rule(f, lambda g, x, *, o: g * READ)",
    "custom_vjp": "f = custom_vjp(lambda x, *, o: READ * x)\n"
    "f.defvjp(lambda x, *, o: (READ * x, o), lambda o, g: (g * READ,))",
}
"""How a rule is stated; its code looks up nothing but f."""
NAMES = {
    "LinearMap": LinearMap,
    "custom_vjp": custom_vjp,
    "frule": frule,
    "linear_rule": linear_rule,
    "primitive": primitive,
    "rrule": rrule,
    "rule": rule,
}


def stated(pen, read):
    names = {"__name__": __name__, **NAMES}
    source = f"f = primitive(lambda x, *, o: READ * x)\n{PENS[pen]}"
    exec(source.replace("READ", read), names)
    return names["f"]


def in_the_program(f, o, change):
    def program(x):
        y = f(x, o=o)
        change(o)
        return np.sum(y)

    return tape.grad(program)(X)


def before_the_pull(f, o, change):
    _, pull = tape.vjp(lambda x: f(x, o=o), X)
    change(o)
    return pull(np.ones(3))[0]


def by_the_pullback(f, o, change):
    _, pull = rrule(f, X, o=o)
    change(o)
    return pull(np.ones(3))[0]


def by_linearize(f, o, change):
    _, push = tape.linearize(lambda x: f(x, o=o), X)
    change(o)
    return push(np.ones(3))


WAYS = [in_the_program, before_the_pull, by_the_pullback, by_linearize]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("pen, holder", list(itertools.product(PENS, HOLDERS)))
def test_what_an_option_holds_is_as_at_the_call(pen, holder, way):
    make, read, change = HOLDERS[holder]
    f, o = stated(pen, read), make()
    try:
        found = way(f, o, change)
    except MutationError:
        return
    np.testing.assert_array_equal(found, np.full(3, 2.0))
