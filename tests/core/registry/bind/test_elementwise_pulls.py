"""Cotangents of element-by-element rules are as wide as operands, whatever a partial is made of."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import frule, primitive, rrule, scalar_rule
from chainrules_tape import grad

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


BESIDE = {
    "times": operator.mul,
    "over": operator.truediv,
    "power": operator.pow,
    "angle": np.arctan2,
    "most": np.maximum,
    "both": lambda x, p: x * p + p - x / (p + 1.5),
}


@pytest.mark.parametrize("f", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.longdouble, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_cotangents_of_numbers_beside_arrays_are_those_of_arrays_without_axes(f, dtype, shape):
    if dtype is np.complex128 and f in (np.arctan2, np.maximum):
        pytest.skip("a function of real numbers")
    size = int(np.prod(shape))
    x = np.linspace(1.0, 2.0, size).reshape(shape).astype(dtype)
    weights = np.arange(1.0, size + 1).reshape(shape)
    for order in (f, lambda x, p: f(p, x)):
        loss = lambda p, x, order=order: np.sum(np.real(order(x, p)) * weights)
        for places in [(0,)] if dtype is np.int64 else [(0,), (0, 1)]:
            found, known = (grad(loss, places)(p, x) for p in (1.25, np.array(1.25)))
            assert type(found[0]) in (float, np.float64)
            for a, b in zip(found, known, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)
