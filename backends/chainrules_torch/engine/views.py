"""Results that are an operand, or a view of one, where `torch.func` or dual numbers are."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch.autograd import forward_ad

from chainrules_py import ChainRulesError
from chainrules_py.extend import flatten
from chainrules_torch.engine.call import AnyCall
from chainrules_torch.engine.config import computing, has_no_tangent, is_tensor
from chainrules_torch.engine.drawn import Drawn
from chainrules_torch.engine.opaque import is_abstract

_C: Any = torch._C
_functorch: Any = _C._functorch


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
    plan, before = call.plan, computing.get()
    # What somebody pulls back through has kept the result: PyTorch refuses it when written to.
    pulled = any([is_abstract(x) or _is_pulled(x) for x in leaves if is_tensor(x)])
    if pulled or plan.solves:
        return y
    same_draws = call.draws.again() if isinstance(call, Drawn) else nullcontext()
    try:
        computing.set(True)
        with same_draws:
            found = plan.compute(*call.operands(leaves), **plan.options)
        pairs = zip(flatten(found)[0], flatten(y)[0], strict=True)
        same = all([not is_tensor(x) or _same(x, of) for x, of in pairs])
    except (ChainRulesError, RuntimeError, TypeError, ValueError):  # it leaves PyTorch
        return y
    finally:
        computing.set(before)
    return found if same else y


def _is_pulled(x: Any) -> bool:
    """Tell whether a tensor needs a gradient, at any level."""
    while _functorch.is_functorch_wrapped_tensor(x):
        if x.requires_grad:
            return True
        x = _functorch.get_unwrapped(x)
    return bool(x.requires_grad)


def _same(x: Any, y: Any) -> bool:
    """Tell whether two tensors have the same numbers and tangents, at this level and below."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if forward_ad._current_level >= 0 and not has_no_tangent(x):
        (x, x_dot), (y, y_dot) = forward_ad.unpack_dual(x), forward_ad.unpack_dual(y)
        if x_dot is not None or y_dot is not None:
            dots = [torch.zeros_like(x) if t is None else t for t in (x_dot, y_dot)]
            if not _same_below(*dots):
                return False
    return _same_below(x, y)


def _same_below(x: Any, y: Any) -> bool:
    if not _C._are_functorch_transforms_active():
        return bool(torch.equal(torch.nan_to_num(x.detach()), torch.nan_to_num(y.detach())))
    interpreter = retrieve_current_functorch_interpreter()
    level = interpreter.level()
    low = [
        _functorch.get_unwrapped(t) if _functorch.maybe_get_level(t) == level else t for t in (x, y)
    ]
    with interpreter.lower():
        return _same(*low)
