"""What objects of libraries hold, and what is found by texts, by classes, or weakly.

Kinds of objects, times what a program looks at, times doors. After each change the compiled
function gives what the function gives at that moment.
"""

from __future__ import annotations

import argparse
import collections
import configparser
import ctypes
import dataclasses
import datetime as dt
import gc
import inspect
import threading
import types
import typing
import warnings
import weakref
from decimal import Decimal
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.shadow import same

X = np.array([1.0, 2.0])


class LimitError(Exception):
    """An error of a program, whose fields are those of a class written in C."""


class LimitsError(OSError):
    """Another, with fields of its own."""


class Own(threading.local):
    """What each thread has, of a class of the program."""


class Penalty:
    """A class that asks for its subclasses."""

    @classmethod
    def total(cls):
        return sum([each.weight for each in cls.__subclasses__()], 0.0)


class Smooth(Penalty):
    """One of them."""

    weight = 2.0


class Rough(Smooth):
    """A subclass of a subclass."""

    weight = 3.0


class Named:
    """An object whose attributes are looked up by texts."""

    lam: float = 1.0
    mu: float = 1.0

    def __init__(self):
        self.lam, self.mu = 2.0, 3.0


def _put(key, value):
    return lambda x: setattr(x, key, value)


def _section(**given):
    found = configparser.ConfigParser()
    found.read_dict({"a": given})
    return found


def _row(kind=np.zeros):
    table = kind(2, [("rate", float), ("n", int), ("p", [("q", float)])])
    table["rate"] = 2.0
    return table[0]


def _record():
    return _row(lambda *given: np.zeros(*given).view(np.recarray))


class Pointing(ctypes.Structure):
    """A structure of C with an address."""

    _fields_ = (("a", ctypes.c_double), ("p", ctypes.POINTER(ctypes.c_double)))


def _pointing():
    return Pointing(1.0, ctypes.pointer(ctypes.c_double(2.0)))


def _element():
    found = ET.Element("a", {"k": "2"})
    found.text = "3"
    return found


def _named(names):
    return lambda o: sum([getattr(o, name) for name in names(o)], 0.0)


