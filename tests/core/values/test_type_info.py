"""One record for each class; a statement about a class is checked, and what was known forgotten."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from chainrules_py import Array, NoRuleError, RuleError, Scalar, rrule
from chainrules_py import ops as v
from chainrules_py.extend import (
    Library,
    Memory,
    Tracer,
    find_rule,
    namespace,
    register_array_type,
    register_host,
    register_scalar_type,
    see,
    type_info,
)
from chainrules_py.values import type_info as module
from chainrules_py.values.dispatch_types import number_home
from chainrules_py.values.type_info import finite_test, libraries

see(None, (np.ndarray,))  # the records are NumPy's also where this file runs alone


def test_numbers_and_arrays():
    for cls in (int, float, complex, np.float64, np.float32, np.int8):
        assert issubclass(cls, Scalar)
        assert type_info(cls).is_number
        assert not type_info(cls).is_array
    assert type_info(np.ndarray).is_array
    assert not type_info(np.ndarray).is_number
    assert not type_info(str).is_number
    assert type_info(int).is_python_number
    assert not type_info(np.float64).is_python_number
    assert number_home(np.sin) is np
    assert number_home(v.sin) is None


def test_a_tracer_is_what_it_stands_for():
    class Standing(Tracer):
        __dispatch_type__ = np.ndarray

    assert issubclass(Standing, Tracer)
    assert type_info(Standing).dispatch_type is np.ndarray
    assert type_info(Standing).is_array
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

    def __imul__(self, y):
        return super().__imul__(y)


class Wild(np.ndarray):
    def __array_function__(self, *args, **keywords):
        return NotImplemented


def test_subclasses_follow_their_base_unless_they_compute_otherwise():
    assert not type_info(Calm).is_foreign
    assert type_info(Wild).is_foreign
    assert type_info(np.matrix).is_foreign
    assert type_info(np.ma.MaskedArray).is_foreign
    assert not type_info(np.float64).is_foreign
    x = np.ones(2).view(Calm)
    assert np.all(rrule(np.multiply, x, x)[1](np.ones(2))[0] == 1)
    with pytest.raises(NoRuleError):
        rrule(np.multiply, np.ma.ones(2), np.ma.ones(2))


def test_one_record_for_each_class_and_no_frame_to_read_it():
    info = type_info(np.ndarray)
    assert info is type_info(np.ndarray)
    assert not hasattr(info, "__dict__")
    assert not hasattr(type_info, "__code__")  # a method of a dict
    assert info.namespace is np
    assert info.base is np.ndarray
    assert info.home is None  # NumPy makes scalars of numbers
    assert info.memory is not None
    assert info.library.own is not None


def test_of_a_tracer_it_is_known_what_its_payload_is_and_not_what_can_be_done_with_its_memory():
    from chainrules_tape import grad

    seen = []
    grad(lambda x: seen.append(type(x)) or np.sum(x))(np.ones(2))
    info = type_info(seen[0])
    assert issubclass(seen[0], Tracer)
    assert (info.dispatch_type, info.base, info.namespace) == (np.ndarray, np.ndarray, np)
    assert info.is_array
    assert info.memory is None
    assert info.library.mutable is None


class Fahrenheit(np.ndarray):
    """Follows its base in memory, and in nothing that holds for exactly one class."""


def test_subclasses_follow_in_memory_and_not_in_what_holds_for_one_class():
    info = type_info(Fahrenheit)
    assert info.base is np.ndarray
    assert info.memory is type_info(np.ndarray).memory
    assert info.library.mutable is info.library.own is info.library.sums is None
    assert finite_test((Fahrenheit,)) is None


class Late:
    """An array class that is registered after it was asked about."""


class Number:
    """A scalar of its library."""


def test_what_was_known_is_forgotten_when_something_is_stated():
    before, of_number = type_info(Late), type_info(Number)
    assert not before.is_array
    assert before.namespace is before.host is None
    register_array_type(Late, Library(np, devices=False, by_operations=True))
    register_scalar_type(Number, array=Late)
    register_host(Late, lambda primitive, classes, implementation: None, hidden=True)
    after = type_info(Late)
    assert after is not before
    assert after.is_array
    assert after.is_hidden
    assert after.by_operations
    assert not after.has_device
    assert after.namespace is np
    assert after.host is not None
    assert not of_number.is_number
    assert type_info(Number).is_number
    assert type_info(Number).zero_d_type is Late


class Raced:
    """Asked about by one thread while another registers it."""


def test_what_was_found_before_a_registration_is_not_kept_after_it(monkeypatch):
    asked, registered = threading.Event(), threading.Event()

    def stated(cls):
        if cls is Raced and not asked.is_set():  # read, and not yet entered
            asked.set()
            registered.wait(0.2)
        return number_home(cls)

    monkeypatch.setattr(module, "number_home", stated)

    def register():
        asked.wait(5)
        register_array_type(Raced, Library(np))
        registered.set()

    Array.register(Raced)  # so that the question above is asked
    thread = threading.Thread(target=register)
    thread.start()
    type_info(Raced)
    thread.join()
    assert Raced in libraries
    assert type_info(Raced).namespace is np


PYTHONS = (float, int, complex, bool, list, tuple, dict, set, str, bytes, type, type(None), range)
NO_SPACE = ({"sin": np.sin}, {}, "numpy", 3, [np], dict, print)


@pytest.mark.parametrize(
    "register, match",
    [
        (lambda: register_array_type(Bad(), Library(np)), "in place of a class"),
        (lambda: register_array_type(Bad, np), r"write register_array_type\(Bad, Library"),
        (lambda: register_array_type(Bad, Library(None)), "with the module"),
        (lambda: register_array_type(object, Library(np)), "of Python's own"),
        *[
            (lambda c=c: register_array_type(c, Library(np)), "its instances are numbers")
            for c in (np.float32, Decimal, Fraction)
        ],
        (lambda: register_array_type(Bad, Library(np, kind=3)), r"Library\(namespace\)"),
        (lambda: register_array_type(Bad, Library(np, kind=dict)), r"Library\(namespace\)"),
        (lambda: register_array_type(np.ndarray, Library(math)), "computes them already; derive"),
        *[(lambda s=s: register_array_type(Bad, Library(s)), "with the module") for s in NO_SPACE],
        *[(lambda c=c: register_array_type(c, Library(np)), "of Python's own") for c in PYTHONS],
        *[(lambda c=c: register_host(c, print), "of Python's own") for c in PYTHONS],
        *[
            (lambda c=c: register_scalar_type(c, array=np.ndarray), "of Python's own")
            for c in PYTHONS
        ],
        (lambda: register_scalar_type(1.0, array=np.ndarray), "in place of a class"),
        (lambda: register_scalar_type(Bad, array=str), "register it first"),
        (lambda: register_host(Bad(), print), "in place of a class"),
        (lambda: register_host(Bad, None), "a host is a callable"),
    ],
)
def test_what_is_no_statement_is_refused_and_nothing_is_registered(register, match):
    before = dict(libraries)
    with pytest.raises(RuleError, match=match):
        register()
    info = type_info(Bad)
    assert libraries == before
    assert not info.is_array
    assert not info.is_number
    assert info.host is None


def test_arrays_of_a_backend_that_is_not_loaded_are_refused():
    text = """
import math, numpy
from chainrules_py import RuleError
from chainrules_py.extend import Library, register_array_type

try:
    register_array_type(numpy.ndarray, Library(math))
except RuleError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert "numpy computes them already" in done.stdout


class Bad:
    """Never registered."""


class Again:
    """Registered twice."""


def test_what_is_stated_again_replaces_all_that_was_stated():
    first = Library(np, finite=lambda x: True, floats=(Number,), mutable=lambda x: True)
    register_array_type(Again, first)
    assert finite_test((Again, Number)) is first.finite
    register_array_type(Again, Library(np))
    assert finite_test((Again,)) is finite_test((Number,)) is None
    assert type_info(Again).library.mutable is None


def test_memory_is_that_of_the_nearest_base_that_states_one():
    class Base:
        pass

    class Derived(Base):
        pass

    memory = Memory(id, id, lambda x, like: x, lambda x, full: 0)
    register_array_type(Base, Library(np, memory=memory))
    register_array_type(Derived, Library(np))
    assert type_info(Derived).memory is memory
    assert type_info(Derived).base is Derived
