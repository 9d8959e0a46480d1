"""Assemble the tape from its core and the packages that extend it, and fix their order.

The core records calls and plays them back. This module adds the rest: in-place writes and views
(`array_writes`), fast paths for frequent calls (`fast`), kept calls, names, text and graphs
(`inspect`), the gradient methods of a tape (`functions`), and records that are dropped and
recomputed (`checkpoint`). Each of these packages can be left out without breaking the others.
"""

from __future__ import annotations

from typing import Any, ClassVar

from chainrules_py.extend import Classes, Guard, GuardMode, Recorder, SettledCalls
from chainrules_tape.array_writes.in_place_cotangent_links import AddsInPlace
from chainrules_tape.array_writes.writes_and_views import WritableOnTape
from chainrules_tape.core.bare_tape import Closed
from chainrules_tape.fast.concatenate import FastJoins
from chainrules_tape.fast.dispatch_by_type import FastSteps
from chainrules_tape.fast.slices import FastSlices
from chainrules_tape.functions.run import ReverseRun
from chainrules_tape.functions.tape_grad import HasGradients
from chainrules_tape.inspect.kept_calls import KeptNotes, trap_is_set
from chainrules_tape.inspect.text import Named, listing, nodes_of


class Variable(Named, WritableOnTape, AddsInPlace):
    """Value on a tape. It has a subclass for each type of payload."""

    __slots__ = ()


class FastVariable(FastJoins, FastSteps, FastSlices, Variable):
    """Value on a tape whose frequent calls take the fast paths."""

    __slots__ = ()


class KeptVariable(Variable):
    """Value on a tape that keeps its calls, to show them or to record them again.

    It has no fast paths, so that these tapes add no cost to the others.

    Attributes
    ----------
    orders : int
        How often results may be differentiated, which functions that are solved to an order read.
    """

    __slots__ = ()
    orders: ClassVar[int] = 4

    __trace__: Any = SettledCalls.__trace__

    @classmethod
    def recorder(cls, primitive: Any, primal: Any, classes: Any) -> Recorder:
        """Return what records a call by itself, whatever the types of its operands settle."""
        return cls.tracing.recorder(primitive, primal, classes, None)

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Return False: the tape keeps all values, so none may be overwritten."""
        return False


FastVariable.__name__ = Variable.__name__  # the name that users see
FastVariable.results = Classes(FastVariable, FastVariable.tracing.wrap_fields)
KeptVariable.results = Classes(KeptVariable, KeptVariable.tracing.wrap_fields)


class Tape(HasGradients):
    """Tape: the records of one differentiation, in the order of the calls.

    A record is ``(pull, links, *saved)``: ``pull(y_bar, *saved)`` returns the cotangents of the
    records at ``links``: an index, or several (`chainrules_tape.core.cotangent_routing`).

    Parameters
    ----------
    persistent : bool
        Whether the tape gives more than one gradient. Without it the first gradient consumes the
        tape, and memory is released during the backward pass.
    differentiable : bool
        Whether the gradients are variables of this tape, which can be differentiated again, to any
        order. This tape keeps all values that it records, shows them, and is persistent.
    guard : {"lock", "sample", "full", "off"}
        How the tape detects writes to the arrays that the gradient depends on before the gradient
        is computed. "lock" makes them read-only meanwhile, and compares those of up to 64
        elements; views made before can still be written to. "sample" compares 64 elements of
        each; "full" compares all bytes; "off" does not check.

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

    __slots__ = ()

    def __init__(
        self,
        *,
        persistent: bool = False,
        differentiable: bool = False,
        guard: GuardMode | Guard = "lock",
    ) -> None:
        kept = differentiable or trap_is_set()
        super().__init__(
            guard if isinstance(guard, Guard) else Guard(guard),
            (KeptVariable if kept else FastVariable).results,
            persistent or differentiable,
            KeptNotes(differentiable) if kept else None,
        )

    def __str__(self) -> str:
        return listing(self)

    def to_dot(self) -> str:
        """Return the graph of the calls in the DOT language of Graphviz."""
        from chainrules_tape.pictures import graphviz

        return graphviz(nodes_of(self), "tape")

    def to_svg(self) -> str:
        """Return the graph of the calls as SVG, with shapes and the values that the tape keeps."""
        from chainrules_tape.pictures import svg

        return svg(nodes_of(self))

    _repr_svg_ = to_svg


class ClosedTape(Closed, Tape):
    """Tape whose differentiation is over."""

    __slots__ = ()


class ConsumedTape(ClosedTape):
    """Tape whose gradient was computed and whose records are dropped."""

    __slots__ = ()
    state = "consumed"


Tape.when_open, Tape.when_closed, Tape.when_consumed = Tape, ClosedTape, ConsumedTape
ReverseRun.new_tape = Tape
Tape.kept_classes = KeptVariable.results
