"""Writes on a tape: into memory that nobody else has, with the record of the functional word."""

from __future__ import annotations

from typing import Any

from chainrules_py import (
    bind,
    find_rule,
    space,
)
from chainrules_py.extend import (
    Cache,
    is_tracer_type,
)
from chainrules_py.vocabulary.views import store
from chainrules_tape.config import config
from chainrules_tape.core.links import Overwrite
from chainrules_tape.memory.write import alone, fits

__all__ = ["put_in_place"]


def put_in_place(x: Any, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
    """Write into the memory of a variable; False, and nothing done, where others have it."""
    tape = x.tape
    mine = is_tracer_type(type(value)) and getattr(value, "tape", None) is tape
    y = value.payload if mine else value
    if not (alone(x) and fits(x.payload, y)):
        return False
    if type(tape).append is not list.append:  # it is closed, and says so when it records
        return False
    classes = (x.payload_type, type(y), *map(type, arrays))
    try:
        pull = _puts.table[classes, mine]
    except KeyError:
        pull = _find_put(classes, mine, (x.payload, y, *arrays), pattern)
    if pull is None:
        return False
    x.payload[pattern.join(arrays)] = y
    last = tape[x.index]
    of = last[3] if type(last[1]) is Overwrite else space(x.payload)
    links = Overwrite(x.index, value.index if mine else None)
    record = (pull, links, {"index": pattern}, of, space(y) if mine else None, *arrays)
    x.index = len(tape)
    tape.append(record)
    for a in arrays:
        tape.guard.capture(a, record)
    return True


_puts = Cache()


def _find_put(
    classes: tuple[type, ...], mine: bool, operands: tuple[Any, ...], pattern: Any
) -> Any:
    """The pull of `store` for these types; None where a rule of its own records what it likes."""
    table = _puts.open()
    rule = find_rule(store, classes, config)
    wanted = (True, mine, *[False] * (len(classes) - 2))
    primal = _unchanged  # for the write is done, and only the record is wanted
    bound = rule and bind(rule, classes, wanted, "reverse", primal=primal, config=config)
    pull = None
    if bound and bound.statement.recipe.pen == "linear_rule":
        pull = bound.run(None, *operands, index=pattern)[1][0]
    table[classes, mine] = pull
    return pull


def _unchanged(x: Any, *_: Any, index: Any) -> Any:
    return x
