"""Collecting: the garbage collector waits until a function is recorded and its program has run.

It would look through all calls noted so far, again and again, and then through those that are kept
each time that the function itself has made some hundred records. What is kept for good is put with
what is old already, through which it looks when it looks through all.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_MANY = 5000
"""From how many new objects on they are put with the old ones: nearly all are a program's."""


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Have the collector wait."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_count()[0] >= _MANY and not gc.get_freeze_count():  # which somebody wants so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
