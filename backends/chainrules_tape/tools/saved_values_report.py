"""Saved values: which arrays a tape keeps for the gradient, by which line, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, final

from chainrules_py.extend import describe, flatten, type_info, unflatten
from chainrules_tape.checkpoint.checkpoint_and_policies import Packed, Recalled, nbytes
from chainrules_tape.checkpoint.segment import Segment
from chainrules_tape.core.bare_tape import Notes
from chainrules_tape.functions.arguments import Arguments, Numbers, can_vary
from chainrules_tape.functions.run import ReverseRun
from chainrules_tape.inspect.kept_calls import KeptCall, source_line


class SavedValue(NamedTuple):
    """Array that a gradient keeps.

    Attributes
    ----------
    nbytes : int
        Its number of bytes.
    what : str
        Its dtype and shape.
    by : str
        The function whose derivative reads it.
    why : str
        Its role in that call.
    where : str
        The line of the call.
    """

    nbytes: int
    what: str
    by: str
    why: str
    where: str


@final
class Saved:
    """Arrays that a gradient keeps; its repr is a table.

    Attributes
    ----------
    rows : list of SavedValue
        The arrays, each once, the largest first.
    nbytes : int
        The total number of bytes.
    """

    def __init__(self, rows: list[SavedValue]) -> None:
        self.rows = sorted(rows, key=lambda row: -row.nbytes)
        self.nbytes = sum([row.nbytes for row in rows])

    def __repr__(self) -> str:
        lines = [f"{self.nbytes} bytes in {len(self.rows)} arrays"]
        for row in self.rows:
            line = f"{row.nbytes:>10}  {row.what}  {row.by}: {row.why}"
            lines.append(f"{line}  {row.where}" if row.where else line)
        return "\n".join(lines)


class _Lines(Notes):
    """Notes of calls with their lines, on a tape that keeps no more values than any other."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, KeptCall] = {}

    def keep(self, index: int, record: Any, *call: Any) -> None:
        """Keep a call with its line."""
        where = source_line()
        kept = self.seen[index] = KeptCall(*call)
        kept.where = where


def show_saved(
    f: Callable[..., Any], *operands: Any, argnums: Numbers = 0, **keywords: Any
) -> Saved:
    """List the arrays that the gradient of a function keeps, with their bytes and the reasons.

    Parameters
    ----------
    f : callable
        The function, possibly with checkpoints.
    *operands, **keywords
        Its arguments.
    argnums : int or sequence of int
        The arguments in which `grad` would differentiate.

    Returns
    -------
    Saved
        Its repr is a table, the largest array first.

    Examples
    --------
    >>> import numpy as np
    >>> saved = show_saved(lambda x: np.sum(np.sin(x) * 2.0), np.ones(3))
    >>> [(row.nbytes, row.by, row.why) for row in saved.rows]
    [(24, 'sin', 'argument')]
    """
    tape: Any = ReverseRun.new_tape(guard="off")
    notes = tape.notes = _Lines()
    tape.classes = tape.kept_classes
    chosen, of_chosen = Arguments("show_saved", f, argnums, None).pick(operands, keywords)
    leaves, tree = flatten(chosen)
    given = [tape.variable(x) if v else x for x, v in zip(leaves, can_vary(leaves), strict=True)]
    of_chosen(*unflatten(tree, given))
    tape.close()
    plain = flatten((operands, keywords))[0]
    arguments = {id(getattr(x, "payload", x)) for x in (*given, *plain)}
    rows: list[SavedValue] = []
    seen: set[int] = set()
    for array, by, call, role in _held(tape, notes.seen):
        if id(array) in seen or not nbytes(array):
            continue
        seen.add(id(array))
        why = role or ("argument" if id(array) in arguments else _why(array, call))
        rows.append(SavedValue(nbytes(array), describe(array), by, why, call.where if call else ""))
    return Saved(rows)


def _why(array: Any, call: KeptCall | None) -> str:
    """Return the role of an array in the call whose record holds it."""
    if call is None:
        return "held"
    for k, (x, link) in enumerate(call.opened):
        if x is array:
            return f"operand {k}" + ("" if link is not None else ", a constant")
    return "result" if array is call.value else "made for the derivative"


def _held(tape: Any, calls: dict[int, KeptCall]) -> Iterator[tuple[Any, str, KeptCall | None, str]]:
    """Iterate over the arrays that the records of a tape hold."""
    for index, (half, links, *saved) in enumerate(tape):
        call = calls.get(index)
        by = "input" if call is None else call.primitive.__name__
        if type(links) is Recalled:
            kept = links.values.get(index)
            kept = kept.kept if type(kept) is Packed else kept
            yield kept, by, call, "kept by the policy"
            saved = [*(links.records[index][2] or ()), *[x for x, _ in links.calls[index].opened]]
        elif type(links) is Segment:
            saved, by, call = [x for x, _ in links.given.leaves], links.name, None
        elif half is None:
            continue
        for x in flatten(saved)[0]:
            if type_info(type(x)).is_array:
                yield x, by, call, "to run it again" if type(links) is Segment else ""
