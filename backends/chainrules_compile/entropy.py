"""Entropy: whether a function asks the system for random bits, as a generator without a seed does.

Such a generator is made in the function and gone with it, so nobody can look at what it has drawn.
All of them come to the system by few names, which stand for others while functions are recorded.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_asked: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("_asked", default=None)
_lock = threading.Lock()
_recordings = 0
_before: list[tuple[Any, str, Any]] = []


@contextlib.contextmanager
def watching_entropy() -> Iterator[list[str]]:
    """Give a list to which each question to the system is added, by whom it was asked.

    Examples
    --------
    >>> import numpy as np
    >>> with watching_entropy() as asked:
    ...     x = np.random.default_rng(0).random()
    >>> asked
    []
    >>> with watching_entropy() as asked:
    ...     x = np.random.default_rng().random()
    >>> len(asked)
    1
    """
    found: list[str] = []
    _begin()
    token = _asked.set(found)
    try:
        yield found
    finally:
        _asked.reset(token)
        _end()


def _begin() -> None:
    global _recordings
    with _lock:
        _recordings += 1
        if _recordings == 1:
            for owner, name in ((os, "urandom"), (random, "_urandom"), (random.Random, "seed")):
                stated = getattr(owner, name)
                _before.append((owner, name, stated))
                setattr(owner, name, (_seeding if owner is random.Random else _asking)(stated))


def _end() -> None:
    global _recordings
    with _lock:
        _recordings -= 1
        while _before and not _recordings:
            owner, name, stated = _before.pop()
            setattr(owner, name, stated)


def _asking(stated: Callable[..., Any]) -> Callable[..., Any]:
    def urandom(*args: Any) -> Any:
        _note("urandom")
        return stated(*args)

    return urandom


def _seeding(stated: Callable[..., Any]) -> Callable[..., Any]:
    def seed(self: Any, a: Any = None, *args: Any, **keywords: Any) -> Any:
        if a is None and type(self) is not random.SystemRandom:
            _note("seed")
        return stated(self, a, *args, **keywords)

    return seed


def _note(name: str) -> None:
    found = _asked.get()
    if found is not None and not _importing():
        found.append(name)


def _importing() -> bool:
    """Tell whether a module is being imported: it may make generators, and makes them once."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
