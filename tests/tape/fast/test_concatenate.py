"""Joined arrays: the cotangents of arrays that are not used are not pulled any further."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import LinearMap, NoTangent, primitive, rule
from chainrules_py import ops as v
from chainrules_tape import Tape, grad, jacobian, vjp
from tests.plain import needs_short_ways

X = np.array([0.5, 1.5, 2.5])
CALLED: list[float] = []


@primitive
def counted(x, k):
    return k * x * x


@rule(counted)
def counted_rule(x: np.ndarray, k: float):
    def pull(y_bar):
        CALLED.append(k)
        return 2.0 * k * x * y_bar

    return k * x * x, (LinearMap(None, pull), NoTangent())


JOINS = {
    "concatenate": (np.concatenate, lambda y: y[:3]),
    "along the last axis": (
        lambda ys: np.concatenate([y[None] for y in ys], 1),
        lambda y: y[0, :3],
    ),
    "stack": (np.stack, lambda y: y[0]),
    "stack, second axis": (lambda ys: np.stack(ys, axis=1), lambda y: y[:, 0]),
}


@needs_short_ways
@pytest.mark.parametrize("name", JOINS)
def test_pulls_of_what_is_not_used_are_not_called(name):
    join, first = JOINS[name]
    CALLED.clear()
    found = grad(lambda x: np.sum(first(join([counted(x, k) for k in (1.0, 2.0, 3.0, 4.0, 5.0)]))))(
        X
    )
    assert found.tolist() == (2.0 * X).tolist()
    assert CALLED == [1.0]


@pytest.mark.parametrize("last", [1, 4, 5, 8, 14, 15])
@pytest.mark.parametrize("axis", [0, 1])
def test_of_a_cotangent_that_ends_with_zeros(last, axis):
    x = np.outer(X, [1.0, 2.0, 3.0])
    weights = np.zeros((15, 3))
    weights[last - 1] = [0.0, 1.0, 0.0]
    weights = weights if axis == 0 else weights.T
    parts = lambda x: [k * x * x for k in (1.0, 2.0, 3.0, 4.0, 5.0)]
    _, pull = vjp(lambda x: np.concatenate(parts(x), axis=axis), x)
    truth = sum(
        2.0 * k * x * w
        for k, w in zip((1, 2, 3, 4, 5), np.split(weights, 5, axis=axis), strict=True)
    )
    np.testing.assert_allclose(pull(weights)[0], truth, rtol=1e-15)


def test_of_arrays_without_elements_and_of_all_directions():
    assert grad(lambda x: np.sum(np.concatenate([x[:0], x[:0], x[:0]])))(X).tolist() == [0, 0, 0]
    rows = jacobian(lambda x: np.concatenate([x, x * x, 3.0 * x])[:4])(X)
    assert rows.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [2.0 * X[0], 0, 0]]


@needs_short_ways
@pytest.mark.parametrize("join", [v.stack, lambda *xs: v.concat(*[x[None] for x in xs])])
def test_operations_join_in_a_time_that_does_not_grow_with_the_square(join):
    """Each record keeps one place for each operand, and no pull is given all operands."""
    x = np.linspace(0.5, 1.5, 50)
    with Tape() as tape:
        parts = tape.variable(x)
        join(*[part * part for part in parts])
        record = tape[-1]
    assert len(record) == 3
    assert len(record[2]) == 50
    np.testing.assert_allclose(grad(lambda x: np.sum(join(*[p * p for p in x]) * x))(x), 3 * x * x)


def test_what_is_left_out_of_a_join_is_used_elsewhere():
    def f(x):
        y, z = x * x, 3.0 * x
        return np.sum(np.concatenate([y, z])[:3]) + np.sum(z) + np.sum(z * y)

    assert grad(f)(X).tolist() == pytest.approx(2.0 * X + 3.0 + 9.0 * X**2)
