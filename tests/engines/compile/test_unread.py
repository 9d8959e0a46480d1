"""Parts of arrays that are written to, in whole programs: random ones, with the bits of NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.passes import FOR_NUMPY, PASSES
from chainrules_compile.passes.from_zero import with_sums_from_zero
from chainrules_compile.passes.unread import without_unread
from chainrules_py.extend import flatten
from chainrules_tape import jvp, value_and_grad

UNARY = (np.sin, np.tanh, np.negative, lambda v: v * 0.5, lambda v: v * v, lambda v: -v * 0.0)
BINARY = (np.add, np.subtract, np.multiply)


def numbers(rng, *shape):
    """Return numbers, many of them zeros of both signs."""
    x = rng.normal(size=shape)
    x[rng.random(shape) < 0.2] = -0.0
    x[rng.random(shape) < 0.1] = 0.0
    return x


def plan_of(rng, rows):
    """Return what a random function does: at which rows, by which functions."""
    plan = []
    for _ in range(rng.integers(4, 30)):
        i, j, k = map(int, rng.integers(0, rows, 3))
        low, high = sorted(map(int, rng.integers(0, rows + 1, 2)))
        which = int(rng.integers(0, 8))
        f, g = int(rng.integers(len(UNARY))), int(rng.integers(len(BINARY)))
        plan.append((which, i, j, k, low, high, f, g))
    return plan


def function_of(plan):
    """Return a function that writes to rows of an array, and reads them."""

    def f(x):
        y, value = np.zeros_like(x), 0.0
        for which, i, j, k, low, high, f, g in plan:
            one, two = UNARY[f], BINARY[g]
            if which == 0:
                y[i] = two(one(x[j]), y[k])
            elif which == 1:
                y[i] = one(x[j])
            elif which == 2:
                y[low:high] = one(x[low:high])
            elif which == 3:
                y[i] += one(y[j])
            elif which == 4:
                y[low:high] -= two(x[low:high], y[low:high])
            elif which == 5:
                value = value + np.sum(one(y[i]) * x[j])
            elif which == 6:
                value = value + np.sum(two(y[low:high], x[low:high]))
            else:
                y[i] = 0.0
        return value + np.sum(y[:2] * x[1:3])

    return f


def agrees(g, *args):
    """Compare all bits of a compiled function, called with two sets of numbers."""
    compiled = compile(g)
    for given in (args, [x[::-1].copy() for x in args], args):
        before = [x.copy() for x in given]
        for a, b in zip(flatten(compiled(*given))[0], flatten(g(*given))[0], strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for x, was in zip(given, before, strict=True):
            assert x.tobytes() == was.tobytes()
    return compiled.source


def runs(seed):
    rng = np.random.default_rng(seed)
    shape = ((9,), (7, 3), (6, 2, 2))[seed % 3]
    f, x = function_of(plan_of(rng, shape[0])), numbers(rng, *shape)
    agrees(f, x)
    agrees(value_and_grad(f), x)
    agrees(lambda x, t: jvp(f, (x,), (t,)), x, numbers(rng, *shape))


@pytest.mark.parametrize("seed", range(24))
def test_functions_that_write_to_rows_have_their_bits(seed):
    runs(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1100, 10))
def test_many_functions_that_write_to_rows_have_their_bits(seed):
    for each in range(seed, seed + 10):
        runs(each)


@pytest.mark.parametrize("seed", range(9))
def test_functions_of_parts_have_their_bits(seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, 60), 12, replace=False)).tolist()
    ones = [*[UNARY[k] for k in rng.integers(0, len(UNARY), 12)], np.sin]

    def f(x):
        parts = [x[a:b] for a, b in zip([0, *cuts], [*cuts, 60], strict=True)]
        return sum([np.sum(one(part)) for one, part in zip(ones, parts, strict=True)])

    def rows(x):
        return sum([np.sum(one(x[k]) * x[k]) for k, one in enumerate(ones)])

    source = agrees(value_and_grad(f), numbers(rng, 60))
    assert "part = " not in source
    assert "number" in source
    agrees(value_and_grad(rows), numbers(rng, 13, 4))


def filtered(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + np.sin(x[i])
    return np.sum(y * y)


def test_a_filter_in_place_writes_each_row_once():
    x = numbers(np.random.default_rng(0), 40, 9)
    source = agrees(value_and_grad(filtered), x)
    assert "] = 0" not in source
    assert source.count(".copy()") < 2
    assert re.search(r"add\(v\d+, v\d+, v\d+\[", source)
    assert PASSES["unread"] is without_unread
    assert PASSES["from zero"] is with_sums_from_zero
    assert "from zero" in FOR_NUMPY


def test_what_is_written_into_a_part_is_of_its_form():
    def f(x):
        y, z = x * 2.0, np.zeros_like(x)
        y[1] = np.sin(x[0, 0]) + np.tanh(x[2])  # all of a row
        y[:, 2] = np.exp(y[:, 0])  # with gaps, where sines may have other bits
        y[2:4] = x[0] * 3.0  # each of two rows
        y[3, 1:3] = x[1, :2] - y[2, 3:5]
        y[4] = np.sum(x) * 2.0
        z[1:4, 1:] = x[:3, 1:] * y[1:4, :4]
        z[0, ::2] = x[0, ::2] + 1.0
        z[::-1] = np.sin(x)
        return np.sum(y) + np.sum(z * x), y, z

    x = numbers(np.random.default_rng(0), 5, 5)
    agrees(f, x)
    agrees(f, x.astype(np.float32))
    agrees(value_and_grad(lambda x: f(x)[0]), x)
