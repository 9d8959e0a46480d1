"""Tape: the records of one differentiation, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from sys import modules
from types import FunctionType
from typing import Any, ClassVar, NoReturn

from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    Guard,
    Line,
    Space,
    Tracer,
    caller,
    describe,
    fields_of,
    flatten,
    is_structure_type,
    kind_of,
    met,
    new_level,
    rebuild,
    see_operators,
    told,
)
from chainrules_tape.core.cotangent_routing import INPUT
from chainrules_tape.rule_config import recorders

Fetch = Callable[[int], tuple[Any, ...]]
"""Returns the record at an index."""


class Notes:
    """Facts about a tape that are kept besides its records.

    Attributes
    ----------
    names : dict
        From the index of a record to the name of its value.
    hooks : dict
        From the index of a record to the functions that its cotangent is passed to.
    always : dict
        From the index of a record that is played even without a cotangent to its value's space.
    calls : dict or None
        From the index of a record to its call, on tapes that keep calls; otherwise None.
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

    def keep(self, index: int, record: Any, *call: Any) -> None:
        """Keep a call, on tapes that keep calls; its record gets that index, or a later one."""

    def player(self) -> Any:
        """Return the loop that plays records back, or None for the usual one."""


VARYING = frozenset(("real", "complex", "int"))
"""Kinds of values that can be differentiated with respect to."""


class BareTape(list[tuple[Any, ...]]):
    """Records of one differentiation, in the order of the calls.

    A record is ``(pull, links, *saved)``: ``pull(y_bar, *saved)`` returns the cotangents of the
    records at ``links``.

    Parameters
    ----------
    guard : Guard
        Guards the arrays that the gradient depends on.
    classes : mapping
        From the type of a value to the class of its variables.
    persistent : bool
        Whether the tape gives more than one gradient.
    notes : Notes, optional
        Facts that are kept besides the records.
    """

    state: ClassVar[str] = "open"
    when_open: ClassVar[type[BareTape]]
    when_closed: ClassVar[type[BareTape]]
    when_consumed: ClassVar[type[BareTape]]
    kept_classes: ClassVar[Mapping[type, Any]]  # of variables on tapes that keep calls
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
        if len(modules) != met[0]:
            see_operators()
        self.guard, self.held = guard, guard.held
        self.level = new_level()
        self.classes, self.persistent = classes, persistent
        self.notes = notes
        self.folds: Any = None  # for tapes that drop records and recompute them

    # -- recording

    def leaf(self, value: Any, name: object = None) -> Any:
        """Return a variable without parents: an input."""
        return self.inputs((frozen(value),), name)[0]

    def inputs(self, values: Sequence[Any], name: object = None) -> list[Any]:
        """Return variables of several values, none of which is a tracer that can be written to."""
        first, classes = len(self), self.classes
        self.extend([INPUT] * len(values))
        rest = self.guard.hold_all(values, name) if len(values) > 8 else values
        for x in rest:
            self.guard.hold(x, name)
        return [classes[type(x)](x, self, i) for i, x in enumerate(values, first)]

    def capture(self, x: Any, record: tuple[Any, ...], closes: bool) -> None:
        """Guard a plain array that was an operand, if its record saved it.

        If the pull ``closes`` over values, the array counts as saved unless no saved value can
        hold it.
        """
        if id(x) in self.held:
            return
        if not closes:
            self.guard.capture(x, record)
            return
        for saved in record[2:]:
            cls = type(saved)
            if cls is type(x):  # memory of its own unless it is a view
                may = (
                    saved is x
                    or getattr(cls, "__asked_again__", False)  # recorded, with no base to read
                    or getattr(saved, "base", x) is not None
                    or x.base is saved
                )
            else:
                may = (
                    saved.__closure__ or saved.__defaults__ or saved.__kwdefaults__
                    if cls is FunctionType
                    else cls not in _WITHOUT_ARRAYS
                )
            if may:
                self.guard.hold(x, record[:1])
                return

    def note(self) -> Notes:
        """Return the notes of the tape; create them if there are none."""
        if self.notes is None:
            self.notes = Notes()
        return self.notes

    # -- state

    def close(self) -> None:
        """Make further recording an error: a variable has escaped its differentiation."""
        # The class changes, so that recording on an open tape needs no check.
        object.__setattr__(self, "__class__", self.when_closed)

    def consume(self) -> None:
        """Drop the records and make further use of the tape an error."""
        self.guard.release()
        self.clear()
        object.__setattr__(self, "__class__", self.when_consumed)

    # -- public methods

    def variable(self, value: Any, name: str | None = None) -> Any:
        """Return a value to differentiate with respect to.

        Parameters
        ----------
        value
            Array of any shape, number, or structure of them, which may also hold texts, flags and
            None.
        name : str, optional
            Name of the value in listings and messages; its fields are named ``name[key]``.

        Returns
        -------
        Variable
            The value on this tape, used like the value; for a structure, the same structure.

        Raises
        ------
        NotDifferentiableError
            If nothing in it can be differentiated with respect to.
        TracerError
            If it is a variable of this tape.
        """
        leaves, _ = flatten(value)
        if not VARYING.intersection(map(kind_of, leaves)):
            raise NotDifferentiableError(
                f"{describe(value)} is neither an array nor a number, and holds none: it has no "
                f"derivative"
            )
        if any([getattr(x, "tape", None) is self for x in leaves]):
            raise TracerError(
                f"{describe(value)} is a variable of this tape, or holds one; use it as it is, or "
                f"write tape.variable(ignore_derivatives(x)) for one that does not depend on it"
            )
        if is_structure_type(type(value)):
            return rebuild(
                value,
                [
                    self.variable(x, None if name is None else f"{name}[{key!r}]")
                    if VARYING.intersection(map(kind_of, flatten(x)[0]))
                    else x
                    for key, x in fields_of(value)
                ],
            )
        made = self.leaf(value, name)
        recorders.made[id(self)] = self
        if name is not None:
            self.note().names[made.place] = name
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TracerError(
            f"{self!r} cannot be copied or pickled; pickle the function, or its pullback: "
            f"vjp(f, x)[1]"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level}: {len(self)} records>"


