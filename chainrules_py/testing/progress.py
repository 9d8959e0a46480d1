"""Progress of what takes long, on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
AFTER = 2.0
"""Seconds after which a bar is drawn."""
_running = False


@contextlib.contextmanager
def progress(items: Iterable[T], told: Callable[[T], Any] = str) -> Iterator[Iterable[T]]:
    """Give items, with a bar on stderr if that is a terminal and they take longer than `AFTER`.

    What is ``told`` of an item stands behind the bar. Of bars in each other the outermost is drawn.
    """
    global _running
    todo, start, before, drawn = list(items), time.monotonic(), _running, False

    def each() -> Iterator[T]:
        nonlocal drawn
        for n, item in enumerate(todo):
            if not before and sys.stderr.isatty() and time.monotonic() - start > AFTER:
                bar = ("#" * (24 * n // len(todo))).ljust(24, ".")
                drawn = bool(sys.stderr.write(f"\r\x1b[K[{bar}] {n}/{len(todo)} {told(item)}"))
                sys.stderr.flush()
            yield item

    _running = True
    try:
        yield each()
    finally:
        _running = before
        if drawn:
            sys.stderr.write("\r\x1b[K")
