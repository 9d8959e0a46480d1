"""Gradients that a tape in the user's hands is asked for, and hooks on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py import MutationError, TracerError, is_zero, space, unthunk
from chainrules_py.extend import (
    Tracer,
    deliver,
    describe,
    find_tracers,
    flatten,
    flatten_tangent,
    own,
    own_all,
    project_exactly,
    type_info,
    unflatten,
)
from chainrules_tape.core.tape import BareTape
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.functions.run import Recorded, unit
from chainrules_tape.inspect.replay import replayed


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
        differentiable = self.notes is not None and self.notes.differentiable
        if self.state == "consumed":
            msg = (
                "this tape was consumed by its first gradient; write Tape(persistent=True) for "
                "several, or Tape(differentiable=True) for gradients of gradients"
            )
            raise TracerError(msg)
        if differentiable and self.state == "closed":
            msg = (
                "the gradient is to be recorded on this tape, which is closed; ask for it inside "
                "the 'with' block, or write Tape(persistent=True) for one that is not recorded"
            )
            raise TracerError(msg)
        asked = Asked(self, loss, sources)
        if seed is None:
            seeds = [unit(asked.y)]
        elif find_tracers(seed):
            seeds = flatten_tangent(asked.y_tree, seed)
        else:
            seeds = asked.seeds(seed)
        fetch = replayed(self) if differentiable else None
        try:
            bars = asked.pull(seeds, consume=not self.persistent, fetch=fetch, watch=True)
        finally:
            if not self.persistent:
                self.consume()
        if differentiable:  # what a linear function gives is constant, and a variable all the same
            bars = [
                x if is_zero(x) else own(x if find_tracers(x) else self.leaf(x), ())
                for x in map(unthunk, bars)
            ]
        else:
            bars = own_all(
                asked.leaves, bars, (*seeds, *asked.y_leaves, *asked.leaves), dense=False
            )
        return unflatten(asked.tree, bars)


@final
class Asked(Recorded):
    """Values on a tape in a person's hands: the sources are the inputs, the loss the result."""

    __slots__ = ()

    def __init__(self, tape: BareTape, loss: Any, sources: Any) -> None:
        if isinstance(loss, BareVariable) and loss.tape is not tape and loss.level > tape.level:
            msg = (
                f"the loss {describe(loss)} belongs to another tape, begun inside this one; ask "
                f"that one"
            )
            raise TracerError(msg)
        self.tape = tape
        self._leave(loss)
        found, self.tree = flatten(sources)
        for x in found:
            if self.link_of(x) is None:
                msg = (
                    f"a gradient is asked for at {describe(x)}, which is no variable of this tape; "
                    f"make one of it first: x = tape.variable(x)"
                )
                raise TracerError(msg)
        last = max([i for i in self.outputs if i is not None], default=-1)
        for x in found:
            view = getattr(x, "as_view", None)
            if x.index > last and view is not None and view.written:
                msg = (
                    f"{describe(x.payload)} was written to after the loss was computed, which does "
                    f"not depend on what it is now; ask for its gradient before, or write to a "
                    f"copy (x = x.copy())"
                )
                raise MutationError(msg)
        self.inputs = [x.index for x in found]
        self.leaves = [x.payload for x in found]


def hook(x: Any, f: Callable[[Any], Any]) -> None:
    """Hand the cotangent of a value to a function when the backward pass comes to it.

    Parameters
    ----------
    x : Variable
        A value on a tape, input or intermediate; nothing happens for what is on none, but what
        another engine traces, as in an exported function, is refused.
    f : callable
        ``f(x_bar)`` gives the cotangent to go on with, of the shape of x, and real if x is: a
        clipped one, ``ZeroTangent()`` to stop; None to leave it as it is. An array that it is
        given cannot be written to. Hooks run in the order they were hung on.

    Raises
    ------
    TracerError
        If x is another engine's.
    ProjectionError
        In the backward pass, if what f gave does not belong to x.

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
        if type_info(type(x)).constant is not None:
            msg = (
                f"hook hangs on values of a tape, and {describe(x)} is another engine's: state the "
                f"identity under custom_vjp, with the hook for its backward function"
            )
            raise TracerError(msg)
        return
    of = space(x.payload)

    def replaced(bar: Any) -> Any:
        # It may be that of other values as well, or the seed.
        shown = deliver(unthunk(bar))
        traced = issubclass(type(shown), Tracer)
        memory = type_info(type(shown)).memory
        if traced:
            shown = shown.owned()
        elif memory is not None and memory.read_only is not None:
            shown = memory.read_only(shown)
        bar = f(shown)
        if bar is None or (bar is shown and not traced):
            return None
        bar = unthunk(bar)
        return bar if is_zero(bar) else project_exactly(bar, of)

    x.tape.note().hooks.setdefault(x.index, []).append(replaced)
