"""Writes on a tape: into memory that nobody else has, with the record of the functional word."""

from __future__ import annotations

from typing import Any

from chainrules_py import space
from chainrules_py.extend import Cache, Tracer, bind, find_rule, part, type_info
from chainrules_py.vocabulary.views import duplicate, store
from chainrules_tape.config import config
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.memory.view import share
from chainrules_tape.memory.write import Writable, alone, fits

__all__ = ["Overwrite", "WritableOnTape"]


class Overwrite:
    """Link of a write into memory of our own: what was written over gets no cotangent.

    The cotangent of the result becomes that of the buffer before the write, with zeros in place of
    what was written; where it is a sum of our own, the zeros are written into it, so that n writes
    cost n on the way back as well.
    """

    __slots__ = ("links",)

    def __init__(self, x: int, y: int | None) -> None:
        self.links = (x, y)

    @property
    def parents(self) -> int | tuple[int, int]:
        """Where a pull sends what it gives: to the buffer, and to the value if that is traced."""
        x, y = self.links
        return x if y is None else (x, y)

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Read what goes to the value, and pass the rest on."""
        (x, y), pull, saved = self.links, record[0], record[2:]
        mine = bars.release(index)
        bars[index] = None
        if y is not None:
            bar = part(pull, 1, y_bar, saved)
            bars.add(y, duplicate(bar) if mine and share(bar, y_bar) else bar)
        if mine:
            y_bar[saved[0]["index"].join(saved[3:])] = 0
        else:
            y_bar = part(pull, 0, y_bar, saved)
        if bars[x] is None and type_info(type(y_bar)).is_array:
            bars.adopt(x, y_bar)
        else:
            bars.add(x, y_bar)


class WritableOnTape(Writable, BareVariable):
    """A variable that can be written to: the write is recorded, and done in its own memory."""

    __slots__ = ()

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Record a write whose result is the memory that was written to."""
        tape = self.tape
        traced = issubclass(type(value), Tracer)
        mine = traced and getattr(value, "tape", None) is tape
        y = value.payload if mine else value
        if not alone(self) or (traced and not fits(self.payload, y)):
            return False
        if type(tape).append is not list.append:  # it is closed, and says so when it records
            return False
        classes = (self.payload_type, type(y), *map(type, arrays))
        try:
            pull = _puts.table[classes, mine]
        except KeyError:
            pull = _find_put(classes, mine, (self.payload, y, *arrays), pattern)
        if pull is None:
            return False
        self.payload[pattern.join(arrays)] = y
        last = tape[self.index]
        of = last[3] if type(last[1]) is Overwrite else space(self.payload)
        links = Overwrite(self.index, value.index if mine else None)
        record = (pull, links, {"index": pattern}, of, space(y) if mine else None, *arrays)
        self.index = len(tape)
        tape.append(record)
        for a in arrays:
            tape.guard.capture(a, record)
        return True


_puts = Cache()


def _find_put(
    classes: tuple[type, ...], mine: bool, operands: tuple[Any, ...], pattern: Any
) -> Any:
    """Find the pull of `store` for these types; None if a rule of their own records otherwise."""
    table = _puts.open()
    rule = find_rule(store, classes, config)
    wanted = (True, mine, *[False] * (len(classes) - 2))
    primal = _unchanged  # for the write is done, and only the record is wanted
    bound = rule and bind(rule, classes, wanted, "reverse", primal=primal, config=config)
    pull = None
    if bound and bound.is_linear:
        pull = bound.run(None, *operands, index=pattern)[1][0]
    table[classes, mine] = pull
    return pull


def _unchanged(x: Any, *_: Any, index: Any) -> Any:
    return x
