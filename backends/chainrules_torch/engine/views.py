"""Results that are an operand, or a view of one, and are written to.

What words give so is PyTorch's own view. What the rule of somebody gives is one in eager programs;
where `torch.func` or dual numbers are it is a copy, of which forward mode makes a view again, and
which reverse mode lets nobody write to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from chainrules_py import ChainRulesError, MutationError
from chainrules_py import vocabulary as v
from chainrules_py.extend import flatten, unflatten
from chainrules_torch import _private
from chainrules_torch.engine.call import AnyCall
from chainrules_torch.engine.config import computing, has_no_tangent, is_tensor
from chainrules_torch.engine.opaque import is_abstract
from chainrules_torch.tensors import levels_of

_functorch = _private.functorch

VIEWS: frozenset[Any] = frozenset(
    (
        v.astype, v.broadcast_to, v.conj, v.diagonal, v.expand_dims, v.getitem, v.imag,
        v.matrix_transpose, v.permute_dims, v.positive, v.real, v.reshape, v.sliding_window_view,
        v.squeeze, v.take, v.to_device,
    )
)  # fmt: skip
"""Words that may give an operand or a view, which PyTorch differentiates as their rules do."""


def viewed(call: AnyCall, leaves: Any, y: Any) -> Any:
    """Return the result of a call as views that are PyTorch's own, if its rule says the same.

    A function of autograd gives its operand as a copy in these, since PyTorch wants the tangent of
    a view to be a view, which a rule's is not. Who writes to either would then not write to both.

    Parameters
    ----------
    call : AnyCall
        The call.
    leaves : sequence
        Its leaves.
    y
        Its result, with the tangents that the rule gave.
    """
    if any([_is_pulled(x) for x in leaves if is_tensor(x)]):
        return unwritten(call, leaves, y)
    return as_views(call, leaves, y)


def as_views(call: AnyCall, leaves: Any, y: Any) -> Any:
    """Return the result of a call as PyTorch's own views, if it has the same numbers so."""
    plan, before = call.plan, computing.get()
    if plan.solves or any(map(is_abstract, leaves)):
        return y
    try:
        computing.set(True)
        with call.same_draws():
            found = plan.compute(*call.operands(leaves), **plan.options)
        pairs = zip(flatten(found)[0], flatten(y)[0], strict=True)
        same = all([not is_tensor(x) or _same(x, of) for x, of in pairs])
    except (ChainRulesError, RuntimeError, TypeError, ValueError):  # it leaves PyTorch
        return y
    finally:
        computing.set(before)
    return found if same else y


def unwritten(call: AnyCall, leaves: Any, y: Any) -> Any:
    """Return the result of a call that somebody pulls back through, which raises when written to.

    A write to a copy would be lost: what it was a view of has the numbers, and the derivative, from
    before. PyTorch raises where one is written to that is of several views which it gave at once.
    It does not look where gradients are off, nor at what is detached: the operands' gradients do.
    """
    outputs, treedef = flatten(y)
    shown = list(outputs)
    pulled = [of for leaf in leaves if is_tensor(leaf) for of in levels_of(leaf) if _is_hooked(of)]
    for place in call.plan.views:
        if is_tensor(shown[place]) and _is_pulled(shown[place]):
            (x,) = shown[place].unsqueeze(0).unbind()
            shown[place] = x
            check = _unwritten_check(call.plan.primal.__name__, levels_of(x.detach()))
            for of in pulled:
                of.register_hook(check)
    return unflatten(treedef, shown)


def _is_hooked(x: Any) -> bool:
    """Tell whether a hook is put on a tensor: a parameter would keep it for good."""
    lasts = x.is_leaf and not _functorch.is_functorch_wrapped_tensor(x)
    return x.requires_grad and not lasts


def _unwritten_check(name: str, levels: list[Any]) -> Callable[[Any], None]:
    """Return a hook that raises if a result was written to since."""
    versions = [_private.version(x) for x in levels]

    def check(_: Any) -> None:
        if [_private.version(x) for x in levels] != versions:
            msg = (
                f"the result of {name}, which is an operand or a view of one, was written to where "
                f"a transformation has a copy of it, so that the operand would not be written to: "
                f"write {name}(x).clone() before writing to it, or write to x"
            )
            raise MutationError(msg)

    return check


def _is_pulled(x: Any) -> bool:
    """Tell whether a tensor needs a gradient, at any level."""
    return any([of.requires_grad for of in levels_of(x)])


def _same(x: Any, y: Any) -> bool:
    """Tell whether two tensors have the same numbers and tangents, at this level and below."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if _private.dual_level() >= 0 and not has_no_tangent(x):
        (x, x_dot), (y, y_dot) = forward_ad.unpack_dual(x), forward_ad.unpack_dual(y)
        if x_dot is not None or y_dot is not None:
            dots = [torch.zeros_like(x) if t is None else t for t in (x_dot, y_dot)]
            if not _same_below(*dots):
                return False
    return _same_below(x, y)


def _same_below(x: Any, y: Any) -> bool:
    if not _private.transforms_active():
        return bool(torch.equal(torch.nan_to_num(x.detach()), torch.nan_to_num(y.detach())))
    interpreter = _private.current_interpreter()
    level = interpreter.level()
    low = [
        _functorch.get_unwrapped(t) if _functorch.maybe_get_level(t) == level else t for t in (x, y)
    ]
    with interpreter.lower():
        return _same(*low)
