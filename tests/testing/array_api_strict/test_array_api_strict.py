"""array-api-strict on its second device: what goes in as a strict array comes out as one, there."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_tape as tape
from chainrules_py import (
    LinearMap,
    Primitive,
    ZeroTangent,
    frule,
    ops,
    primitive,
    project,
    rrule,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import namespace
from chainrules_py.tangents.arithmetic import accumulate
from chainrules_py.tangents.space import kind_of, spread
from chainrules_py.testing import backend, to_numpy
from chainrules_py.values.type_info import is_mutable_destination

xp = pytest.importorskip("array_api_strict")

import chainrules_py.testing.array_api_strict.implementations as strict  # noqa: E402

ON = backend("array_api_strict:device1")
X = ON.asarray(np.random.default_rng(2).standard_normal((2, 3)))
Array = type(X)


def is_there(*arrays):
    return all(type(x) is Array and x.device == ON.device for x in arrays)


def test_namespace_is_the_library():
    assert namespace(X) is xp


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "int64", "bool"])
def test_dtypes_of_two_libraries_are_kept_apart(name):
    """They have one hash, and a strict dtype warns when it is compared with one of NumPy's."""
    here, there = np.ones(2, getattr(np, name, name)), xp.ones(2, dtype=getattr(xp, name))
    assert kind_of(here) == kind_of(there)
    assert kind_of(there) == kind_of(here)


def test_both_modes_stay_on_the_device():
    y, y_dot = frule((X,), v.sin, X)
    _, pullback = rrule(v.multiply, X, ON.asarray(np.ones(3)))
    assert is_there(y, y_dot, *pullback(X))


def test_number_against_array():
    """The tangent of a number has no device; that of the result has."""
    y, y_dot = frule((ZeroTangent(), 1.0), v.add, X, 2.0)
    assert is_there(y, y_dot)
    np.testing.assert_array_equal(to_numpy(y_dot), np.ones((2, 3)))
    assert to_numpy(tape.grad(lambda c: v.sum(v.add(X, c)))(2.0)) == 6.0


@pytest.mark.parametrize("library", ["numpy", "array_api_strict:device1"])
def test_number_is_spread_over_an_array(library):
    like = backend(library).asarray(np.zeros((2, 3), np.float32))
    t = spread(2.0, like)
    assert t.dtype == like.dtype
    np.testing.assert_array_equal(to_numpy(t), np.full((2, 3), 2.0))


def test_number_in_forward_over_forward():
    f = lambda c: v.sum(v.sin(v.add(X, c)))
    second = tape.jvp(lambda c: tape.jvp(f, (c,), (1.0,))[1], (0.3,), (1.0,))[1]
    np.testing.assert_allclose(to_numpy(second), -np.sin(to_numpy(X) + 0.3).sum())


def test_integer_that_a_rule_gives_a_number_becomes_a_float():
    assert type(project(0, 1.5)) is float


def test_two_devices_do_not_mix():
    other = xp.asarray(to_numpy(X))
    with pytest.raises(ValueError, match="devices"):
        v.scatter_add(X, other[0, :], index=v.Index.split(0)[0])


def test_results_are_the_persons():
    """What a pullback returns can be written to without changing anything of the caller's."""
    _, pullback = rrule(v.sum, X)
    before = to_numpy(X).copy()
    (bar,) = pullback(xp.asarray(1.0, device=ON.device))
    bar[0, 0] = 7.0
    assert to_numpy(bar)[0, 1] == 1.0
    np.testing.assert_array_equal(to_numpy(X), before)


def test_cotangent_that_is_the_callers_array_is_copied():
    _, pullback = rrule(v.positive, X)
    y_bar = xp.asarray(X, copy=True)
    (bar,) = pullback(y_bar)
    bar[0, 0] = 7.0
    assert to_numpy(y_bar)[0, 0] != 7.0


def test_sums_are_accumulated_in_place():
    total, owned = accumulate(X, X, False)
    assert owned is True
    again, _ = accumulate(total, X, owned)
    assert again is total
    np.testing.assert_allclose(to_numpy(total), 3 * to_numpy(X))


def test_broadcast_views_are_no_destination():
    assert is_mutable_destination(X)
    assert not is_mutable_destination(xp.broadcast_to(xp.asarray(1.0), (3,)))


@pytest.mark.parametrize("index", [(slice(None), [0, 0, 1]), ([0, 1], [2, 2]), (0, ...), (None, 0)])
def test_indices_beyond_the_standard(index):
    lists = tuple(ON.asarray(i) if isinstance(i, list) else i for i in index)
    gradient = tape.grad(lambda x: v.sum(v.index(x, lists) ** 2))(X)
    assert is_there(gradient)
    expected = np.zeros((2, 3))
    np.add.at(expected, index, 2 * to_numpy(X)[index])
    np.testing.assert_allclose(to_numpy(gradient), expected)


def test_boolean_mask():
    mask = ON.asarray(to_numpy(X) > 0)
    gradient = tape.grad(lambda x: v.sum(v.index(x, mask) * 2.0))(X)
    np.testing.assert_array_equal(to_numpy(gradient), 2.0 * (to_numpy(X) > 0))


def test_operators_between_arrays_and_tracers():
    """The library raises at operands it does not know; tracers are let through, others are not."""
    gradient = tape.grad(lambda x: v.sum(X * x + X / (x * x + 2.0) - X))(X)
    assert is_there(gradient)
    with pytest.raises(TypeError, match="Expected Array or Python scalar"):
        X * np.float64(2.0)


def test_a_users_rule_is_found_by_payload_at_every_level():
    """A rule with a planted factor 10, of strict arrays alone, at first and at second order."""

    @primitive
    def planted(x, /):
        return v.sin(x)

    @rule(planted)
    def planted_rule(x):
        half = lambda t, x: 10.0 * t * v.cos(x)
        return v.sin(x), (LinearMap(half, half, x),)

    @rule(planted)
    def planted_rule_strict(x: Array):
        half = lambda t, x: 100.0 * t * v.cos(x)
        return v.sin(x), (LinearMap(half, half, x),)

    def loss(x):
        return v.sum(planted(x))

    cos, sin = np.cos(to_numpy(X)), np.sin(to_numpy(X))
    np.testing.assert_allclose(to_numpy(tape.grad(loss)(X)), 100 * cos)
    outer = tape.grad(lambda x: v.sum(tape.grad(loss)(x)))
    np.testing.assert_allclose(to_numpy(outer(X)), -100 * sin)
    forward = tape.jvp(tape.grad(loss), (X,), (X,))[1]
    np.testing.assert_allclose(to_numpy(forward), -100 * sin * to_numpy(X))
    np.testing.assert_allclose(tape.grad(loss)(to_numpy(X)), 10 * cos)


@pytest.mark.parametrize(
    "operation",
    [w for w in vars(ops).values() if isinstance(w, Primitive) and not w.variadic],
    ids=lambda w: w.__name__,
)
def test_operation_is_computed(operation):
    """By the standard, by a body, or by what NumPy computes on the buffer inside."""
    classes = (Array,) * max(1, len(operation.operands))
    assert operation.implementation(classes) is not None


def test_standard_operations_are_left_to_the_standard():
    assert strict.is_of_the_standard(v.sin)
    assert v.sin.implementation((Array,)) is xp.sin
