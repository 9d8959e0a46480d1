"""Tape: the records of one differentiation, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar, Self

from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    Guard,
    Line,
    Space,
    Tracer,
    caller,
    describe,
    explain_error,
    fields_of,
    flatten,
    is_structure_type,
    kind_of,
    new_level,
    objects,
    rebuild,
    told,
)
from chainrules_tape.config import recorders
from chainrules_tape.core.links import INPUT

Fetch = Callable[[int], tuple[Any, ...]]
"""Gives the record at an index."""


class Notes:
    """Facts about a tape beside its records.

    Attributes
    ----------
    names : dict
        From the index of a record to the name of its value.
    hooks : dict
        From the index of a record to what its cotangent is handed to.
    always : dict
        From the index of a record that is played though nothing flows to it, to its value's space.
    calls : dict or None
        From the index of a record to the call, on tapes that keep them.
    differentiable : bool
        Whether gradients are recorded as well.
    """

    __slots__ = ("always", "calls", "differentiable", "hooks", "names")

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.hooks: dict[int, list[Callable[[Any], Any]]] = {}
        self.always: dict[int, Any] = {}
        self.differentiable = False
        self.calls: dict[int, Any] | None = None

    def keep(self, index: int, *call: Any) -> None:
        """Keep a call, if that is what this tape does."""

    def player(self) -> Any:
        """Return the loop that plays records back, where it is not the usual one."""


class BareTape(list[tuple[Any, ...]]):
    """Records of one differentiation, in the order of the calls.

    A record is ``(pull, links, *saved)``: ``pull(y_bar, *saved)`` gives the cotangents that go to
    the records at ``links``.

    Parameters
    ----------
    guard : Guard
        What watches over the arrays that the gradient depends on.
    classes : mapping
        From the type of a value to the class of its variables.
    persistent : bool
        Whether more than one gradient can be asked for.
    notes : Notes, optional
        Facts beside the records.
    """

    state: ClassVar[str] = "open"
    when_open: ClassVar[type[BareTape]]
    when_closed: ClassVar[type[BareTape]]
    when_consumed: ClassVar[type[BareTape]]
    kept_classes: ClassVar[Mapping[type, Any]]  # of variables whose calls are kept
    __slots__ = (
        "__weakref__",
        "classes",
        "folds",
        "guard",
        "held",
        "level",
        "notes",
        "persistent",
    )

    def __init__(
        self,
        guard: Guard,
        classes: Mapping[type, Any],
        persistent: bool = False,
        notes: Notes | None = None,
    ) -> None:
        self.guard = guard
        self.held = guard.held
        self.level = new_level()
        self.classes = classes
        self.persistent = persistent
        self.notes = notes
        self.folds: Any = None  # for tapes that drop records and make them again

    # -- recording

    def leaf(self, value: Any, name: object = None) -> Any:
        """Return a variable that nothing flows out of: an input."""
        return self.inputs((frozen(value),), name)[0]

    def inputs(self, values: Sequence[Any], name: object = None) -> list[Any]:
        """Return variables of several values, none of them a tracer that may be written to."""
        first, classes = len(self), self.classes
        self.extend([INPUT] * len(values))
        rest = self.guard.hold_all(values, name) if len(values) > 8 else values
        for x in rest:
            self.guard.hold(x, name)
        return [classes[type(x)](x, self, i) for i, x in enumerate(values, first)]

    def capture(self, x: Any, record: tuple[Any, ...], closes: bool) -> None:
        """Watch over a plain array that was an operand, if its record saved it.

        Where a pull ``closes`` over values, it counts as saved unless no value can have it.
        """
        if id(x) in self.held:
            return
        if not closes:
            self.guard.capture(x, record)
            return
        for saved in record[2:]:
            cls = type(saved)
            if cls is type(x):  # of its own memory, if it is no view
                may = saved is x or getattr(saved, "base", x) is not None or x.base is saved
            elif cls is FunctionType:
                may = saved.__closure__ or saved.__defaults__ or saved.__kwdefaults__
            else:
                may = cls not in _WITHOUT_ARRAYS
            if may:
                self.guard.hold(x, record[:1])
                return

    def note(self) -> Notes:
        """Return the facts that are noted beside the records, to add to them."""
        if self.notes is None:
            self.notes = Notes()
        return self.notes

    # -- its state

    def close(self) -> None:
        """Make it an error to record from now on: a variable has escaped its differentiation."""
        # By changing the class, so that no record on an open tape asks whether it is open.
        object.__setattr__(self, "__class__", self.when_closed)

    def consume(self) -> None:
        """Drop the records; what is asked of the tape from now on is an error."""
        self.guard.release()
        self.clear()
        object.__setattr__(self, "__class__", self.when_consumed)

    # -- what people call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        made = objects.pop(self.level, None)
        if error is None:
            if made is not None:
                made.warn()
            self.close()
            self.guard.unlock()
        else:
            try:
                self.guard.explain(error)
            finally:
                self.consume()
            if isinstance(error, Exception):
                explain_error(error, made)

    def variable(self, value: Any, name: str | None = None) -> Any:
        """Return a value to differentiate in: an array, a number, or a structure of them.

        Parameters
        ----------
        value
            Array of any shape, number, or structure of them.
        name : str, optional
            What it is called in listings and messages; its fields are called ``name[key]``.

        Returns
        -------
        Variable
            The value on this tape, to be used like it; of a structure, the same structure.

        Raises
        ------
        NotDifferentiableError
            If there is nothing in it that a derivative could be taken in.
        """
        if is_structure_type(type(value)):
            flatten(value)  # which says so if it is too deep
            return rebuild(
                value,
                [
                    self.variable(x, None if name is None else f"{name}[{key!r}]")
                    for key, x in fields_of(value)
                ],
            )
        if kind_of(value) not in ("real", "complex", "int"):
            msg = f"{describe(value)} is neither an array nor a number: it has no derivative"
            raise NotDifferentiableError(msg)
        made = self.leaf(value, name)
        recorders.made[id(self)] = self
        if name is not None:
            self.note().names[made.place] = name
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        msg = (
            f"{self!r} cannot be copied or pickled; pickle the function, or its pullback: "
            f"vjp(f, x)[1]"
        )
        raise TracerError(msg)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level}: {len(self)} records>"


class Closed:
    """State of a tape whose differentiation is over."""

    __slots__ = ()
    state: ClassVar[str] = "closed"

    def append(self, record: Any, /) -> None:
        """Refuse to record."""
        line = Line(caller())
        shown = next((f"{name}, {what}," for name, what in line.over()), "a traced value")
        fact = (
            f"{shown} was used after the grad, vjp, jvp, linearize or 'with Tape()' that made it "
            f"was over"
        )
        write = "store ignore_derivatives(x) in place of x, or return x with has_aux=True"
        raise TracerError(told(fact, line, write))

    extend = append


_WITHOUT_ARRAYS = {Space, bool, int, float, complex, str, type(None)}


def frozen(x: Any) -> Any:
    """Return a tracer as it is now, whatever is written to it later; other values as they are."""
    return x.frozen() if issubclass(type(x), Tracer) else x
