"""Storage: where each buffer of a program is, by when it is written first and read last.

What is copied to a part of an array that is joined of such is computed there, and not copied.
"""

from __future__ import annotations

from collections.abc import Iterable

from chainrules_compile.c.items import Argument, Copy, Group, Item, views_of
from chainrules_compile.c.memory import Buffer, Version, View, axes_in_order

_LINE = 64


class Storage:
    """Places of buffers in the memory that a program works in.

    Attributes
    ----------
    size : int
        How much of it there is.
    outside : set of Version
        What lives on when the group that computed it is done.
    needless : set of int
        The copies of what is computed where it would be copied to, by their places.
    """

    def __init__(self, items: list[Item], outputs: Iterable[View], start: int) -> None:
        self.size = start
        self.outside: set[Version] = {view.version for view in outputs}
        self._free: dict[int, list[int]] = {}
        self.needless: set[int] = set()
        first: dict[Buffer, int] = {}
        last: dict[Buffer, int] = {}
        reads: dict[Buffer, int] = {}
        writes: dict[Buffer, list[int]] = {}
        for i, item in enumerate(items):
            read, written = views_of(item)
            inside = {view.version for view in written} if isinstance(item, Group) else set()
            for view in read:
                if view.version not in inside:
                    self.outside.add(view.version)
            if not isinstance(item, Group):
                self.outside |= {view.version for view in written}
            for view in read:
                if view.version not in inside:
                    reads.setdefault(view.version.buffer, i)
            for view in written:
                writes.setdefault(view.version.buffer, []).append(i)
            for view in (*read, *written):
                first.setdefault(view.version.buffer, i)
                last[view.version.buffer] = i
            if isinstance(item, Group):
                self._numbers(item)
        within = self._within(items, reads, writes)
        for part, (whole, _) in within.items():
            first[whole] = min(first[whole], first[part])
            last[whole] = max(last[whole], last.pop(part))
            del first[part]
        self._place(items, first, last)
        for part, (whole, offset) in within.items():
            part.place = f"({whole.place} + {offset})" if offset else whole.place

    def _within(
        self, items: list[Item], reads: dict[Buffer, int], writes: dict[Buffer, list[int]]
    ) -> dict[Buffer, tuple[Buffer, int]]:
        """Find the buffers that are parts of others, and where in these."""
        found: dict[Buffer, tuple[Buffer, int]] = {}
        wholes: set[Buffer] = set()
        for whole, places in writes.items():
            pairs = [moved(items[i]) for i in places]
            copies = [pair for pair in pairs if pair is not None]
            if len(copies) < len(places) or whole in found:
                continue
            if not are_apart([target for target, _ in copies]):
                continue
            if reads.get(whole, len(items)) <= places[-1]:
                continue
            for i, (target, source) in zip(places, copies, strict=True):
                part = source.version.buffer
                free = part.place is None and part not in found and part not in wholes
                if free and source.is_whole and lies_as(source, target) and writes[part][-1] < i:
                    found[part] = whole, target.offset
                    wholes.add(whole)
                    self.needless.add(i)
        return found

    def _numbers(self, group: Group) -> None:
        """Note what has a place: sums of all elements, numbers, and what is written over."""
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
            if buffer.place is None and buffer in kept:
                begins.setdefault(i, []).append(buffer)
                ends.setdefault(last[buffer], []).append(buffer)
        where: dict[Buffer, tuple[int, int]] = {}
        for i in range(len(items)):
            for buffer in begins.get(i, ()):
                size = _rounded(buffer.nbytes)
                # Numbers have places of their own: so those of a loop stand in a row.
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


def moved(item: Item) -> tuple[View, View] | None:
    """Return to what, and what, an item moves: elements as they are, to memory without gaps."""
    if not isinstance(item, Copy) or not isinstance(item.source, View):
        return None
    target, step = item.target, item.target.dtype.itemsize
    if item.expression != "{1}" or 0 in target.shape:
        return None
    for d in reversed(axes_in_order(target.shape, target.strides)):
        if target.strides[d] != step:
            return None
        step *= target.shape[d]
    return target, item.source


def lies_as(view: View, other: View) -> bool:
    """Tell whether the elements of one lie as those of the other do."""
    if view.shape != other.shape or view.dtype != other.dtype:
        return False
    steps = zip(view.shape, view.strides, other.strides, strict=True)
    return all([n == 1 or one == two for n, one, two in steps])


def are_apart(views: list[View]) -> bool:
    """Tell whether no two of some views without gaps have a place in common."""
    end = 0
    for view in sorted(views, key=lambda view: view.offset):
        if view.offset < end:
            return False
        end = view.offset + view.size * view.dtype.itemsize
    return True


def _rounded(size: int) -> int:
    if size > 16:
        return -(-size // _LINE) * _LINE
    return 16 if size > 8 else 8
