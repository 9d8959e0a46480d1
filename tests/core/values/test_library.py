"""What a library states of itself: each field is checked where it is written."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import RuleError
from chainrules_py.extend import Library, Memory, lazy_array_type, see
from chainrules_py.values.library import check_library
from chainrules_py.values.type_info import libraries

ROUND = {"owner": id, "layout": id, "laid_out": id, "fingerprint": id}


@pytest.mark.parametrize(
    "field, given, what",
    [
        ("namespace", None, "the module of the functions"),
        ("kind", np.ndarray, "made by lazy_array_type"),
        ("kind", "JaxArray", "made by lazy_array_type"),
        ("memory", {"owner": id}, "a Memory"),
        ("mutable", True, "callable"),
        ("own", 1, "callable"),
        ("finite", np.ones(2), "callable"),
        ("sums", "add", "callable"),
        ("floats", ("float64",), "a tuple of classes"),
        ("floats", np.float64, "a tuple of classes"),
        ("reads", np.ndarray, "a tuple of classes"),
        ("half", [abs], "a mapping"),
        ("adjoint", abs, "a mapping"),
        ("dots", abs, "beside sums"),
        ("devices", "x", "True or False"),
        ("by_operations", "y", "True or False"),
    ],
)
def test_a_field_that_is_not_what_it_has_to_be_is_named(field, given, what):
    with pytest.raises(RuleError, match=rf"Library\({field}=.*{field} has to be .*{what}"):
        check_library(Library(**{"namespace": np, field: given}))


@pytest.mark.parametrize("missing", ROUND)
def test_a_memory_says_all_that_a_guard_asks(missing):
    with pytest.raises(RuleError, match=rf"Memory\({missing}=None\): {missing} has to be callable"):
        check_library(Library(np, memory=Memory(**ROUND | {missing: None})))
    with pytest.raises(RuleError, match="lock has to be callable"):
        check_library(Library(np, memory=Memory(**ROUND, lock=True)))


def test_what_all_libraries_state_is_right():
    see(None, (np.ndarray,))
    assert np.ndarray in libraries
    for cls, library in libraries.items():
        assert isinstance(cls, type)
        check_library(library)


def test_a_library_needs_nothing_but_its_namespace():
    check_library(Library(np))
    check_library(Library(np, kind=lazy_array_type("Alone"), memory=Memory(**ROUND)))
