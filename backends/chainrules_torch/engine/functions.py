"""Rules as PyTorch's own differentiable functions.

Two classes serve all rules: what is called is their first argument.

- `Plain` is what eager programs run. It keeps what the rule saved.
- `Transformed` is what `torch.func` and dual numbers run. It has all of PyTorch's methods, and
  keeps nothing but inputs and outputs.

A derivative of a pullback flows through what the pullback uses. So where one may be asked for, a
pullback gets nothing that was computed unwatched: inputs and outputs come back from PyTorch as they
were, connected. Where a rule saved something else, it is run again on these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch
from torch.autograd.function import Function

from chainrules_py import NoRuleError, Primitive, unthunk
from chainrules_py.extend import (
    AbstractZero,
    Bound,
    fit,
    map_leaves,
)
from chainrules_torch.engine.call import AnyCall, Plan, spaces_of
from chainrules_torch.engine.config import computing, is_tensor, outside, watching
from chainrules_torch.engine.functorch import Half, below, inside, unlost
from chainrules_torch.engine.kept import PLAIN, SLOT, Again, Constant, Record, holds_nothing
from chainrules_torch.engine.outputs import owned, split, wrap, written
from chainrules_torch.engine.vmap import Mapped, guard_of

Tensor = torch.Tensor
_grad_enabled: Callable[[], bool] = torch.is_grad_enabled


def _short(plan: Plan, needs: tuple[bool, ...]) -> Callable[..., Any] | None:
    """Make the forward of calls of one tensor each way, for these operands wanted; or None."""
    try:
        bound = plan.bound("reverse", needs[1:], again=False)
    except NoRuleError:
        return None
    if bound is None or bound.wanted != needs[1:] or plan.solves or bound.later is not None:
        return None
    if bound.gives_maps:
        return _by_maps(plan, bound)
    exact = bound.saves_values and not (bound.is_linear or plan.options)
    return _by_formula(plan, bound) if exact else None


def _by_formula(plan: Plan, bound: Bound) -> Callable[..., Any]:
    """Make the forward of a rule that saves operands and results."""
    run = bound.run

    def forward(ctx: Any, leaves: tuple[Any, ...]) -> Any:
        y, record = run(None, *leaves)
        if not isinstance(y, Tensor):
            return _kept(ctx, plan, bound, record, leaves, y)
        saved = record[2:]
        ctx.half = record[0]
        for x in saved:
            if not isinstance(x, Tensor):
                ctx.statics = [() if isinstance(x, Tensor) else (x,) for x in saved]
                ctx.save_for_backward(*[x for x in saved if isinstance(x, Tensor)])
                return y
        ctx.statics = None
        ctx.save_for_backward(*saved)
        return y

    return forward


def _by_maps(plan: Plan, bound: Bound) -> Callable[..., Any]:
    """Make the forward of a rule of maps: of each it keeps pull, operand's space, saved values."""
    run, options, single = bound.run, plan.options, bound.wanted.count(True) == 1

    def forward(ctx: Any, leaves: tuple[Any, ...]) -> Any:
        y, record = run(None, *leaves, **options)
        if isinstance(y, Tensor):
            maps = ((record[2], record[3], record[4:]),) if single else record[2:]
            tensors: list[Any] = []
            kept: list[Any] = []
            known = (y, *leaves)
            for half, onto, saved in maps:
                slots = _slots(half, saved, known, tensors)
                if slots is None:
                    break
                kept.append((half, onto, slots))
            else:
                ctx.half = _pull_maps
                ctx.statics = kept
                ctx.save_for_backward(*tensors)
                return y
        return _kept(ctx, plan, bound, record, leaves, y)

    return forward


def _slots(
    half: Any, saved: Sequence[Any], known: Sequence[Any], tensors: list[Any]
) -> list[Any] | None:
    """Set a pull's saved tensors apart; None if it saved more than operands, results, constants."""
    if type(half) is not FunctionType or half.__closure__ is not None or not holds_nothing(half):
        return None
    slots: list[Any] = []
    for x in saved:
        if isinstance(x, Tensor):
            for y in known:
                if x is y:
                    break
            else:
                return None
            tensors.append(x)
            slots.append(SLOT)
        elif type(x) in PLAIN:
            slots.append(x)
        else:
            return None
    return slots


def _pull_maps(y_bar: Any, maps: Sequence[Any], tensors: Sequence[Any]) -> Any:
    bars = []
    rest = iter(tensors)
    for half, onto, slots in maps:
        bar = half(y_bar, *[next(rest) if x is SLOT else x for x in slots])
        if not (isinstance(bar, Tensor) and bar.dtype is onto.dtype and bar.shape == onto.shape):
            bar = written(fit(unthunk(bar), onto), onto)
        bars.append(bar)
    return bars[0] if len(bars) == 1 else bars


def _long(ctx: Any, call: AnyCall, leaves: tuple[Any, ...]) -> Any:
    """Run the forward of any call."""
    plan, needs = call.plan, ctx.needs_input_grad[1:]
    operands = call.operands(leaves)
    error = None
    try:
        bound = plan.bound("reverse", call.wanted(needs), again=False)
    except NoRuleError as missing:  # an error where the mode is asked for
        if not plan.states("forward"):
            raise
        bound, error = None, missing
    if bound is not None:
        if plan.solves:
            y, record = _watched(plan, bound, call.operands(list(map(_detached, leaves))))
        else:
            y, record = bound.run(None, *operands, **plan.options)
        return _kept(ctx, call, bound, record, leaves, map_leaves(outside, y))
    y = plan.run(plan.compute, *operands, **plan.options)
    ctx.half = None
    ctx.record = Constant(spaces_of(leaves, needs), error)
    ctx.set_materialize_grads(False)
    return wrap(y)


