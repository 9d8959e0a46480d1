"""Locks, modes that ``with`` blocks set, and cleanup that survives interrupts."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import operator
import sys
from _thread import RLock
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar


class Lock(RLock, contextlib.ContextDecorator):  # type: ignore[misc]
    """A reentrant lock that an interrupt does not leave held.

    CPython 3.14 raises interrupts between a call of ``__enter__`` in C and the block (gh-148874).
    Here the loop acquires the lock, and no call follows until the block is entered. CPython 3.12
    and 3.13 do not leave the block where one comes at the end of a turn of a loop in it, if that
    end is a condition. So a function with such a loop takes the lock as its decorator.
    """

    if sys.version_info[:2] == (3, 14):

        def __enter__(self) -> Any:  # type: ignore[override]
            for acquired in iter(self.acquire, None):
                return acquired
            return None


def at_once(calls: Iterable[Callable[[], object]]) -> Callable[[], object]:
    """Return a callable that makes the calls, the first time it is called; in C if they are in C.

    Create it before a ``try`` and call it first in the ``finally``: an interrupt is raised before
    or after all of the calls, never between them.
    """
    return functools.partial(_nowhere.extend, map(operator.call, calls))


_nowhere: collections.deque[Any] = collections.deque(maxlen=0)
"""Exhausts an iterator in one C call, and keeps nothing."""


class Mode:
    """A flag that a ``with`` block sets, in its thread or task; elsewhere its value is ``on``.

    ``get()``, a call in C, returns the current value. ``used`` is whether any mode was set so far;
    ``every`` lists the modes.
    """

    used = False
    every: ClassVar[list[Mode]] = []

    def __init__(self, name: str, on: bool = False) -> None:
        Mode.every.append(self)
        self._here = contextvars.ContextVar[bool](name, default=on)
        self.get = self._here.get

    @contextlib.contextmanager
    def set(self, on: bool = True) -> Iterator[None]:
        """Set the mode in a ``with`` block."""
        Mode.used = True
        began = self._here.get()
        try:  # an interrupt may come as soon as it is set
            self._here.set(on)
            yield
        finally:
            self._here.set(began)


def in_own_context(f: Any, /, *xs: Any, **options: Any) -> Any:
    """Call a function in a copy of the context, and discard what the call sets there.

    Otherwise a ``with`` block that is interrupted while it is entered or left would leave its value
    set, such as that of ``np.errstate``, which is kept in the context.
    """
    return contextvars.copy_context().run(f, *xs, **options)
