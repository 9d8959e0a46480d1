"""What objects of libraries hold wherever they keep it, and what functions change in them.

Kinds of objects, times what changes them, times doors and targets: after each change the compiled
function gives what the function gives. And functions that change such objects themselves run as
they are, from the first call on as if they had never been recorded.
"""

from __future__ import annotations

import argparse
import array
import ast
import collections
import concurrent.futures
import configparser
import contextvars
import copy
import dataclasses
import datetime as dt
import decimal
import functools
import hashlib
import queue
import sys
import threading
import types
import unittest.mock
import weakref
import zlib
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import scipy.interpolate

from chainrules_compile import compile
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same

X = np.array([1.0, 2.0])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.1]])


class Own(argparse.Namespace):
    """A class of people's, which is compared by all that it holds."""


class Gauge:
    """What somebody else asks whether it is there."""


def _module(text):
    found = types.ModuleType("a_module_of_people")
    exec(text, vars(found))
    return found


def _with(make, *calls):
    def made():
        found = make()
        for call in calls:
            call(found)
        return found

    return made


def _future():
    found = concurrent.futures.Future()
    found.set_result([2.0])
    return found


def _queue(kind=queue.Queue):
    return _with(kind, *[lambda q, i=i: q.put(float(i)) for i in range(1, 30)])()


def _section():
    found = configparser.ConfigParser()
    found.read_dict({"a": {"k": "2"}})
    return found


def _put(**given):
    return lambda x: [setattr(x, k, y) for k, y in given.items()]


def _turned(x):
    key = next(iter(vars(x)))
    vars(x)[key] = vars(x).pop(key)


