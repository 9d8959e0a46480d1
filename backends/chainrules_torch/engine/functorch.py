"""The levels of `torch.func`, where PyTorch gives a function of ours no right one to work at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, final

import torch
from torch.overrides import TorchFunctionMode

from chainrules_bridge import refuse_operator, refused_rule
from chainrules_py import ChainRulesError, MutationError
from chainrules_torch import _private
from chainrules_torch.engine.config import (
    Apart,
    Unlost,
    in_forward_mode,
    is_tensor,
    varies_still,
)
from chainrules_torch.engine.opaque import leave_out
from chainrules_torch.engine.randomness import refuse_drawn

_functorch = _private.functorch
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_transforms_active = _private.transforms_active
_is_wrapped: Callable[[Any], bool] = _functorch.is_functorch_wrapped_tensor
_unwrapped: Callable[[torch.Tensor], torch.Tensor] = _functorch.get_unwrapped
_level_of: Callable[[torch.Tensor], int] = _functorch.maybe_get_level
_current_level: Callable[[], int | None] = _functorch.maybe_current_level


def unlost(call: Any, tensors: Sequence[Any], within: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return a context where half of a rule loses no derivative of these that is asked for later.

    What solves looks at values, to choose its steps.

    Parameters
    ----------
    call : AnyCall or Mapped, optional
        Whose half it is.
    tensors : sequence
        What the half is given.
    within : callable
        What of a tensor somebody else may differentiate.
    """
    plan = None if call is None else plan_of(call)
    if plan is not None and plan.solves:
        return _NOTHING
    forward, recorded = in_forward_mode(), _grad_enabled()
    for x in tensors:
        of = within(x)
        if not isinstance(of, torch.Tensor):
            continue
        if (forward or _is_wrapped(of) or (recorded and of.requires_grad)) and varies_still(of):
            follows = plan is not None and not _transforms_active() and plan.may_ask()
            return Unlost(within, follows=follows)
    return Apart() if plan is not None and _transforms_active() and plan.may_ask() else _NOTHING


def plan_of(call: Any) -> Any:
    """Return the plan of a call, or of those that a batch is made of."""
    while not hasattr(call, "plan"):
        call = call.call
    return call.plan


_NOTHING = contextlib.nullcontext()


_LEAVES = ("Can't call numpy() on", "calling .item() on a Tensor", "doesn't have storage")
"""What PyTorch says where code asks a tensor for values that it has not, or may not give."""


def asks_for_values(error: BaseException) -> bool:
    """Tell whether PyTorch says that code asked for values that it has not, or may not give."""
    said = str(error).partition("\n")[0]
    return type(error) is RuntimeError and any([x in said for x in _LEAVES])


def refuse_left(error: TypeError, call: Any) -> None:
    """Raise for a rule with an array of NumPy's on the left of a tensor, which PyTorch refuses."""
    refuse_operator(error, f"the rule of {plan_of(call).primal.__name__}", "PyTorch")


def refuse_pulled(error: BaseException, call: Any) -> None:
    """Raise for half of a rule with this error, if it is one that there are words for."""
    if isinstance(error, TypeError):
        refuse_left(error, call)
    if isinstance(error, RuntimeError):
        refuse_drawn(error, f"the rule of {plan_of(call).primal.__name__}")


def refuse_rewritten(error: RuntimeError, call: Any) -> None:
    """Raise for a tensor that was written to in place, where PyTorch says that it was.

    Raises
    ------
    MutationError
        With what to write instead.
    """
    if "modified by an inplace operation" in str(error):
        name = plan_of(call).primal.__name__
        msg = (
            f"the result of {name}, or an operand, was modified in place after the call, and its "
            f"derivative may be taken with it: write y = {name}(x).clone() before writing to y (or "
            f"y = y * s for y *= s), {name}(x.clone()) before writing to x"
        )
        raise MutationError(msg) from error


