"""Attributes that are no fields: constants, or what the constructor computes anew."""

import collections
import dataclasses
import logging
import threading
import types
import weakref
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

from chainrules_py.values.structure import rebuild
from chainrules_tape import checkpoint, grad, jvp, vjp

W = np.array([3.0, 4.0])


def made_with(make, after):
    """Make a class with a field ``a``, whose constructor ends with a function of the object."""
    body = {"__annotations__": {"a": object}, "__post_init__": after, "__attrs_post_init__": after}
    return make(type("Made", (), body))


class Base:
    __slots__ = ("norm",)


def in_slots(after):
    @dataclasses.dataclass(slots=True)
    class Made(Base):
        a: Any
        __post_init__ = after

    return Made


def by_functions(after):
    @dataclasses.dataclass
    class Parent:
        a: Any

        def __post_init__(self):
            after(self)

    @dataclasses.dataclass
    class Made(Parent):
        def __post_init__(self):
            super().__post_init__()

    return Made


MAKING = {
    "dataclass": lambda after: made_with(dataclasses.dataclass, after),
    "attrs": lambda after: made_with(attrs.define(slots=False), after),
    "slots": in_slots,
    "inherited": by_functions,
}


def keep_norm(x):
    x.norm = np.sqrt(x.a @ x.a)


@pytest.mark.parametrize("make", MAKING)
def test_what_the_constructor_computes_of_the_fields_is_differentiated(make):
    cls = MAKING[make](keep_norm)
    x, due = cls(W), 7.0 * W / 5.0 + 5.0
    program = lambda x: np.sum(x.a) * x.norm
    ((_, g),) = grad(program)(x).fields()
    np.testing.assert_allclose(g, due)
    assert x.norm == 5.0
    np.testing.assert_allclose(grad(lambda w: program(cls(w)))(W), due)
    assert jvp(lambda w: program(cls(w)), (W,), (W,))[1] == pytest.approx(due @ W)
    y, _ = vjp(cls, W)
    assert type(y.norm) is np.float64
    assert rebuild(x, [2.0 * W]).norm == 10.0


def keep_parts(x):
    x.halves = [part / 2.0 for part in x.a]


def test_a_list_that_the_constructor_computes_is_differentiated():
    cls = MAKING["dataclass"](keep_parts)
    ((_, g),) = grad(lambda x: x.halves[0] ** 2)(cls(W)).fields()
    np.testing.assert_allclose(g, [1.5, 0.0])


class Named(NamedTuple):
    w: Any


HOLDING = {
    "nested list": (lambda x: [[x.a**2]], lambda y: y[0][0]),
    "list of tuples": (lambda x: [(1, x.a**2)], lambda y: y[0][1]),
    "nested dict": (lambda x: {"y": {"z": x.a**2}}, lambda y: y["y"]["z"]),
    "namedtuple": (lambda x: Named(x.a**2), lambda y: y.w),
    "OrderedDict": (lambda x: collections.OrderedDict(y=x.a**2), lambda y: y["y"]),
    "defaultdict": (lambda x: collections.defaultdict(list, y=x.a**2), lambda y: y["y"]),
    "bound method": (lambda x: x.squared, lambda y: y()),
    "NaN": (lambda x: np.array([x.a**2, np.nan]), lambda y: y[0]),
}


@pytest.mark.parametrize("kept", HOLDING)
def test_what_the_constructor_computes_is_differentiated_in_containers_and_methods(kept):
    make, read = HOLDING[kept]

    @dataclasses.dataclass
    class Made:
        a: Any

        def __post_init__(self):
            self.kept = make(self)

        def squared(self):
            return self.a**2

    x = Made(3.0)
    g = grad(lambda x: x.a * read(x.kept))(x)
    assert g.a == pytest.approx(27.0)
    assert read((x - g).kept) == pytest.approx(24.0**2)
    assert read(x.kept) == 9.0


def test_what_rounding_changes_is_differentiated():
    def after(x):
        x.a = x.a / np.sum(x.a)
        x.log = np.log(x.a)

    for w in np.random.default_rng(0).random((20, 4)):
        ((_, g),) = grad(lambda x: x.log[0])(MAKING["dataclass"](after)(w)).fields()
        np.testing.assert_allclose(g, np.eye(4)[0] * np.sum(w) / w[0] - 1.0)


