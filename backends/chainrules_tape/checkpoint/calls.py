"""Checkpoints under a policy: single calls are made again, and no line of the function.

While a function runs, its calls are kept with their operands. Then the values that the policy does
not want are let go, and the records that read them stand by references (`Recalled`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py.extend import find_tracers, set_class
from chainrules_tape.checkpoint.folds import Folds, folded
from chainrules_tape.checkpoint.policies import Packing, Save
from chainrules_tape.checkpoint.recalled import Recalled
from chainrules_tape.core.tape import BareTape, Notes
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.inspect.kept_calls import KeptCall


def name(x: Any, label: str) -> Any:
    """Give a value a name: in listings, and ``checkpoint(f, save=[label])``.

    Parameters
    ----------
    x
        A value; nothing happens to what is on no tape.
    label : str
        The name.

    Returns
    -------
    same as x
        The value itself.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import checkpoint, grad
    >>> f = checkpoint(lambda x: np.sin(name(np.exp(x), "e")), save=["e"])
    >>> bool(grad(f)(0.0) == np.cos(1.0))
    True
    """
    if isinstance(x, BareVariable):
        x.tape.note().names[x.place] = label
        name(x.payload, label)
    return x


@final
class Calls(Notes):
    """Notes of a tape under a policy: each call is taken in when the next one comes.

    Attributes
    ----------
    last : tuple or None
        The place of the last call, and the call: its record stands there by the next one.
    """

    __slots__ = ("before", "last", "recalled", "tape")

    def __init__(self, tape: BareTape, recalled: Recalled) -> None:
        super().__init__()
        self.tape, self.recalled, self.before = tape, recalled, tape.notes
        self.last: tuple[int, KeptCall] | None = None
        self.calls = {}  # so that arrays are watched over as on a tape that keeps its calls
        if self.before is not None:
            others = self.before
            self.names, self.hooks, self.always = others.names, others.hooks, others.always

    def keep(self, index: int, *call: Any) -> None:
        """Keep a call; its line is looked for where somebody wants to read it."""
        if self.before is not None:
            self.before.keep(index, *call)
        self.take_in()
        self.last = index, KeptCall(*call)

    def take_in(self) -> None:
        """Take in the last call, whose record is there by now."""
        if self.last is None:
            return
        (i, call), self.last = self.last, None
        if self.tape[i][0] is None:  # nothing was recorded of it
            return
        if self.recalled.add(i, call, self.tape[i], self.names.get(i)):
            self.tape[i] = (folded, self.recalled)

    def rest(self) -> Notes | None:
        """Return the notes that stay when the function is over."""
        before = self.before
        if before is None and (self.names or self.hooks or self.always):
            before = Notes()
            before.names, before.hooks, before.always = self.names, self.hooks, self.always
        return before


def run(
    f: Callable[..., Any],
    save: Save,
    packing: Packing | None,
    tape: Any,
    operands: tuple[Any, ...],
    keywords: dict[str, Any],
    outside: Any,
) -> Any:
    """Run a function on a tape, and let go what a policy does not keep."""
    classes, kept, held = tape.classes, tape.kept_classes, len(tape.held)
    notes = Calls(tape, Recalled(len(tape), save, packing, BareVariable.tracing.find))
    given = find_tracers((operands, keywords, outside))
    mine: list[Any] = [x for x in given if _is_of(x, tape, classes)]
    y: Any = None
    tape.folds = tape.folds or Folds()
    try:
        tape.notes, tape.classes = notes, kept
        for x in mine:
            set_class(x, kept[type(x.payload)])
        y = f(*operands, **keywords)
        notes.take_in()
        notes.recalled.settle()
    finally:
        tape.notes, tape.classes = notes.rest(), classes
        out: list[Any] = [*mine, *find_tracers(y)]
        for x in out:
            if _is_of(x, tape, kept):
                set_class(x, classes[type(x.payload)])
    tape.guard.settle(held)
    return y


def _is_of(x: Any, tape: BareTape, classes: Any) -> bool:
    """Tell whether a tracer is a variable of a tape, of its usual classes or of others."""
    mine = isinstance(x, BareVariable) and x.tape is tape
    return mine and type(x) is classes[type(x.payload)]
