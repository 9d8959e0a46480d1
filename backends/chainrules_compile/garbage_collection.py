"""Pausing of the garbage collector while a function is recorded and its program first runs.

Recording allocates many objects that live long, and each collection would traverse them again.
After many allocations, the young objects move to the oldest generation, which the collector
traverses only in a full collection.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_MANY = 5000
"""Number of new objects above which they move to the oldest generation."""


@contextlib.contextmanager
def collecting_later() -> Iterator[None]:
    """Disable the garbage collector in the context."""
    collecting, before = gc.isenabled(), gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # A user's freeze is kept. Counting what is frozen takes a walk through all of it.
            if gc.get_count()[0] - before >= _MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
