"""Where Python finds no memory for one object, whichever it is, nothing is left behind."""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import warnings

import pytest

from tests.faults.programs import PROGRAMS, answer, large, left_behind, pulled_again, quiet

memory = pytest.importorskip("_testcapi")
if not hasattr(os, "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)

# Functions in C that do not say why, locks, and the parser have other words for it.
NO_MEMORY = (MemoryError, SystemError, RuntimeError, SyntaxError)


def without(n, call) -> bool:
    """Make a call that finds no memory for its n-th object; tell whether it came to that."""
    memory.set_nomemory(n, n + 1)
    try:
        call()
        memory.remove_mem_hooks()
    except NO_MEMORY:
        return True
    finally:
        memory.remove_mem_hooks()
    return False


def outcome(program, n) -> int:
    """Return 0 where it did not come to that, 1 where all is well afterwards, and 2."""
    came = without(n, lambda: answer(program))
    return 2 if left_behind() or answer(program) != quiet()[program] else int(came)


def in_child(call) -> int:
    """Return an outcome in a child: what is compiled may crash without memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that have threads
        pid = os.fork()
    if pid == 0:
        came = 2
        try:
            gc.disable()
            faulthandler.disable()
            came = call()
        finally:
            os._exit(came)
    status = os.waitpid(pid, 0)[1]
    return 1 if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def sweep(call) -> int:
    """Return the worst outcome of one object after the other, until it came to that no more."""
    outcomes = [1]
    while any(outcomes[-8:]) and outcomes[-1] < 2:
        outcomes.append(call(len(outcomes)))
    return max(outcomes)


def test_large_arrays_are_given_back():
    """That is among the last that a gradient does, so the last objects are tried."""

    def last():
        most = 1
        while outcome(large, most) == 1:
            most += 32
        return max([outcome(large, n) for n in range(max(1, most - 96), most)])

    quiet()
    assert in_child(last) == 1


# An inner function that finds no memory: CPython 3.12 and 3.13 release its code twice, so that the
# next call of the outer function crashes or reads other constants.
SAFE_DEF = pytest.mark.skipif(
    sys.version_info[:2] in ((3, 12), (3, 13)),
    reason="CPython 3.12 and 3.13 free the code of an inner function that finds no memory",
)


@SAFE_DEF
def test_a_pullback_gives_the_records_back():
    quiet()
    assert in_child(lambda: sweep(lambda n: outcome(pulled_again, n))) == 1


@SAFE_DEF
@pytest.mark.nightly
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_memory_for_one_object(program):
    quiet()
    assert sweep(lambda n: in_child(lambda: outcome(program, n))) == 1
