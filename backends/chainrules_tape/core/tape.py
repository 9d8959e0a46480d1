"""The tape: the records of one differentiation, and what people ask of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from chainrules_py import (
    NotDifferentiableError,
    Primitive,
    TracerError,
)
from chainrules_py.extend import (
    CapturedValues,
    describe,
    fields_of,
    is_structure_type,
    kind_of,
    new_level,
    rebuild,
)
from chainrules_tape.core.backward import LEAF
from chainrules_tape.core.variable import kept_class, reopen, variable_class
from chainrules_tape.inspect.nans import check_value, source_line, trap_is_set
from chainrules_tape.memory.guard import Guard, Mode
from chainrules_tape.memory.write import snapshot

if TYPE_CHECKING:
    from chainrules_tape.core.variable import Variable

__all__ = ["KeptCall", "ClosedTape", "ConsumedTape", "Notes", "Tape"]


class Tape(list[tuple[Any, ...]]):
    """The records of one differentiation, in the order of the calls.

    A record is ``(pull, links, *saved)``: ``pull(y_bar, *saved)`` gives the cotangents that go to
    the records at ``links``, an index or a tuple of them.

    Parameters
    ----------
    persistent : bool
        Whether more than one gradient can be asked for; without it the first consumes the tape,
        so that memory goes as the pass goes.
    differentiable : bool
        Whether the gradients are variables of this tape, to be differentiated again, to any
        order. Such a tape keeps all values that it saw, shows them, and is persistent.
    guard : {"lock", "fingerprint", "full", "off"}
        How arrays that the gradient depends on are watched, so that none is written to before it is
        taken: they are read-only meanwhile, and compared by a sample of their elements; only
        compared; compared byte by byte; or not watched.

    Examples
    --------
    >>> with Tape() as tape:
    ...     x = tape.variable(3.0, "x")
    ...     loss = x * x
    >>> tape.grad(loss, x)
    6.0

    Several losses, and a gradient of a gradient:

    >>> with Tape(differentiable=True) as tape:
    ...     x = tape.variable(3.0, "x")
    ...     slope = tape.grad(x * x * x, x)
    ...     bend = tape.grad(slope, x)
    >>> slope.value, bend.value
    (27.0, 18.0)
    """

    state: ClassVar[str] = "open"
    __slots__ = ("classes", "folds", "guard", "held", "level", "notes", "persistent")

    def __init__(
        self, *, persistent: bool = False, differentiable: bool = False, guard: Mode = "lock"
    ) -> None:
        self.guard = Guard(guard)
        self.held = self.guard.held
        self.level = new_level()
        self.persistent = persistent or differentiable
        self.notes: Notes | None = None
        self.folds: Any = None  # a lock, if records were dropped that can be made again
        self.classes = variable_class
        if differentiable or trap_is_set():
            self.notes = Notes(differentiable, keeps=True)
            self.classes = kept_class

    def leaf(self, value: Any, name: object = None) -> Variable:
        """A variable that nothing flows out of: an input."""
        (made,) = self.inputs((snapshot(value),), name)
        return made

    def inputs(self, values: Sequence[Any], name: object = None) -> list[Variable]:
        """The same of several values, of which none is a variable that may be written to."""
        first, classes = len(self), self.classes
        self.extend([(None, LEAF)] * len(values))
        hold = self.guard.hold
        for x in values:
            hold(x, name)
        return [classes[type(x)](x, self, i) for i, x in enumerate(values, first)]

    def capture(self, x: Any, record: tuple[Any, ...], saved: bool) -> None:
        """Watch over a plain array that was an operand, if its record saved it."""
        if id(x) not in self.held:
            if saved:
                self.guard.hold(x, record[:1])
            else:
                self.guard.capture(x, record)

    def watch(self, record: tuple[Any, ...]) -> None:
        """Watch over plain arrays that a rule took from outside, if its record says which."""
        if type(record[-1]) is CapturedValues:
            for x in record[-1]:
                self.guard.hold(x, record[:1])

    def close(self) -> None:
        """From now on recording a call is an error: a variable has escaped its differentiation."""
        # By changing the class, so that no record on an open tape asks whether it is open.
        object.__setattr__(self, "__class__", ClosedTape)

    def consume(self) -> None:
        """Drop the records; what is asked of the tape from now on is an error."""
        self.guard.release()
        self.clear()
        object.__setattr__(self, "__class__", ConsumedTape)

    # -- what people call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if error is None:
            self.close()
            if self.persistent:  # it is to live on, and so are the arrays
                self.guard.unlock()
        else:
            self.consume()

    def variable(self, value: Any, name: str | None = None) -> Any:
        """A value to differentiate in: an array, a number, or a structure of them.

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
            return rebuild(
                value,
                [
                    self.variable(x, None if name is None else f"{name}[{key!r}]")
                    for key, x in fields_of(value)
                ],
            )
        if kind_of(value) not in ("real", "complex", "int"):
            msg = f"{describe(value)} is no array and no number, so no derivative is taken in it"
            raise NotDifferentiableError(msg)
        self.guard.unlock_when_dropped()
        made = self.leaf(value, name)
        if name is not None:
            self.note().names[made.index] = name
        return made

    def note(self) -> Notes:
        """What is known of this tape beside its records."""
        if self.notes is None:
            self.notes = Notes()
        return self.notes

    def grad(self, loss: Any, sources: Any, seed: Any = None) -> Any:
        """The gradient of a number, or the cotangents for a seed, at values on this tape.

        Parameters
        ----------
        loss
            A variable of this tape with one real number; with a seed, any variable, or a structure
            of them.
        sources
            Variables of this tape, inputs or intermediates, in any structure.
        seed, optional
            The cotangent of the loss, in its structure.

        Returns
        -------
        In the structure of the sources, a tuple, list or dict for one; ``ZeroTangent()`` where
        nothing flows. Plain arrays, except on a differentiable tape: there, variables of it.

        Raises
        ------
        TracerError
            If the tape was consumed, or a value does not belong to it.
        NotDifferentiableError
            If the loss is not one real number, and no seed was given.
        """
        from chainrules_tape.functions.tape_grad import gradient

        return gradient(self, loss, sources, seed)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of level {self.level}: {len(self)} records>"

    def __str__(self) -> str:
        from chainrules_tape.inspect.text import listing

        return listing(self)

    def to_dot(self) -> str:
        """The graph of the calls, in the language of Graphviz."""
        from chainrules_tape.inspect.graph import graphviz

        return graphviz(self)

    def to_svg(self) -> str:
        """The graph of the calls, drawn: shapes, and the values that the tape keeps."""
        from chainrules_tape.inspect.graph import svg

        return svg(self)

    _repr_svg_ = to_svg