def _watched(plan: Plan, bound: Bound, operands: tuple[Any, ...]) -> Any:
    """Run a rule on what is not being differentiated, so that what is elsewhere is noticed."""
    before = watching.get()
    try:
        watching.set(True)
        return plan.run(bound.run, None, *operands, **plan.options)
    finally:
        watching.set(before)


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x


def _kept(
    ctx: Any, call: AnyCall, bound: Bound, record: tuple[Any, ...], leaves: Sequence[Any], y: Any
) -> Any:
    if not all(map(_is_open, record[2:])):
        # A closure that has the result leads back to itself, by a way that only PyTorch sees.
        mine = set(map(id, leaves))
        y = map_leaves(lambda x: x if id(x) in mine or not is_tensor(x) else x.data, y)
    ctx.half = None
    ctx.record = kept = Record(call, bound, record, leaves, ctx.needs_input_grad[1:], y)
    ctx.save_for_backward(*kept.tensors)
    kept.tensors = []  # an output here would keep its own graph alive
    if isinstance(y, Tensor):
        return y
    ctx.set_materialize_grads(False)
    return wrap(y)


def _is_open(x: Any) -> bool:
    """Tell whether all that a saved value holds can be seen: it is no closure, and has none."""
    cls = type(x)
    if cls is tuple or cls is list or cls is dict:
        return all(map(_is_open, x.values() if cls is dict else x))
    plain = cls in PLAIN or isinstance(x, (Tensor, Primitive, AbstractZero))
    return plain or (isinstance(x, FunctionType) and holds_nothing(x))


class Plain(Function):
    """Function of autograd for eager programs, which keeps what the rule saved."""

    @staticmethod
    def forward(ctx: Any, call: Any, *leaves: Any) -> Any:
        """Run the rule, and keep what it saved."""
        needs = ctx.needs_input_grad
        try:
            short = call.short[needs]
        except KeyError:
            short = call.short[needs] = _short(call, needs) if call.plan is call else None
        return _long(ctx, call, leaves) if short is None else short(ctx, leaves)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pull back."""
        saved = ctx.saved_tensors  # once: a checkpoint computes them for each time
        if _grad_enabled():
            call = None if ctx.half is not None else ctx.record.call
            with unlost(call, (*saved, *bars)):  # the graph is kept, to differentiate
                return Plain.pull(ctx, saved, bars)
        if ctx.half is None or ctx.statics is not None or len(ctx.needs_input_grad) != 2:
            return Plain.pull(ctx, saved, bars)
        return None, ctx.half(bars[0], *saved)

    @staticmethod
    def pull(ctx: Any, saved: Any, bars: Any) -> Any:
        """Pull back, by what was kept."""
        half, needs = ctx.half, ctx.needs_input_grad
        if half is None:
            if bars and all([bar is None for bar in bars]):
                return (None,) * len(needs)
            return None, *ctx.record.pull(saved, bars, needs[1:])
        statics = ctx.statics
        if half is _pull_maps:
            answer = _pull_maps(bars[0], statics, saved)
        elif statics is None:
            answer = half(bars[0], *saved)
        else:
            rest = iter(saved)
            answer = half(bars[0], *[x[0] if x else next(rest) for x in statics])
        if len(needs) == 2:
            return None, answer
        if needs.count(True) == len(needs) - 1:
            return None, *answer
        answers = iter(answer if needs.count(True) > 1 else (answer,))
        return tuple([next(answers) if needed else None for needed in needs])


class Transformed(Function):
    """Function of autograd for `torch.func` and for dual numbers."""

    @staticmethod
    def forward(call: Any, *leaves: Any) -> Any:
        """Compute the value."""
        before = computing.get()
        try:
            computing.set(True)
            out = call.value(leaves)
        finally:
            computing.set(before)
        # A derivative of a view would have to be a view as well.
        if is_tensor(out):
            return owned(out, leaves)
        return tuple([owned(x, leaves) for x in out])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep inputs and outputs."""
        call, *leaves = inputs
        outputs, treedef = split(output)
        tensors = [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]
        ctx.record = Again(call, leaves, outputs, treedef)
        ctx.guard = guard_of(call, leaves)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pull back."""
        needs = ctx.needs_input_grad[1:]
        if all([bar is None for bar in bars]):
            return (None,) * (1 + len(needs))
        if ctx.guard is not None:
            ctx.guard.check()
        tensors, bars = list(map(outside, ctx.saved_tensors)), tuple(map(outside, bars))
        with Half(ctx.record.call, (*tensors, *bars), inside):
            return None, *ctx.record.pull(tensors, bars, needs)

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Push forward."""
        return below(ctx.record.push, ctx.saved_tensors, dots, ctx.record.call)

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Any, *leaves: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Apply the call to the whole batch at once."""
        out = Transformed.apply(Mapped(call, in_dims[1:], info.batch_size), *leaves)
        if is_tensor(out):
            return out, 0
        return out, tuple([0 if is_tensor(x) else None for x in out])
