"""Interrupts at any instant leave nothing behind, and change no later answer."""

from __future__ import annotations

import _thread
import functools
import operator
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ops as v
from chainrules_py.primitives.method_table import Cache, invalidate
from chainrules_py.values.caches import forget
from chainrules_py.values.locks_and_modes import Lock
from chainrules_tape import value_and_grad
from tests.faults.interrupts import (
    AtPoint,
    Interrupt,
    at_points,
    by_exception,
    by_signal,
    handled_at_points,
    interrupt,
    interrupted,
    points_of,
)
from tests.faults.programs import PROGRAMS, X, answer, left_behind, pulled_again, quiet

ROOT = Path(__file__).resolve().parents[2]
TIMER = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer that sends signals")
silenced = compile(value_and_grad(lambda x, y: np.sum(np.sqrt(np.sqrt(x / y) / y) / y * 0.0)))

HOW = [pytest.param(by_signal, 130, marks=TIMER), (by_exception, 26)]


@pytest.mark.parametrize("how, trials", HOW)
def test_an_interrupt_changes_nothing_that_comes_after_it(how, trials):
    came, faults = interrupted(how, trials, seed=17)
    assert came
    assert faults == []


@pytest.mark.nightly
@pytest.mark.parametrize("how, trials", HOW)
def test_20000_interrupts(how, trials):
    came, faults = interrupted(how, 20_000, seed=18)
    assert came > 10_000
    assert faults == []


@pytest.mark.parametrize("step", [300, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_interrupt_at_any_point(program, step):
    came, faults = at_points(program, step)
    assert came
    assert faults == []


@pytest.mark.parametrize("step", [600, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_handler_at_any_point_that_runs_the_same(program, step):
    _, faults = handled_at_points(program, 20 if program is pulled_again and step > 1 else step)
    assert faults == []


def test_a_mode_ends_with_an_interrupt_at_any_point():
    def program():
        with v.strict():
            return 1.0

    for n in range(1, 100):
        came = AtPoint(n).run(program)
        assert left_behind() == []
        if not came:
            break
    assert 3 < n < 99


@pytest.mark.parametrize("change", [lambda cache: cache.open, lambda cache: invalidate])
def test_an_interrupt_while_a_table_is_opened_or_emptied(change):
    for n in range(1, 100):
        cache = Cache()
        call = change(cache)
        if call is invalidate:
            cache.open()
        came = AtPoint(n).run(lambda call=call: call() and 1.0)
        forget()
        cache.open()["key"] = n
        assert cache.table == {"key": n}
        invalidate()
        assert not cache.table
        if not came:
            break
    assert 3 < n < 99


@pytest.mark.parametrize(
    "call",
    [
        lambda: v.divide(X, np.zeros(12)),
        lambda: v.log(np.zeros(2)),
        lambda: v.pow(np.zeros(2), -1.5),
        lambda: v.logsumexp(np.full(2, -np.inf)),
        lambda: v.log_softmax(X),
        lambda: v.strong_multiply(X, np.full(12, np.inf)),
        lambda: silenced(np.zeros(12), X)[0],
    ],
)
def test_an_interrupt_while_numpys_errors_are_set(call):
    numpys = np.errstate.__enter__.__code__.co_filename
    there = lambda code: points_of(code) if code.co_filename == numpys else ()
    call()
    for n in range(1, 100):
        came = AtPoint(n, check=there).run(call)
        assert left_behind() == []
        if not came:
            break
    assert 3 < n < 99


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 14), reason="locks enter by Python on CPython 3.14 alone"
)
def test_a_signal_while_a_lock_is_acquired_does_not_leave_it_held():
    """In a process of its own: PyTorch, once it has compiled, runs Python functions from C."""
    program = f"from {__name__} import held_after_a_signal; raise SystemExit(held_after_a_signal())"
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": paths}
    )


def held_after_a_signal() -> bool:
    lock = Lock()
    came = functools.partial(_thread.interrupt_main, signal.SIGINT)
    # Both are called in C, so that nothing is raised between them.
    lock.acquire = functools.partial(list, map(operator.call, (lock.acquire, came)))
    signal.signal(signal.SIGINT, lambda *_: interrupt())
    with pytest.raises(Interrupt), lock:
        np.zeros(2).sum()  # the interrupt comes here at the latest
    try:
        lock.release()
    except RuntimeError:
        return False
    return True


@TIMER
def test_a_signal_handler_that_differentiates():
    """In the middle of the same programs: the right numbers, in the handler and outside."""
    expected, wrong, came = quiet(), [], 0
    few = PROGRAMS[:-1]  # all but the one that takes milliseconds

    def differentiate(*_):
        nonlocal came
        program = few[came % len(few)]
        came += 1
        if answer(program) != expected[program]:
            wrong.append(program.__name__)

    before = signal.signal(signal.SIGALRM, differentiate)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.011)
        for _ in range(20):
            wrong += [p.__name__ for p in PROGRAMS if answer(p) != expected[p]]
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came
    assert wrong == []
    assert left_behind() == []