@final
class Half:
    """A context in which half of a rule runs: it loses nothing, and says so where it leaves.

    Attributes
    ----------
    call : AnyCall or Mapped
        Whose rule it is.
    """

    __slots__ = ("_lost", "call")

    def __init__(
        self, call: Any, tensors: Sequence[Any], within: Callable[[Any], Any] = lambda x: x
    ) -> None:
        self.call = call
        self._lost = unlost(call, tensors, within)

    def __enter__(self) -> None:
        self._lost.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lost.__exit__(kind, error, trace)
        if isinstance(error, ChainRulesError):
            leave_out(error)
        if error is None:
            return
        refuse_pulled(error, self.call)
        if not asks_for_values(error):
            return
        primal = plan_of(self.call).primal
        refusal = refused_rule(primal, error, "PyTorch", "transforms", "chainrules_torch")
        leave_out(refusal)
        raise refusal from error


def _half(call: Any, tensors: Sequence[Any]) -> Any:
    return _NOTHING if call is None else Half(call, tensors)


def inside(x: Any) -> Any:
    """Return what a tensor is within the transformation that a pullback belongs to."""
    if not (isinstance(x, torch.Tensor) and _is_wrapped(x)):
        return x
    return _unwrapped(x) if _level_of(x) == _current_level() else x


def below(
    push: Callable[..., Any], tensors: Sequence[Any], dots: Sequence[Any], call: Any = None
) -> Any:
    """Push forward below the level of these dual numbers, where those of outer levels are kept.

    PyTorch turns forward mode off, at all levels, while it asks a function for its derivative, so
    that a derivative of this one would be zero, without a word.
    """
    if not _transforms_active():  # dual numbers alone do not nest
        with _half(call, (*tensors, *dots)):
            return push(tensors, dots)
    interpreter = _private.current_interpreter()
    level = interpreter.level()

    def lowered(xs: Sequence[Any]) -> list[Any]:
        return [_functorch.unwrap_for_grad(x, level) if is_tensor(x) else x for x in xs]

    def raised(x: Any) -> Any:
        return _functorch.wrap_for_grad(x, level) if is_tensor(x) else x

    low, low_dots = lowered(tensors), lowered(dots)
    forward, lower = _private.set_forward_mode(True), interpreter.lower()
    with torch.enable_grad(), forward, lower, _half(call, (*low, *low_dots)):
        found = push(low, low_dots)
    return tuple(map(raised, found)) if type(found) is tuple else raised(found)


_transform: Any = _private.custom_function_call
_NO_RULE = "Functionalize rule for custom_function_call"
"""What PyTorch says where a function of autograd comes to the level of `functionalize`."""


def transformed(function: Any, *leaves: Any) -> Any:
    """Apply a function of autograd, at all levels of `torch.func`."""
    if not _transforms_active():
        return function.apply(*leaves)
    try:
        return _transform(function, *leaves)
    except RuntimeError as error:
        if _NO_RULE not in str(error):
            raise
    with _Functionalized():
        return _transform(function, *leaves)


class _Functionalized(TorchFunctionMode):
    """A context where functions of autograd pass levels of `functionalize`.

    One of ours writes to no operand, so that it is the same function below that level.
    """

    def __torch_function__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Have PyTorch call it."""
        if f is not _transform:
            return f(*args, **(kwargs or {}))
        with self:
            if not _transforms_active():
                return args[0].apply(*args[1:])
            interpreter = _private.current_interpreter()
            if interpreter.key() != _functorch.TransformType.Functionalize:
                return _private.dispatch_functorch(f, args, {})
            level = interpreter.level()
            add_back = interpreter.functionalize_add_back_views()

            def lowered(x: Any) -> Any:
                if not is_tensor(x) or _level_of(x) != level:
                    return x
                _private.dispatched.sync(x)
                return _functorch.unwrap_functional_tensor(x, add_back)

            with interpreter.lower():
                found = _transform(*map(lowered, args))

            def raised(x: Any) -> Any:
                return _functorch.wrap_functional_tensor(x, level) if is_tensor(x) else x

            return tuple(map(raised, found)) if type(found) is tuple else raised(found)
