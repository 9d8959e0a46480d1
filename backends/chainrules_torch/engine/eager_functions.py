"""Eager calls: one autograd function for each rule that needs less than the general one.

It is made for one plan and one set of differentiated operands, so nothing that is constant between
calls is looked up again. It covers rules that save operands, results and constants.
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
from chainrules_torch import _private
from chainrules_torch.array_types import PLAIN
from chainrules_torch.engine.autograd_functions import (
    Plain,
    filled,
    kept,
    plain_pulls,
    pull_plain,
    pulled,
    run_plain,
    static,
)
from chainrules_torch.engine.call_plans import Call, Plan
from chainrules_torch.engine.callback import NARROW
from chainrules_torch.engine.outputs import written
from chainrules_torch.engine.rule_config import asking, saved

Tensor = torch.Tensor
_ANSWERS = (Tensor, tuple)
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled


def applied_to(cls: Any) -> Callable[..., Any]:
    """Return what applies an autograd function that has no ``setup_context``.

    PyTorch's own method looks for one at each call.
    """
    above: Any = super(Function, cls)
    return above.apply  # type: ignore[no-any-return]


_plain = applied_to(Plain)


def eager(call: Call, needs: tuple[bool, ...]) -> Callable[..., Any]:
    """Return what runs a call in an eager program, for leaves of which some need a gradient."""
    # The first call keeps its operands, since half of its rule may compute with NumPy.
    if not (isinstance(call, Plan) and call.is_stored and call.is_proven):
        return functools.partial(_plain, call)
    found = call.short.get(needs)
    if found is None:
        found = call.short[needs] = _shorter(call, needs) or functools.partial(_named(call), call)
    return found


def _named(plan: Plan) -> Callable[..., Any]:
    """Return what applies `Plain` under the name of the primitive, which PyTorch's errors show."""
    return applied_to(types.new_class(plan.primal.__name__, (Plain,)))


def _shorter(plan: Plan, needs: tuple[bool, ...]) -> Callable[..., Any] | None:
    try:
        bound = plan.bound("reverse", needs, again=False)
    except NoRuleError:
        return None
    if bound is None or bound.wanted != needs or plan.solves:
        return None
    if bound.maps is not None:
        return _function(plan, needs, _by_maps(plan, bound, bound.maps))
    if not bound.recipe.saves_values or bound.recipe.is_linear or plan.options:
        return None
    used = _read_by_partial(plan, bound)
    forward = _by_partial(plan, bound, used) if used else _by_formula(plan, bound)
    return _function(plan, needs, forward)


def _function(
    plan: Plan, needs: tuple[bool, ...], forward: Callable[..., Any]
) -> Callable[..., Any]:
    """Make an autograd function with this forward, which leaves its pullback as ``ctx.half``.

    If that is the usual pullback, forward leaves none: the context then needs no attributes.
    """
    spread = None if all(needs) else needs

    def backward(ctx: Any, *bars: Any) -> Any:
        tensors, half = saved(ctx, plan), ctx.half  # once: a checkpoint recomputes them each time
        if half is None:
            return tuple(pulled(ctx, tensors, bars, needs))
        if plan.is_own and _grad_enabled():
            with asking(plan, (*tensors, *bars)):  # the graph is kept, to differentiate again
                answer = half(bars[0], *tensors)
        else:
            answer = half(bars[0], *tensors)
        if type(answer) not in _ANSWERS and not isinstance(answer, Tensor):
            answer = written(answer, bars[0])
        return answer if spread is None else _spread(answer, spread)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    name = plan.primal.__name__  # PyTorch shows it in its graphs
    made: Any = types.new_class(name, (Function,), exec_body=lambda of: of.update(members))
    contexts = _private.backward_class(made)
    contexts.half, contexts.apply = None, backward  # PyTorch's own looks for it at each call
    return applied_to(made)


def _spread(answer: Any, needs: Sequence[bool]) -> Any:
    """Put cotangents at the operands that need them, and None at the others."""
    answers = iter(answer if needs.count(True) > 1 else (answer,))
    return tuple([next(answers) if needed else None for needed in needs])


def _by_formula(plan: Plan, bound: Bound) -> Callable[..., Any]:
    """Make the forward of a rule that saves operands and results.

    The pullback of the first call becomes the usual one.
    """
    run, short = bound.run, bound.recipe.is_elementwise and plan.all_tensors
    first: dict[str, Any] = {}

    def forward(ctx: Any, *leaves: Any) -> Any:
        y, record = run(None, *leaves)
        if short and isinstance(record[-1], Tensor):  # without broadcasting
            if ctx.half is not record[0]:
                ctx.half = record[0]
                type(ctx).half = staticmethod(first.setdefault("half", record[0]))
            ctx.to_save = record[2:]  # as save_for_backward does
            return y
        if not isinstance(y, Tensor):
            ctx.half = None
            return kept(ctx, plan, bound, record, leaves, ctx.needs_input_grad, y)
        half, _, *values = record
        tensors = [x for x in values if isinstance(x, Tensor)]
        if len(tensors) < len(values):
            half = functools.partial(filled, half, [static(x) for x in values])
        ctx.half = half
        ctx.save_for_backward(*tensors)
        return y

    return forward


def _read_by_partial(plan: Plan, bound: Bound) -> tuple[int, ...]:
    """Return what a user-defined `scalar_rule` of one tensor reads: 0 is the result.

    Return an empty tuple if its one partial is not the whole rule.
    """
    recipe: Any = bound.recipe
    if (
        recipe.constructor != "scalar_rule"
        or recipe.is_hooked
        or recipe.singular
        or (not (plan.is_own and plan.all_tensors) or len(recipe.forms) != 1)
    ):
        return ()
    return recipe.used[0] if recipe.forms[0] == ("computed", None) else ()


def _by_partial(plan: Plan, bound: Bound, used: tuple[int, ...]) -> Callable[..., Any]:
    """Make the forward of a single partial, for real dtypes seen in earlier calls."""
    general, compute = _by_formula(plan, bound), plan.compute
    of_result, of_both = used == (0,), len(used) == 2
    seen: set[torch.dtype] = set()

    def forward(ctx: Any, x: Any) -> Any:
        if x.dtype in seen and type(x) in PLAIN and not x.is_meta:
            y = compute(x)
            if type(y) is Tensor and y.dtype is x.dtype:
                ctx.to_save = (y, x) if of_both else (y if of_result else x,)
                return y
        y = general(ctx, x)
        if isinstance(y, Tensor) and y.is_floating_point() and ctx.half is type(ctx).half:
            seen.update({x.dtype} - NARROW)
        return y

    return forward


def _by_maps(plan: Plan, bound: Bound, maps_of: Callable[..., Any]) -> Callable[..., Any]:
    """Make the forward of a rule of linear maps; it keeps their pullbacks and what these saved."""
    options = plan.options
    active = [i for i, wanted in enumerate(bound.wanted) if wanted]
    is_plain = True

    def forward(ctx: Any, *leaves: Any) -> Any:
        nonlocal is_plain
        if is_plain:
            y, maps = maps_of(leaves, options)
            tensors: list[Any] = []
            found = isinstance(y, Tensor)
            if found and (pulls := plain_pulls(maps, leaves, active, (y, *leaves), tensors)):
                ctx.half = functools.partial(pull_plain, pulls)
                ctx.to_save = tuple(tensors)  # as save_for_backward does
                return y
            is_plain = False
        ctx.half = None
        return run_plain(ctx, plan, leaves, ctx.needs_input_grad)

    return forward
