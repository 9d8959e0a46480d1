"""Halves of rules that compute with NumPy, SciPy or C: one operation of PyTorch's each.

Such a half asks a tensor for its numbers. Tensors of a transformation, of a compiler, or of a dtype
that NumPy lacks, have none to give: there the half runs on NumPy's arrays instead, element by
element under `vmap`, and as one operation of a compiled program. That operation has no derivative,
and refuses one. What the half gives is brought to the dtype and device of the operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_kit import UNFIT, AskedError, refused_half
from chainrules_py import ChainRulesError, NotDifferentiableError, ProjectionError, TracerError
from chainrules_torch import _private
from chainrules_torch.engine.call import AnyCall, Outputs
from chainrules_torch.engine.callback import array_of, brought, on_host
from chainrules_torch.engine.config import floats, is_tensor
from chainrules_torch.engine.functorch import asking, transformed
from chainrules_torch.engine.loops import each_of
from chainrules_torch.engine.opaque import asked, forget, is_abstract, leave_out, run_later

Tensor = torch.Tensor
_transforms_active = _private.transforms_active


def pull(
    call: Any, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
) -> list[Any]:
    """Pull the cotangents of a result back to the leaves, by NumPy if the rule computes with it."""
    run = lambda: call.pull(leaves, y, bars, needs)
    if not hasattr(call, "plan"):  # of a batch: each of its elements comes here
        return run()  # type: ignore[no-any-return]
    instead = lambda error: pulled_by_numpy(call, leaves, y, bars, needs, error)
    return or_by_numpy(call, (*leaves, *bars), run, instead)  # type: ignore[no-any-return]


def push(call: Any, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> Any:
    """Push the tangents of leaves forward, by NumPy if the rule computes with it."""
    run = lambda: call.push(leaves, y, dots)
    if not hasattr(call, "plan"):
        return run()
    instead = lambda error: _pushed_by_numpy(call, leaves, y, dots, error)
    return or_by_numpy(call, (*leaves, *dots), run, instead)


def or_by_numpy(
    call: AnyCall,
    tensors: Sequence[Any] | None,
    run: Callable[[], Any],
    instead: Callable[[Exception], Any],
) -> Any:
    """Run half of a person's rule on tensors; something else, where it computes with NumPy.

    Parameters
    ----------
    call : AnyCall
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
    before = asked()
    try:
        if tensors is None:
            return run()
        with asking(plan, tensors):
            found = run()
    except UNFIT as error:
        if isinstance(error, ChainRulesError) and not isinstance(error, _OF_NUMPY):
            raise
        forget(before)
        return instead(error)
    plan.is_proven = True
    return found


_OF_NUMPY = (AskedError, ProjectionError, TracerError)
"""Our own errors that rules meet which compute with NumPy."""


def pulled_by_numpy(
    call: AnyCall,
    leaves: Sequence[Any],
    y: Outputs,
    bars: Sequence[Any],
    needs: Sequence[bool],
    error: Exception,
) -> list[Any]:
    """Pull back on NumPy's arrays by a rule that raised this error for tensors."""
    wanted = [needed and floats(x) for x, needed in zip(leaves, needs, strict=True)]

    def half(leaves: Sequence[Any], outputs: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        found = call.on_arrays("reverse", leaves, y[1], bars, needs)
        return [bar for bar, w in zip(found, wanted, strict=True) if w]

    def of_tensors(leaves: Sequence[Any], outputs: Sequence[Any], bars: Sequence[Any]) -> Any:
        found = call.pull(leaves, (outputs, y[1]), bars, needs)
        return [bar for bar, w in zip(found, wanted, strict=True) if w]

    like = [x for x, w in zip(leaves, wanted, strict=True) if w]
    found = iter(_opaque(call, error, (half, of_tensors), (leaves, y[0], bars), like))
    return [next(found) if w else None for w in wanted]


def _pushed_by_numpy(
    call: AnyCall, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any], error: Exception
) -> Any:
    outputs, treedef = y
    moving = list(map(floats, outputs))

    def half(leaves: Sequence[Any], outputs: Sequence[Any], dots: Sequence[Any]) -> list[Any]:
        found = call.on_arrays("forward", leaves, treedef, dots, ())
        return [t for t, w in zip(found, moving, strict=True) if w]

    def of_tensors(leaves: Sequence[Any], outputs: Sequence[Any], dots: Sequence[Any]) -> Any:
        found = call.push(leaves, (outputs, treedef), dots)
        return [t for t in (found if type(found) is tuple else (found,)) if is_tensor(t)]

    like = [x for x in outputs if floats(x)]
    found = iter(_opaque(call, error, (half, of_tensors), (leaves, outputs, dots), like))
    each = [next(found) if floats(x) else None for x in outputs]
    return each[0] if treedef is None else (*each, None)


