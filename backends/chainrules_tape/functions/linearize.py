"""Linearization: one run of a function, whose derivative is then pushed any number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from chainrules_py import is_zero
from chainrules_tape.core.tape import frozen
from chainrules_tape.forward.linear_tape import LinearTape
from chainrules_tape.functions.results import can_vary, flatten, lowered, split_aux, values_of
from chainrules_tape.memory.write import check_unwritten, handed_out

__all__ = ["Linearization"]


@final
class Linearization:
    """Linearization of a function of leaves: one run of it, and the tape of its pushes.

    Attributes
    ----------
    y, aux
        What the function gave, without tracers of this level.
    y_leaves, y_tree
        y, taken apart.
    outputs : list of int or None
        Where the tangents of the leaves of y come from; None for those that are constant.
    """

    __slots__ = ("aux", "inputs", "outputs", "tape", "y", "y_leaves", "y_tree")

    def __init__(
        self, f: Callable[..., Any], leaves: Sequence[Any], *, has_aux: bool = False
    ) -> None:
        tape = self.tape = LinearTape()
        given, leaves = list(leaves), [frozen(x) for x in leaves]
        traced = [tape.leaf(x) if can_vary(x) else x for x in leaves]
        self.inputs = [tape.link_of(x) for x in traced]
        found: list[Any] = []
        try:
            y = f(*traced)
            check_unwritten(given, leaves)
            y, aux = split_aux(f, y) if has_aux else (y, None)
            self.y_tree = flatten(y, found)
            self.outputs = [tape.link_of(x) for x in found]
        finally:
            tape.closed = True
        tape.close([i for i in self.outputs if i is not None])
        self.y_leaves = [self._payload(x) for x in found]
        self.y = y
        if any([i is not None for i in self.outputs]):
            self.y = values_of(self.y_tree, self.y_leaves)
            self.y_tree = flatten(self.y, [])
        self.aux = lowered(aux, self._payload, leaves) if has_aux else None

    def _payload(self, x: Any) -> Any:
        return x if self.tape.link_of(x) is None else handed_out(x)

    def push(self, ts: Sequence[Any], *, many: bool = False) -> list[Any]:
        """Push tangents to the leaves of y; with ``many`` a leading axis counts directions."""
        pairs = zip(self.inputs, ts, strict=True)
        dots = {i: t for i, t in pairs if i is not None and not is_zero(t)}
        outputs = [-1 if i is None else i for i in self.outputs]
        return self.tape.push(dots, outputs, many=many)
