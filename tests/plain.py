"""The tape without its short ways: each file of `chainrules_tape.fast`, or all, not plugged in.

The library knows nothing of it. ``CHAINRULES_WITHOUT=all``, or ``=steps,slices``, is read by
tests/conftest.py and by tests/fuzz/hashes.py: ``make test-plain`` runs the suites so, and compares.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pytest

from chainrules_py.extend import Classes
from chainrules_tape import tape

ROOM = "chainrules_tape.fast."
FILES = tuple(
    base.__module__.removeprefix(ROOM)
    for base in tape.FastVariable.__bases__
    if base.__module__.startswith(ROOM)
)
"""The files of the room, in the order in which they are plugged in."""


def plain_classes(files: tuple[str, ...] = FILES) -> Any:
    """Return the classes of variables without some files of `fast`."""
    out = {ROOM + file for file in files}
    bases = tuple([b for b in tape.FastVariable.__bases__ if b.__module__ not in out])
    # Calls are settled by the core, which sees even functions of roots there; as with kept calls.
    core = ("__trace__", "recorder") if f"{ROOM}dispatch_by_type" in out else ()
    settled = {name: vars(tape.KeptVariable)[name] for name in core}
    made: Any = type("Variable", bases, {"__slots__": (), **settled})
    made.results = Classes(made, made.tracing.wrap_fields)
    return made.results


def unplug(*files: str) -> None:
    """Leave files of `fast` out of all tapes that are made from now on."""
    tape.FastVariable.results = plain_classes(files or FILES)


@contextlib.contextmanager
def without(*files: str) -> Iterator[None]:
    """Leave files of `fast` out of the tapes that are made inside."""
    plugged = tape.FastVariable.results
    unplug(*files)
    try:
        yield
    finally:
        tape.FastVariable.results = plugged


ASKED = os.environ.get("CHAINRULES_WITHOUT", "")
"""What the environment names."""

needs_short_ways: Any = pytest.mark.skipif(bool(ASKED), reason="it is what the short ways are for")


def unplug_as_asked() -> None:
    """Unplug what the environment names."""
    if ASKED:
        unplug(*([] if ASKED == "all" else ASKED.split(",")))
