"""Interrupts at random instants: by a signal, and by an exception that another thread sends."""

from __future__ import annotations

import contextlib
import ctypes
import dis
import functools
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from chainrules_py.values.caches import forget
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
    time.sleep(delay)  # each delay interrupts another instant of the program
    while thread.is_alive():  # the collector and finalisers drop what is raised there
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupt)
        )
        thread.join(0.1)
    return True


@functools.cache
def points(code: Any) -> frozenset[int]:
    """Give the points of a function of ours."""
    return points_of(code) if "/chainrules_" in code.co_filename.replace("\\", "/") else frozenset()


@functools.cache
def points_of(code: Any) -> frozenset[int]:
    """Where in a function the interpreter asks whether something came: behind calls, at its
    beginning, and where a loop begins again.
    """
    steps = list(dis.get_instructions(code))
    after = {
        then.offset
        for before, step, then in zip(steps[:1] + steps, steps, steps[1:], strict=False)
        if step.opname == "RESUME"
        # CPython 3.14 enters a ``with`` block by a call. Behind one in Python it asks nothing; it
        # does behind one in C, against its promise (gh-148874), for which there is `Lock`.
        or (step.opname.startswith("CALL") and before.opname != "LOAD_SPECIAL")
    }
    return frozenset(after | {s.offset for s in steps if s.opname == "JUMP_BACKWARD"})


def interrupt() -> None:
    """Raise what an interrupt raises."""
    raise Interrupt


class AtPoint:
    """Interrupt at the n-th such point, whatever the clock says; ``passed`` counts them."""

    def __init__(self, n: int = 0, handler: Any = interrupt, check: Any = points) -> None:
        self.n, self.handler, self.points, self.passed = n, handler, check, 0

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if event == "call":
            if not self.points(frame.f_code):
                return None
            frame.f_trace = self  # CPython 3.13 asks for it before it tells of instructions
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode" and frame.f_lasti in self.points(frame.f_code):
            self.passed += 1
            if self.passed == self.n:
                self.handler()
        return self

    def run(self, program: Any) -> bool:
        """Run a program up to there; tell whether it got there."""
        with contextlib.suppress(Interrupt):
            self.answer(program)
        return 0 < self.n <= self.passed

    def answer(self, program: Any) -> bytes:
        """Return the bytes that a program gives in spite of it."""
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # CPython 3.12 asks once, when tracing begins
        sys.settrace(self)
        try:
            return answer(program)
        finally:
            sys.settrace(before)


def at_points(program: Any, step: int) -> tuple[int, list[str]]:
    """Interrupt at every so manieth point of a program; return how often, and what was wrong."""
    expected = quiet()
    for _ in range(2):  # the first run may fill caches, which other programs emptied
        whole = AtPoint()
        whole.run(program)
    came, faults = 0, []
    with unheard():
        for n in range(1 + whole.passed // 2 % step, whole.passed + 1, step):
            came += AtPoint(n).run(program)
            faults += wrong_after(program, expected)
    return came, faults


def handled_at_points(program: Any, step: int) -> tuple[int, list[str]]:
    """Run a program in a signal handler at every so manieth point of itself."""
    expected = quiet()[program]
    whole, found = AtPoint(), list[bytes]()
    whole.run(program)
    faults = []
    for n in range(1 + whole.passed // 2 % step, whole.passed + 1, step):
        point = AtPoint(n, lambda: found.append(answer(program)))
        try:
            point.run(lambda: found.append(answer(program)) or 0.0)
            faults += ["another answer" for y in found if y != expected]
        except Exception as error:
            faults.append(repr(error))
        found.clear()
    return whole.passed // step, faults


def wrong_after(program: Any, expected: dict[Any, bytes]) -> list[str]:
    """Tell what is wrong after a program was interrupted."""
    faults = left_behind()
    try:
        forget()  # as before every full collection
        if answer(program) != expected[program]:
            faults.append("another answer")
    except Exception as error:
        faults.append(repr(error))
    return [f"{program.__name__}: {what}" for what in faults]


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Say nothing of interrupts that met a finaliser, or a thread that was to be interrupted."""
    hooks = threading.excepthook, sys.unraisablehook
    threading.excepthook = sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = hooks


def interrupted(how: Any, trials: int, seed: int) -> tuple[int, list[str]]:
    """Interrupt programs at random instants; return how often, and what was wrong afterwards."""
    expected, rng = quiet(), random.Random(seed)
    took = {}
    for program in PROGRAMS:
        start = time.perf_counter()
        answer(program)
        took[program] = time.perf_counter() - start
    came, faults = 0, []
    with unheard():
        for trial in range(trials):
            program = PROGRAMS[trial % len(PROGRAMS)]
            came += how(program, max(1e-5, rng.uniform(0, 1.1 * took[program])))
            faults += wrong_after(program, expected)
    return came, faults
