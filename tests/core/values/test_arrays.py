"""What counts as an array or a number, and the types that stand for a library."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from chainrules_py import (
    Array,
    LinearMap,
    NoRuleError,
    Numeric,
    RuleError,
    Scalar,
    find_rule,
    lazy_array_type,
    namespace,
    primitive,
    register_array_type,
    rrule,
    rule,
)
from chainrules_py import vocabulary as v
from chainrules_py.values.arrays import (
    Tracer,
    dispatch_type,
    is_array_type,
    is_foreign,
    is_number_type,
    is_python_number,
    is_tracer_type,
    number_home,
)


def fresh() -> Any:
    @primitive
    def f(x):
        return x

    return f


def doubled(x):
    return x, (LinearMap(lambda t: 2 * t, lambda t: 2 * t),)


class Concrete:
    """An array class of a library that is loaded later."""


class Traced:
    """What the library puts in place of an array while it traces."""


def test_a_lazy_type_stands_for_a_librarys_arrays_and_for_its_tracers():
    library = lazy_array_type("LibraryArray")
    f = fresh()
    rule(f, types=(library,))(doubled)
    assert find_rule(f, (Concrete,)) is None  # the library is not there yet
    register_array_type(Concrete, np, kind=library)
    register_array_type(Traced, np, kind=library)
    for cls in (Concrete, Traced):
        assert issubclass(cls, library)
        assert issubclass(cls, Array)
        assert find_rule(f, (cls,)) is not None
    assert find_rule(f, (np.ndarray,)) is None


def test_an_exception_for_a_library_is_more_specific_than_the_rule_for_arrays():
    library = lazy_array_type("OtherArray")

    class Mine:
        pass

    register_array_type(Mine, np, kind=library)
    f = fresh()
    rule(f, types=(Array,))(lambda x: (x, (LinearMap(None, lambda t: t),)))
    rule(f, types=(library,))(doubled)
    assert find_rule(f, (Mine,)).reverse.signature == (library,)
    assert find_rule(f, (np.ndarray,)).reverse.signature == (Array,)


class Unfaithful(type):
    def __instancecheck__(cls, x):
        return True


def test_a_class_that_cannot_be_dispatched_on_is_replaced_where_it_is_known():
    module = types.ModuleType("planted_unfaithful")
    sys.modules[module.__name__] = module
    cls = Unfaithful("Array", (), {"__module__": module.__name__})
    unknown = Unfaithful("Array", (), {"__module__": "planted_unknown"})
    library = lazy_array_type("UnfaithfulArray", replaces=("planted_unfaithful.Array",))
    f = fresh()
    rule(f, types=(cls,))(doubled)
    assert find_rule(f, (float,)) is None
    register_array_type(Concrete2, np, kind=library)
    assert find_rule(f, (Concrete2,)) is not None
    with pytest.raises(RuleError, match="cannot be dispatched on"):
        rule(fresh(), types=(unknown,))(doubled)


class Concrete2:
    pass


def test_numbers_and_arrays():
    for cls in (int, float, complex, np.float64, np.float32, np.int8):
        assert issubclass(cls, Scalar)
        assert is_number_type(cls)
        assert not is_array_type(cls)
    assert is_array_type(np.ndarray)
    assert not is_number_type(np.ndarray)
    assert not is_number_type(str)
    assert is_python_number(int)
    assert not is_python_number(np.float64)
    assert number_home(np.sin) is np
    assert number_home(v.sin) is None


def test_a_tracer_is_what_it_stands_for():
    class Standing(Tracer):
        __dispatch_type__ = np.ndarray

    assert is_tracer_type(Standing)
    assert dispatch_type(Standing) is np.ndarray
    assert is_array_type(Standing)
    assert not issubclass(Standing, Array)  # no engine registers its tracer as an array
    assert find_rule(v.sin, (Standing,)).reverse is find_rule(v.sin, (np.ndarray,)).reverse


def test_namespaces():
    from chainrules_tape import grad

    assert namespace(np.ones(2)) is np
    assert namespace(np.float32(1)) is np
    seen = []
    grad(lambda x: seen.append(namespace(x)) or np.sum(x))(np.ones(2))
    assert seen == [v]
    with pytest.raises(RuleError, match="register_array_type"):
        namespace("text")


class Calm(np.ndarray):
    """Changes nothing that is computed."""


class Wild(np.ndarray):
    def __array_function__(self, *args, **keywords):
        return NotImplemented


def test_subclasses_follow_their_base_unless_they_compute_otherwise():
    assert not is_foreign(Calm)
    assert is_foreign(Wild)
    assert is_foreign(np.matrix)
    assert is_foreign(np.ma.MaskedArray)
    assert not is_foreign(np.float64)
    x = np.ones(2).view(Calm)
    assert np.all(rrule(np.multiply, x, x)[1](np.ones(2))[0] == 1)
    with pytest.raises(NoRuleError):
        rrule(np.multiply, np.ma.ones(2), np.ma.ones(2))


def test_union_annotations_take_each_member():
    f = fresh()
    rule(f, types=(np.ndarray | float,))(doubled)
    assert find_rule(f, (np.ndarray,)) is not None
    assert find_rule(f, (float,)) is not None
    assert find_rule(f, (int,)) is None
    g = fresh()
    rule(g)(doubled)  # without an annotation
    assert find_rule(g, (int,)).reverse.signature == (Numeric,)
