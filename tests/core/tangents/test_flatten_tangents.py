"""Tangents taken apart along the shape of their primal, and put together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from chainrules_py.tangents.flatten_tangents import flatten_tangent, unflatten_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent
from chainrules_py.values.pytree import flatten, partition

X = np.array([0.4, 1.1, -0.7])


def is_array(x):
    return isinstance(x, np.ndarray)


@dataclasses.dataclass
class Layer:
    w: object
    name: str = "layer"


@pytest.mark.parametrize(
    "value",
    [
        X,
        2.0,
        "text",
        (X, 2.0, X),
        {"w": [X, {"b": X}], "name": "layer", "n": 3},
        [(), [], {}],
    ],
    ids=str,
)
def test_entries_of_tangents(value):
    _, treedef = partition(value, is_array)
    tangent = unflatten_tangent(treedef, range(treedef.num_leaves))
    assert flatten_tangent(treedef, tangent) == [*range(treedef.num_leaves)]
    assert all(isinstance(t, ZeroTangent) for t in flatten_tangent(treedef, ZeroTangent()))


def test_what_does_not_move_has_a_zero():
    _, treedef = partition({"a": X, "b": 1.0, "c": "text"}, is_array)
    tangent = unflatten_tangent(treedef, [2 * X])
    assert isinstance(tangent, Tangent)
    assert tangent.primal_type is dict
    assert tangent["a"] is not None
    assert isinstance(tangent["b"], ZeroTangent)
    assert isinstance(tangent["c"], NoTangent)


def test_people_get_containers_as_they_gave_them():
    _, treedef = partition(({"a": [X, 1.0]}, Layer(X)), is_array)
    d, layer = unflatten_tangent(treedef, [2.0, 3.0], plain=True)
    assert d == {"a": [2.0, ZeroTangent()]}
    assert isinstance(layer, Tangent[Layer])
    assert (layer.w, layer.name) == (3.0, NoTangent())
    of_machinery = unflatten_tangent(treedef, [2.0, 3.0])
    assert isinstance(of_machinery[0]["a"], Tangent[list])
    assert len(of_machinery[0]["a"]) == 2


def test_a_tangent_of_a_tangent_has_its_form():
    gradient = Tangent[list](1.0, 2.0, length=5)
    _, treedef = flatten(gradient)
    for plain in (True, False):
        again = unflatten_tangent(treedef, [3.0, 4.0], plain=plain)
        assert type(again) is type(gradient)
        assert len(again) == 5
    assert flatten_tangent(treedef, again) == [3.0, 4.0]


def test_thunks_are_computed_and_what_is_absent_is_zero():
    _, treedef = flatten({"a": (1.0, 2.0), "b": 3.0, "c": [4.0]})
    t = Thunk(lambda: Tangent[dict]({"a": Tangent[tuple](Thunk(lambda: 5.0)), "b": 6.0}))
    assert flatten_tangent(treedef, t) == [5.0, ZeroTangent(), 6.0, ZeroTangent()]
