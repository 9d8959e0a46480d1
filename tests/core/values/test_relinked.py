"""Objects that refer to themselves are rebuilt around other values, and refer to the new ones."""

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from chainrules_py.values.structure import rebuild
from chainrules_tape import grad, jvp

X = np.array([0.7, -1.3, 2.1, 0.4])


@dataclass
class Linked:
    w: Any

    def __post_init__(self):
        self.me = self
        self.parent = weakref.ref(self)


class AttributeDict(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.__dict__ = self


class LinkedDict(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.me = self


class LinkedList(list):
    def __init__(self, *entries):
        super().__init__(entries)
        self.me = self


class Frozen(dict):
    def __copy__(self):
        return self

    def __setitem__(self, key, value):
        raise TypeError


class FrozenList(list):
    def __copy__(self):
        return self


CASES = {
    "an attribute": (Linked(X), lambda o: o.w, lambda o: o.me.w),
    "a weak reference": (Linked(X), lambda o: o.w, lambda o: o.parent().w),
    "attributes of a dict": (AttributeDict(w=X), lambda o: o["w"], lambda o: o.w),
    "a dict": (LinkedDict(w=X), lambda o: o["w"], lambda o: o.me["w"]),
    "a list": (LinkedList(X), lambda o: o[0], lambda o: o.me[0]),
}


@pytest.mark.parametrize("x, key", [(Frozen(w=2.0), "w"), (FrozenList([2.0]), 0)])
def test_what_makes_no_copies_of_itself_stays_as_it_is(x, key):
    assert grad(lambda o: o[key] ** 2)(x)[key] == 4.0
    assert type(x[key]) is float
    _, aux = grad(lambda w: (w**2, rebuild(x, [w])), has_aux=True)(3.0)
    assert (type(aux), aux[key]) == (type(x), 3.0)


@pytest.mark.parametrize("case", CASES)
def test_what_refers_to_itself(case):
    x, read, by_itself = CASES[case]
    program = lambda o: np.sum(by_itself(o) ** 2) * np.sum(read(o))
    due = grad(lambda w: np.sum(w**2) * np.sum(w))(X)
    make = type(x) if isinstance(x, LinkedList) else lambda w: type(x)(w=w)
    np.testing.assert_allclose(grad(lambda w: program(make(w)))(X), due)
    found = grad(program)(x)
    part = found.w if isinstance(x, Linked) else found["w" if isinstance(x, dict) else 0]
    np.testing.assert_allclose(part, due)
    assert jvp(lambda w: program(make(w)), (X,), (X,))[1] == pytest.approx(due @ X)
