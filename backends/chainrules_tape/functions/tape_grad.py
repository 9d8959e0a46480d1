"""Gradients that a tape in the user's hands is asked for, and hooks on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import TracerError, ZeroTangent, is_zero, project, space, unthunk
from chainrules_py.extend import (
    check_cotangent,
    deliver,
    fields_of,
    find_tracers,
    is_structure_type,
    memory_of,
    own,
    rebuild,
)
from chainrules_tape.core.backward import backward
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.tape import BareTape
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.functions.run import check_scalar, lower, one
from chainrules_tape.inspect.replay import replayed

__all__ = ["HasGradients", "hook"]


class HasGradients(BareTape):
    """Tapes that people ask for gradients themselves."""

    __slots__ = ()

    def grad(self, loss: Any, sources: Any, seed: Any = None) -> Any:
        """Return the gradient of a number, or the cotangents for a seed, at values on this tape.

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
        return gradient(self, loss, sources, seed)


def gradient(tape: BareTape, loss: Any, sources: Any, seed: Any) -> Any:
    """`Tape.grad`."""
    differentiable = tape.notes is not None and tape.notes.differentiable
    if tape.state == "consumed":
        msg = (
            "this tape was consumed by its first gradient; write Tape(persistent=True) for "
            "several, or Tape(differentiable=True) for gradients of gradients"
        )
        raise TracerError(msg)
    if differentiable and tape.state == "closed":
        msg = (
            "the gradient is to be recorded on this tape, which is closed; ask for it inside the "
            "'with' block, or write Tape(persistent=True) for one that is not recorded"
        )
        raise TracerError(msg)
    starts: list[tuple[tuple[Any, ...], int]] = []
    y = lower(_checked(tape, loss, "the loss"), tape, (), starts)
    places: set[int] = set()
    _visit(tape, sources, lambda x: places.add(x.index))
    if seed is None:
        check_scalar(y)
        seed = one(y)
    elif not find_tracers(seed):
        seed = check_cotangent(y, seed)
    bars = Cotangents(len(tape)) if tape.folds is None else tape.cotangents()
    first = -1
    for path, index in starts:
        bar = seed
        for key in path:
            bar = bar if is_zero(bar) else bar[key]
        if not is_zero(bar):
            bars.add(index, bar)
            first = max(first, index)
    try:
        tape.guard.check()
        found = backward(
            tape,
            bars,
            first,
            consume=not tape.persistent,
            fetch=replayed(tape) if differentiable else None,
            watch=places,
        )
    finally:
        if not tape.persistent:
            tape.consume()
    given: set[int] = set()

    def bar_of(x: BareVariable) -> Any:
        bar = unthunk(found.get(x.index, ZeroTangent()))
        if is_zero(bar):
            return bar
        if differentiable:  # of a linear function it is a constant, and a variable all the same
            return bar if find_tracers(bar) else tape.leaf(bar)
        bar = deliver(bar)
        theirs = (seed, y, x.payload)
        mine = own(bar, (*theirs, bar) if id(bar) in given else theirs)
        given.add(id(mine))
        return mine

    return _visit(tape, sources, bar_of)


def _visit(tape: BareTape, sources: Any, f: Callable[[BareVariable], Any]) -> Any:
    """Apply a function to every source, in the container they came in."""
    if is_structure_type(type(sources)):
        return rebuild(sources, [_visit(tape, x, f) for _, x in fields_of(sources)])
    if isinstance(sources, BareVariable) and sources.tape is tape:
        return f(sources)
    msg = (
        f"a gradient is asked for at {sources!r}, which is no variable of this tape; "
        f"make one of it first: x = tape.variable(x)"
    )
    raise TracerError(msg)


def _checked(tape: BareTape, loss: Any, what: str) -> Any:
    if isinstance(loss, BareVariable) and loss.tape is not tape and loss.level > tape.level:
        msg = f"{what} {loss!r} belongs to another tape, begun inside this one; ask that one"
        raise TracerError(msg)
    return loss


def hook(x: Any, f: Callable[[Any], Any]) -> None:
    """Hand the cotangent of a value to a function when the backward pass comes to it.

    Parameters
    ----------
    x : Variable
        A value on a tape, input or intermediate; nothing happens for what is on none.
    f : callable
        ``f(x_bar)`` gives the cotangent to go on with, which is projected onto x: a clipped one,
        ``ZeroTangent()`` to stop; None to leave it as it is. An array that it is given cannot be
        written to. Hooks run in the order they were hung on.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> def f(x):
    ...     y = x * x
    ...     hook(y, lambda y_bar: print("passing", y_bar))
    ...     return 3.0 * y
    >>> grad(f)(2.0)
    passing 3.0
    12.0
    """
    if not isinstance(x, BareVariable):
        return
    of = space(x.payload)

    def replaced(bar: Any) -> Any:
        shown = deliver(unthunk(bar))
        memory = memory_of(type(shown))
        if memory is not None and memory.read_only is not None:
            shown = memory.read_only(shown)  # it may be that of other values as well, or the seed
        bar = f(shown)
        return None if bar is None or bar is shown else bar if is_zero(bar) else project(bar, of)

    x.tape.note().hooks.setdefault(x.index, []).append(replaced)
