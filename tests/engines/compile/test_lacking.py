"""Attributes that are not there when a function is recorded, and are set later."""

from __future__ import annotations

import abc
import types

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_tape import grad

X = np.ones(2)


def direct(o):
    try:
        return o.scale
    except AttributeError:
        return 1.0


def read(o):
    return o.scale


def helped(o):
    try:
        return read(o)
    except AttributeError:
        return 1.0


ASKS = {
    "try": direct,
    "try around a call": helped,
    "getattr": lambda o: getattr(o, "scale", 1.0),
    "hasattr": lambda o: o.scale if hasattr(o, "scale") else 1.0,
}


def holders():
    """Return what is asked for an attribute, and what comes to have it."""

    class Plain:
        pass

    class Base:
        pass

    class Made(Base):
        limit = 2.0

        def __init__(self):
            self.weight = 1.0

        def method(self):
            return self.weight

    class Slots:
        __slots__ = ("other", "scale")

    def helper(x):
        return x

    made, slots, module = Made(), Slots(), types.ModuleType("settings")
    return {
        "class of an object": (Plain(), Plain),
        "class with a method": (made, Made),
        "base of its class": (made, Base),
        "base of a class": (Made, Base),
        "object": (made, made),
        "slot": (slots, slots),
        "function": (helper, helper),
        "method": (made.method, Made.method),
        "module": (module, module),
    }


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("name", holders())
def test_attributes_that_are_set_later(name, ask):
    o, place = holders()[name]
    asks = ASKS[ask]
    for f in (lambda x: np.sum(x * x * asks(o)), grad(lambda x: np.sum(x * x * asks(o)))):
        program = compile(f)
        for _ in range(2):
            np.testing.assert_array_equal(program(X), f(X))
        assert program.programs
        place.scale = 4.0
        np.testing.assert_array_equal(program(X), f(X))
        del place.scale
        np.testing.assert_array_equal(program(X), f(X))


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("name", ["class of an object", "base of its class", "slot", "object"])
def test_attributes_of_arguments(name, ask):
    o, place = holders()[name]
    asks = ASKS[ask]
    f = lambda x, o: np.sum(x * x * asks(o))
    program = compile(f)
    program(X, o)
    place.scale = 4.0
    assert program(X, o) == f(X, o) == 8.0


def test_keys_that_a_class_comes_to_miss():
    class Keys(dict):
        pass

    keys = Keys()

    def f(x):
        try:
            return np.sum(x * keys["k"])
        except KeyError:
            return np.sum(x)

    program = compile(f)
    assert program(X) == 2.0
    Keys.__missing__ = lambda self, key: 3.0
    assert program(X) == f(X) == 6.0


def test_classes_that_are_registered():
    class Kind(abc.ABC):
        pass

    class One:
        pass

    one = One()
    f = lambda x: np.sum(x) * (3.0 if isinstance(one, Kind) else 1.0)
    program = compile(f)
    assert program(X) == 2.0
    Kind.register(One)
    assert program(X) == f(X) == 6.0