class ClosedTape(Tape):
    """A tape whose differentiation is over."""

    __slots__ = ()
    state = "closed"

    def append(self, record: Any, /) -> None:
        """Refuse to record."""
        msg = (
            "a traced value was used after the grad, vjp, jvp or 'with Tape()' that made it was "
            "over; return values from the differentiated function instead of storing them, "
            "ask for has_aux, or use the value itself: x.value"
        )
        raise TracerError(msg)

    extend = append


class ConsumedTape(ClosedTape):
    """A tape whose gradient was taken: its records are gone."""

    __slots__ = ()
    state = "consumed"


class Notes:
    """What a tape knows beside its records.

    Attributes
    ----------
    names : dict
        From the index of a record to the name of its value.
    hooks : dict
        From the index of a record to what its cotangent is handed to.
    calls : dict or None
        From the index of a record to the call, on tapes that keep them.
    differentiable : bool
        Whether gradients are recorded as well.
    """

    __slots__ = ("calls", "differentiable", "hooks", "names")

    def __init__(self, differentiable: bool = False, *, keeps: bool = False) -> None:
        self.names: dict[int, str] = {}
        self.hooks: dict[int, list[Callable[[Any], Any]]] = {}
        self.differentiable = differentiable
        self.calls: dict[int, KeptCall] | None = {} if keeps else None

    def keep(
        self,
        index: int,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        opened: list[tuple[Any, Any]],
        options: dict[str, Any],
        value: Any,
    ) -> None:
        """Keep a call, if that is what this tape does; under `debug_nans` look at its value."""
        if self.calls is not None:
            where = source_line((value, *[payload for payload, _ in opened]))
            self.calls[index] = KeptCall(primitive, primal, opened, options, value, where)
            if trap_is_set():
                check_value(self.calls[index])


class KeptCall:
    """A call as it was recorded: enough to show it, and to record it once more.

    Operands are kept as pairs of payload and link, not as variables: they would hold the tape.
    """

    __slots__ = ("opened", "options", "primal", "primitive", "value", "where")

    def __init__(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        opened: list[tuple[Any, Any]],
        options: dict[str, Any],
        value: Any,
        where: str,
    ) -> None:
        self.primitive = primitive
        self.primal = primal
        self.opened = opened
        self.options = options
        self.value = value
        self.where = where

    def operands(self, tape: Tape) -> list[Any]:
        """The operands, as variables again."""
        return [reopen(payload, link, tape) for payload, link in self.opened]
