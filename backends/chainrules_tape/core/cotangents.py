"""Cotangents that a backward pass has collected so far, and whose memory they are."""

from __future__ import annotations

from typing import Any

from chainrules_py.extend import Tracer, accumulate, forgets, is_mutable_destination, type_info

numbers: set[type] = {float}
"""Classes of numbers that are not traced, whose sums are made by ``+``."""
_arrays: set[type] = set()
"""Classes of arrays whose sums can be added to: of two of a class nothing more is asked."""
forgets(lambda: (_arrays, numbers))


class Cotangents(list[Any]):
    """Cotangents collected for the records of a tape, None where there is none yet.

    Cotangents are added in reverse order of record, so the same inputs give the same bits. The
    only arrays written to are sums that were made here; ``plain`` says where they are.
    """

    __slots__ = ("owned", "plain")

    def __init__(self, n: int) -> None:
        super().__init__([None] * n)
        self.plain: set[int] = set()
        self.owned: dict[int, Any] = {}

    def add(self, link: int, bar: Any) -> None:
        """Add to what was collected, in place where it is a sum of our own."""
        total, cls = self[link], type(bar)
        if total is None:
            self[link] = bar
            return
        alike = type(total) is cls
        if alike and (cls in numbers or (cls in _arrays and link not in self.owned)):
            self[link] = made = total + bar
            self.owned[link] = True
            if cls in _arrays and type(made) is cls:
                self.plain.add(link)
            return
        made, token = accumulate(total, bar, self.owned.get(link, False))
        self[link], self.owned[link] = made, token
        alike, info = alike and type(made) is cls, type_info(cls)
        if token is True and is_mutable_destination(made):
            self.plain.add(link)
            if alike:
                _arrays.add(cls)
            return
        self.plain.discard(link)  # a traced cotangent was added to a plain one
        if alike and info.is_number and info.host is None and not issubclass(cls, Tracer):
            numbers.add(cls)

    def release(self, link: int) -> bool:
        """Release a collected cotangent from our writes; tell whether it is an array of our own."""
        self_made = self.owned.pop(link, False) is True
        plain = link in self.plain
        self.plain.discard(link)
        return self_made and (plain or isinstance(self[link], Tracer))

    def adopt(self, link: int, buffer: Any) -> None:
        """Collect into a buffer of our own from now on."""
        self[link], self.owned[link] = buffer, True
        if is_mutable_destination(buffer):
            self.plain.add(link)
