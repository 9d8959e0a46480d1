"""Halves of rules that leave PyTorch: they compute with NumPy, or ask for numbers.

On tensors that have none to give, or of a dtype that NumPy lacks, such a half runs once more,
apart: on plain tensors, which PyTorch sees as one operation. That has no derivative, and says so to
whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch.autograd.function import Function
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from chainrules_bridge import UNFIT, raised_in, refused_rule, warn_called_back
from chainrules_py import ChainRulesError, NotDifferentiableError
from chainrules_torch import _private
from chainrules_torch.engine.call import AnyCall, Outputs
from chainrules_torch.engine.callback import NARROW
from chainrules_torch.engine.config import Unlost, floats, is_tensor
from chainrules_torch.engine.functorch import asks_for_values, refuse_left, transformed
from chainrules_torch.engine.loops import each_of
from chainrules_torch.engine.opaque import asked, forget, is_abstract, leave_out, run_later
from chainrules_torch.engine.randomness import refuse_drawn, undrawn

Tensor = torch.Tensor
_PLAIN = (Tensor, torch.nn.Parameter)
_is_wrapped: Callable[[Tensor], bool] = _private.functorch.is_functorch_wrapped_tensor


def may_leave(x: Any) -> bool:
    """Tell whether code that computes with NumPy does not run on a value as it is."""
    if not isinstance(x, Tensor):
        return False
    return x.dtype in NARROW or type(x) not in _PLAIN or x.is_meta


def pull(
    call: Any, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
) -> list[Any]:
    """Pull the cotangents of a result back to the leaves, apart if the rule leaves PyTorch."""
    if not hasattr(call, "plan"):  # of a batch: each of its elements comes here
        return call.pull(leaves, y, bars, needs)  # type: ignore[no-any-return]
    return unless_left(  # type: ignore[no-any-return]
        call,
        leaves,
        lambda: call.pull(leaves, y, bars, needs),
        lambda error: pulled_apart(call, leaves, y, bars, needs, error),
    )


def unless_left(
    call: AnyCall,
    leaves: Sequence[Any],
    run: Callable[[], Any],
    instead: Callable[[Exception], Any],
    refusals: bool = False,
) -> Any:
    """Run what may leave PyTorch, and something instead of it where that is an error.

    With ``refusals`` also where it is our own, of what is done with what is being differentiated.
    """
    before = asked()
    try:
        return run()
    except UNFIT as error:
        if not (
            leaves_torch(call, error, leaves)
            or (refusals and type(error) is NotDifferentiableError)
        ):
            raise
        forget(before)
        return instead(error)


def pulled_apart(
    call: AnyCall,
    leaves: Sequence[Any],
    y: Outputs,
    bars: Sequence[Any],
    needs: Sequence[bool],
    error: Exception,
) -> list[Any]:
    """Pull back by a rule that left PyTorch with this error: on plain tensors."""
    again = _again(call, (*leaves, *y[0]))
    places = [i for i, x in enumerate(leaves) if needs[i] and floats(x)]

    def run(leaves: Sequence[Any], outputs: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        found = again.pull(leaves, (outputs, y[1]), bars, needs)
        return [found[i] for i in places]

    found = iter(_apart(call, error, run, (leaves, y[0], bars), [leaves[i] for i in places]))
    return [next(found) if i in places else None for i in range(len(leaves))]


def push(call: Any, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> Any:
    """Push the tangents of leaves forward to the result, apart if the rule leaves PyTorch."""
    if not hasattr(call, "plan"):
        return call.push(leaves, y, dots)
    return unless_left(
        call,
        leaves,
        lambda: call.push(leaves, y, dots),
        lambda error: _pushed_apart(call, leaves, y, dots, error),
    )


def _pushed_apart(
    call: AnyCall, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any], error: Exception
) -> Any:
    outputs, treedef = y
    again = _again(call, (*leaves, *outputs))

    def run(leaves: Sequence[Any], outputs: Sequence[Any], dots: Sequence[Any]) -> list[Any]:
        found = again.push(leaves, (outputs, treedef), dots)
        return [t for t in (found if type(found) is tuple else (found,)) if is_tensor(t)]

    like = [x for x in outputs if floats(x)]
    found = iter(_apart(call, error, run, (leaves, outputs, dots), like))
    each = [next(found) if floats(x) else None for x in outputs]
    return each[0] if treedef is None else (*each, None)


def _again(call: AnyCall, xs: Sequence[Any]) -> AnyCall:
    """Return a call whose rule is run on wider numbers than its result is of."""
    return call.unchecked() if any([is_tensor(x) and x.dtype in NARROW for x in xs]) else call


_SAID = (
    "is not supported for tensor subclasses", "unsupported ScalarType", "type tensor to numpy",
    "data-dependent control flow",
)  # fmt: skip
"""What else PyTorch says where code asks for numbers that a tensor has not."""


def leaves_torch(call: AnyCall, error: Exception, given: Sequence[Any] = ()) -> bool:
    """Tell whether it is by leaving PyTorch that a rule came to this error, for these values."""
    if call.plan.solves or isinstance(error, ChainRulesError):
        return False
    said = str(error).partition("\n")[0]
    abstract = isinstance(error, (_private.NoValueError, GuardOnDataDependentSymNode))
    return (
        abstract
        or asks_for_values(error)
        or any([x in said for x in _SAID])
        or (any(map(_is_strange, given)) and raised_in(error, ("numpy", "scipy")))
    )


def _is_strange(x: Any) -> bool:
    """Tell whether a value is a tensor that NumPy cannot read as it is."""
    return may_leave(x) or (is_tensor(x) and _is_wrapped(x))


def refused(call: AnyCall, error: BaseException) -> NotDifferentiableError:
    """Return the error for a derivative of half of a rule that left PyTorch with this error."""
    return refused_rule(call.plan.primal, error, "PyTorch", "transforms", "chainrules_torch")


def _apart(
    call: AnyCall,
    error: Exception,
    run: Callable[..., list[Any]],
    groups: Sequence[Sequence[Any]],
    like: Sequence[Tensor],
) -> Sequence[Any]:
    """Run half of a rule on plain tensors, for groups of values; it gives tensors like these."""
    if not like:
        return ()
    program = _Program(call, run, groups, like, refused(call, error))
    try:
        found = transformed(Opaque, program, *[x for xs in groups for x in xs if is_tensor(x)])
    except ChainRulesError:
        raise
    except Exception as again:
        refuse_drawn(again, f"the rule of {call.plan.primal.__name__}")
        raise error from None  # it is the rule that is wrong
    warn_called_back(call.plan.primal, error, "chainrules_torch", "rule")
    return found  # type: ignore[no-any-return]


@final
class _Program:
    """Half of a rule, without the tensors that it is given."""

    def __init__(
        self,
        call: AnyCall,
        run: Callable[..., list[Any]],
        groups: Sequence[Sequence[Any]],
        like: Sequence[Tensor],
        refusal: NotDifferentiableError,
    ) -> None:
        self.call = call
        self.word = call.plan.primal
        self.run = run
        self.groups = [[() if is_tensor(x) else (x,) for x in xs] for xs in groups]
        given = [x for xs in groups for x in xs if is_tensor(x)]
        self.places = [next(i for i, x in enumerate(given) if x is y) for y in like]
        self.refusal = refusal

    def compute(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Run it, on tensors that NumPy can read."""
        rest = iter(map(_plain, tensors))
        given = [[entry[0] if entry else next(rest) for entry in xs] for xs in self.groups]
        with torch.no_grad(), Unlost(), undrawn():  # NumPy reads what has no derivative here
            try:
                found = self.run(*given)
            except TypeError as error:
                refuse_left(error, self.call)
                raise
        like = [tensors[i] for i in self.places]
        return [t.to(x.device, x.dtype) for t, x in zip(found, like, strict=True)]

    def like(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Tensors of the same shapes and dtypes."""
        return [torch.empty_like(tensors[i]) for i in self.places]


def _plain(x: Tensor) -> Tensor:
    x = x.detach().cpu()
    return x.float() if x.dtype in NARROW else x


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
    def backward(ctx: Any, *bars: Any) -> Any:
        """Refuse."""
        leave_out(ctx.refusal)
        raise ctx.refusal

    @staticmethod
    def jvp(ctx: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
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
