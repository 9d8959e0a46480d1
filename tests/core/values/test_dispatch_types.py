"""What counts as an array or a number, and the types that stand for a library."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from chainrules_py import Array, LinearMap, Numeric, RuleError, primitive, rule
from chainrules_py.errors import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    Library,
    Tracer,
    find_rule,
    kind_of,
    lazy_array_type,
    register_array_type,
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
    register_array_type(Concrete, Library(np, kind=library))
    register_array_type(Traced, Library(np, kind=library))
    for cls in (Concrete, Traced):
        assert issubclass(cls, library)
        assert issubclass(cls, Array)
        assert find_rule(f, (cls,)) is not None
    assert find_rule(f, (np.ndarray,)) is None


def test_an_exception_for_a_library_is_more_specific_than_the_rule_for_arrays():
    library = lazy_array_type("OtherArray")

    class Mine:
        pass

    register_array_type(Mine, Library(np, kind=library))
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
    register_array_type(Concrete2, Library(np, kind=library))
    assert find_rule(f, (Concrete2,)) is not None
    with pytest.raises(RuleError, match="cannot be dispatched on"):
        rule(fresh(), types=(unknown,))(doubled)


class Concrete2:
    pass


def test_union_annotations_take_each_member():
    f = fresh()
    rule(f, types=(np.ndarray | float,))(doubled)
    assert find_rule(f, (np.ndarray,)) is not None
    assert find_rule(f, (float,)) is not None
    assert find_rule(f, (int,)) is None
    g = fresh()
    rule(g)(doubled)  # without an annotation
    assert find_rule(g, (int,)).reverse.signature == (Numeric,)


def test_a_tracer_names_the_innermost_type_and_a_dtype():
    class Inner(Tracer):
        __dispatch_type__ = np.ndarray

    with pytest.raises(NotDifferentiableError, match="Inner stands for an array and has no dtype"):
        kind_of(Inner())
    with pytest.raises(TracerError, match=r"Outer.__dispatch_type__ is a class of tracers"):

        class Outer(Tracer):
            __dispatch_type__ = Inner
