"""Halves of rules: on tensors, and apart where they solve, or compute with NumPy, SciPy or C.

Such a half asks a tensor for its numbers. Tensors of a transformation, of a compiler, or of a dtype
that NumPy lacks, have none to give: there the half runs apart, one element after the other under
`vmap`, and as one operation of a compiled program. On NumPy's arrays that operation has no
derivative, and refuses one; what it gives is brought to the dtype and device of the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch

from chainrules_kit import UNFIT, AskedError, refused_half
from chainrules_py import ChainRulesError, ProjectionError, TracerError
from chainrules_torch import _private
from chainrules_torch.engine.apart import apart, is_hidden
from chainrules_torch.engine.call import Call, Outputs
from chainrules_torch.engine.callback import array_of, brought, on_host, on_tensors
from chainrules_torch.engine.compilers import forget, is_abstract, leave_out
from chainrules_torch.engine.config import floats
from chainrules_torch.engine.functorch import asking, refuse_asked

_transforms_active = _private.transforms_active


def pull(
    call: Any, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
) -> Sequence[Any]:
    """Pull the cotangents of a result back to the leaves."""
    return Half(call, "reverse", leaves, y, bars, needs).run()


def push(call: Any, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> Sequence[Any]:
    """Push the tangents of leaves forward to those of the result's leaves."""
    return Half(call, "forward", leaves, y, dots).run()


@final
class Half:
    """Half of the rule of a call, and what it is given.

    Parameters
    ----------
    call : Call or Mapped
        The call.
    mode : str
        "reverse" or "forward".
    leaves, y
        Those of the call, and its result.
    given : sequence
        Cotangents of the result's leaves, or tangents of the leaves.
    needs : sequence of bool, optional
        In reverse mode, which leaves have a cotangent.
    """

    __slots__ = ("call", "groups", "mode", "needs", "treedef", "wanted")

    def __init__(
        self,
        call: Any,
        mode: str,
        leaves: Sequence[Any],
        y: Outputs,
        given: Sequence[Any],
        needs: Sequence[bool] = (),
    ) -> None:
        self.call, self.mode, self.needs, self.treedef = call, mode, needs, y[1]
        self.groups = leaves, y[0], given
        if mode == "reverse":
            self.wanted = [needed and floats(x) for x, needed in zip(leaves, needs, strict=True)]
        else:
            self.wanted = list(map(floats, y[0]))

    def run(self) -> Sequence[Any]:
        """Run it where it can run."""
        if not hasattr(self.call, "plan"):  # of a batch: each of its elements comes here
            return self.on_tensors(*self.groups)
        leaves, outputs, given = self.groups
        try:
            if self.call.plan.solves and is_hidden((*leaves, *outputs, *given)):
                return self._apart(self.on_tensors)
            run = lambda: self.on_tensors(*self.groups)
            return or_by_numpy(self.call, (*leaves, *given), run, self.by_numpy)  # type: ignore[no-any-return]
        except ChainRulesError as error:
            leave_out(error)
            raise
        except RuntimeError as error:
            refuse_asked(error, self.call)
            raise

    def on_tensors(self, leaves: Any, outputs: Any, given: Any) -> Sequence[Any]:
        """Run it on tensors."""
        y = outputs, self.treedef
        if self.mode == "reverse":
            return self.call.pull(leaves, y, given, self.needs)  # type: ignore[no-any-return]
        return self.call.push(leaves, y, given)  # type: ignore[no-any-return]

    def _on_arrays(self, leaves: Any, outputs: Any, given: Any) -> Sequence[Any]:
        return self.call.on_arrays(self.mode, leaves, self.treedef, given, self.needs)  # type: ignore[no-any-return]

    def _apart(
        self, compute: Callable[..., Any], refusal: ChainRulesError | None = None
    ) -> Sequence[Any]:
        """Run it apart; it gives tensors like the leaves, or outputs, that are wanted."""
        found = iter(
            apart(
                lambda *groups: self._wanted(compute(*groups)),
                self.groups,
                lambda *groups: self._wanted(groups[self.mode == "forward"]),
                refusal=refusal,
            )
            if True in self.wanted
            else ()
        )
        return [next(found) if w else None for w in self.wanted]

    def _wanted(self, entries: Sequence[Any]) -> list[Any]:
        return [t for t, w in zip(entries, self.wanted, strict=True) if w]

    def by_numpy(self, error: Exception) -> Sequence[Any]:
        """Run it on NumPy's arrays, where it raised this error for tensors.

        On plain tensors, where it is written in PyTorch's operations, as ``x.detach().numpy()`` is.
        """

        def compute(*groups: Any) -> list[Any]:
            like = groups[self.mode == "forward"]
            with torch.no_grad():
                try:
                    found = self._on_arrays(*on_tensors(array_of, groups))
                except UNFIT as of_arrays:
                    try:
                        found = self.on_tensors(*on_tensors(on_host, groups))
                    except UNFIT:
                        raise of_arrays from None
            each = zip(found, like, self.wanted, strict=True)
            return [brought(t, x) if w else None for t, x, w in each]

        plan = self.call.plan
        refusal = refused_half(plan.primal, "PyTorch")
        try:
            found = self._apart(compute, refusal)
        except TracerError:  # the other mode is stated, and cannot be transposed
            raise refusal from error
        except ChainRulesError:
            raise
        except Exception:  # it is the rule that is wrong
            raise error from None
        if not (_transforms_active() or any(map(is_abstract, self.groups[0]))):
            plan.of_numpy = error  # elsewhere it may have failed for other reasons
        return found


def or_by_numpy(
    call: Call,
    tensors: Sequence[Any] | None,
    run: Callable[[], Any],
    instead: Callable[[Exception], Any],
) -> Any:
    """Run half of a person's rule on tensors; something else, where it computes with NumPy.

    Parameters
    ----------
    call : Call
        Whose rule it is.
    tensors : sequence or None
        What the half is given; None where it computes the value, and what it saves.
    run, instead : callable
        ``run()``, and ``instead(error)`` where that is an error.
    """
    plan = call.plan
    if not plan.is_own or plan.solves:
        return run()
    if plan.of_numpy is not None:
        return instead(plan.of_numpy)
    try:
        if tensors is None:
            return run()
        with asking(plan, tensors):
            found = run()
    except UNFIT as error:
        if isinstance(error, ChainRulesError) and not isinstance(error, _OF_NUMPY):
            raise
        forget()
        return instead(error)
    plan.is_proven = True
    return found


_OF_NUMPY = (AskedError, ProjectionError, TracerError)
"""Our own errors that rules meet which compute with NumPy."""