@pytest.mark.parametrize("of", [lambda f: f, checkpoint], ids=["plain", "checkpoint"])
def test_what_the_constructor_computes_is_differentiated_when_run_again(of):
    x = MAKING["dataclass"](keep_norm)(W)
    ((_, g),) = grad(of(lambda x: np.sum(x.a) * x.norm))(x).fields()
    np.testing.assert_allclose(g, 7.0 * W / 5.0 + 5.0)


def test_what_was_set_since_then_stays():
    def after(x):
        x.mean = np.zeros_like(x.a)

    x = MAKING["dataclass"](after)(W)
    x.mean = W + 1.0
    ((_, g),) = grad(lambda x: x.a @ x.mean)(x).fields()
    np.testing.assert_allclose(g, W + 1.0)


@dataclasses.dataclass
class Scaled:
    a: Any
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.factor = scale


@dataclasses.dataclass
class Degrees:
    angle: Any

    def __post_init__(self):
        self.angle = self.angle * np.pi / 180.0
        self.cos = np.cos(self.angle)


@dataclasses.dataclass
class Powered:
    a: Any

    def __post_init__(self, power=2):  # noqa: RUF033
        self.square = self.a**power


@dataclasses.dataclass
class Loose:
    a: Any
    scale: dataclasses.InitVar[float] = 7.0

    def __post_init__(self, *scale):
        self.scaled = self.a * (scale[0] if scale else 7.0)


def test_what_the_constructor_computes_beside_a_default_is_traced():
    assert grad(lambda x: x.square + x.a)(Powered(3.0)).a == 7.0


def test_what_is_computed_from_more_than_fields_stays_as_it_was_made():
    """Not from the default of what the object was made with."""
    assert grad(lambda a: vjp(lambda x: x.scaled * x.a, Loose(a, 5.0))[0])(3.0) == 30.0


def test_what_takes_more_than_the_fields_is_constant():
    assert grad(lambda x: x.a * x.factor)(Scaled(3.0, scale=5.0)).a == 5.0
    x = Degrees(60.0)
    assert grad(lambda x: x.angle * x.cos)(x).angle == x.cos


def test_a_check_of_the_fields_runs_on_those_that_are_traced():
    def after(x):
        if np.min(x.a) <= 0.0:
            raise ValueError
        keep_norm(x)

    ((_, g),) = grad(lambda x: x.norm)(MAKING["dataclass"](after)(W)).fields()
    np.testing.assert_allclose(g, W / 5.0)


FREE = {
    "text": str,
    "count": len,
    "empty cache": lambda w: {},
    "shape": np.shape,
    "places": np.argsort,
    "logger": lambda w: logging.getLogger(str(len(w))),
    "lock": lambda w: threading.RLock(),
    "function": lambda w: np.sin,
    "generator of numbers": lambda w: np.random.default_rng(len(w)),
    "weak keys": lambda w: weakref.WeakKeyDictionary(),
    "zeros": np.zeros_like,
    "list": lambda w: [0.1] * len(w),
    "root of the size": lambda w: w.shape[0] ** 0.5,
    "deque": collections.deque,
}


@pytest.mark.parametrize("make", MAKING)
@pytest.mark.parametrize("kept", FREE)
def test_other_attributes_do_not_matter(make, kept):
    def after(x):
        x.norm = FREE[kept](x.a)

    ((_, g),) = grad(lambda x: np.sum(x.a**2))(MAKING[make](after)(W)).fields()
    np.testing.assert_allclose(g, 2.0 * W)


@dataclasses.dataclass
class Node:
    w: Any
    kids: list = dataclasses.field(default_factory=list)


LINKS = {
    "itself": lambda x: x,
    "weak": weakref.ref,
    "list": lambda x: [x],
    "namespace": lambda x: types.SimpleNamespace(x=x),
    "closure": lambda x: lambda: x,
}


@pytest.mark.parametrize("link", LINKS)
def test_a_part_may_refer_to_what_it_is_a_part_of(link):
    leaf = Node(W)
    root = Node(W, [leaf])
    leaf.parent = LINKS[link](root)
    g = grad(lambda root: np.sum(root.w * root.kids[0].w))(root)
    np.testing.assert_allclose(g.w, W)
    np.testing.assert_allclose(g.kids[0].w, W)


def test_attributes_of_containers_are_constants():
    class Told(dict):
        def __init__(self, scale, **entries):
            super().__init__(**entries)
            self.scale, self.tolerance = scale, 1e-6

    x = Told(3.0, a=W)
    x.rate = 0.1
    assert np.all(grad(lambda x: x.scale * np.sum(x["a"]))(x)["a"] == 3.0)
