"""Sums of cotangents: with fewer questions, and in memory of large ones that nobody else has."""

from __future__ import annotations

import sys
from typing import Any

from chainrules_py.extend import Tracer, forgets, is_mutable_destination, type_info
from chainrules_tape.core.cotangents import Cotangents


class Sums(Cotangents):
    """Cotangents of which large ones are added to where they are, if nobody else has them.

    What a rule gave may be anybody's: Python's count of references tells whether it is. In place
    nothing is added that lies otherwise in memory, so that each sum lies as a new array would.
    """

    __slots__ = ()

    def add(self, link: int, bar: Any) -> None:
        """Add to what was collected, in place where it is a sum of our own, or large and ours."""
        cls, kind = type(bar), type(self[link])
        if kind is cls in _numbers:
            self[link] += bar
            self.owned[link] = True
            return
        if cls not in _adding or kind is not cls or link in self.owned:
            super().add(link, bar)
            if kind is cls is type(self[link]):
                _note(cls, link in self.plain)
            return
        if self[link].nbytes > _LARGE and self._is_alone(link, bar):
            self[link] += bar
        else:
            self[link] = self[link] + bar
        self.owned[link] = True
        if type(self[link]) is cls:  # and no number
            self.plain.add(link)

    def double(self, link: int) -> None:
        """Add to what was collected the same once more, in place where nobody else has it."""
        if type(self[link]) not in _adding or link in self.owned:
            super().double(link)
        elif self[link].nbytes > _LARGE and self._is_alone(link):
            self[link] += self[link]
            self.owned[link] = True
            self.plain.add(link)
        else:
            self.add(link, self[link])

    def _is_alone(self, link: int, bar: Any = None) -> bool:
        """Tell whether nobody else has what was collected, and what is added lies as it does."""
        if _references(self, link) > _ALONE:
            return False
        total = self[link]
        memory = type_info(type(total)).memory
        if memory is None or memory.owner(total) is not total or not is_mutable_destination(total):
            return False
        return bar is None or (
            bar.shape == total.shape
            and bar.dtype == total.dtype
            and memory.layout(bar) == memory.layout(total)
        )


_adding: set[type] = set()
"""Classes whose sums were arrays that can be added to: of two of them nothing more is asked."""
_numbers: set[type] = set()
"""Classes of numbers that are not traced, of which two were added."""
forgets(lambda: (_adding, _numbers))


def _note(cls: type, is_plain: bool) -> None:
    """Note that two of a class gave one, which can be added to if it is plain."""
    info = type_info(cls)
    if is_plain and hasattr(cls, "nbytes"):
        _adding.add(cls)
    elif info.is_number and info.host is None and not issubclass(cls, Tracer):
        _numbers.add(cls)


_LARGE = 1 << 15
"""Up to so many bytes another array costs less than to ask who has this one."""


def _references(bars: list[Any], link: int) -> int:
    """Count the references to what was collected, with those made here."""
    bar = bars[link]
    return sys.getrefcount(bar)


_ALONE = _references([object()], 0)  # which depends on how Python counts its own
