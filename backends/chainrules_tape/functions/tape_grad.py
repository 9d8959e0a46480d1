"""The gradient method of a tape that the user creates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, final

from chainrules_py import MutationError, NoTangent, TracerError, is_zero, unthunk
from chainrules_py.extend import (
    Notes,
    describe,
    explain_error,
    find_tracers,
    flatten,
    flatten_tangent,
    kind_of,
    leaf_cotangents,
    notes,
    objects,
    own,
    own_all,
    unflatten_tangent,
)
from chainrules_tape.core.bare_tape import VARYING, BareTape
from chainrules_tape.core.cotangent_routing import INPUT, LEAF, parents
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.functions.arguments import unit
from chainrules_tape.functions.run import Recorded
from chainrules_tape.inspect.kept_calls import replayed
from chainrules_tape.inspect.text import name_of


class HasGradients(BareTape):
    """Tape with a public method for gradients, and the block of a program that it records."""

    __slots__ = ()

    def __enter__(self) -> Self:
        notes[self.level] = Notes()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        made, note = objects.pop(self.level, None), notes.pop(self.level)
        if error is None:
            if self.state == "open":  # a gradient inside the block may have consumed it
                self.close()
            self.guard.unlock()
            note.report("the block of a Tape()", True)
        else:
            try:
                self.guard.explain(error)
            finally:
                self.consume()
            if isinstance(error, Exception):
                explain_error(error, made)

    def grad(self, loss: Any, sources: Any, seed: Any = None) -> Any:
        """Return the gradient of a number, or the cotangents for a seed, at values on this tape.

        Parameters
        ----------
        loss
            A variable of this tape whose value is one real number; with a seed, any variable, or a
            structure of them.
        sources
            Variables of this tape, inputs or intermediates, in any structure.
        seed, optional
            The cotangent of the loss, in its structure.

        Returns
        -------
        In the structure of the sources: a tuple, list or dict for each of these, a `Tangent` for
        other structures; ``ZeroTangent()`` where the loss does not depend on a source. Plain
        arrays, or variables of the tape if it is differentiable.

        Raises
        ------
        TracerError
            If the tape was consumed, or a value does not belong to it.
        NotDifferentiableError
            If the loss is not one real number and there is no seed.
        """
        differentiable = self.notes is not None and self.notes.differentiable
        if self.state == "consumed":
            raise TracerError(
                "this tape was consumed by its first gradient; write Tape(persistent=True) for "
                "several, or Tape(differentiable=True) for gradients of gradients"
            )
        if differentiable and self.state == "closed":
            raise TracerError(
                "the gradient is to be recorded on this tape, which is closed; ask for it inside "
                "the 'with' block, or write Tape(persistent=True) for one that is not recorded"
            )
        asked = Asked(self, loss, sources)
        if seed is None:
            seeds = [unit(asked.y, "Tape.grad", None, asked.leaves)]
        else:
            seeds = (
                flatten_tangent(asked.y_tree, seed)
                if find_tracers(seed)
                else leaf_cotangents(asked.y_tree, asked.y, seed)
            )
        given = replayed(self) if differentiable else None
        fetch = asked.on_the_way(given or self.__getitem__) or given
        if given is None and fetch is not None and not self.persistent:
            last = max([i for i in asked.outputs if i is not None], default=-1)
            self[: last + 1], fetch = list(map(fetch, range(last + 1))), None
        try:
            bars = asked.pull(seeds, consume=not self.persistent, fetch=fetch, watch=True)
        finally:
            if not self.persistent:
                self.consume()
        if differentiable:  # the gradient of a linear function is constant, but must be a variable
            bars = [
                NoTangent()
                if kind_of(x) not in VARYING
                else bar
                if is_zero(bar)
                else own(bar if find_tracers(bar) else self.leaf(bar), ())
                for x, bar in zip(asked.leaves, map(unthunk, bars), strict=True)
            ]
            names, last = self.note().names, asked.outputs[0] if len(asked.outputs) == 1 else None
            for x, i in zip(bars, asked.inputs, strict=True):
                if last is not None and i in names and isinstance(x, BareVariable):
                    names.setdefault(x.place, f"d{name_of(self, last)}/d{names[i]}")
        else:
            bars = own_all(
                asked.leaves, bars, (*seeds, *asked.y_leaves, *asked.leaves), dense=False
            )
        return unflatten_tangent(asked.tree, bars, plain="own")


@final
class Asked(Recorded):
    """Values on a user's tape: the sources are the inputs, the loss is the result."""

    __slots__ = ()

    def __init__(self, tape: BareTape, loss: Any, sources: Any) -> None:
        if inner := [x for x in find_tracers(loss) if x.level > tape.level]:
            raise TracerError(
                f"the loss {describe(inner[0])} belongs to another tape, or differentiation, begun "
                f"inside this one; ask that one"
            )
        self.tape = tape
        self._leave(loss)
        found, self.tree = flatten(sources)
        for x in found:
            if self.link_of(x) is None and kind_of(x) in VARYING:
                raise TracerError(
                    f"a gradient is requested at {describe(x)}, which is no variable of this tape; "
                    f"make one of it first: x = tape.variable(x)"
                )
        last = max([i for i in self.outputs if i is not None], default=-1)
        for x in found:
            view = getattr(x, "as_view", None)
            if view is not None and view.written and x.place > last:
                raise MutationError(
                    f"{describe(x.payload)} was written to after the loss was computed, which does "
                    f"not depend on what it is now; ask for its gradient before, or write to a "
                    f"copy (v = x.copy())"
                )
        self.inputs = list(map(self.link_of, found))
        self.leaves = [getattr(x, "payload", x) for x in found]

    def on_the_way(self, fetch: Callable[[int], Any]) -> Callable[[int], Any] | None:
        """Return a function that returns the records between the sources and the loss.

        It returns other records as inputs; hooks and rules that always run count as sources. Return
        None if every input is a source, or if dropped records have to be recomputed.
        """
        tape, notes = self.tape, self.tape.notes
        leads = {i for i in self.inputs if i is not None}
        if not leads or (tape.folds is not None and tape.persistent):
            return None
        first, last = min(leads), max([i for i in self.outputs if i is not None], default=-1)
        if notes is not None:
            leads |= {*notes.hooks, *notes.always}
        if leads.issuperset([i for i, record in enumerate(tape) if record[1] is LEAF]):
            return None
        played = set()
        for i in range(last + 1):
            half, links = tape[i][:2]
            into = () if half is None else parents(links)
            # The parents of a checkpoint that may run again are unknown.
            if not leads.isdisjoint(into) or (half is not None and not into and i > first):
                leads.add(i)
                played.add(i)
        return lambda i: fetch(i) if i in played else INPUT
