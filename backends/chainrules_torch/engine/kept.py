"""What a call keeps for its pullback: the values that its rule saved, or its inputs and outputs."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from types import FunctionType
from typing import Any, final

import torch

from chainrules_py import MutationError, NoRuleError, Primitive
from chainrules_py.extend import (
    AbstractZero,
    Bound,
    TreeDef,
    flatten,
    knows,
)
from chainrules_torch import _private
from chainrules_torch.engine.call import AnyCall, Outputs, spaces_of
from chainrules_torch.engine.config import in_forward_mode
from chainrules_torch.engine.halves import Half, or_by_numpy, pull, push
from chainrules_torch.engine.maps import NUMBERS, PLAIN, holds_nothing
from chainrules_torch.engine.outputs import cotangent, written
from chainrules_torch.engine.vmap import Mapped

Tensor = torch.Tensor


@final
class Constant:
    """Record of a call through which nothing flows back, or in a mode that nobody stated."""

    __slots__ = ("error", "spaces")
    call = None

    def __init__(self, spaces: list[Any], error: NoRuleError | None) -> None:
        self.spaces = spaces
        self.error = error

    def pull(self, *_: Any) -> list[Any]:
        """Zeros, for what can be perturbed."""
        if self.error is not None:
            raise self.error
        return [written(None, of) for of in self.spaces]


@final
class Again:
    """Inputs and outputs: the rule is run again on them."""

    __slots__ = ("call", "leaves", "outputs", "treedef")

    def __init__(
        self,
        call: AnyCall | Mapped,
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


@final
class Slot:
    """Stands for a tensor that PyTorch keeps."""

    def __repr__(self) -> str:
        return "tensor"


SLOT = Slot()


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
        "given",
        "half",
        "saved",
        "spaces",
        "tensors",
        "treedef",
        "versions",
        "watched",
    )

    def __init__(
        self,
        call: AnyCall,
        bound: Bound,
        record: tuple[Any, ...],
        leaves: Sequence[Any],
        needs: Sequence[bool],
        y: Any,
    ) -> None:
        self.call = call
        self.bound = bound
        self.half = record[0]
        outputs: Sequence[Any] = (y,)
        self.treedef = None
        if not isinstance(y, Tensor):
            outputs, self.treedef = flatten(y)
        self.watched = {id(x) for x in (*leaves, *outputs)}
        self.given = {id(x) for x in leaves}
        self.tensors: list[Any] = []
        self.again: Again | None = None
        exact = True
        saved = []
        for x in record[2:]:
            if isinstance(x, Tensor):
                exact = exact and id(x) in self.watched
                self.tensors.append(x)
                saved.append(SLOT)
            elif type(x) in PLAIN:
                exact = exact and not self._is_computed(x)
                saved.append(x)
            else:
                x, all_watched = self._without(x)
                exact = exact and all_watched
                saved.append(x)
        self.saved = saved
        self.spaces = None
        if bound.may_be_zero or call is not call.plan or bound.wanted != needs:
            self.spaces = spaces_of(leaves, needs)
        self.exact = exact
        # A half that computes with NumPy runs on them; whether it does, its first run tells.
        if not (exact and call.plan.is_proven):
            self.again = Again(call, leaves, outputs, self.treedef)
            self.tensors += [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]
        self.versions: list[tuple[Any, int | None]] = []

    def note_versions(self, seen: Sequence[tuple[Any, Any]], closures: Sequence[Any]) -> None:
        """Note the versions of operands and results that closures of the rule's hold by themselves.

        PyTorch checks those that it keeps, unless `torch.autograd.graph` has them kept otherwise.
        Beside each stands the tensor that is outside.
        """
        if _private.has_hooks():
            tensors = [(x, y) for x, y in seen if isinstance(x, Tensor) and not x.is_inference()]
            held = [y for x, y in tensors if knows(closures, functools.partial(operator.is_, x))]
            self.versions = [(weakref.ref(x), _private.version(x)) for x in held]

    def _check_versions(self) -> None:
        for known, version in self.versions:
            x = known()
            if x is not None and _private.version(x) != version:
                msg = (
                    f"an operand of {self.call.plan.primal.__name__}, or its result, was written "
                    f"to after the call, and the pullback of its rule holds it, where PyTorch "
                    f"cannot exchange it: write to a copy, or state the rule by scalar_rule, rule "
                    f"or custom_vjp"
                )
                raise MutationError(msg)

    def _without(self, x: Any) -> tuple[Any, bool]:
        """Strip a saved value of its tensors; tell whether all in it are inputs or outputs."""
        cls = type(x)
        if isinstance(x, Tensor):
            self.tensors.append(x)
            return SLOT, id(x) in self.watched
        if cls is tuple or cls is list or cls is dict:
            parts = [self._without(part) for part in (x.values() if cls is dict else x)]
            made = [part for part, _ in parts]
            exact = all([of for _, of in parts])
            return dict(zip(x, made, strict=True)) if cls is dict else cls(made), exact
        if cls is FunctionType:
            return x, holds_nothing(x)
        return x, not self._is_computed(x) and (
            cls in PLAIN or isinstance(x, (Primitive, AbstractZero))
        )

    def _is_computed(self, x: Any) -> bool:
        """Tell whether a person's rule may have computed a number from operands."""
        return self.call.plan.is_own and type(x) in NUMBERS and id(x) not in self.given

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Pull back by what was saved; by the rule run again, where derivatives may be asked."""
        again, call = self.again, self.call
        self._check_versions()
        if not self.exact and again is not None and (torch.is_grad_enabled() or in_forward_mode()):
            return again.pull(tensors[len(tensors) - again.count :], bars, needs)
        y_bar = bars[0] if self.treedef is None else cotangent(bars, self.treedef)
        rest = iter(tensors)
        saved = [next(rest) if x is SLOT else _with(x, rest) for x in self.saved]
        placed = functools.partial(self._placed, y_bar, saved)
        if not call.plan.is_own:
            return placed()
        if again is None:
            return or_by_numpy(call, (*tensors, *bars), placed, _raised)
        leaves, y = again.restored(tensors[len(tensors) - again.count :])
        half = Half(call, "reverse", leaves, y, bars, needs)
        return or_by_numpy(call, (*tensors, *bars), placed, half.by_numpy)

    def _placed(self, y_bar: Any, saved: Sequence[Any]) -> Any:
        call = self.call
        answer = call.plan.run(self.half, y_bar, *saved)
        if self.spaces is not None:
            return call.placed(self.bound, answer, self.spaces)
        wanted = self.bound.wanted
        if len(wanted) == 1:
            return (answer,)
        answers = iter(answer if wanted.count(True) > 1 else (answer,))
        return [next(answers) if w else None for w in wanted]


def _raised(error: Exception) -> Any:
    raise error


def _with(x: Any, tensors: Any) -> Any:
    """Put its tensors back into a saved value."""
    cls = type(x)
    if cls is Slot:
        return next(tensors)
    if cls is tuple or cls is list:
        return cls([_with(part, tensors) for part in x])
    if cls is dict:
        return {key: _with(part, tensors) for key, part in x.items()}
    return x
