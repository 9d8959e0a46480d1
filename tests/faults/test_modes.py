"""What holds in a ``with`` block holds there alone, in whatever order blocks end."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import itertools
import random
import threading

import pytest

from chainrules_py.vocabulary import strict
from chainrules_py.vocabulary.reporting import is_strict
from chainrules_tape import debug_nans
from chainrules_tape.inspect.nans import trap, trap_is_set

MODES = pytest.mark.parametrize("block, holds", [(strict, is_strict), (debug_nans, trap_is_set)])


def inside(block, *args):
    with block(*args):
        while True:
            yield


@MODES
def test_of_one_thread_and_task(block, holds):
    found = []

    async def task(k):
        with block():
            await asyncio.sleep(0.001 * k)  # the blocks of the tasks end in another order
            found.append(holds())
        await asyncio.sleep(0.002)
        found.append(not holds())

    async def every():
        await asyncio.gather(*map(task, range(5)))

    with block():
        thread = threading.Thread(target=lambda: found.append(not holds()))
        thread.start()
        thread.join()
        inherited = contextvars.copy_context()
    asyncio.run(every())
    assert found == [True] * 11
    assert inherited.run(holds)
    assert not holds()


@MODES
@pytest.mark.parametrize("seed", range(20))
def test_generators_end_in_any_order(block, holds, seed):
    rng = random.Random(seed)
    going_on = []
    for _ in range(200):
        if going_on and rng.random() < 0.5:
            end = going_on.pop(rng.randrange(len(going_on))).close
            elsewhere = rng.choice((contextvars.Context, contextvars.copy_context))()
            rng.choice((end, functools.partial(elsewhere.run, end)))()
        else:
            going_on.append(inside(block))
            next(going_on[-1])
        assert holds() == bool(going_on)
    while going_on:
        going_on.pop(0).close()
    assert not holds()


def test_the_innermost_that_goes_on_counts():
    for on in itertools.product((True, False), repeat=4):
        blocks = [inside(strict, each) for each in on]
        for block in blocks:
            next(block)
        blocks[3].close()
        blocks[1].close()
        assert is_strict() == on[2]
        blocks[2].close()
        assert is_strict() == on[0]
        blocks[0].close()
        assert not is_strict()


def test_blocks_that_are_over_are_gone():
    first = inside(strict)
    next(first)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        second = inside(strict)
        next(second)
        first.close()
        first = second
    first.close()
    assert len(gc.get_objects()) < before + 100
    assert not is_strict()


def test_a_decorator():
    @strict()
    def twice(n):
        return is_strict() and (n == 0 or twice(n - 1))

    assert twice(3)
    assert not is_strict()


def test_blocks_that_are_over_cost_no_later_call():
    first, second = inside(debug_nans), inside(debug_nans)
    for block in (first, second):
        next(block)
    first.close()
    second.close()
    assert not trap_is_set()
    assert trap.entered() is None
