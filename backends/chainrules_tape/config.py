"""The engine, as rules see it, and what of it is under way."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from chainrules_py import Capability, Config, ForwardMode, ReverseMode
from chainrules_py.extend import Always


class TapeConfig(Config):
    """Configuration of the tape. Its `vjp` and `jvp` stand above what they use, and enter here."""

    capabilities = frozenset((ReverseMode, ForwardMode, Always, Capability("tape")))


config = TapeConfig()


class Recorders(threading.local):
    """Runs and tapes that may trace in this thread.

    Attributes
    ----------
    under_way : list
        Those that are under way, from the outside in.
    made : mapping
        Tapes that people made by hand, as long as they live.
    """

    def __init__(self) -> None:
        self.under_way: list[Any] = []
        self.made: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


recorders = Recorders()
