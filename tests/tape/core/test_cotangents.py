"""Sums of cotangents, asked little, are those of the core, and written to nobody's arrays."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py.extend import accumulate
from chainrules_tape import vjp
from chainrules_tape.core.cotangent_routing import Cotangents

SHAPE = (80, 80)
STEPS = (
    lambda x, y: x + y,
    lambda x, y: x + x,
    lambda x, y: x * x,
    lambda x, y: x - y * x,
    lambda x, y: x.T + y,
    lambda x, y: x[::-1] + x,
    lambda x, y: np.reshape(np.reshape(x, -1), SHAPE) + y,
    lambda x, y: np.where(x > y, x, y) + x,
    lambda x, y: np.sum(x, 1, keepdims=True) + y,
    lambda x, y: np.concatenate([x[:40], y[40:]]) * x,
    lambda x, y: 0.1 * (x @ y) + x,
    lambda x, y: x.copy(order="F") * y,
    lambda x, y: np.broadcast_to(x[0], SHAPE) + x,
)


def accumulated(bars, link, bar):
    """Add as the core adds tangents, whatever is known of their classes."""
    total = bars[link]
    if total is None:
        bars[link] = bar
        return
    bars[link], bars.owned[link] = accumulate(total, bar, bars.owned.get(link, False))
    change = bars.plain.add if bars.owned[link] is True else bars.plain.discard
    change(link)


def program(steps):
    """Build a function of two arrays; each step makes one of those that were made last another."""

    def f(x, y):
        for k in steps:
            x, y = y, np.tanh(STEPS[k](x, y))
        return x, y

    return f


def bits(answer):
    return [(a.strides, a.tobytes()) for a in answer]


@pytest.mark.parametrize(
    "seed", [*range(12), *[pytest.param(k, marks=pytest.mark.slow) for k in range(12, 200)]]
)
def test_sums_are_those_of_the_core(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    f = program(rng.integers(len(STEPS), size=rng.integers(2, 7)))
    (x, y), seeds = rng.normal(size=(2, *SHAPE)), tuple(rng.normal(size=(2, *SHAPE)))
    before = bits(seeds)
    _, pullback = vjp(f, x, y)
    first, second = pullback(seeds), pullback(seeds)
    assert bits(first) == bits(second)
    assert bits(seeds) == before
    monkeypatch.setattr(Cotangents, "add", accumulated)
    assert bits(pullback(seeds)) == bits(first)


def test_an_array_that_somebody_has_is_not_added_to():
    bars = Cotangents(2)
    for link in range(2):  # the second time it is known how such arrays are added
        mine, theirs = np.ones(SHAPE), np.ones(SHAPE)
        bars.add(link, mine)
        bars.add(link, theirs)
        bars.add(link, theirs)
        assert mine.min() == theirs.min() == mine.max() == theirs.max() == 1.0
        assert np.all(bars[link] == 3.0)


def test_what_is_doubled_is_doubled_once():
    x = np.linspace(0.0, 1.0, 6400).reshape(SHAPE)
    seed = np.full(SHAPE, 3.0)
    _, pullback = vjp(lambda x: x + x, x)
    for _ in range(2):
        (bar,) = pullback(seed)
        assert np.all(bar == 6.0)
        assert np.all(seed == 3.0)
        assert not np.shares_memory(bar, seed)


def test_numbers_are_added_to_no_array():
    bars = Cotangents(3)
    for link in range(3):
        for bar in (np.float64(1.0), np.float64(2.0), np.float64(3.0)):
            bars.add(link, bar)
        assert bars[link] == 6.0
        assert type(bars[link]) is np.float64
        assert link not in bars.plain
    bars.add(0, np.ones(3))
    bars.add(0, np.float64(1.0))
    np.testing.assert_array_equal(bars[0], np.full(3, 8.0))
