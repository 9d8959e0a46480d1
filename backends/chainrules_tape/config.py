"""The engine, as rules see it, and what of it is under way."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from chainrules_py import Capability, Config, ForwardMode, ReverseMode
from chainrules_py.extend import Always


class TapeConfig(Config):
    """Configuration of the tape: its capabilities, and the way a rule calls back into it.

    Attributes
    ----------
    vjp, jvp : callable
        The engine's own functions. They stand above what they use, and so are entered from there.
    """

    capabilities = frozenset((ReverseMode, ForwardMode, Always, Capability("tape")))
    vjp: Callable[..., Any]
    jvp: Callable[..., Any]

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent, by tracing forward."""
        y, y_dot = self.jvp(lambda *xs: f(*xs, **options), operands, tangents)
        return y, y_dot

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Value and pullback, by recording."""
        y, pullback = self.vjp(lambda *xs: f(*xs, **options), *operands)
        return y, pullback


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
