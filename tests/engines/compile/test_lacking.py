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


def entered(o, x):
    with o as factor:
        return x * factor


def found(self, name):
    return 9.0 if name == "held" else object.__getattribute__(self, name)


METHODS = {
    "__add__": (lambda o, x: o + x, lambda self, x: x * 9.0),
    "__call__": (lambda o, x: o(x), lambda self, x: x * 9.0),
    "__getattr__": (lambda o, x: o.missing * x, lambda self, name: 9.0),
    "__getitem__": (lambda o, x: o[0] * x, lambda self, i: 9.0),
    "__len__": (lambda o, x: len(o) * x, lambda self: 9),
    "__iter__": (lambda o, x: sum(o) * x, lambda self: iter([9.0])),
    "__bool__": (lambda o, x: x * 2.0 if o else x * 9.0, lambda self: False),
    "__eq__": (lambda o, x: x * 2.0 if o == 3 else x * 9.0, lambda self, other: False),
    "__hash__": (lambda o, x: x * (1.0 + hash(o)), lambda self: 8),
    "__float__": (lambda o, x: x * float(o), lambda self: 9.0),
    "__index__": (lambda o, x: x * range(10)[o], lambda self: 9),
    "__contains__": (lambda o, x: x * 2.0 if 3 in o else x * 9.0, lambda self, key: False),
    "__lt__": (lambda o, x: x * 2.0 if o < 3 else x * 9.0, lambda self, other: False),
    "__enter__": (entered, lambda self: 9.0),
    "value": (lambda o, x: x * o.value, 9.0),
    "held": (lambda o, x: x * o.held, property(lambda self: 9.0, lambda self, value: None)),
    "asked": (lambda o, x: x * o.asked, property(lambda self: 9.0)),
    "of_none": (lambda o, x: o.of_none(x), staticmethod(lambda x: x * 9.0)),
    "of_class": (lambda o, x: o.of_class(x), classmethod(lambda cls, x: x * 9.0)),
    "named": (lambda o, x: o.named(x), lambda self, x: x * 9.0),
    "helper": (lambda o, x: o.named(x), lambda self, x: x * 9.0),
    "__getattribute__": (lambda o, x: x * o.held, found),
}


def doubling():
    """Return a class by whose objects arrays are doubled, in each way of the table."""

    class Double:
        value = 2.0

        def __init__(self):
            self.held = 2.0

        def __getattr__(self, name):
            return 2.0

        def helper(self, x):
            return x * 2.0

        __add__ = __call__ = helper
        of_none = staticmethod(lambda x: x * 2.0)
        of_class = classmethod(lambda cls, x: x * 2.0)
        asked = property(lambda self: 2.0)
        named = lambda self, x: self.helper(x)
        __getitem__ = lambda self, i: 2.0
        __len__ = __index__ = lambda self: 2
        __iter__ = lambda self: iter([2.0])
        __bool__ = lambda self: True
        __eq__ = __contains__ = __lt__ = lambda self, other: True
        __hash__ = lambda self: 1
        __float__ = lambda self: 2.0
        __enter__ = lambda self: 2.0
        __exit__ = lambda self, *said: None

    return Double


@pytest.mark.parametrize("heir", [False, True])
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_methods_that_a_class_gets_later(name, base, heir):
    """In its own place, or in place of what a class above it has."""
    use, other = METHODS[name]
    for door in ("captured", "argument", "made"):
        place = doubling()
        cls = type("Heir", (place,), {}) if heir else place
        place, o = place if base else cls, cls()
        by_name = {
            "captured": lambda _, x, o=o: np.sum(use(o, x)),
            "argument": lambda o, x: np.sum(use(o, x)),
            "made": lambda _, x, cls=cls: np.sum(use(cls(), x)),
        }
        f, given = grad(by_name[door], 1), o if door == "argument" else 0
        program = compile(f)
        np.testing.assert_array_equal([program(given, X), program(given, X)], [2.0 * X] * 2)
        setattr(place, name, other)
        np.testing.assert_array_equal(program(given, X), f(given, X), door)


@pytest.mark.parametrize("kind", [dict, list])
def test_methods_in_place_of_a_librarys_that_a_class_gets_later(kind):
    class Own(kind):
        pass

    own = Own({0: 2.0} if kind is dict else [2.0])
    f = grad(lambda x: np.sum(own[0] * x))
    program = compile(f)
    np.testing.assert_array_equal(program(X), 2.0 * X)
    Own.__getitem__ = lambda self, i: 9.0
    np.testing.assert_array_equal(program(X), f(X))
