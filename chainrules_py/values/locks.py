"""Locks, modes that hold in a block, and what is undone whatever comes between."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar


def lock_of_a_table() -> Any:
    """Return a reentrant lock for what is changed in an instant."""
    return threading.RLock()


def alone(lock: Any, call: Callable[..., Any], *args: Any) -> Any:
    """Make a call while holding a reentrant lock."""
    with lock:
        return call(*args)


def at_once(calls: Iterable[Callable[[], object]]) -> Callable[[], object]:
    """Return what makes some calls, once and for all: one call in C, if they are in C as well.

    Made before a ``try``, and called first in its ``finally``, it is done whatever comes: an
    interrupt is raised before it or behind it.
    """
    return functools.partial(_nowhere.extend, map(operator.call, calls))


_nowhere: collections.deque[Any] = collections.deque(maxlen=0)
"""Keeps nothing: a call in C that runs an iterator to its end."""


class Mode:
    """What holds in a ``with`` block, in its thread or task; outside what ``on`` says.

    ``get()``, a call in C, returns what holds here. ``used`` tells whether there was a block of
    any mode so far; ``every`` lists the modes.
    """

    used = False
    every: ClassVar[list[Mode]] = []

    def __init__(self, name: str, on: bool = False) -> None:
        Mode.every.append(self)
        self._here = contextvars.ContextVar[bool](name, default=on)
        self.get = self._here.get

    @contextlib.contextmanager
    def set(self, on: bool = True) -> Iterator[None]:
        """Have it hold in a block."""
        Mode.used = True
        began = self._here.set(on)
        try:
            yield
        finally:
            self._here.reset(began)


def in_own_context(f: Any, /, *xs: Any, **options: Any) -> Any:
    """Call a function in a copy of the context, which goes with what the call set there.

    A ``with`` block that an interrupt met while it was entered or left would leave it set:
    ``np.errstate`` lies in the context.
    """
    return contextvars.copy_context().run(f, *xs, **options)
