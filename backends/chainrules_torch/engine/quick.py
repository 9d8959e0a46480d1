"""Shorter ways for eager programs: a function of autograd for each rule that can do with less.

It is made for one plan, and for the operands that are differentiated: nothing that is the same at
each call is asked for again. Rules that save operands, results and constants have one.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import Function

from chainrules_py import NoRuleError
from chainrules_py.extend import Bound
from chainrules_torch.engine.call import AnyCall, Plan
from chainrules_torch.engine.functions import Plain, kept, pulled
from chainrules_torch.engine.functorch import unlost
from chainrules_torch.engine.maps import filled, kept_of, plain_pull, pull_each, pull_plain, static

Tensor = torch.Tensor
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled


def applied_to(cls: Any) -> Callable[..., Any]:
    """Return what applies a function of autograd that asks for no ``setup_context``.

    PyTorch's own method looks for one at each call.
    """
    above: Any = super(Function, cls)
    return above.apply  # type: ignore[no-any-return]


_plain = applied_to(Plain)


def eager(call: AnyCall, needs: tuple[bool, ...]) -> Callable[..., Any]:
    """Find what runs a call of leaves, of which some need a gradient, in an eager program."""
    if not (isinstance(call, Plan) and call.is_stored):
        return functools.partial(_plain, call)
    found = call.short.get(needs)
    if found is None:
        found = call.short[needs] = _shorter(call, needs) or functools.partial(_plain, call)
    return found


def _shorter(plan: Plan, needs: tuple[bool, ...]) -> Callable[..., Any] | None:
    try:
        bound = plan.bound("reverse", needs, again=False)
    except NoRuleError:
        return None
    if bound is None or bound.wanted != needs or plan.solves or bound.later is not None:
        return None
    if bound.maps is not None:
        return _function(plan, needs, _by_maps(plan, bound, bound.maps))
    exact = bound.saves_values and not (bound.is_linear or plan.options)
    return _function(plan, needs, _by_formula(plan, bound)) if exact else None


def _function(
    plan: Plan, needs: tuple[bool, ...], forward: Callable[..., Any]
) -> Callable[..., Any]:
    """Make a function of autograd with this forward, which leaves its pull as ``ctx.half``."""
    spread = None if all(needs) else needs

    def backward(ctx: Any, *bars: Any) -> Any:
        saved, half = ctx.saved_tensors, ctx.half  # once: a checkpoint computes them each time
        if half is None:
            return tuple(pulled(ctx, saved, bars, needs))
        if _grad_enabled():
            with unlost(None, (*saved, *bars)):  # the graph is kept, to differentiate
                answer = half(bars[0], *saved)
        else:
            answer = half(bars[0], *saved)
        return answer if spread is None else _spread(answer, spread)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    name = plan.primal.__name__  # which PyTorch shows in its graphs
    return applied_to(types.new_class(name, (Function,), exec_body=lambda of: of.update(members)))


def _spread(answer: Any, needs: Sequence[bool]) -> Any:
    """Place cotangents where they are needed."""
    answers = iter(answer if needs.count(True) > 1 else (answer,))
    return tuple([next(answers) if needed else None for needed in needs])


def _by_formula(plan: Plan, bound: Bound) -> Callable[..., Any]:
    """Make the forward of a rule that saves operands and results."""
    run = bound.run

    def forward(ctx: Any, *leaves: Any) -> Any:
        y, record = run(None, *leaves)
        if not isinstance(y, Tensor):
            ctx.half = None
            return kept(ctx, plan, bound, record, leaves, ctx.needs_input_grad, y)
        half, _, *saved = record
        for x in saved:
            if not isinstance(x, Tensor):
                half = functools.partial(filled, half, [static(x) for x in saved])
                saved = [x for x in saved if isinstance(x, Tensor)]
                break
        ctx.half = half
        ctx.save_for_backward(*saved)
        return y

    return forward


def _by_maps(plan: Plan, bound: Bound, maps_of: Callable[..., Any]) -> Callable[..., Any]:
    """Make the forward of a rule of maps, which keeps of each the pull and what that saved."""
    options = plan.options
    active = [i for i, wanted in enumerate(bound.wanted) if wanted]

    def forward(ctx: Any, *leaves: Any) -> Any:
        y, maps = maps_of(leaves, options)
        if isinstance(y, Tensor):
            known = y, *leaves
            tensors: list[Any] = []
            pulls = []
            for i in active:
                pull = plain_pull(maps[i], leaves[i], known, tensors)
                if pull is None:
                    break
                pulls.append(pull)
            else:
                ctx.half = functools.partial(_pull_plain, pulls)
                ctx.save_for_backward(*tensors)
                return y
        ctx.half = None
        record = pull_each, None, *[kept_of(maps[i], leaves[i], bound) for i in active]
        return kept(ctx, plan, bound, record, leaves, ctx.needs_input_grad, y)

    return forward


def _pull_plain(pulls: Sequence[tuple[Any, ...]], y_bar: Any, *tensors: Any) -> Any:
    bars = pull_plain(pulls, y_bar, tensors)
    return bars[0] if len(bars) == 1 else tuple(bars)
