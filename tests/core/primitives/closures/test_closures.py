"""What a function captured is found, wherever it is, and exchanged, without a trace on the rest."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import sys
import types
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError
from chainrules_py.ops import map as map_
from chainrules_py.ops import root, scan
from chainrules_py.primitives.closures.convert import LONGEST, Closure, closed, settled
from chainrules_py.values.find_tracers import find_tracers
from chainrules_py.values.structure import register_structure
from chainrules_tape import Tape, checkpoint, grad

SCALE = 3.0


def scaled(x):
    return SCALE * x


@dataclasses.dataclass
class Affine:
    w: object
    b: float = 1.0
    activation: object = None

    def __call__(self, x):
        y = self.w * x + self.b
        return y if self.activation is None else self.activation(y)

    def doubled(self, x):
        return 2.0 * self(x)


@dataclasses.dataclass
class Computed:
    """Computes with its field when it is made."""

    w: object

    def __post_init__(self):
        self.total = np.sum(self.w)

    def __call__(self, x):
        return self.total * x


class Registered(Computed):
    """Checks its field, and is rebuilt by its constructor."""

    def __init__(self, w):
        if w == 0.0:
            raise ValueError("the weight is zero")
        super().__init__(w)


register_structure(Registered, lambda x: [("w", x.w)], lambda x, values: type(x)(*values))


class Plain:
    """An object of somebody's own, with attributes and a slot."""

    __slots__ = ("__dict__", "w")

    def __init__(self, w, b=0.0):
        self.w = w
        self.b = b

    def __call__(self, x):
        return self.w * x + self.b

    @classmethod
    def made(cls, w):
        return cls(w).__call__


class Pair(NamedTuple):
    first: object
    second: object


def in_a_cell(a):
    return lambda x: a * x


def in_a_nested_cell(a):
    def inner(x):
        return a * x

    def outer(x):
        return inner(x)

    return outer


def in_a_container(a):
    held = {"deep": [Pair(1.0, (a, "name"))]}
    return lambda x: held["deep"][0].second[0] * x


def in_a_default(a):
    def f(x, a=a):
        return a * x

    return f


def in_a_keyword_default(a):
    def f(x, *, a=a):
        return a * x

    return f


def in_a_recursive_function(a):
    def power(x, n=3):
        return a * x if n == 0 else power(x, n - 1)

    return power


def in_mutually_recursive_functions(a):
    def even(x, n=4):
        return a * x if n == 0 else odd(x, n - 1)

    def odd(x, n):
        return even(x, n - 1)

    return even


def in_a_wrapped_function(a):
    def twice(f):
        @functools.wraps(f)
        def wrapper(x):
            return f(x)

        return wrapper

    return twice(lambda x: a * x)


def in_an_object_that_holds_itself(a):
    model = Plain(a)
    model.me = model
    return lambda x: model.me.me.w * x


FUNCTIONS = {
    f.__name__: f
    for f in (
        in_a_cell,
        in_a_nested_cell,
        in_a_container,
        in_a_default,
        in_a_keyword_default,
        in_a_recursive_function,
        in_mutually_recursive_functions,
        in_a_wrapped_function,
        in_an_object_that_holds_itself,
    )
} | {
    "partial": lambda a: functools.partial(lambda a, x: a * x, a),
    "partial keyword": lambda a: functools.partial(lambda x, a: a * x, a=a),
    "partial of a partial": lambda a: functools.partial(functools.partial(lambda x, a: a * x), a=a),
    "dataclass": lambda a: Affine(a, 0.0),
    "dataclass and a function in it": lambda a: Affine(1.0, 0.0, lambda y: a * y),
    "method of a dataclass": lambda a: functools.partial(
        lambda f, x: 0.5 * f(x), Affine(a, 0.0).doubled
    ),
    "object": Plain,
    "method of an object": Plain.made,
    # Written in C, and derived from what is.
    "namespace": lambda a: (lambda held: lambda x: held.w * x)(types.SimpleNamespace(w=a)),
    **{
        kind.__name__: lambda a, kind=kind: (lambda held: lambda x: held["w"] * x)(kind({"w": a}))
        for kind in (collections.OrderedDict, collections.UserDict)
    },
    "defaultdict": lambda a: (lambda held: lambda x: held["w"] * x)(
        collections.defaultdict(float, w=a)
    ),
    **{
        kind.__name__: lambda a, kind=kind: (lambda held: lambda x: held[1] * x)(kind([1.0, a]))
        for kind in (collections.UserList,)
    },
}


def holding(put, get):
    """Make functions that hold what ``put(a)`` gives, and look a up in it."""

    def made(a):
        held = put(a)
        return lambda x: get(held) * x

    return made


def of_ones_own(base, *items):
    """Make objects of a class that derives from a container, with a value as an attribute."""

    class Own(base):
        def __call__(self, x):
            return self.w * x

    def made(a):
        own = Own(*items)
        own.w = a
        return own

    return made


FUNCTIONS |= {
    "constructor that computes": holding(Computed, lambda own: own.total),
    "registered constructor": holding(Registered, lambda own: own.total),
    "method after a constructor": lambda a: Computed(a).__call__,
}


