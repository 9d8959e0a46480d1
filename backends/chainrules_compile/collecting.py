"""Collecting: the garbage collector waits until a function is recorded and its program has run.

It would look through all calls noted so far, again and again, and then through those that are kept
each time that the function itself has made some hundred records.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Have the collector wait."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
