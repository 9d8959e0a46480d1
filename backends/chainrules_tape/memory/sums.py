"""Sums of cotangents, with fewer questions."""

from __future__ import annotations

from typing import Any

from chainrules_py.extend import Tracer, forgets, type_info
from chainrules_tape.core.cotangents import Cotangents, numbers


class Sums(Cotangents):
    """Cotangents of classes that are known to be added by ``+``: nothing more is asked of two."""

    __slots__ = ()

    def add(self, link: int, bar: Any) -> None:
        """Add to what was collected, in place where it is a sum of our own."""
        cls, kind = type(bar), type(self[link])
        if kind is cls in numbers:
            self[link] += bar
            self.owned[link] = True
            return
        if cls not in _adding or kind is not cls or link in self.owned:
            super().add(link, bar)
            if kind is cls is type(self[link]):
                _note(cls, link in self.plain)
            return
        self[link] = made = self[link] + bar
        self.owned[link] = True
        if type(made) is cls:  # and no number
            self.plain.add(link)


_adding: set[type] = set()
"""Classes whose sums were arrays that can be added to: of two of them nothing more is asked."""
forgets(lambda: (_adding, numbers))


def _note(cls: type, is_plain: bool) -> None:
    """Note that two of a class gave one, which can be added to if it is plain."""
    info = type_info(cls)
    if is_plain:
        _adding.add(cls)
    elif info.is_number and info.host is None and not issubclass(cls, Tracer):
        numbers.add(cls)
