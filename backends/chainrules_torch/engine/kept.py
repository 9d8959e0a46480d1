"""What a call keeps for its pullback: the values that its rule saved, or its inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any, final

import torch

from chainrules_py import Primitive, space
from chainrules_py.extend import AbstractZero, Bound, TreeDef, flatten, partition, unflatten
from chainrules_torch.engine.call import Call, Outputs
from chainrules_torch.engine.config import in_forward_mode, is_tensor
from chainrules_torch.engine.halves import Half, or_by_numpy, pull, push
from chainrules_torch.engine.maps import NUMBERS, PLAIN, holds_nothing
from chainrules_torch.engine.outputs import cotangent
from chainrules_torch.engine.vmap import Mapped

Tensor = torch.Tensor


@final
class Again:
    """Inputs and outputs: the rule is run again on them."""

    __slots__ = ("call", "leaves", "outputs", "treedef")

    def __init__(
        self,
        call: Call | Mapped,
        leaves: Sequence[Any],
        outputs: Sequence[Any],
        treedef: TreeDef | None,
    ) -> None:
        self.call = call
        self.leaves = [() if isinstance(x, Tensor) else (x,) for x in leaves]
        self.outputs = [() if isinstance(x, Tensor) else (x,) for x in outputs]
        self.treedef = treedef

    @property
    def count(self) -> int:
        """Number of tensors among the leaves of the call and its result."""
        return self.leaves.count(()) + self.outputs.count(())

    def restored(self, tensors: Sequence[Any]) -> tuple[list[Any], Outputs]:
        """Return the leaves of the call, and those of its result."""
        rest = iter(tensors)
        leaves = [entry[0] if entry else next(rest) for entry in self.leaves]
        outputs = [entry[0] if entry else next(rest) for entry in self.outputs]
        return leaves, (outputs, self.treedef)

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Compute the cotangents of the leaves."""
        leaves, y = self.restored(tensors)
        return pull(self.call, leaves, y, bars, needs)

    def push(self, tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
        """Compute the tangents of the result's leaves."""
        leaves, y = self.restored(tensors)
        found = push(self.call, leaves, y, dots)
        return found[0] if self.treedef is None else (*found, None)


def is_open(x: Any) -> bool:
    """Tell whether a value holds no tensor that cannot be seen: it is no closure, nor an object."""
    if isinstance(x, (Tensor, Primitive, AbstractZero)) or type(x) in PLAIN:
        return True
    return isinstance(x, FunctionType) and holds_nothing(x)


@final
class Record:
    """Values that a rule saved, with their tensors apart.

    Attributes
    ----------
    tensors : list
        What PyTorch has to keep.
    again : Again or None
        Where the rule saved something besides inputs and outputs, or may leave PyTorch.
    exact : bool
        Whether it saved nothing besides these.
    """

    __slots__ = (
        "again",
        "bound",
        "call",
        "exact",
        "half",
        "layout",
        "spaces",
        "tensors",
        "treedef",
    )

    def __init__(
        self,
        call: Call,
        bound: Bound,
        record: tuple[Any, ...],
        leaves: Sequence[Any],
        needs: Sequence[bool],
        y: Any,
    ) -> None:
        self.call, self.bound, self.half = call, bound, record[0]
        self.spaces = [space(x) if n else None for x, n in zip(leaves, needs, strict=True)]
        outputs, treedef = flatten(y)
        self.treedef = None if isinstance(y, Tensor) else treedef
        self.tensors, self.layout = partition(record[2:], is_tensor)
        given = {id(x) for x in leaves}
        known = given.union(map(id, outputs))
        self.exact = all([id(x) in known for x in self.tensors])
        for x in flatten(record[2:])[0]:
            # A person's rule may have computed a number from operands.
            computed = call.plan.is_own and type(x) in NUMBERS and id(x) not in given
            self.exact = self.exact and is_open(x) and not computed
        self.again: Again | None = None
        # A half that computes with NumPy runs on them; whether it does, its first run tells.
        if not (self.exact and call.plan.is_proven):
            self.again = Again(call, leaves, outputs, self.treedef)
            self.tensors += [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Pull back by what was saved; by the rule run again, where derivatives may be asked."""
        again, call, instead = self.again, self.call, _raised
        if again is not None:
            whole = tensors[len(tensors) - again.count :]
            if not self.exact and (torch.is_grad_enabled() or in_forward_mode()):
                return again.pull(whole, bars, needs)
            leaves, y = again.restored(whole)
            instead = Half(call, "reverse", leaves, y, bars, needs).by_numpy
        y_bar = cotangent(bars, self.treedef)
        saved = unflatten(self.layout, tensors[: self.layout.num_leaves])

        def pulled() -> Any:
            return call.placed(self.bound, call.plan.run(self.half, y_bar, *saved), self.spaces)

        return or_by_numpy(call, (*tensors, *bars), pulled, instead)


def _raised(error: Exception) -> Any:
    raise error
