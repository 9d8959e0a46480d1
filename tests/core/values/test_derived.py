"""Numbers that an object derived and keeps beside its fields are an error, wherever they are."""

import collections
import dataclasses
import logging
import threading
import types
import weakref

import attrs
import numpy as np
import pytest

from chainrules_py import NotDifferentiableError
from chainrules_py.values.structure import rebuild
from chainrules_tape import grad
from tests.fuzz.hiding import HIDING, Slotted, captured

W = np.array([1.0, 2.0])


FREE = {
    "text": str,
    "count": len,
    "flag": lambda w: bool(len(w)),
    "empty cache": lambda w: {},
    "list of texts": lambda w: ["a", str(w)],
    "shape": np.shape,
    "places": np.argsort,
    "logger": lambda w: logging.getLogger(str(len(w))),
    "lock": lambda w: threading.RLock(),
    "event": lambda w: threading.Event(),
    "function": lambda w: np.sin,
    "function of one's own": lambda w: captured,
    "class": lambda w: Slotted,
    "module": lambda w: np,
    "dtype": lambda w: w.dtype,
    "generator of numbers": lambda w: np.random.default_rng(len(w)),
    "weak keys": lambda w: weakref.WeakKeyDictionary(),
}


def _by_fields(make):
    def made(derive):
        def after(self):
            self.o = derive(self.a * 2.0)

        body = {"__annotations__": {"a": object}, "__post_init__": after}
        return make(type("Made", (), body | {"__attrs_post_init__": after}))(W)

    return made


def _inherited(derive):
    @dataclasses.dataclass
    class Base:
        a: object

        def __post_init__(self):
            self.o = derive(self.a * 2.0)

    @dataclasses.dataclass
    class Made(Base):
        def __post_init__(self):
            super().__post_init__()

    return Made(W)


def _by_property(derive):
    @dataclasses.dataclass
    class Made:
        a: object

        @property
        def twice(self):
            return self.a * 2.0

        def __post_init__(self):
            self.o = derive(self.twice)

    return Made(W)


def _given(x, derive):
    _set(x, derive(x.a * 2.0))


def _set(x, value):
    object.__setattr__(x, "o", value)


def _by_functions(derive):
    @dataclasses.dataclass(frozen=True)
    class Made:
        a: object

        def __post_init__(self):
            _given(self, derive)

    return Made(W)


def _in_slots(derive):
    class Base:
        __slots__ = ("o",)

    @dataclasses.dataclass(slots=True)
    class Made(Base):
        a: object

        def __post_init__(self):
            self.o = derive(self.a * 2.0)

    return Made(W)


def _of_dict(derive):
    class Made(dict):
        def __init__(self, **entries):
            super().__init__(**entries)
            self.o = derive(self["a"] * 2.0)

    return Made(a=W)


def _of_list(derive):
    class Made(list):
        def __init__(self, *entries):
            super().__init__(entries)
            self.fit()

        def fit(self):
            self.o = derive(self[0] * 2.0)

    return Made(W)


def _of_tuple(derive):
    class Made(tuple):  # noqa: SLOT001
        def __new__(cls, *entries):
            made = super().__new__(cls, entries)
            made.o = derive(entries[0] * 2.0)
            return made

    return Made(W)


def _of_namedtuple(derive):
    class Made(collections.namedtuple("Pair", "a")):  # noqa: PYI024, SLOT002
        def __new__(cls, a):
            made = super().__new__(cls, a)
            made.o = derive(a * 2.0)
            return made

    return Made(W)


MAKING = {
    "dataclass": _by_fields(dataclasses.dataclass),
    "attrs": _by_fields(attrs.define(slots=False)),
    "inherited": _inherited,
    "by a property": _by_property,
    "by functions that are given it": _by_functions,
    "slots": _in_slots,
    "dict": _of_dict,
    "list": _of_list,
    "tuple": _of_tuple,
    "namedtuple": _of_namedtuple,
}


