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

    Blocks in generators end in any order: one that is over counts no more, and changes no other.
    One that ends in another context than it began in, as in a copy, is over in all of them.
    ``used`` tells whether there was a block of any mode so far; ``every`` lists the modes.
    ``entered()``, a call in C, is None where none of its blocks is under way: it holds not there.
    """

    used = False
    every: ClassVar[list[Mode]] = []

    def __init__(self, name: str, on: bool = False) -> None:
        Mode.every.append(self)
        default = _Block(True, None) if on else None
        self._innermost = contextvars.ContextVar[_Block | None](name, default=default)
        self.entered = self._innermost.get

    def get(self) -> bool:
        """Return what holds here."""
        block = self._innermost.get()
        if block is not None and block.over:
            block = _going_on(block)
            self._innermost.set(block)  # who asks `entered` first is not sent here again
        return block is not None and block.on

    @contextlib.contextmanager
    def set(self, on: bool = True) -> Iterator[None]:
        """Have it hold in a block."""
        Mode.used = True
        block = _Block(on, _going_on(self._innermost.get()))
        end = functools.partial(self._innermost.set, block.outer)  # see `at_once`
        began = None
        try:
            began = self._innermost.set(block)
            yield
        finally:
            try:
                found = end().old_value
            except MemoryError:
                block.over = True
                raise
            if found is not block:  # of a generator that began later, or of another task
                block.over = True
                self._innermost.set(None if found is contextvars.Token.MISSING else found)
            elif began is not None:
                try:
                    self._innermost.reset(began)
                except ValueError:  # this is a copy of its context, where it goes on as well
                    block.over = True


class _Block:
    __slots__ = ("on", "outer", "over")

    def __init__(self, on: bool, outer: _Block | None) -> None:
        self.on, self.outer, self.over = on, outer, False


def _going_on(block: _Block | None) -> _Block | None:
    """Return the first that is not over, of a block and those outside; those between go."""
    while block is not None and block.over:
        block = block.outer
    if block is not None:
        block.outer = _going_on(block.outer)
    return block


def in_own_context(f: Any, /, *xs: Any, **options: Any) -> Any:
    """Call a function in a copy of the context, which goes with what the call set there.

    A ``with`` block that an interrupt met while it was entered or left would leave it set:
    ``np.errstate`` lies in the context.
    """
    return contextvars.copy_context().run(f, *xs, **options)
