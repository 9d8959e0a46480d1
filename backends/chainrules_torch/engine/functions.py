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
from types import BuiltinFunctionType, FunctionType
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_py import NoRuleError, Primitive, unthunk
from chainrules_py.extend import (
    AbstractZero,
    Bound,
    Space,
    StructureSpace,
    TreeDef,
    Unbroadcast,
    fit,
    flatten,
    looking,
    map_leaves,
)
from chainrules_py.vocabulary.indexing import Index
from chainrules_torch.engine.call import AnyCall, Outputs, Plan, spaces_of
from chainrules_torch.engine.config import computing, in_forward_mode, is_tensor, outside, watching
from chainrules_torch.engine.functorch import below
from chainrules_torch.engine.loops import Loop, is_hidden
from chainrules_torch.engine.outputs import cotangent, owned, split, wrap, written
from chainrules_torch.engine.solve import pulling, pushing
from chainrules_torch.engine.vmap import Mapped, looking_again

Tensor = torch.Tensor


# ------------------------------------------------------------------------------- what is kept


@final
class _Constant:
    """Record of a call through which nothing flows back, or in a mode that nobody stated."""

    __slots__ = ("error", "spaces")

    def __init__(self, spaces: list[Any], error: NoRuleError | None) -> None:
        self.spaces = spaces
        self.error = error

    def pull(self, *_: Any) -> list[Any]:
        """Zeros, for what can be perturbed."""
        if self.error is not None:
            raise self.error
        return [written(None, of) for of in self.spaces]


@final
class _Again:
    """Inputs and outputs: the rule is run again on them."""

    __slots__ = ("call", "leaves", "outputs", "treedef")

    def __init__(
        self,
        call: AnyCall | Mapped,
        leaves: Sequence[Any],
        outputs: Sequence[Any],
        treedef: TreeDef | None,
    ) -> None:
        self.call = call
        self.leaves = [() if is_tensor(x) else (x,) for x in leaves]
        self.outputs = [() if is_tensor(x) else (x,) for x in outputs]
        self.treedef = treedef

    @property
    def count(self) -> int:
        """Number of tensors among the leaves of the call and its result."""
        return self.leaves.count(()) + self.outputs.count(())

    def restored(self, tensors: Sequence[Any]) -> tuple[list[Any], Outputs]:
        """Return the leaves of the call, and those of its result."""
        rest = iter(tensors)
        leaves = [entry[0] if entry else next(rest) for entry in self.leaves]
        outputs = [entry[0] if entry else next(rest) for entry in self.outputs]
        return leaves, (outputs, self.treedef)

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Compute the cotangents of the leaves."""
        leaves, y = self.restored(tensors)
        call = self.call
        if isinstance(call, AnyCall) and call.plan.solves and is_hidden((*tensors, *bars)):
            program = pulling(call, y, bars, needs, len(leaves))
            return Loop.apply(program, *leaves, *y[0], *filter(is_tensor, bars))
        return call.pull(leaves, y, bars, needs)

    def push(self, tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
        """Compute the tangents of the result's leaves."""
        leaves, y = self.restored(tensors)
        call = self.call
        if isinstance(call, AnyCall) and call.plan.solves and is_hidden((*tensors, *dots)):
            program = pushing(call, y, [t is not None for t in dots], len(leaves))
            return Loop.apply(program, *leaves, *y[0], *filter(is_tensor, dots))
        return call.push(leaves, y, dots)


@final
class _Slot:
    """Stands for a tensor that PyTorch keeps."""

    def __repr__(self) -> str:
        return "tensor"


_SLOT = _Slot()
_PLAIN: set[type] = {
    type(None), bool, int, float, complex, str, slice, Index, Space, StructureSpace, Unbroadcast,
    torch.dtype, torch.device, torch.Size, BuiltinFunctionType,
}  # fmt: skip
"""Classes of what holds no tensor."""