class Closed:
    """State of a tape whose differentiation is over."""

    __slots__ = ()
    state: ClassVar[str] = "closed"

    def append(self, record: Any, /) -> None:
        """Raise, because the tape is closed."""
        refuse_over(self.state == "closed" and recorders.made.get(id(self)) is self)

    extend = append


def refuse_over(of_block: bool = False) -> NoReturn:
    """Raise because a value is used whose differentiation is over: that of a ``with`` block."""
    line = Line(caller())
    name, shown, container, goes_on = next(
        line.over(), ("what this line computes with", "a traced value", type(None), False)
    )
    whole, inside = name.rpartition("[")[0], "[:]" * (container is list)
    # In a function that is differentiated, a line before this one might stand in a loop, where it
    # would cut what one step hands to the next.
    named = whole if container is tuple else name
    where = (
        "before this line"
        if line.frame.f_code.co_name == "<module>"
        else f"directly after the line that gives {named} this value"
        if named in line.frame.f_code.co_varnames
        else "after the gradient, where it is taken"
    )
    write = (
        "move this line into the 'with Tape()' block"
        if of_block
        else "return it beside the result, as by grad(f, has_aux=True): an outer derivative "
        "depends on it"
        if goes_on
        else "give ignore_derivatives(x) where x is handed in, as to grad(f)(x)"
        if " " in name
        else f"write {whole}{inside} = [ignore_derivatives(y) for y in {whole}] {where}"
        if container in (list, tuple)
        else f"write {name} = ignore_derivatives({name}) {where}"
    )
    raise TracerError(
        told(
            f"{name}, {shown}, was used after the grad, vjp, jvp, linearize or 'with Tape()' "
            f"that made it was over",
            line,
            write,
        )
    )


_WITHOUT_ARRAYS = {Space, bool, int, float, complex, str, type(None)}


def frozen(x: Any) -> Any:
    """Return a tracer as it is now, unaffected by later writes; other values unchanged."""
    return x.frozen() if issubclass(type(x), Tracer) else x
