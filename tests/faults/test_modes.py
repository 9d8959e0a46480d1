"""What holds in a ``with`` block holds there alone."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from chainrules_py.ops import strict
from chainrules_py.ops.degeneracy_reports import is_strict
from chainrules_tape import debug_nans
from chainrules_tape.inspect.kept_calls import trap_is_set

MODES = pytest.mark.parametrize("block, holds", [(strict, is_strict), (debug_nans, trap_is_set)])


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


def test_a_decorator():
    @strict()
    def twice(n):
        return is_strict() and (n == 0 or twice(n - 1))

    assert twice(3)
    assert not is_strict()