@final
class _Record:
    """Values that a rule saved, with their tensors apart.

    Attributes
    ----------
    tensors : list
        What PyTorch has to keep.
    again : _Again or None
        Where the rule saved something besides inputs and outputs.
    """

    __slots__ = (
        "again",
        "bound",
        "call",
        "guard",
        "half",
        "run_again",
        "saved",
        "spaces",
        "tensors",
        "treedef",
        "watched",
    )

    def __init__(
        self,
        call: AnyCall,
        bound: Bound,
        record: tuple[Any, ...],
        leaves: Sequence[Any],
        needs: Sequence[bool],
        y: Any,
    ) -> None:
        self.call = call
        self.bound = bound
        self.half = record[0]
        outputs: Sequence[Any] = (y,)
        self.treedef = None
        if not isinstance(y, Tensor):
            outputs, self.treedef = flatten(y)
        self.watched = {id(x) for x in (*leaves, *outputs)}
        self.tensors: list[Any] = []
        self.again: _Again | None = None
        exact = True
        saved = []
        for x in record[2:]:
            if isinstance(x, Tensor):
                exact = exact and id(x) in self.watched
                self.tensors.append(x)
                saved.append(_SLOT)
            elif type(x) in _PLAIN:
                saved.append(x)
            else:
                x, all_watched = self._without(x)
                exact = exact and all_watched
                saved.append(x)
        self.saved = saved
        self.spaces = None
        if bound.may_be_zero or call is not call.plan or bound.wanted != needs:
            self.spaces = spaces_of(leaves, needs)
        if not exact:
            self.again = _Again(call, leaves, outputs, self.treedef)
            self.tensors += [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]
        self.guard = looking(bound, self.half, *saved)
        self.run_again = None if exact else looking_again(call, leaves)

    def _without(self, x: Any) -> tuple[Any, bool]:
        """Strip a saved value of its tensors; tell whether all in it are inputs or outputs."""
        cls = type(x)
        if isinstance(x, Tensor):
            self.tensors.append(x)
            return _SLOT, id(x) in self.watched
        if cls is tuple or cls is list or cls is dict:
            parts = [self._without(part) for part in (x.values() if cls is dict else x)]
            made = [part for part, _ in parts]
            exact = all([of for _, of in parts])
            return dict(zip(x, made, strict=True)) if cls is dict else cls(made), exact
        if cls is FunctionType:
            return x, _holds_nothing(x)
        return x, cls in _PLAIN or isinstance(x, (Primitive, AbstractZero))

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Pull back by what was saved; by the rule run again, where derivatives may be asked."""
        again, call = self.again, self.call
        if self.guard is not None:
            self.guard.check()
        if again is not None and (torch.is_grad_enabled() or in_forward_mode()):
            if self.run_again is not None:
                self.run_again.check()
            return again.pull(tensors[len(tensors) - again.count :], bars, needs)
        y_bar = bars[0] if self.treedef is None else cotangent(bars, self.treedef)
        rest = iter(tensors)
        saved = [next(rest) if x is _SLOT else _with(x, rest) for x in self.saved]
        answer = call.plan.run(self.half, y_bar, *saved)
        if self.spaces is not None:
            return call.placed(self.bound, answer, self.spaces)
        wanted = self.bound.wanted
        if len(wanted) == 1:
            return (answer,)
        answers = iter(answer if wanted.count(True) > 1 else (answer,))
        return [next(answers) if w else None for w in wanted]


def _holds_nothing(f: FunctionType) -> bool:
    """Tell whether a function keeps no value of the moment it was made, in cells or defaults."""
    return f.__closure__ is None and not f.__defaults__ and not f.__kwdefaults__


def _with(x: Any, tensors: Any) -> Any:
    """Put its tensors back into a saved value."""
    cls = type(x)
    if cls is _Slot:
        return next(tensors)
    if cls is tuple or cls is list:
        return cls([_with(part, tensors) for part in x])
    if cls is dict:
        return {key: _with(part, tensors) for key, part in x.items()}
    return x


# ---------------------------------------------------------------------------------- functions


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
            kept = [
                (half, onto, _slots(half, saved, (y, *leaves), tensors))
                for half, onto, saved in maps
            ]
            if all([slots is not None for _, _, slots in kept]):
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
    if type(half) is not FunctionType or not _holds_nothing(half):
        return None
    slots: list[Any] = []
    for x in saved:
        if isinstance(x, Tensor):
            if not any([x is y for y in known]):
                return None
            tensors.append(x)
            slots.append(_SLOT)
        elif type(x) in _PLAIN:
            slots.append(x)
        else:
            return None
    return slots


def _pull_maps(y_bar: Any, maps: Sequence[Any], tensors: Sequence[Any]) -> Any:
    bars = []
    rest = iter(tensors)
    for half, onto, slots in maps:
        bar = half(y_bar, *[next(rest) if x is _SLOT else x for x in slots])
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
    ctx.record = _Constant(spaces_of(leaves, needs), error)
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
    ctx.record = kept = _Record(call, bound, record, leaves, ctx.needs_input_grad[1:], y)
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
    plain = cls in _PLAIN or isinstance(x, (Tensor, Primitive, AbstractZero))
    return plain or (isinstance(x, FunctionType) and _holds_nothing(x))


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
        half, needs = ctx.half, ctx.needs_input_grad
        if half is None:
            if bars and all([bar is None for bar in bars]):
                return (None,) * len(needs)
            return None, *ctx.record.pull(ctx.saved_tensors, bars, needs[1:])
        saved, statics = ctx.saved_tensors, ctx.statics
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
        tensors = [x for x in (*leaves, *outputs) if is_tensor(x)]
        ctx.record = _Again(call, leaves, outputs, treedef)
        ctx.guard = looking_again(call, leaves)
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
        return None, *ctx.record.pull(tensors, bars, needs)

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Push forward."""
        return below(ctx.record.push, ctx.saved_tensors, dots)

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Any, *leaves: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Apply the call to the whole batch at once."""
        out = Transformed.apply(Mapped(call, in_dims[1:], info.batch_size), *leaves)
        if is_tensor(out):
            return out, 0
        return out, tuple([0 if is_tensor(x) else None for x in out])
