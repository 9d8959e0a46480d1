"""Interrupts at random instants: by a signal, and by an exception that another thread sends."""

from __future__ import annotations

import contextlib
import ctypes
import random
import signal
import sys
import threading
import time
from typing import Any

from tests.faults.programs import PROGRAMS, answer, left_behind, quiet


class Interrupt(BaseException):
    """What is raised in the middle of a program."""


def by_signal(program: Any, delay: float) -> bool:
    """Run a program until a signal comes, or it is over; tell whether it came."""
    armed = True

    def interrupt(*_: Any) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        answer(program)
        armed = False
    except Interrupt:
        return True
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


def by_exception(program: Any, delay: float) -> bool:
    """Run a program over and over in a thread, until an exception is raised there."""

    def run() -> None:
        with contextlib.suppress(Interrupt):
            while True:
                answer(program)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(delay)
    while thread.is_alive():  # the collector and finalisers drop what is raised there
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupt)
        )
        thread.join(0.1)
    return True


def interrupted(how: Any, trials: int, seed: int) -> tuple[int, list[str]]:
    """Interrupt programs at random instants; return how often, and what was wrong afterwards."""
    expected, rng = quiet(), random.Random(seed)
    took = {}
    for program in PROGRAMS:
        start = time.perf_counter()
        answer(program)
        took[program] = time.perf_counter() - start
    came, faults = 0, []
    hooks = threading.excepthook, sys.unraisablehook
    threading.excepthook = sys.unraisablehook = lambda _: None
    try:
        for trial in range(trials):
            program = PROGRAMS[trial % len(PROGRAMS)]
            came += how(program, max(1e-5, rng.uniform(0, 1.1 * took[program])))
            faults += [f"{program.__name__}: {what}" for what in left_behind()]
            try:
                if answer(program) != expected[program]:
                    faults.append(f"{program.__name__}: another answer")
            except Exception as error:
                faults.append(f"{program.__name__}: {error!r}")
    finally:
        threading.excepthook, sys.unraisablehook = hooks
    return came, faults
