"""Calls that are made again: who notes calls may listen, to tell them from those that were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

listeners: list[Callable[[Any, bool], None]] = []
"""Each is told the values that calls are made again of, and whether that begins or is over."""


@contextmanager
def making_again(given: Any) -> Iterator[None]:
    """Have the calls within count as calls that were made before, of the same values.

    Whoever notes calls would find that they were made, and keep what they gave from the first time
    on: which is what they are made again for, so as not to keep it.

    Parameters
    ----------
    given
        Values that the calls are made of, or functions.

    Examples
    --------
    >>> listeners.append(lambda given, begins: print(given, begins))
    >>> with making_again(1.0):
    ...     print("once more")
    1.0 True
    once more
    1.0 False
    >>> _ = listeners.pop()
    """
    told = tuple(listeners)
    for listener in told:
        listener(given, True)
    try:
        yield
    finally:
        for listener in told:
            listener(given, False)