def in_a_function_attribute(a):
    def f(x):
        return f.w * x

    f.w = a
    return f


BASES = {list: (), dict: (), functools.partial: (abs,)}
BASES |= {tuple: (), Pair: (1.0, 2.0)}
FUNCTIONS |= {
    f"{how} {base.__name__}": made
    for base in (set, frozenset, collections.deque)
    for how, made in (
        ("called", of_ones_own(base)),
        ("own", holding(of_ones_own(base), lambda own: own.w)),
    )
}


def an_object_and_its_owner(a):
    inner, outer = [type("Thing", (), {})() for _ in range(2)]
    inner.w, outer.inner = a, inner
    return lambda x: (inner.w + outer.inner.w) / 2 * x


FUNCTIONS["an object and its owner"] = an_object_and_its_owner


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_captured_values_are_found_and_exchanged(name):
    with Tape() as tape:
        a = tape.variable(2.0)
        f = closed(FUNCTIONS[name](a))
        assert [id(x) for x in find_tracers(f)] == [id(a)]
        assert f(5.0).value == 10.0
        if isinstance(f, Closure):
            other = f.around((7.0,))
            assert other(5.0) == 35.0
            assert f(5.0).value == 10.0


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_derivatives_in_captured_values(name):
    def solution(a):
        return root(lambda x, f: f(x) * x - 8.0, 1.0, FUNCTIONS[name](a))

    def captured(a):
        f = FUNCTIONS[name](a)
        return root(lambda x: f(x) * x - 8.0, 1.0)

    # a x² = 8
    assert captured(2.0) == pytest.approx(2.0)
    assert grad(captured)(2.0) == pytest.approx(-0.5)
    assert grad(grad(captured))(2.0) == pytest.approx(0.375)
    assert solution(2.0) == pytest.approx(2.0)
    assert grad(solution)(2.0) == pytest.approx(-0.5)


def in_what_a_dispatched_function_calls(a):
    f = functools.singledispatch(lambda x: a * x)
    return lambda x: f(x)


