"""Nested structures taken apart into leaves, and put together again."""

from __future__ import annotations

import itertools
import pickle
import sys

import numpy as np
import pytest

from chainrules_py.tangents.structural import Tangent
from chainrules_py.values.pytree import (
    exactly,
    flatten,
    map_leaves,
    partition,
    unflatten,
)
from chainrules_py.values.structure import (
    fields_of,
    is_structure_type,
    register_leaf,
    register_structure,
)
from tests.core.values.test_structure import (
    Attrs,
    Frozen,
    Named,
    Plain,
    TupleSubclass,
    registrations,  # noqa: F401
    structures,
)

X = np.array([0.4, 1.1, -0.7])


def is_array(x):
    return isinstance(x, np.ndarray)


@structures
def test_flatten_and_unflatten_are_inverse(x, keys):
    nested = [x, (3.0, {"x": x}), "text", None]
    leaves, treedef = flatten(nested)
    assert leaves == [1.0, 2.0, 3.0, 1.0, 2.0, "text", None]
    again = unflatten(treedef, [leaf if leaf != 3.0 else 30.0 for leaf in leaves])
    assert type(again[0]) is type(x)
    assert fields_of(again[0]) == fields_of(x)
    assert again[1][0] == 30.0
    assert flatten(again)[1] == treedef
    assert hash(flatten(again)[1]) == hash(treedef)


def test_is_leaf_keeps_values_whole():
    leaves, treedef = flatten([(1.0, 2.0), {"a": (3.0,)}], is_leaf=lambda x: type(x) is tuple)
    assert leaves == [(1.0, 2.0), (3.0,)]
    assert repr(treedef) == "TreeDef([*, {'a': *}])"


@pytest.mark.parametrize(
    "x, picture",
    [
        (1.0, "*"),
        ((), "()"),
        ((1.0,), "(*,)"),
        ([1.0, (2.0, 3.0)], "[*, (*, *)]"),
        ({"a": 1.0, 2: []}, "{'a': *, 2: []}"),
        (Plain(1.0, [2.0]), "Plain(a=*, b=[*])"),
        (Named(1.0, 2.0), "Named(a=*, b=*)"),
        (TupleSubclass((1.0, 2.0)), "TupleSubclass(*, *)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_treedef_prints_the_shape(x, picture):
    assert repr(flatten(x)[1]) == f"TreeDef({picture})"


@pytest.mark.parametrize(
    "x, y",
    [
        ((1.0,), [1.0]),
        ((1.0,), (1.0, 2.0)),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
        (Plain(1.0, 2.0), Frozen(1.0, 2.0)),
        ([1.0], [[1.0]]),
        ((), None),
    ],
    ids=repr,
)
def test_treedefs_differ(x, y):
    assert flatten(x)[1] != flatten(y)[1]
    assert flatten(x)[1] != x


def test_a_treedef_keeps_no_leaf_alive():
    array = np.ones(3)
    before = sys.getrefcount(array)
    treedef = flatten({"a": [array], "b": Plain(array, 1.0), "c": Attrs(array, 1.0)})[1]
    assert sys.getrefcount(array) == before
    assert treedef.num_leaves == 5


def test_a_treedef_of_what_is_registered_keeps_only_what_is_looked_at():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    class Hollow(Box):
        pass

    made = lambda x, values: type(x)(*values)
    register_structure(Box, lambda x: [("inside", x.inside)], made)
    register_structure(Hollow, lambda x: [("inside", x.inside)], made, hollow=True)
    for cls, kept in ((Box, 1), (Hollow, 0)):
        array = np.ones(3)
        before = sys.getrefcount(array)
        leaves, treedef = flatten((cls([array]), 2.0))
        assert unflatten(treedef, leaves)[0].inside[0] is array
        del leaves
        assert (sys.getrefcount(array) > before) is bool(kept)


@pytest.mark.parametrize("leaves", [[], [1.0], [1.0, 2.0, 3.0]])
def test_unflatten_checks_the_number_of_leaves(leaves):
    treedef = flatten((1.0, 2.0))[1]
    with pytest.raises(ValueError, match=f"takes 2 leaves, not {len(leaves)}"):
        unflatten(treedef, leaves)


VALUES = [
    X,
    2.0,
    "text",
    (X, 2.0, X),
    {"w": [X, {"b": X}], "name": "layer", "n": 3},
    [(), [], {}],
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_partition_keeps_the_rest_in_the_shape(value):
    arrays, treedef = partition(value, is_array)
    assert all(map(is_array, arrays))
    assert treedef.num_leaves == len(arrays)
    assert repr(unflatten(treedef, arrays)) == repr(value)
    assert treedef.paths() == [path for path, x in walked(value) if is_array(x)]


def walked(x, path=()):
    """The leaves with their paths, by plain recursion."""
    if not is_structure_type(type(x)):
        return [(path, x)]
    return [pair for key, field in fields_of(x) for pair in walked(field, (*path, key))]


@pytest.mark.parametrize("n", [0, 1, 15, 16, 40])
def test_tuples_of_leaves_of_any_length(n):
    leaves, treedef = flatten(tuple(range(n)))
    assert leaves == [*range(n)]
    assert unflatten(treedef, leaves) == tuple(range(n))
    assert treedef == flatten(tuple(leaves), lambda x: False)[1]
    assert treedef.paths() == [(i,) for i in range(n)]


def test_tangents_are_taken_apart():
    t = Tangent[tuple](1.0, {"a": 2.0}, length=4)
    leaves, treedef = flatten({"t": t})
    assert leaves == [1.0, 2.0]
    assert treedef.paths() == [("t", 0), ("t", 1, "a")]
    again = unflatten(treedef, [3.0, 4.0])["t"]
    assert type(again) is type(t)
    assert len(again) == 4
    assert again[1] == {"a": 4.0}


def test_registration_is_noticed():
    class Box:
        def __init__(self, inside):
            self.inside = inside

    box = Box(1.0)
    assert flatten((box,))[0] == [box]
    register_structure(Box, lambda x: [("inside", x.inside)], lambda x, values: Box(*values))
    assert flatten((box,))[0] == [1.0]
    register_leaf(Box)
    assert flatten((box,))[0] == [box]


def test_leaves_are_mapped():
    assert map_leaves(lambda x: 2 * x, [1.0, {"a": (2.0,)}]) == [2.0, {"a": (4.0,)}]


def test_what_does_not_change_is_itself():
    x = [1.0, {"a": (2.0,)}]
    assert map_leaves(lambda x: x, x) is x


def test_keys_tell_types_and_signs():
    values = (1, True, 1.0, "1", None, 0.0, -0.0, (1, 2), (1, True), (0.0,), (-0.0,))
    keys = [exactly(value) for value in values]
    assert all(a != b for a, b in itertools.combinations(keys, 2))
    assert partition(X, is_array)[1].key() == "leaf"
    assert partition(1, is_array)[1].key() != partition(True, is_array)[1].key()
    assert partition([X], is_array)[1].key() is None


@pytest.mark.parametrize(
    "x", [{"a": 1.0}, [1.0, (2.0,)], Named(1.0, 2.0)], ids=["dict", "list", "named"]
)
def test_treedefs_are_pickled(x):
    tree = flatten(x)[1]
    assert pickle.loads(pickle.dumps(tree)) == tree
