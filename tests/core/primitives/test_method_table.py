"""What is remembered of calls: it is used, it is forgotten in time, and it keeps nothing alive."""

import gc
import random
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import (
    AmbiguousRuleError,
    LinearMap,
    ProjectionError,
    ZeroTangent,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py.extend import Library, find_rule, register_array_type
from chainrules_py.primitives.method_table import Cache, MethodTable, invalidate
from chainrules_py.primitives.plugins import Layer, layer_of


def fresh():
    @primitive
    def f(x):
        return 2.0 * x

    return f


def stated(slope, cls):
    def f_rule(x):
        m = LinearMap(lambda x_dot: slope * x_dot, lambda y_bar: slope * y_bar)
        return 2.0 * x, (m,)

    f_rule.__annotations__ = {"x": cls}
    f_rule.__qualname__ = f"f_rule_{slope}"
    return f_rule


def derivatives(f, x=1.0):
    return rrule(f, x)[1](1.0)[0], frule((1.0,), f, x)[1]


def test_a_call_is_forgotten_when_a_better_rule_is_registered():
    f = fresh()
    rule(f)(stated(3.0, object))
    assert derivatives(f) == derivatives(f) == (3.0, 3.0)
    rule(f)(stated(5.0, float))
    assert derivatives(f) == derivatives(f) == (5.0, 5.0)


def test_a_call_is_forgotten_when_the_primal_is_computed_otherwise():
    f = fresh()
    scalar_rule(f, lambda y, _x: y)
    assert derivatives(f) == derivatives(f) == (2.0, 2.0)
    f.implement(lambda x: 7.0 * x, types=(float,))
    assert derivatives(f) == derivatives(f) == (7.0, 7.0)


def test_a_call_is_forgotten_when_a_type_is_registered():
    class Celsius(np.ndarray):
        def __add__(self, other):
            return super().__add__(other)

    x = np.ones(2).view(Celsius)
    assert find_rule(np.sin, (Celsius,)) is None
    register_array_type(Celsius, Library(np))
    assert find_rule(np.sin, (Celsius,)) is not None
    np.testing.assert_allclose(rrule(np.sin, x)[1](x)[0], np.cos(1.0))


def test_what_is_remembered_is_per_types_and_per_zeros():
    x, y = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    for _ in range(2):
        np.testing.assert_array_equal(frule((x, y), np.multiply, x, y)[1], 2 * x * y)
        np.testing.assert_array_equal(frule((x, ZeroTangent()), np.multiply, x, y)[1], x * y)
        np.testing.assert_array_equal(frule((ZeroTangent(), x), np.multiply, x, y)[1], x * x)
        assert frule((1.0,), np.negative, 2.0)[1] == -1.0
        assert frule((x,), np.negative, y)[1].shape == (2,)


@pytest.mark.parametrize("bad", [None, np.ones(3), "text"])
def test_a_remembered_call_still_checks_what_it_is_given(bad):
    x = np.ones(2)
    frule((x,), np.sin, x)
    with pytest.raises(ProjectionError):
        frule((bad,), np.sin, x)
    with pytest.raises(ProjectionError):
        rrule(np.sin, x)[1](bad)


def test_options_are_not_mixed_up():
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert rrule(np.sum, x)[0] == 15.0
        assert rrule(np.sum, x, axis=0)[0].shape == (3,)
        assert rrule(np.sum, x)[1](1.0)[0].shape == (2, 3)


def test_an_unknown_function_is_remembered_and_not_kept():
    def unknown(x):
        return x

    alive = weakref.ref(unknown)
    assert find_rule(unknown, (int,)) is None
    assert find_rule(unknown, (int,)) is None
    del unknown
    gc.collect()
    assert alive() is None


def test_an_unknown_function_is_found_when_it_becomes_known():
    unknown = np.frompyfunc(lambda x: x, 1, 1)
    assert find_rule(unknown, (float,)) is None
    rule(unknown)(stated(3.0, float))
    assert find_rule(unknown, (float,)) is not None


def test_what_has_no_hash_or_no_weak_reference_can_be_asked_about():
    class Slotted:
        __slots__ = ()

        def __call__(self, x):
            return x

    class Unhashable:
        __hash__ = None

        def __call__(self, x):
            return x

        def method(self, x):
            return x

    for f in (Slotted(), Unhashable(), Unhashable().method):
        assert find_rule(f, (int,)) is None
        assert find_rule(f, (int,)) is None


def test_a_cache_that_nobody_has_opened_cannot_be_filled():
    cache = Cache()
    with pytest.raises(TypeError):
        cache.table["f"] = 1
    old = cache.open()
    old["f"] = 1
    assert cache.table == {"f": 1}
    assert cache.open() is old
    invalidate()
    assert "f" not in cache.table
    old["g"] = 2  # a value computed from what there was before
    assert "g" not in cache.table


def test_of_a_table_of_many_types_only_those_that_fit_are_compared():
    """plum compares signatures pair by pair, 600 of them with a million calls."""
    import plum  # noqa: F401  # whose import is not counted

    table = MethodTable("many")
    classes = [type(f"T{i}", (), {}) for i in range(600)]
    for i, cls in enumerate(classes):
        table.add((cls, cls), None, 0, i)
    table.add((object, object), None, 0, "any")
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        assert table.resolve((classes[7], classes[7])) == 7
        assert table.resolve((classes[7], classes[8])) == "any"
        assert table.resolve((classes[7],)) is None
    finally:
        sys.setprofile(None)
    assert calls < 20_000


@pytest.mark.parametrize("module", ["operator", "_operator", "math", "cmath", "builtins"])
def test_the_standard_library_is_of_the_core(module):
    """So that a library's own way to compute a number wins over Python's."""
    assert layer_of(module) is Layer.CORE
    assert layer_of("__main__") is Layer.USER


def test_what_adapters_share_comes_after_the_libraries_own():
    """Else ``zeros_like`` of NumPy's arrays would be the version for any library."""
    assert layer_of("chainrules_kit.fallbacks.manipulation_and_creation") is Layer.CORE
    assert v.full_like(np.ones(3), shape=(2,), fill=0).tolist() == [0.0, 0.0]
    for operation in (v.astype, v.full_like, v.zeros_like):
        assert (
            operation.implementation((np.ndarray,)).__module__
            == "chainrules_numpy.array_operations"
        )


class Grand: ...


class Parent(Grand): ...


class Child(Parent): ...


KINDS = (Any, object, Grand, Parent, Child, Parent | int, Grand | float, int | float)


def by_plum(table, classes):
    import plum

    solver, values = plum.Function(by_plum), {}
    for signature, varargs, layer, value in table._fitting(classes):
        method = types.FunctionType((lambda *xs: None).__code__, {})  # a new one, as plum gives it
        others = {} if varargs is None else {"varargs": varargs}
        solver.register(method, plum.Signature(*signature, precedence=layer, **others))
        values[method] = value
    try:
        return values[solver.resolve_method(plum.Signature(*classes))[0]]
    except plum.NotFoundLookupError:
        return None
    except plum.AmbiguousLookupError:
        return "ambiguous"


@pytest.mark.parametrize("seed", range(60))
def test_classes_are_ordered_as_plum_does(seed):
    rng = random.Random(seed)
    table = MethodTable("f")
    for value in range(rng.randrange(2, 7)):
        signature = tuple(rng.choices(KINDS, k=rng.randrange(1, 3)))
        varargs = rng.choice((None, None, rng.choice(KINDS)))
        table.add(signature, varargs, rng.randrange(3), value)
    try:
        found = table.resolve((Child, Child))
    except AmbiguousRuleError:
        found = "ambiguous"
    assert found == by_plum(table, (Child, Child))


def test_of_two_modules_of_the_user_the_last_to_implement_counts():
    """A cell that was run again kept its old place behind the other module's."""
    h = primitive(lambda x: x)
    for module, factor in (("one", 3.0), ("two", 4.0), ("one", 5.0)):
        code = f"@h.implement\ndef f(x: float): return {factor} * x"
        exec(code, {"__name__": module, "h": h})
    assert h(1.0) == 5.0
