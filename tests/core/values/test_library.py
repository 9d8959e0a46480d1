"""What a library states of itself: its namespace, and what else it has."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

from chainrules_py.extend import see
from chainrules_py.values.library import is_namespace
from chainrules_py.values.type_info import libraries


@pytest.mark.parametrize("space", [np, math, types.SimpleNamespace(), type("Space", (), {})])
def test_a_namespace_is_a_module_or_an_object_of_a_class(space):
    assert is_namespace(space)


@pytest.mark.parametrize("space", [None, "numpy", {"sin": math.sin}, float, abs])
def test_no_namespace_is_a_value_or_a_function_of_python(space):
    assert not is_namespace(space)


def test_all_libraries_have_one():
    see(None, (np.ndarray,))
    assert np.ndarray in libraries
    assert all(is_namespace(library.namespace) for library in libraries.values())
