"""What a value holds itself, and what is further inside."""

import collections
import decimal
import fractions
import functools
import threading
import types

import numpy as np
import pytest

from chainrules_py.values.object_contents import directly, holds, holds_numbers, inside, is_real

W = np.array([1.0, 2.0])


class Own:
    def __init__(self, a):
        self.a = a

    def method(self):
        return self.a


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Tagged(dict):
    """A dict with attributes."""


def tagged(w):
    found = Tagged()
    found.w = w
    return found


def captured(w):
    return lambda: w


DIRECTLY = {
    "object": Own, "slots": Slotted, "namespace": lambda w: types.SimpleNamespace(a=w),
    "list": lambda w: [w], "deque": lambda w: collections.deque([w]), "dict": lambda w: {0: w},
    "set": lambda w: {float(w[0])}, "attribute of a dict": tagged, "closure": captured,
    "default": lambda w: lambda w=w: w, "partial": lambda w: functools.partial(np.multiply, w),
    "method of C": lambda w: w.copy, "object array": lambda w: np.array([w, None], object),
    "a list of an object": lambda w: Own([w]), "user dict": lambda w: collections.UserDict(a=w),
}  # fmt: skip


@pytest.mark.parametrize("make", DIRECTLY)
def test_what_is_held_directly(make):
    assert holds(DIRECTLY[make](W), is_real)
    assert not holds(DIRECTLY[make](np.array([1, 2])), lambda y: y is W)


FURTHER = {
    "object of an object": lambda w: Own(Own(w)),
    "closure of an object": lambda w: Own(captured(w)),
    "lock": lambda w: threading.RLock(),
    "generator": lambda w: np.random.default_rng(3),
    "function": lambda w: np.sin,
    "class": lambda w: type("Made", (), {"a": w}),
}


@pytest.mark.parametrize("make", FURTHER)
def test_what_is_further_inside_is_a_constant(make):
    assert not holds(FURTHER[make](W), is_real)


def test_what_an_object_holds_is_inside_it_and_what_that_holds_is_not():
    x = Own([W, {"a": W, "b": Own(W)}])
    x.me = x
    assert [y for y in inside(x) if y is W] == [W, W]
    assert directly(3.0) == directly("abc") == directly(W) == []


def test_numbers_of_any_kind_are_numbers():
    for x in (decimal.Decimal("1.5"), fractions.Fraction(1, 3), np.array([1.0], object)):
        assert holds_numbers(x)
        assert holds_numbers([x])
    for x in (None, "a", b"a", 3, [3], np.sin, captured(2.0)):
        assert not holds_numbers(x)