def _entry(x):
    return x.a if hasattr(x, "a") else x["a"] if isinstance(x, dict) else x[0]


@pytest.mark.parametrize("make", MAKING)
@pytest.mark.parametrize("hidden", HIDING)
def test_numbers_that_were_derived_are_not_moved_alone_wherever_they_are(make, hidden):
    x = MAKING[make](HIDING[hidden].make)
    with pytest.raises(NotDifferentiableError, match=r"Made\.o is no field"):
        grad(lambda x: np.sum(_entry(x) ** 2))(x)


SIZES = {
    "empty": np.empty_like,
    "zeros": np.zeros_like,
    "zeros of each": lambda w: [np.zeros_like(x) for x in w],
    "grid": lambda w: np.linspace(0.0, 1.0, len(w)),
    "list": lambda w: [0.1] * len(w),
    "root of the size": lambda w: w.shape[0] ** 0.5,
    "constant": lambda w: 5.0 if w.ndim else 6.0,
    "bytes": lambda w: b"abc",
    "places": lambda w: np.argsort(w) * 0.5,
}


@pytest.mark.parametrize("make", [*MAKING][:6])
@pytest.mark.parametrize("kept", SIZES)
def test_numbers_that_are_made_of_sizes_are_not_derived(make, kept):
    x = MAKING[make](SIZES[kept])
    ((_, t),) = grad(lambda x: np.sum(_entry(x) ** 2))(x).fields()
    assert np.all(t == 2.0 * W)


def test_an_object_that_somebody_keeps_is_not_made_anew():
    kept = []

    @dataclasses.dataclass
    class Made:
        a: object

        def __post_init__(self):
            kept.append(self)
            self.o = np.zeros_like(self.a)

    with pytest.raises(NotDifferentiableError, match=r"Made\.o is no field"):
        grad(lambda x: np.sum(x.a))(Made(W))


@dataclasses.dataclass
class Node:
    w: object
    kids: list = dataclasses.field(default_factory=list)


LINKS = {
    "itself": lambda x: x,
    "weak": weakref.ref,
    "proxy": weakref.proxy,
    "list": lambda x: [x],
    "namespace": lambda x: types.SimpleNamespace(x=x),
    "method": lambda x: x.__repr__,
    "closure": lambda x: lambda: x,
}


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_a_part_that_refers_to_what_it_is_a_part_of(link, deep):
    leaf = Node(W)
    root = Node(W, [Node(W, [leaf]) if deep else leaf])
    leaf.parent = LINKS[link](root)
    with pytest.raises(NotDifferentiableError, match=r"Node\.parent is no field"):
        grad(lambda root: np.sum(root.w))(root)


@pytest.mark.parametrize("make", MAKING)
@pytest.mark.parametrize("kept", FREE)
def test_what_is_no_number_may_be_derived(make, kept):
    x = MAKING[make](FREE[kept])
    assert rebuild(x, [2.0 * W]).o is x.o
    ((_, t),) = grad(lambda x: np.sum(_entry(x) ** 2))(x).fields()
    assert np.all(t == 2.0 * W)


def test_what_a_container_is_told_beside_its_entries_stays():
    class Told(dict):
        def __init__(self, scale, **entries):
            super().__init__(**entries)
            self.scale, self.tolerance = scale, 1e-6
            self.again = scale
            self.text = "a" if scale else "b"

    x = Told(3.0, a=W)
    x.rate = 0.1
    assert np.all(grad(lambda x: x.scale * np.sum(x["a"]))(x)["a"] == 3.0)


def test_a_choice_is_derived():
    class Made(dict):
        def __init__(self, w, square):
            super().__init__(a=w)
            self.o = w**2 if square else w

    with pytest.raises(NotDifferentiableError, match=r"Made\.o is no field"):
        grad(lambda x: np.sum(x["a"]))(Made(W, True))