ELSEWHERE = {
    "singledispatch": in_what_a_dispatched_function_calls,
    "global": lambda a: globals().update(SCALE=a) or scaled,
    "object in an object": lambda a: (lambda model: lambda x: model.b(x))(Plain(1.0, Plain(a))),
    "function attribute": in_a_function_attribute,
    "set": holding(lambda a: {Plain(a)}, lambda own: next(iter(own)).w),
    "deque": holding(lambda a: collections.deque([1.0, a], 2), lambda own: own[1]),
    "read-only dict": holding(lambda a: types.MappingProxyType({"w": a}), lambda own: own["w"]),
    "a list that is too long": holding(lambda a: [a] * 1_001, lambda own: own[0]),
    **{
        f"own {base.__name__}": holding(of_ones_own(base, *items), lambda own: own.w)
        for base, items in BASES.items()
    },
}


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_elsewhere_is_refused_and_never_a_constant(name, monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", SCALE)

    def loss(a):
        f = ELSEWHERE[name](a)
        return root(lambda x: f(x) * x - 8.0, 1.0)

    with pytest.raises(NotDifferentiableError, match="pass the value as a parameter"):
        grad(loss)(2.0)


def test_several_values_in_the_order_of_reading():
    with Tape() as tape:
        a, b = tape.variable(2.0), tape.variable(np.ones(3))
        f = closed(lambda x: b * (a * x) + a)
        assert [x.place for x in find_tracers(f)] == [a.place, b.place]  # each once
        assert repr(f).startswith("<<lambda> around (")
        np.testing.assert_array_equal(f.around((1.0, np.zeros(2)))(5.0), [1.0, 1.0])


def test_function_without_traced_values_is_itself():
    def f(x):
        return SCALE * x

    assert closed(f) is f
    assert closed(np.sin) is np.sin
    affine = Affine(2.0)
    assert closed(affine) is affine
    once = closed(in_a_cell(Tape().variable(2.0)))
    assert closed(once) is once


def test_what_holds_no_traced_value_stays_the_same_object():
    """A list that is written to, a counter in a cell, a cache: the copy shares them."""
    calls, cache, count = [], {}, 0
    with Tape() as tape:
        a = tape.variable(2.0)

        def f(x):
            nonlocal count
            count += 1
            calls.append(x)
            cache[len(cache)] = count
            return a * x

        made = closed(f)
        made.around((3.0,))(1.0)
        made.around((4.0,))(2.0)
    assert (calls, count, cache) == ([1.0, 2.0], 2, {0: 1, 1: 2})


def test_the_function_that_was_given_is_not_changed():
    with Tape() as tape:
        a = tape.variable(2.0)
        model = Plain(a)
        f = in_a_container(a)
        closed(lambda x: model(f(x))).around((1.0,))(1.0)
        assert model.w is a
        assert f.__closure__[0].cell_contents["deep"][0].second[0] is a


def test_names_and_attributes_of_functions_are_kept():
    def f(x, *, k=1.0):
        """Its docstring."""
        return a * x * k

    f.mark = "kept"
    with Tape() as tape:
        a = tape.variable(2.0)
        g = closed(f).around((3.0,))
        g(1.0)
        made = g._filled
    assert (made.__name__, made.__doc__, made.mark) == ("f", "Its docstring.", "kept")
    assert made(1.0, k=2.0) == 6.0
    assert made.__qualname__ == f.__qualname__


def test_an_engines_own_idea_of_a_traced_value():
    class Box:
        def __init__(self, value):
            self.value = value

    box = Box(2.0)
    f = closed(lambda x: box.value * x, lambda x: isinstance(x, Box))
    assert f.captured == (box,)
    assert f.around((Box(5.0),))(2.0) == 10.0


def test_a_large_program_around_a_function_costs_a_bounded_search():
    big = [[float(i)] * 10 for i in range(100_000)]
    with Tape() as tape:
        a = tape.variable(2.0)
        f = closed(lambda x: a * x + len(big))
        assert find_tracers(f)[0] is a


class Model:
    """Holds arrays in a dict for each layer."""

    def __init__(self, layers):
        self.layers = [{"w": np.ones(3), "b": np.ones(3)} for _ in range(layers)]


def calls(f, x):
    """Count the calls of functions, of Python and of C, once all is known of f."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    for _ in range(3):
        f(x)
    gc.disable()  # hypothesis is called at each collection
    sys.setprofile(profile)
    try:
        f(x)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def using(operation, held):
    """Make a function that gives a function around a number and ``held`` to an operation."""
    return {
        "root": lambda a: root(lambda x: (x * x - a, held)[0], 1.0),
        "scan": lambda a: scan(lambda s, x: ((s * a + x, None), held)[0], 1.0, np.arange(3.0))[0],
        "map": lambda a: np.sum(map_(lambda x: (x * a, held)[0], np.arange(3.0))),
        "checkpoint": lambda a: checkpoint(lambda x: (np.sin(x * a), held)[0])(2.0),
    }[operation]


@pytest.mark.parametrize("operation", ["root", "scan", "map", "checkpoint"])
def test_no_cost_depends_on_how_much_was_captured(operation):
    few, many = [calls(grad(using(operation, Model(n))), 2.0) for n in (LONGEST + 1, 2000)]
    assert few == many


def test_values_behind_many_plain_ones_are_found():
    """Many layers that are constants, and then one that is not."""

    def model(a):
        held = Model(64)
        held.layers.append({"w": a, "b": 0.0})
        return held

    def loss(a):
        held = model(a)
        f = lambda x: held.layers[-1]["w"] * x
        return root(lambda x: f(x) * x - 8.0, 1.0)

    def in_a_program(a):
        held = model(a)
        return checkpoint(lambda x: held.layers[-1]["w"] * x)(a)

    assert grad(loss)(2.0) == pytest.approx(-0.5)
    assert grad(in_a_program)(2.0) == 4.0


def test_all_layers_are_found_where_one_is():
    def loss(w):
        model = Model(0)
        model.layers = [{"w": w * k, "b": np.ones(3)} for k in range(96)]
        return root(lambda x: sum(layer["w"] for layer in model.layers) * x - 4560.0, 1.0)

    assert grad(loss)(1.0) == pytest.approx(-1.0)


def test_template_keeps_no_tracer_alive():
    """The rule keeps the function without this level's variables: so no cycle holds the tape."""
    tape = Tape()
    a = tape.variable(np.ones(3))
    f = closed(in_a_cell(a)).around((np.ones(3),))
    gone = weakref.ref(a) if hasattr(a, "__weakref__") else None
    held = [x for x in gc.get_referents(f) if x is a or find_tracers(x)]
    assert not held
    assert gone is None or gone() is a


# --------------------------------------------------------------------------------------- settled


def test_settled_functions_keep_what_is_in_their_cells():
    k = 2.0

    def helper(x):
        return k * x

    outer = functools.partial(lambda x, shift: helper(x) + k + shift, shift=1.0)
    made = settled(outer)
    method = settled(Plain(3.0).__call__)
    k = 5.0
    assert made(1.0) == 5.0
    assert method(2.0) == 6.0


def test_settled_closures_keep_what_was_not_traced():
    k = 2.0
    with Tape() as tape:
        a = tape.variable(3.0)
        f = settled(closed(lambda x: k * a * x))
        k = 100.0
        assert f.around((10.0,))(1.0) == 20.0


def test_settled_recursive_functions_call_themselves():
    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    made = settled(factorial)
    factorial = None
    assert made(5) == 120


def test_what_is_no_function_of_python_is_settled():
    assert settled(np.sin) is np.sin
    affine = Affine(2.0)
    assert settled(affine) == affine


def test_functions_in_fields_are_settled():
    k = 2.0
    made = settled(Affine(1.0, 0.0, lambda y: k * y))
    k = 5.0
    assert made(3.0) == 6.0


def test_what_makes_no_copies_of_itself_is_refused_by_name():
    def loss(a):
        @functools.cache
        def cached(x):
            return a * x

        cached.a = a
        return root(lambda u: u**3 + u - cached.a, 1.0)

    with pytest.raises(NotDifferentiableError, match="makes no copies of itself"):
        grad(loss)(1.2)
