"""Configuration of the tape as rules see it, and the runs and tapes in progress."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from chainrules_py import Capability, Config, ForwardMode, ReverseMode
from chainrules_py.extend import Always


class TapeConfig(Config):
    """Configuration of the tape; modules above this one set its `vjp` and `jvp`."""

    capabilities = frozenset((ReverseMode, ForwardMode, Always, Capability("tape")))


config = TapeConfig()


class Recorders(threading.local):
    """Runs and tapes that may trace in this thread.

    Attributes
    ----------
    under_way : list
        Those in progress, from the outermost to the innermost.
    made : mapping
        Tapes that users created and that are still alive.
    """

    def __init__(self) -> None:
        self.under_way: list[Any] = []
        self.made: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


recorders = Recorders()
