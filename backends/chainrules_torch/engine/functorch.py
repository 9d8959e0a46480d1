"""The levels of `torch.func`, where PyTorch gives a function of ours no right one to work at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainrules_kit import refused_half
from chainrules_py import MutationError
from chainrules_torch import _private
from chainrules_torch.engine.compilers import leave_out
from chainrules_torch.engine.config import (
    Unlost,
    is_tensor,
    varies_still,
)

_functorch = _private.functorch
_transforms_active = _private.transforms_active


def asking(plan: Any, tensors: Sequence[Any]) -> Any:
    """Return a context where half of a person's rule loses no derivative that is asked for later.

    Until a half has run once without asking for numbers, it may ask for none at all.
    """
    asked = not plan.is_proven or _transforms_active() or any(map(varies_still, tensors))
    return Unlost(in_half=True) if asked else _NOTHING


def plan_of(call: Any) -> Any:
    """Return the plan of a call, or of those that a batch is made of."""
    while not hasattr(call, "plan"):
        call = call.call
    return call.plan


_NOTHING = contextlib.nullcontext()


def saved(ctx: Any, call: Any) -> Any:
    """Return the tensors that PyTorch kept for the pullback of a call.

    Raises
    ------
    MutationError
        If one was written to in place, with what to write instead.
    """
    try:
        return ctx.saved_tensors
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        name = plan_of(call).primal.__name__
        msg = (
            f"the result of {name}, or an operand, was modified in place after the call, and its "
            f"derivative may be taken with it: write y = {name}(x).clone() before writing to y (or "
            f"y = y * s for y *= s), {name}(x.clone()) before writing to x"
        )
        raise MutationError(msg) from error


ASKED = (
    "call numpy() on", "calling .item() on a Tensor", "doesn't have storage",
    "data-dependent control flow",
)  # fmt: skip
"""What PyTorch says where code asks a tensor for numbers that it has not, or may not give."""


def refuse_asked(error: RuntimeError, call: Any) -> None:
    """Raise for a call that asks for numbers, where PyTorch says that it did.

    Raises
    ------
    AskedError
        With what to write instead.
    """
    if call is not None and any([said in str(error) for said in ASKED]):
        refusal = refused_half(plan_of(call).primal, "PyTorch")
        leave_out(refusal)
        raise refusal from error


def below(push: Callable[..., Any], tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
    """Push forward below the level of these dual numbers, where those of outer levels are kept.

    PyTorch turns forward mode off, at all levels, while it asks a function for its derivative, so
    that a derivative of this one would be zero, without a word.
    """
    if not _transforms_active():  # dual numbers alone do not nest
        return push(tensors, dots)
    interpreter = _private.current_interpreter()
    level = interpreter.level()

    def lowered(xs: Sequence[Any]) -> list[Any]:
        return [_functorch.unwrap_for_grad(x, level) if is_tensor(x) else x for x in xs]

    def raised(x: Any) -> Any:
        return _functorch.wrap_for_grad(x, level) if is_tensor(x) else x

    low, low_dots = lowered(tensors), lowered(dots)
    forward, lower = _private.set_forward_mode(True), interpreter.lower()
    with torch.enable_grad(), forward, lower:
        found = push(low, low_dots)
    return tuple(map(raised, found)) if type(found) is tuple else raised(found)


_transform: Any = _private.custom_function_call


def transformed(function: Any, *leaves: Any) -> Any:
    """Apply a function of autograd, at all levels of `torch.func`."""
    return _transform(function, *leaves) if _transforms_active() else function.apply(*leaves)