def _opaque(
    call: AnyCall,
    error: Exception,
    halves: tuple[Callable[..., list[Any]], ...],
    groups: Sequence[Sequence[Any]],
    like: Sequence[Tensor],
) -> Sequence[Any]:
    """Run half of a rule apart, for groups of values; it gives tensors like these.

    The first of ``halves`` is of NumPy's arrays, the second of plain tensors, for one that is
    written in PyTorch's operations, as ``x.detach().numpy()`` is.
    """
    if not like:
        return ()
    program = _Program(halves, groups, like, refused_half(call.plan.primal, "PyTorch"))
    try:
        found = transformed(Opaque, program, *[x for xs in groups for x in xs if is_tensor(x)])
    except TracerError:  # the other mode is stated, and cannot be transposed
        raise program.refusal from error
    except ChainRulesError:
        raise
    except Exception:  # it is the rule that is wrong
        raise error from None
    if not (_transforms_active() or any(map(is_abstract, groups[0]))):
        call.plan.of_numpy = error  # elsewhere it may have failed for other reasons
    return found  # type: ignore[no-any-return]


@final
class _Program:
    """Half of a rule, without the tensors that it is given."""

    def __init__(
        self,
        halves: tuple[Callable[..., list[Any]], ...],
        groups: Sequence[Sequence[Any]],
        like: Sequence[Tensor],
        refusal: NotDifferentiableError,
    ) -> None:
        self.halves = halves
        self.groups = [[() if is_tensor(x) else (x,) for x in xs] for xs in groups]
        given = [x for xs in groups for x in xs if is_tensor(x)]
        self.places = [next(i for i, x in enumerate(given) if x is y) for y in like]
        self.refusal = refusal

    def compute(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run it on NumPy's arrays, or plain tensors, and bring what it gives to the operands."""
        like = [tensors[i] for i in self.places]
        first: Exception | None = None
        for half, convert in zip(self.halves, (array_of, on_host), strict=True):
            rest = iter(map(convert, tensors))
            given = [[entry[0] if entry else next(rest) for entry in xs] for xs in self.groups]
            try:
                with torch.no_grad():
                    found = half(*given)
                return [brought(t, x) for t, x in zip(found, like, strict=True)]
            except UNFIT as error:
                first = first or error
        assert first is not None
        raise first

    def like(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Tensors of the same shapes and dtypes."""
        return [torch.empty_like(tensors[i]) for i in self.places]


class Opaque(Function):
    """Half of a rule as one operation, which has no derivative."""

    @staticmethod
    def forward(program: _Program, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run it, or have it run later."""
        if any([is_abstract(x) or x.is_meta for x in tensors]):
            return tuple(run_later(program, tensors))
        return tuple(program.compute(tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the refusal."""
        ctx.refusal = inputs[0].refusal
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Refuse."""
        leave_out(ctx.refusal)
        raise ctx.refusal

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Refuse."""
        leave_out(ctx.refusal)
        raise ctx.refusal

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: _Program, *tensors: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run it for each element."""
        if not info.batch_size:
            dims = [in_dims[1 + i] for i in program.places]
            shown = [tensors[i] for i in program.places]
            whole = [
                x[None][:0] if d is None else x.movedim(d, 0)
                for x, d in zip(shown, dims, strict=True)
            ]
            return tuple(map(torch.empty_like, whole)), (0,) * len(whole)
        return each_of(Opaque, info, in_dims, program, tensors)