P = np.polynomial
NAMES, FORM = "lam mu", "{0.lam}"
SPECS = {"lam": 1.0, "mu": 1.0}
CHANGES = [_put("lam", 7.0), _put("mu", -1.0)]
KINDS = {
    "local attribute": (
        threading.local,
        lambda s: getattr(s, "k", 10.0),
        [_put("k", 2.0), _put("k", 5.0), lambda s: delattr(s, "k")],
    ),
    "local dict": (
        threading.local,
        lambda s: vars(s).get("k", 10.0),
        [_put("k", 2.0), lambda s: vars(s).clear()],
    ),
    "own local": (
        Own,
        lambda s: s.k if hasattr(s, "k") else 3.0,
        [_put("k", 2.0), lambda s: delattr(s, "k")],
    ),
    "option": (
        _section,
        lambda c: c.getfloat("a", "k", fallback=1.0),
        [
            lambda c: c["a"].__setitem__("k", "3"),
            lambda c: c.set("a", "k", "4"),
            lambda c: c.remove_option("a", "k"),
            lambda c: c.read_dict({"DEFAULT": {"k": "9"}}),
        ],
    ),
    "sections": (
        _section,
        lambda c: len(c.sections()) + 10.0 * c.has_section("b"),
        [lambda c: c.add_section("b"), lambda c: c.remove_section("b")],
    ),
    "chebyshev": (
        lambda: P.Chebyshev([1.0, 2.0]),
        lambda p: p(0.3),
        [_put("domain", np.array([0.0, 2.0])), _put("window", np.array([0.0, 3.0]))],
    ),
    "polynomial": (
        lambda: P.Polynomial([1.0, 2.0]),
        lambda p: p(0.3),
        [_put("coef", np.array([0.0, 2.0])), _put("domain", np.array([0.0, 3.0]))],
    ),
    "namespaces compared": (
        lambda: types.SimpleNamespace(k=1.0),
        lambda s: 2.0 if s == types.SimpleNamespace(k=1.0) else 1.0,
        [_put("k", 2.25), _put("k", 1.0), _put("more", 1.0)],
    ),
    "namespace shown": (
        lambda: types.SimpleNamespace(k=1.0),
        lambda s: float(len(repr(s))),
        [_put("k", 2.25), _put("more", 1.0)],
    ),
    "arguments": (
        lambda: argparse.Namespace(k=1.0),
        lambda s: 2.0 if s == argparse.Namespace(k=1.0) else 1.0 + ("more" in s),
        [_put("k", 2.25), _put("more", 1.0)],
    ),
    "fields of an error": (
        lambda: LimitError(5.0),
        lambda e: e.args[0],
        [lambda e: setattr(e, "args", (6.0,))],
    ),
    "cause": (
        lambda: LimitError(5.0),
        lambda e: 2.0 if e.__cause__ is None else 1.0,
        [lambda e: setattr(e, "__cause__", ValueError())],
    ),
    "errno": (lambda: LimitsError(2, "no"), lambda e: float(e.errno), [_put("errno", 5)]),
    "plain error": (lambda: ValueError(2.0), lambda e: e.args[0], [_put("args", (3.0,))]),
    "text": (_element, lambda e: float(e.text), [_put("text", "7")]),
    "children": (
        _element,
        lambda e: float(len(e)),
        [lambda e: e.append(_element()), lambda e: e.remove(e[0])],
    ),
    "attributes of an element": (
        _element,
        lambda e: float(e.get("k", 1.0)) + float(e.get("m", 1.0)),
        [lambda e: e.set("k", "7"), lambda e: e.set("m", "7")],
    ),
    "structure of C": (_pointing, lambda s: s.a, [_put("a", 5.0)]),
    "behind an address": (
        _pointing,
        lambda s: s.p.contents.value,
        [lambda s: setattr(s.p.contents, "value", 5.0)],
    ),
    "row": (_row, lambda r: r["rate"] + r["n"], [lambda r: r.__setitem__("rate", 5.0)]),
    "row's table": (_row, lambda r: r["rate"], [lambda r: r.base.__setitem__("rate", 5.0)]),
    "own row": (
        lambda: _row().copy(),
        lambda r: r["rate"],
        [lambda r: r.__setitem__("rate", 5.0)],
    ),
    "row of a row": (
        lambda: _row()["p"],
        lambda r: r["q"],
        [lambda r: r.__setitem__("q", 5.0)],
    ),
    "record": (_record, lambda r: r.rate, [_put("rate", 5.0)]),
    "subclasses": (
        lambda: Penalty,
        lambda c: c.total(),
        [lambda _: setattr(Smooth, "weight", 5.0), lambda _: setattr(Smooth, "weight", 2.0)],
    ),
    "subclasses of these": (
        lambda: Penalty,
        lambda c: sum([y.weight for x in c.__subclasses__() for y in x.__subclasses__()], 0.0),
        [lambda _: setattr(Rough, "weight", 5.0), lambda _: setattr(Rough, "weight", 3.0)],
    ),
    "names that are keys": (Named, _named(lambda o: SPECS), CHANGES),
    "names by dir": (Named, _named(lambda o: [n for n in dir(o) if n[0] != "_"]), CHANGES),
    "members": (
        Named,
        lambda o: sum([y for n, y in inspect.getmembers(o) if n[0] != "_"], 0.0),
        CHANGES,
    ),
    "annotations": (Named, _named(lambda o: type(o).__annotations__), CHANGES),
    "hints": (Named, _named(lambda o: typing.get_type_hints(type(o))), CHANGES),
    "split": (Named, _named(lambda o: NAMES.split()), CHANGES),
    "format": (Named, lambda o: float(FORM.format(o)) + o.mu, CHANGES),
}
DOORS = {"plain": lambda f: f, "gradient": value_and_grad, "twice": lambda f: grad(grad(f))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("held", ["captured", "attribute", "item"])
def test_what_objects_hold_is_what_it_is_when_it_is_asked(kind, door, held):
    make, look, changes = KINDS[kind]
    made = make()
    where = {"captured": made, "attribute": types.SimpleNamespace(o=made), "item": [made]}[held]
    get = {"captured": lambda x: x, "attribute": lambda x: x.o, "item": lambda x: x[0]}[held]
    f = DOORS[door](lambda x: np.sum(x**3 if door != "twice" else x[0] ** 3) * look(get(where)))
    compiled, x = compile(f), X if door != "twice" else X[:1]
    if door == "twice":
        f = grad(lambda x: x**3 * look(get(where)))
        compiled, x = compile(f), 2.0
    assert same(compiled(x), f(x))
    for change in changes:
        change(made)
        for _ in range(2):
            assert same(compiled(x), f(x))


def test_what_another_thread_has():
    s = threading.local()
    s.k = 2.0
    f = lambda x: np.sum(x) * getattr(s, "k", 10.0)
    compiled, found = compile(f), []
    assert compiled(X) == f(X)

    def work():
        found.append((compiled(X), f(X)))
        s.k = 7.0
        found.append((compiled(X), f(X)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(30.0, 30.0), (21.0, 21.0)]
    assert compiled(X) == f(X) == 6.0


class Sensor:
    """An object to which somebody has a weak reference."""

    def __init__(self, gain):
        self.gain = gain

    def read(self):
        return self.gain


def _values(sensors):
    found = weakref.WeakValueDictionary()
    found.update(enumerate(sensors))
    return found


WEAK = {
    "set": (weakref.WeakSet, lambda w: sum([s.gain for s in w], 0.0)),
    "length": (weakref.WeakSet, lambda w: float(len(w))),
    "refs": (
        lambda s: [*map(weakref.ref, s)],
        lambda w: sum([r().gain for r in w if r() is not None], 0.0),
    ),
    "values": (_values, lambda w: sum([s.gain for s in w.values()], 0.0)),
    "keys": (
        lambda s: weakref.WeakKeyDictionary(dict.fromkeys(s, 2.0)),
        lambda w: sum(w.values(), 0.0),
    ),
    "methods": (
        lambda s: [weakref.WeakMethod(each.read) for each in s],
        lambda w: sum([m()() for m in w if m() is not None], 0.0),
    ),
}


@pytest.mark.parametrize("kind", WEAK)
@pytest.mark.parametrize("door", ["plain", "gradient"])
@pytest.mark.filterwarnings("ignore:.*by a weak reference:chainrules_compile.RecordingWarning")
def test_what_is_held_weakly_alone_is_not_kept_alive(kind, door):
    make, look = WEAK[kind]
    sensors = [Sensor(1.0), Sensor(5.0)]
    held = make(sensors)
    f = DOORS[door](lambda x: np.sum(x) * look(held))
    compiled = compile(f)
    for _ in range(2):
        assert same(compiled(X), f(X))
    gone = weakref.ref(sensors.pop())
    gc.collect()
    assert gone() is None
    assert same(compiled(X), f(X))


@dataclasses.dataclass
class Node:
    """A node of a tree that knows its parent by a weak reference."""

    weight: float
    parent: typing.Any = None
    children: list = dataclasses.field(default_factory=list)

    def grow(self, weight):
        self.children.append(Node(weight, weakref.ref(self)))

    def total(self):
        above = self.parent and self.parent()
        own = self.weight * (above.weight if above else 1.0)
        return own + sum([child.total() for child in self.children], 0.0)


def test_a_tree_that_is_held_is_a_program():
    tree = Node(2.0)
    tree.grow(3.0)
    f = lambda x: np.sum(x) * tree.total()
    compiled = compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for change in (lambda: None, lambda: setattr(tree, "weight", 4.0), lambda: tree.grow(1.0)):
            change()
            assert compiled(X) == f(X)
    assert compiled.programs


UTC, EAST = dt.UTC, dt.timezone(dt.timedelta(hours=5))
EQUAL = {
    "range": (range(1), range(0, 1, 5), lambda r: r.step),
    "hour": (
        dt.datetime(2000, 1, 1, 3, tzinfo=UTC),
        dt.datetime(2000, 1, 1, 8, tzinfo=EAST),
        lambda d: d.hour,
    ),
    "decimal": (Decimal("1.0"), Decimal("1.00"), lambda d: len(str(d))),
    "sign": (Decimal(0), Decimal("-0"), lambda d: d.as_tuple().sign),
    "length": (
        collections.deque([1.0], 2),
        collections.deque([1.0], 3),
        lambda d: d.maxlen,
    ),
    "in a tuple": ((range(1),), (range(0, 1, 5),), lambda r: r[0].step),
}


@pytest.mark.parametrize("kind", EQUAL)
@pytest.mark.parametrize("door", ["plain", "gradient"])
def test_arguments_that_are_equal_and_differ(kind, door):
    *given, look = EQUAL[kind]
    f = DOORS[door](lambda x, d: np.sum(x) * look(d))
    compiled = compile(f)
    for d in (*given, *given):
        assert same(compiled(X, d), f(X, d))


KEYS = {"bool": (1, True), "float": (1, 1.0), "zeros": (0.0, -0.0), "tuples": ((1,), (True,))}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_that_are_equal_and_differ(kind):
    was, now = KEYS[kind]
    d = {was: 2.0}
    f = lambda x: np.sum(x) * len(repr([*d]))
    compiled = compile(f)
    for key in (was, now, was):
        d.clear()
        d[key] = 2.0
        assert same(compiled(X), f(X))
