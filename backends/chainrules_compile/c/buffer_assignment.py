"""Storage: addresses of the buffers of a program, by their first write and last read."""

from __future__ import annotations

from collections.abc import Iterable

from chainrules_compile.c.buffers import Buffer, Version, View
from chainrules_compile.c.program_items import Argument, Group, Item, views_of

_LINE = 64


class Storage:
    """Addresses of buffers in the workspace of a program.

    Attributes
    ----------
    size : int
        The size of the workspace in bytes.
    outside : set of Version
        The versions that are used outside the group that computes them.
    """

    def __init__(self, items: list[Item], outputs: Iterable[View], start: int) -> None:
        self.size = start
        self.outside: set[Version] = {view.version for view in outputs}
        self._free: dict[int, list[int]] = {}
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        for i, item in enumerate(items):
            read, written = views_of(item)
            inside = {view.version for view in written} if isinstance(item, Group) else set()
            self.outside |= {view.version for view in (*read, *written)} - inside
            for view in (*written, *read):  # so that numbers of loop iterations are consecutive
                first.setdefault(view.version.buffer, i)
                last[view.version.buffer] = i
            if isinstance(item, Group):
                self._numbers(item)
        self._place(items, first, last)

    def _numbers(self, group: Group) -> None:
        """Mark what needs memory outside a group: numbers, sums of blocks, overwritten versions."""
        for op in group.operations:
            if op.is_total or group.size == 1 or op.out.version.is_written_over:
                self.outside.add(op.out.version)
            for x in op.operands:
                if isinstance(x, Argument) and not (x.is_flat and x.view.is_whole):
                    self.outside.add(x.view.version)

    def _place(self, items: list[Item], first: dict[Buffer, int], last: dict[Buffer, int]) -> None:
        kept = {version.buffer for version in self.outside}
        begins: dict[int, list[Buffer]] = {}
        ends: dict[int, list[Buffer]] = {}
        for buffer, i in first.items():
            if not buffer.place and buffer in kept:
                begins.setdefault(i, []).append(buffer)
                ends.setdefault(last[buffer], []).append(buffer)
        where: dict[Buffer, tuple[int, int]] = {}
        for i in range(len(items)):
            for buffer in begins.get(i, ()):
                size = _rounded(buffer.nbytes)
                # Small buffers are not reused, so that those of a loop are consecutive.
                spare = self._free.get(size) if size > 16 else None
                at = spare.pop() if spare else self._more(size)
                where[buffer] = at, size
                buffer.place = f"(w + {at})"
            for buffer in ends.get(i, ()):
                at, size = where[buffer]
                self._free.setdefault(size, []).append(at)

    def _more(self, size: int) -> int:
        if size >= _LINE:
            self.size = -(-self.size // _LINE) * _LINE
        at = self.size
        self.size += size
        return at


def _rounded(size: int) -> int:
    if size > 16:
        return -(-size // _LINE) * _LINE
    return 16 if size > 8 else 8
