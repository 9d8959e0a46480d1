"""Cotangents of element-by-element rules are as wide as operands, whatever a partial is made of."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import frule, primitive, rrule, scalar_rule

NARROW = [np.float16, np.float32, np.complex64]


def stated(n):
    @primitive
    def one(x):
        return 1 * x

    @primitive
    def two(x, y):
        return x * y

    step = lambda x: v.where(abs(x) > 0, 1.0, 0.0) * np.float64(1.0)
    if n == 1:
        scalar_rule(one, lambda _y, x: step(x), complex="holomorphic")
        return one
    scalar_rule(
        two, lambda _z, x, y: y * step(x), lambda _z, x, y: x * step(y), complex="holomorphic"
    )
    return two


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("shapes", [[(3,)], [()], [(3,), (3,)], [(3,), (2, 3)], [(), (2,)]])
def test_wide_partials_give_cotangents_of_the_operands(dtype, shapes):
    xs = [np.full(shape, 2, dtype) for shape in shapes]
    f = stated(len(xs))
    y, pullback = rrule(f, *xs)
    bars = pullback(np.ones_like(y))
    assert [bar.dtype for bar in bars] == [x.dtype for x in xs]
    assert [bar.shape for bar in bars] == [x.shape for x in xs]
    _, y_dot = frule(tuple(np.ones_like(x) for x in xs), f, *xs)
    assert y_dot.dtype == y.dtype


def test_the_numbers_are_those_of_the_partials():
    x, w = np.asarray([2.0, 0.0], np.float32), np.asarray([[3.0, 5.0]], np.float32)
    _, pullback = rrule(stated(2), x, w)
    x_bar, w_bar = pullback(np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(x_bar, [3.0, 0.0])
    np.testing.assert_array_equal(w_bar, [[2.0, 0.0]])
