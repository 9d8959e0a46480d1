"""All faults at once, for as long as is asked: ``python -m tests.faults.chaos 600``.

Threads run programs all the time. Meanwhile programs are interrupted by signals and by exceptions
from other threads, raise errors of their own, are run in signal handlers, and in finalisers that
the collector calls. Each answer is compared, bit for bit, with that in peace.
"""

from __future__ import annotations

import argparse
import collections
import gc
import random
import signal
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np

from chainrules_tape import grad
from tests.faults.interrupts import by_exception, by_signal
from tests.faults.programs import LARGE, PROGRAMS, answer, quiet
from tests.faults.test_leaks import MAKERS


class Differentiates:
    """In a cycle with itself, so that the collector calls its finaliser: anywhere."""

    def __init__(self, chaos: Chaos) -> None:
        self.chaos = chaos
        self.itself = self

    def __del__(self) -> None:
        self.chaos.compare("finaliser", self.chaos.rng.choice(PROGRAMS[:-1]))


class Chaos:
    """Faults, how often each was injected, and what was wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.expected = quiet()
        self.injected: collections.Counter[str] = collections.Counter()
        self.wrong: collections.Counter[str] = collections.Counter()
        self.over = threading.Event()

    def compare(self, where: str, program: Any) -> None:
        """Run a program, and note it if the answer is another than in peace."""
        self.injected[where] += 1
        try:
            if answer(program) != self.expected[program]:
                self.wrong[f"{where}: {program.__name__} has another answer"] += 1
        except Exception as error:
            self.wrong[f"{where}: {program.__name__}: {error!r}"] += 1

    def in_threads(self) -> None:
        """Run programs until all is over."""
        rng = random.Random(self.rng.random())
        while not self.over.is_set():
            # Another thread may have the large array locked: its owner alone looks at that.
            self.compare("thread", rng.choice(PROGRAMS[:-1]))

    def signal(self) -> None:
        """Interrupt a program of this thread."""
        by_signal(self.rng.choice(PROGRAMS), self.rng.uniform(1e-5, 0.01))

    def exception(self) -> None:
        """Interrupt a program of another thread."""
        by_exception(self.rng.choice(PROGRAMS), self.rng.uniform(1e-5, 0.01))

    def error(self) -> None:
        """Have a program raise an error of its own, at one of its calls."""
        calls = self.rng.randrange(8)

        def fails(x: Any) -> Any:
            for k in range(8):
                x = np.sin(x)
                if k == calls:
                    raise ZeroDivisionError
            return x

        try:
            grad(lambda x: np.sum(fails(x) * LARGE))(LARGE)
        except ZeroDivisionError:
            return
        self.wrong["an error was lost"] += 1

    def handler(self) -> None:
        """Run a program in a signal handler, in the middle of another."""
        program = self.rng.choice(PROGRAMS[:-1])
        before = signal.signal(signal.SIGALRM, lambda *_: self.compare("in a handler", program))
        try:
            signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-5, 0.005))
            self.compare("under a handler", self.rng.choice(PROGRAMS))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def finaliser(self) -> None:
        """Leave something behind whose finaliser differentiates."""
        Differentiates(self)

    def passing(self) -> None:
        """Make a class or a primitive that goes again; collect now and then."""
        gone = weakref.ref(self.rng.choice(MAKERS)())
        if self.rng.random() < 0.2:
            gc.collect()
            gc.collect()  # what a thread was just using is gone at the second
            if gone() is not None and self.over.is_set():
                self.wrong["something that was to go is still there"] += 1

    def run(self, seconds: float) -> None:
        """Inject faults for so long."""
        faults = (
            self.signal,
            self.exception,
            self.error,
            self.handler,
            self.finaliser,
            self.passing,
        )
        threads = [threading.Thread(target=self.in_threads, daemon=True) for _ in range(3)]
        sys.unraisablehook = threading.excepthook = lambda _: None
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                fault = self.rng.choice(faults)
                fault()
                self.injected[fault.__name__] += 1
                self.compare("afterwards", self.rng.choice(PROGRAMS))
        finally:
            self.over.set()
            for thread in threads:
                thread.join(60)
        self.wrong["a thread hangs"] += sum(thread.is_alive() for thread in threads)
        self.wrong["a large array is read-only"] += not LARGE.flags.writeable
        self.wrong = +self.wrong


def main() -> None:
    """Inject faults, and tell what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chaos = Chaos(given.seed)
    chaos.run(given.seconds)
    for name, n in sorted(chaos.injected.items()):
        sys.stdout.write(f"{n:8} {name}\n")
    for name, n in chaos.wrong.most_common():
        sys.stdout.write(f"WRONG {n:8} times: {name}\n")
    sys.exit(bool(chaos.wrong))


if __name__ == "__main__":
    main()
