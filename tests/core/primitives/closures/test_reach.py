"""Reach: what functions look up, what of it is another value by now, and what they change."""

from __future__ import annotations

import functools
import math
import operator
import random
import sys
import types

import numpy as np
import pytest
import scipy.special

from chainrules_compat import custom_vjp
from chainrules_py import MutationError, primitive, rrule, scalar_rule
from chainrules_py.primitives.closures.captured import captured
from chainrules_py.primitives.closures.contents import is_library
from chainrules_py.primitives.closures.freeze import names_in
from chainrules_py.primitives.closures.reach import Reach
from chainrules_tape import Tape, grad
from tests.fuzz.captures import ORDERED, ORDERS, ordered

OUTSIDE = [2.0]
rrule(np.sin, np.ones(1))  # the library is there


def test_the_names_of_code():
    def f(out, i, w, n, a, q, r, z):
        out[i] = w[0] * OUTSIDE[0]

        def inner():
            n[0] += 1
            a.counts["x"][i] = 3
            q.pop()
            r[0][1].append(z.real)

        return inner

    names = names_in(f.__code__)
    assert names.scope == ("OUTSIDE",)
    assert {"counts", "pop", "append", "real", "x", "__setitem__"} == names.attributes
    assert {"out", "n", "counts", "q", "r"} == names.own
    assert {"counts"} == names.shared
    assert not names.assigned


def test_attributes_that_code_sets_by_a_name():
    runs, at = types.SimpleNamespace(count=0, seen=types.SimpleNamespace(last=0)), "count"

    def counts(x):
        setattr(runs, at, getattr(runs, at) + 1)
        setattr(runs.seen, "last", x)  # noqa: B010

    assert {"runs", "last"} <= names_in(counts.__code__).shared
    reach = Reach([counts])
    counts(1.0)
    assert reach.changed() is None


def test_what_is_another_value_by_now():
    config, w = types.SimpleNamespace(rate=0.5, layers=[{"w": np.ones(2)}]), np.zeros(3)
    reach = Reach([lambda: config.rate * config.layers[0]["w"] + w])
    assert len(reach.arrays) == 2
    assert reach.changed() is None
    config.rate = 0.25
    assert reach.changed() == "config.rate was 0.5 and is 0.25"
    config.rate = 0.5
    config.layers[0]["w"] = np.ones(3)
    assert reach.changed() == "config.layers[0]['w'] was float64[2] and is float64[3]"
    config.layers.clear()
    assert "config.layers" in str(reach.changed())


def test_code_that_looks_nothing_up_reaches_nothing():
    assert not Reach([lambda x: np.sin(x) * 2.0, np.sin, primitive(lambda x: x * x), None])


def test_what_somebody_has_defined_is_compared_where_something_is():
    def helper(x):
        return x * scale

    scale, first = 2.0, helper
    assert not Reach([lambda x: np.sin(x)])
    reach = Reach([lambda x: helper(x)])
    scale = 2.0

    def helper(x):
        return x + scale

    assert not reach.lasts()
    assert str(reach.changed()).startswith("helper was ")
    helper = first
    assert reach.lasts()


GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(
    "f, may_draw",
    [
        (lambda x: np.sin(x) * math.pi, False),
        (lambda x: functools.reduce(operator.mul, x, GENERATOR.normal()), False),
        (lambda x: np.random.rand(3) * x, True),  # noqa: NPY002
        (lambda x: getattr(np, f"{x}dom"), True),
        (lambda x: random.random() * x, True),
        (lambda x: scipy.special.expit(x), True),  # nobody knows
    ],
)
def test_what_may_draw_from_generators_that_all_share(f, may_draw):
    reach = Reach([f])
    assert reach.may_draw() == may_draw
    assert reach.generators == ([GENERATOR] if "GENERATOR" in f.__code__.co_names else [])


def test_who_captured_what():
    a = 3

    def g():
        return a

    assert captured([lambda: g()], is_it=lambda x: x == 3) == ["a (captured by g)"]


def test_the_message_names_the_place_and_the_rule():
    box = {"k": 2.0}
    scaled = primitive(lambda x: x * box["k"])
    scalar_rule(scaled, lambda _y, _x: box["k"])
    _, pull = rrule(scaled, 1.0)
    assert pull(1.0) == (2.0,)
    box["k"] = 50.0
    with pytest.raises(
        MutationError, match=r"box\['k'\] was 2.0 and is 50.0, which <lambda> looks"
    ):
        pull(1.0)


def test_compiled_functions_that_a_rule_calls_are_not_searched():
    numba = pytest.importorskip("numba")

    @numba.njit
    def scaled(x, g):
        return np.cos(x) * g

    q = custom_vjp(lambda x: np.sin(x))
    q.defvjp(lambda x: (np.sin(x), x), lambda x, g: (scaled(x, g),))
    reach = Reach([q])
    assert reach.whole
    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(grad(lambda x: np.sum(q(x)))(x), np.cos(x))


def test_objects_without_a_dict_of_attributes_are_searched():
    class Odd:
        __slots__ = ("__weakref__",)
        __dict__ = property(lambda self: None)

    assert Reach([Odd()]).arrays == []


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("held", ORDERED)
def test_entries_in_another_order(held, order):
    """The slope is looked up by the pullback: put in another order, it would be another."""
    entries, f = ordered(held)
    square = primitive(lambda x: x * x)
    rrule.register(square)(lambda x: (x * x, lambda bar: (bar * f(x),)))
    with Tape() as tape:
        x = tape.variable(2.0)
        y = square(x)
        ORDERS[order](entries)
        with pytest.raises(MutationError):
            tape.grad(y, x)


def test_libraries_are_named():
    """Also where a class is one of Cython's, which has a descriptor for the name of its module."""
    found = Reach((np.random.default_rng(0).normal,)).libraries
    assert "numpy.random._generator" in found
    assert {type(name) for name in found} == {str}


def test_what_was_started_is_somebodys_program(monkeypatch):
    tool = "/venv/lib/python3/site-packages/tool/__main__.py"
    monkeypatch.setattr(sys.modules["__main__"], "__file__", tool, raising=False)
    assert not is_library.__wrapped__("__main__")
    scope = {"w": np.ones(2), "__name__": "__main__"}
    exec("def f(x): return x * w", scope)
    assert [x is scope["w"] for x in Reach([scope["f"]]).arrays] == [True]


def test_what_a_function_remembers_of_itself_is_not_looked_up():
    """A call by name, which asks for the signature, changes nothing of what is watched."""
    f = primitive(lambda x, w: w * x)
    rrule.register(f)(lambda x, w: (f(x, w), lambda bar: (bar * w, bar * x)))
    before = Reach((f,))
    assert f(2.0, w=3.0) == f(w=3.0, x=2.0) == 6.0
    assert "signature" in vars(f)
    after = Reach((f,))
    assert (bool(after), after.libraries) == (bool(before), before.libraries) == (False, set())


def test_what_imported_a_module_is_not_reached():
    module = types.ModuleType("model")
    module.__dict__.update(scale=np.ones(3), __loader__=types.SimpleNamespace(session=[]))
    module.__loader__.session += [types.SimpleNamespace(at=i) for i in range(20_000)]
    reach = Reach([lambda x: vars(module).get(x, 0.0)])
    assert reach.whole
    assert len(reach.arrays) == 1
    module.scale = np.zeros(3)
    assert reach.changed() == "module.scale was float64[3] and is float64[3]"