KINDS = {
    "module": (
        lambda: _module("table = {'w': 2.0}\ndef __getattr__(name): return table[name]"),
        lambda m: m.w,
        [lambda m: m.table.update(w=5.0)],
    ),
    "linear": (
        lambda: scipy.interpolate.LinearNDInterpolator(CORNERS, np.arange(4.0)),
        lambda g: float(g(0.1, 0.1)),
        [lambda g: g.values.__setitem__((0, 0), 7.0), _put(values=np.ones((4, 1)))],
    ),
    "cubic": (
        lambda: scipy.interpolate.CloughTocher2DInterpolator(CORNERS, np.arange(4.0)),
        lambda g: float(g(0.1, 0.1)),
        [lambda g: g.values.__setitem__((0, 0), 7.0)],
    ),
    "nearest": (
        lambda: scipy.interpolate.NearestNDInterpolator(CORNERS, np.arange(4.0)),
        lambda g: float(g(0.1, 0.1)),
        [lambda g: g.values.__setitem__(0, 7.0)],
    ),
    "factory": (
        lambda: collections.defaultdict(lambda: 2.0),
        lambda d: d.default_factory(),
        [_put(default_factory=lambda: 5.0)],
    ),
    "factory of a copy": (
        lambda: collections.defaultdict(float),
        lambda d: 1.0 + d.copy()["z"],
        [_put(default_factory=lambda: 5.0), _put(default_factory=float)],
    ),
    "context": (
        lambda: decimal.Context(prec=2),
        lambda c: float(c.divide(1, 3)),
        [_put(prec=3), _put(prec=4), _put(rounding=decimal.ROUND_UP)],
    ),
    "flags": (
        decimal.Context,
        lambda c: 1.0 + c.flags[decimal.Inexact],
        [lambda c: c.flags.update({decimal.Inexact: True}), lambda c: c.clear_flags()],
    ),
    "calls": (unittest.mock.Mock, lambda m: 1.0 + m.call_count, [lambda m: m(), lambda m: m(1)]),
    "arguments of a call": (
        _with(unittest.mock.Mock, lambda m: m(1.0)),
        lambda m: m.call_args[0][0],
        [lambda m: m(2.0), lambda m: m(3.0)],
    ),
    "memory": (
        lambda: functools.lru_cache(float),
        lambda f: 1.0 + f.cache_info().misses,
        [lambda f: f(1), lambda f: f(2)],
    ),
    "tree": (
        lambda: ast.parse("2.0", mode="eval"),
        ast.literal_eval,
        [lambda t: setattr(t.body, "value", 5.0)],
    ),
    "walked tree": (
        lambda: ast.parse("2.0", mode="eval"),
        lambda t: sum(getattr(node, "value", 0.0) for node in ast.walk(t)),
        [lambda t: setattr(t.body, "value", 5.0)],
    ),
    "namespaces": (
        lambda: [argparse.Namespace(w=2.0), argparse.Namespace(w=2.0)],
        lambda x: 2.0 if x[0] == x[1] else 3.0,
        [lambda x: setattr(x[0], "w", 1.0), lambda x: setattr(x[0], "w", 2.0)],
    ),
    "own namespaces": (
        lambda: [Own(w=2.0), Own(w=2.0)],
        lambda x: 2.0 if x[0] == x[1] else 3.0,
        [lambda x: setattr(x[0], "w", 1.0), lambda x: setattr(x[0], "w", 2.0)],
    ),
    "namespace": (
        lambda: argparse.Namespace(w=2.0),
        lambda x: float(repr(x)[12:-1]),
        [_put(w=5.0)],
    ),
    "order": (
        lambda: types.SimpleNamespace(a=1.0, b=2.0),
        lambda x: next(iter(vars(x).values())),
        [_turned, _turned],
    ),
    "future": (_future, lambda x: x.result()[0], [lambda x: x.result().insert(0, 5.0)]),
    "queue": (_queue, lambda q: q.queue[0], [lambda q: q.get(), lambda q: q.get()]),
    "event": (threading.Event, lambda e: 1.0 + e.is_set(), [lambda e: e.set()]),
    "hash": (hashlib.md5, lambda h: 1.0 + h.digest()[0], [lambda h: h.update(b"a")]),
    "stream": (
        zlib.compressobj,
        lambda z: 1.0 + len(z.copy().flush()),
        [lambda z: z.compress(b"abc" * 100)],
    ),
    "state": (
        lambda: np.random.PCG64(3),
        lambda g: float(g.state["state"]["state"] % 1000),
        [lambda g: g.random_raw()],
    ),
}
ONCE = [
    "ignore:.*nobody can tell whether that is as it was:chainrules_compile.RecordingWarning",
    "ignore:.*each call changes:chainrules_compile.RecordingWarning",
    "ignore:.*gives something else each time:chainrules_compile.RecordingWarning",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", ["plain", "gradient", "not exact"])
@pytest.mark.filterwarnings(*ONCE)
def test_what_a_library_keeps_is_what_it_is_when_it_is_asked(kind, door):
    make, look, changes = KINDS[kind]
    held = make()
    f = lambda x: np.sum(x * x) * look(held)
    f = f if door == "plain" else value_and_grad(f)
    compiled = compile(f, exact=door != "not exact")
    for change in (lambda _: None, *changes):
        change(held)
        for _ in range(2):
            assert same(compiled(X), f(X))


@pytest.mark.filterwarnings(*ONCE)
def test_whether_something_is_alive():
    gauge = Gauge()
    held = weakref.finalize(gauge, int)
    f = lambda x: np.sum(x) * (1.0 + held.alive)
    compiled = compile(f)
    assert compiled(X) == f(X) == 6.0
    del gauge
    assert compiled(X) == f(X) == 3.0


def test_names_that_a_module_makes_when_it_is_asked(monkeypatch):
    module = _module(
        "table = {'w': 2.0}\n"
        "def __getattr__(name):\n"
        "    if name in table: return table[name]\n"
        "    raise AttributeError(name)"
    )
    monkeypatch.setitem(sys.modules, "a_module_of_people", module)
    scope = {"np": np}
    exec(
        "def f(x):\n    from a_module_of_people import w\n    return np.sum(x) * w",
        scope,
    )
    f = scope["f"]
    compiled = compile(f)
    assert compiled(X) == f(X) == 6.0
    module.table["w"] = 5.0
    assert compiled(X) == f(X) == 15.0


def _counted(x, name="n"):
    setattr(x, name, getattr(x, name, 0.0) + 1.0)
    return getattr(x, name)


def _next_of(x):
    x.append(x.pop(0))
    return x[0]


def _called(m):
    m()
    return m.call_count


def _first_moved(x):
    x.move_to_end(next(iter(x)))
    return next(iter(x.values()))


def _raised(c):
    c.prec += 1
    return float(c.divide(1, 3))


def _option(c):
    c.set("a", "k", str(float(c["a"]["k"]) + 1.0))
    return float(c["a"]["k"])


def _attribute(e):
    e.set("k", str(float(e.get("k")) + 1.0))
    return float(e.get("k"))


def _variable(v):
    v.set(v.get() + 1.0)
    return v.get()


def _coefficient(p):
    p.coef = p.coef + 1.0
    return p.coef[0]


def _once(x):
    if x.done():
        return 1.0
    x.set_result(3.0)
    return 2.0


def _switched(e):
    was = e.is_set()
    e.set()
    return 1.0 + was


CHANGING = {
    "queue": (_queue, lambda q: q.get()),
    "stack": (lambda: _queue(queue.LifoQueue), lambda q: q.get()),
    "heap": (lambda: _queue(queue.PriorityQueue), lambda q: q.get()),
    "namespace": (lambda: argparse.Namespace(n=0.0), _counted),
    "namespace that gets it": (argparse.Namespace, _counted),
    "calls": (unittest.mock.Mock, _called),
    "effects": (
        lambda: unittest.mock.Mock(side_effect=[float(i) for i in range(1, 30)]),
        lambda m: m(),
    ),
    "order": (lambda: collections.OrderedDict(a=1.0, b=2.0, c=3.0), _first_moved),
    "precision": (lambda: decimal.Context(prec=3), _raised),
    "variable": (lambda: contextvars.ContextVar("v", default=0.0), _variable),
    "local": (threading.local, _counted),
    "array": (lambda: array.array("d", [1.0, 2.0, 3.0]), _next_of),
    "bytes": (lambda: bytearray(b"abc"), lambda x: float(_next_of(x))),
    "longer bytes": (lambda: bytearray(b"abc"), lambda x: [x.append(1), float(len(x))][1]),
    "semaphore": (lambda: threading.Semaphore(9), lambda s: [s.acquire(), float(s._value)][1]),
    "event": (threading.Event, _switched),
    "future": (concurrent.futures.Future, _once),
    "element": (lambda: ET.Element("a", {"k": "1"}), _attribute),
    "option": (_section, _option),
    "polynomial": (lambda: np.polynomial.Polynomial([1.0, 2.0]), _coefficient),
    "hash": (hashlib.md5, lambda h: [h.update(b"a"), 1.0 + h.digest()[0]][1]),
}


@pytest.mark.parametrize("kind", CHANGING)
@pytest.mark.parametrize("door", ["plain", "gradient"])
@pytest.mark.filterwarnings(*ONCE)
def test_a_function_that_changes_what_a_library_holds_runs_as_it_is(kind, door):
    make, step = CHANGING[kind]
    ours, theirs = make(), make()
    f, g = (lambda x, o=o: np.sum(x * x) * step(o) for o in (ours, theirs))
    if door == "gradient":
        f, g = value_and_grad(f), value_and_grad(g)
    compiled = compile(f)
    for _ in range(5):
        assert same(compiled(X), g(X))


class Flow:
    """A class of people's whose objects remember what they have computed."""

    @functools.cached_property
    def rate(self):
        return 3.0


REMEMBERING = {
    "memory": (lambda: functools.lru_cache(lambda n: 2.0 * n), lambda f: f(3)),
    "property": (Flow, lambda x: x.rate),
    "full memory": (lambda: functools.lru_cache(1)(lambda n: 2.0 * n), lambda f: f(3) + f(4)),
}


@pytest.mark.parametrize("kind", REMEMBERING)
def test_what_is_remembered_is_no_change(kind):
    make, look = REMEMBERING[kind]
    held = make()
    f = lambda x: np.sum(x) * look(held)
    compiled = compile(f)
    for _ in range(3):
        assert compiled(X) == f(X)
    assert len(compiled.programs) == 1


STATE = {"w": 2.0}


def _shown(name):
    """Make a class whose method of this name gives what stands elsewhere, as a text."""
    return type("Shown", (), {name: lambda self, *_: str(STATE["w"])})


class Equal:
    """A class whose objects are equal to what stands elsewhere."""

    __hash__ = None

    def __eq__(self, other):
        return STATE["w"] == other


class Copied:
    """A class whose copies are what stands elsewhere."""

    def __deepcopy__(self, memo):
        return STATE["w"]

    def __class_getitem__(cls, key):
        return STATE["w"]


@dataclasses.dataclass
class Measured:
    """A dataclass with a text of its own, and a field that knows more."""

    k: float = dataclasses.field(default=1.0, metadata=STATE)

    def __str__(self):
        return str(STATE["w"])


class Zone(dt.tzinfo):
    """A time zone that moves."""

    def utcoffset(self, _):
        return dt.timedelta(hours=STATE["w"])


NOW = dt.datetime(2020, 1, 1, tzinfo=Zone())
METHODS = {
    "str": (_shown("__str__")(), lambda o: float(str(o))),
    "f-string": (_shown("__str__")(), lambda o: float(f"{o}")),
    "percent": (_shown("__str__")(), lambda o: float("%s" % o)),  # noqa: UP031
    "map": (_shown("__str__")(), lambda o: float(next(map(str, [o])))),
    "made": (_shown("__str__"), lambda cls: float(str(cls()))),
    "format": (_shown("__format__")(), lambda o: float(f"{o}")),
    "repr": (_shown("__repr__")(), lambda o: float(repr(o))),
    "repr of a list": (_shown("__repr__")(), lambda o: float(str([o])[1:-1])),
    "equal": (Equal(), lambda o: 2.0 if o == 5.0 else 3.0),
    "among": (Equal(), lambda o: 2.0 if o == 5.0 else 3.0),
    "counted": (Equal(), lambda o: 1.0 + [5.0, 5.0].count(o)),
    "in a tuple": (Equal(), lambda o: 2.0 if (o, 1) == (5.0, 1) else 3.0),
    "copy": (Copied(), copy.deepcopy),
    "class": (Copied, lambda cls: cls[int]),
    "dataclass": (Measured(), lambda o: float(str(o))),
    "metadata": (Measured, lambda cls: dataclasses.fields(cls)[0].metadata["w"]),
    "zone": (NOW, lambda o: o.utcoffset().seconds / 3600.0),
    "time": (NOW, lambda o: o.timestamp()),
}


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("door", ["plain", "gradient"])
def test_what_methods_look_up_that_python_calls_is_seen(kind, door, monkeypatch):
    held, look = METHODS[kind]
    f = lambda x: np.sum(x * x) * look(held)
    f = f if door == "plain" else value_and_grad(f)
    compiled = compile(f)
    for w in (2.0, 5.0, 2.0):
        monkeypatch.setitem(STATE, "w", w)
        assert same(compiled(X), f(X))


class Point:
    """A class that says which attributes a pattern matches."""

    __match_args__ = ("a",)
    a, b = 1.0, 2.0


def test_what_a_pattern_matches_is_seen(monkeypatch):
    point = Point()

    def f(x):
        match point:
            case Point(q):
                return np.sum(x) * q

    compiled = compile(f)
    assert compiled(X) == f(X) == 3.0
    monkeypatch.setattr(Point, "__match_args__", ("b",))
    assert compiled(X) == f(X) == 6.0


@pytest.mark.filterwarnings(*ONCE)
def test_a_set_gives_its_elements_in_their_order():
    ours, theirs = {1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}
    compiled = compile(lambda x: np.sum(x) * ours.pop())
    assert [compiled(X) for _ in range(3)] == [np.sum(X) * theirs.pop() for _ in range(3)]


@pytest.mark.filterwarnings(*ONCE)
def test_a_method_that_counts_counts_once():
    counted = {"n": 0}

    class Numbered:
        def __str__(self):
            counted["n"] += 1
            return str(counted["n"])

    held = Numbered()
    compiled = compile(lambda x: np.sum(x) * float(str(held)))
    assert [compiled(X) for _ in range(3)] == [3.0, 6.0, 9.0]
