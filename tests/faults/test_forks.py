"""Children of a fork differentiate, whatever other threads were at."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from chainrules_py.primitives import dispatch
from chainrules_py.tangents.thunks import Thunk
from chainrules_py.values import type_info
from chainrules_py.values.locks import alone, at_once
from chainrules_tape import checkpoint, grad, vjp
from tests.faults.programs import PROGRAMS, X, answer, own_rule, quiet

if not hasattr(os, "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)

# BLAS has locks of its own, which a child may find held.
WITHOUT_BLAS = [p for p in PROGRAMS if p.__name__ not in ("decomposed", "layers", "strictly")]


def in_child(run) -> bool:
    """Run something in a child, and tell whether it gave True within a minute."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of threads and forks
        pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        right = False
        try:
            right = run()
        finally:
            os._exit(0 if right else 1)
    return os.waitpid(pid, 0)[1] == 0


def forked(children: int) -> int:
    """Fork while three threads differentiate; return how many children gave wrong answers."""
    expected, over = quiet(), threading.Event()

    def differentiate(k: int) -> None:
        while not over.is_set():
            answer(own_rule)
            answer(WITHOUT_BLAS[k % len(WITHOUT_BLAS)])
            k += 1

    threads = [threading.Thread(target=differentiate, args=(k,), daemon=True) for k in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    wrong = 0
    try:
        for k in range(children):
            time.sleep(0.001 * (k % 7))  # children are forked at other points of the threads
            programs = (own_rule, WITHOUT_BLAS[k % len(WITHOUT_BLAS)])
            wrong += not in_child(lambda ps=programs: all(answer(p) == expected[p] for p in ps))
    finally:
        over.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join(60)
    return wrong


def test_children_differentiate_while_threads_do():
    assert forked(12) == 0


@pytest.mark.nightly
def test_1000_children():
    assert forked(1000) == 0


def test_a_child_finds_the_lock_of_a_thunk_free():
    reached, over = threading.Event(), threading.Event()

    def compute():
        reached.set()
        over.wait(20)
        return 2.0

    thunk = Thunk(compute)
    thread = threading.Thread(target=thunk)
    thread.start()
    assert reached.wait(20)
    over_in_child = lambda: over.set() or thunk() == 2.0
    right = in_child(over_in_child)
    over.set()
    thread.join(20)
    assert right
    assert thunk() == 2.0


def test_who_forks_keeps_the_locks_that_are_its_own():
    lock = threading.RLock()
    assert alone(lock, in_child, lambda: alone(lock, lambda: True))
    assert alone(lock, lambda: True)


class Alarmed(BaseException):
    """What a signal handler raises."""


begun = []
os.register_at_fork(before=functools.partial(begun.append, True))


@pytest.mark.parametrize("table", [dispatch.lock, type_info._lock])
def test_a_signal_handler_that_raises_while_who_forks_waits_for_a_table(table, monkeypatch):
    """It runs when the fork is done, and the child finds the table free."""
    lost, came, right = [], [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: lost.append(repr(what.object)))

    def hold(held):
        with table:
            held.set()
            time.sleep(0.1)  # the alarm below comes while the table is held

    def alarm(*_):
        if not begun:  # this machine has much to do
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            return
        came.append(table.acquire(blocking=False))
        table.release()
        raise Alarmed

    def works():
        return table.acquire(blocking=False) and answer(own_rule) == quiet()[own_rule]

    quiet()
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        while not came:  # or all was over before
            begun.clear()
            held = threading.Event()
            thread = threading.Thread(target=hold, args=(held,))
            thread.start()
            held.wait(20)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with contextlib.suppress(Alarmed):  # or it is lost in the hook of another library
                right.append(in_child(works))
                thread.join(20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came == [True]
    assert all(right) if right else os.wait()[1] == 0
    assert not any(["built-in" in what for what in lost])  # as those of a lock are


def test_a_signal_handler_that_raises_while_a_child_frees_its_locks():
    """It ends one pass; there is another."""
    script = """if True:
        import functools, os, signal, sys, threading
        def alarm(*_):
            raise KeyError
        signal.signal(signal.SIGALRM, alarm)
        said = []
        sys.unraisablehook = lambda lost: said.append(lost.object.__name__)
        # In C, which sees no signal: it is seen in what is called next.
        soon = functools.partial(signal.setitimer, signal.ITIMER_REAL, 1e-6)
        os.register_at_fork(after_in_child=soon)
        from chainrules_py.values.locks import alone
        lock, held, over = threading.RLock(), threading.Event(), threading.Event()
        thread = threading.Thread(target=alone, args=(lock, lambda: held.set() or over.wait(20)))
        thread.start()
        held.wait(20)
        child = os.fork()
        if child == 0:
            os._exit(0 if said == ["_free"] and lock.acquire(blocking=False) else 1)
        over.set()
        sys.exit(os.waitpid(child, 0)[1] != 0)
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_is_undone_at_once_is_undone_once():
    left = [1, 2]
    undo = at_once([left.pop])
    undo()
    undo()
    assert left == [1]


def test_a_pullback_that_another_thread_was_playing_back():
    """What it had changed of the tape, to make records again, is undone in a child."""
    reached, over, runs = threading.Event(), threading.Event(), []

    @checkpoint
    def slow(x):
        runs.append(x)
        if len(runs) == 2:
            reached.set()
            over.wait(20)
        return np.sin(x) * x

    pullback = vjp(lambda x: slow(x) * x, X)[1]
    expected = vjp(lambda x: np.sin(x) * x * x, X)[1](X)[0]
    found = []
    thread = threading.Thread(target=lambda: found.append(pullback(X)[0]))
    thread.start()
    assert reached.wait(20)
    right = in_child(lambda: np.array_equal(pullback(X)[0], expected))
    over.set()
    thread.join(20)
    assert right
    np.testing.assert_array_equal(found[0], expected)


def test_who_forks_while_it_makes_records_again():
    """It is itself in the middle of that, in the child too, and comes to its end there."""
    children = []

    @checkpoint
    def forks(x):
        children.append(os.fork() if len(children) == 1 else 1)
        return np.sin(x) * x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = grad(lambda x: np.sum(forks(x) * x))(X)
    right = np.array_equal(found, vjp(lambda x: np.sin(x) * x * x, X)[1](np.ones_like(X))[0])
    if children[1] == 0:
        os._exit(0 if right else 1)
    assert right
    assert os.waitpid(children[1], 0)[1] == 0
