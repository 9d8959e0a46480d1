"""Work in the background: programs that take a compiler's time, while others serve.

One thread makes them, one after the other, and ends when none is left. A child of a fork begins
anew what its parent had under way.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, final

from chainrules_compile.errors import MISS
from chainrules_py.extend import lock_of_a_table

WORTH = 2e-3
"""Where a call takes less, in seconds, what was made serves without being measured."""
TOLERATED = 1.05
"""So many times the time of the program that served another may take."""
TURNS = 4
"""How often each of two programs is measured."""

_lock = lock_of_a_table()
_waiting: collections.deque[weakref.ref[Serving]] = collections.deque()
_under_way: list[Serving] = []
_threads: list[threading.Thread] = []


@final
class Serving:
    """Program that serves until another one, made in the background, gives what it gives.

    Parameters
    ----------
    run : callable
        The program that serves.
    make : callable
        Makes the other.

    Attributes
    ----------
    gives_way : callable
        Called with what was made, or with the error that was raised instead, the arguments, and
        the result of the program that serves. Where it gives ``False``, it is called again.
    run : callable
        The program that serves.
    took : float
        How long its last call took, once the other is made.
    """

    __slots__ = ("__weakref__", "_done", "_found", "_make", "gives_way", "run", "took")

    def __init__(self, run: Callable[..., Any], make: Callable[[], Any]) -> None:
        self.run = run
        self.took = 0.0
        self._make: Callable[[], Any] = functools.partial(_in, contextvars.copy_context(), make)
        self._found: Any = None
        self._done = threading.Event()
        self.gives_way: Callable[[Any, Any, Any, Any], bool] = _never

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        """Run the program that serves; let the other take its place, once it is made."""
        if self._found is None:
            return self.run(*args, **keywords)
        begun = time.perf_counter()
        y = self.run(*args, **keywords)
        if y is not MISS:
            self.took = time.perf_counter() - begun
            found, self._found = self._found, None  # another thread may be here as well
            if found is not None and not self.gives_way(found, args, keywords, y):
                self._found = found
        return y

    def begin(self) -> None:
        """Have the other program made in the background."""
        with _lock:
            _waiting.append(weakref.ref(self))
            if not _threads:
                _threads.append(threading.Thread(target=_work, name="compile", daemon=True))
                _threads[0].start()

    def wait(self) -> None:
        """Wait until the other program is made."""
        if not self._done.is_set():
            self.begin()  # a fork may have left it; what is made is not made twice
        self._done.wait()

    def work(self) -> None:
        """Make the other program, if nobody has."""
        if self._done.is_set():
            return
        try:
            self._found = self._make()
        except Exception as error:  # said where it would have served
            self._found = error
        self._make = _nothing
        self._done.set()


@final
class Trial:
    """Two programs that give the same, and take turns until it is known which takes less time.

    Parameters
    ----------
    served, other : callable
        The programs; the other may take a little longer.
    settle : callable
        Called with whether the other is to serve.
    """

    __slots__ = ("_runs", "_settle", "_times")

    def __init__(
        self,
        served: Callable[..., Any],
        other: Callable[..., Any],
        settle: Callable[[Trial, bool], Any],
    ) -> None:
        self._runs = served, other
        self._settle = settle
        self._times: tuple[list[float], list[float]] = ([], [])

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        """Run the one whose turn it is."""
        first, second = self._times
        i = len(first) > len(second)
        begun = time.perf_counter()
        y = self._runs[i](*args, **keywords)
        if y is MISS:
            return self._runs[not i](*args, **keywords)
        self._times[i].append(time.perf_counter() - begun)
        if len(second) >= TURNS:
            self._settle(self, min(second) <= TOLERATED * min(first))
        return y


def _in(context: contextvars.Context, make: Callable[[], Any]) -> Any:
    return context.copy().run(make)  # a thread that a fork has left may be inside of it


def _never(*_: Any) -> bool:
    return False


def _nothing() -> None:
    """Make nothing more."""


def _work() -> None:
    while True:
        with _lock:
            serving = _waiting.popleft()() if _waiting else None
            if serving is not None:
                _under_way.append(serving)
            elif not _waiting:
                _threads.clear()
                return
        if serving is not None:
            serving.work()
            with _lock:
                _under_way.clear()
            del serving


def _begin_anew() -> None:
    """Put back what was under way, in a child of a fork."""
    _threads.clear()
    _waiting.extendleft(map(weakref.ref, _under_way))
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
