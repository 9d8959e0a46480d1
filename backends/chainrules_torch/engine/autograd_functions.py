"""Rules as differentiable functions of PyTorch.

Their first argument is the call.

- `Plain` runs in eager programs without a shorter function
  (`chainrules_torch.engine.eager_functions`). It keeps what the rule saved.
- `Transformed` runs under `torch.func` and with dual numbers. It has all of PyTorch's methods, and
  keeps inputs and outputs only.

A derivative of a pullback flows through the values that the pullback uses. Where one may be taken,
a pullback therefore receives no value that was computed untraced: PyTorch returns inputs and
outputs connected to the graph. If a rule saved something else, it is run again on these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, new_class
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_py import LinearMap, NoRuleError, Primitive, space, unthunk
from chainrules_py.extend import (
    AbstractZero,
    Bound,
    Space,
    StructureSpace,
    TreeDef,
    Unbroadcast,
    brought_home,
    check_result,
    fit,
    flatten,
    map_leaves,
    partition,
    unflatten,
)
from chainrules_py.ops.indexing import Index
from chainrules_torch import _private
from chainrules_torch.engine.call_plans import Call, Outputs, Plan
from chainrules_torch.engine.compilers import is_writing_down, unseen
from chainrules_torch.engine.outputs import another, cotangent, owned, split, wrap, written
from chainrules_torch.engine.pulls_and_pushes import Half, Mapped, or_by_numpy
from chainrules_torch.engine.rule_config import (
    Leveled,
    alive,
    below,
    computing,
    in_forward_mode,
    is_tensor,
    outside,
    plan_of,
    refuse_asked,
    saved,
    watching,
)

Tensor = torch.Tensor


_CONSTANT: set[type] = {
    type(None), bool, int, float, complex, str, slice, Index, Space, StructureSpace, Unbroadcast,
    torch.dtype, torch.device, torch.Size, BuiltinFunctionType,
}  # fmt: skip
"""Classes of values that hold no tensor."""
_NUMBERS = (float, complex)
"""Classes of numbers that a rule may have computed from a tensor."""


def holds_nothing(f: FunctionType) -> bool:
    """Return whether a function keeps no value from its creation, in cells or defaults."""
    return f.__closure__ is None and not f.__defaults__ and not f.__kwdefaults__


def plain_pulls(
    maps: Sequence[Any],
    xs: Sequence[Any],
    places: Sequence[int],
    known: Sequence[Any],
    tensors: list[Any],
) -> list[tuple[Any, ...]] | None:
    """Take apart the maps of some operands, for `pull_plain`; add what they saved to ``tensors``.

    Return None if a pullback has a closure or defaults, or saved anything but constants and tensors
    that are ``known``.
    """
    pulls = []
    for i in places:
        m, x = maps[i], xs[i]
        if type(m) is not LinearMap:
            return None
        half, saved = m.pull, m.saved
        if type(half) is not FunctionType or (
            half.__closure__ is not None or half.__defaults__ or half.__kwdefaults__
        ):
            return None
        statics: Sequence[tuple[Any, ...]] = ()
        for y in saved:
            if isinstance(y, Tensor) or type(y) in _NUMBERS:
                for z in known:
                    if y is z:
                        break
                else:
                    return None
            elif type(y) not in _CONSTANT:
                return None
            if not isinstance(y, Tensor):
                statics = [static(y) for y in saved]
        tensors += saved if not statics else [y for y in saved if isinstance(y, Tensor)]
        count = statics.count(()) if statics else len(saved)
        pulls.append((half, statics, count, x.dtype, x.shape))
    return pulls


def pull_plain(pulls: Sequence[tuple[Any, ...]], y_bar: Any, *tensors: Any) -> Any:
    """Pull back by each of some maps, and fit each cotangent to its operand."""
    bars, at = [], 0
    for half, statics, n, dtype, shape in pulls:
        if statics:
            bar = filled(half, statics, y_bar, *tensors[at : at + n])
        else:
            bar = half(y_bar, *tensors[at : at + n])
        at += n
        if not (isinstance(bar, Tensor) and bar.dtype is dtype and bar.shape == shape):
            bar = fitted(bar, y_bar, dtype, shape)
        bars.append(bar)
    return tuple(bars) if len(bars) > 1 else bars[0]


def fitted(bar: Any, y_bar: Any, dtype: Any, shape: Any) -> Any:
    """Fit a cotangent to an operand of this dtype and shape."""
    onto = space(y_bar.new_empty((), dtype=dtype)).with_shape(tuple(shape))
    return written(fit(unthunk(bar), onto), onto)


def static(x: Any) -> tuple[Any, ...]:
    """Return a saved constant, or () for a tensor."""
    return () if isinstance(x, Tensor) else (x,)


def filled(half: Any, statics: Sequence[tuple[Any, ...]], y_bar: Any, *tensors: Any) -> Any:
    """Pull back with saved values, some of which are constants."""
    rest = iter(tensors)
    return half(y_bar, *[x[0] if x else next(rest) for x in statics])


@final
class Again:
    """Inputs and outputs of a call whose rule is run again on them."""

    __slots__ = ("call", "leaves", "outputs", "treedef")

    def __init__(
        self,
        call: Call | Mapped,
        leaves: Sequence[Any],
        outputs: Sequence[Any],
        treedef: TreeDef | None,
    ) -> None:
        self.call = call
        self.leaves = [() if isinstance(x, Tensor) else (x,) for x in leaves]
        self.outputs = [() if isinstance(x, Tensor) else (x,) for x in outputs]
        self.treedef = treedef

    @property
    def count(self) -> int:
        """Number of tensors among the leaves of the call and of its result."""
        return self.leaves.count(()) + self.outputs.count(())

    def restored(self, tensors: Sequence[Any]) -> tuple[list[Any], Outputs]:
        """Return the leaves of the call, and the outputs."""
        rest = iter(tensors)
        leaves = [entry[0] if entry else next(rest) for entry in self.leaves]
        outputs = [entry[0] if entry else next(rest) for entry in self.outputs]
        return leaves, (outputs, self.treedef)

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Compute the cotangents of the leaves."""
        leaves, y = self.restored(tensors)
        return Half(self.call, "reverse", leaves, y, bars, needs).run()

    def push(self, tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
        """Compute the tangents of the result's leaves, which share no memory with given ones."""
        leaves, y = self.restored(tensors)
        found = [owned(x, dots) for x in Half(self.call, "forward", leaves, y, dots).run()]
        return found[0] if self.treedef is None else (*found, None)


def is_open(x: Any) -> bool:
    """Return whether all tensors of a value are visible: it is no closure, and no object."""
    if isinstance(x, (Tensor, Primitive, AbstractZero)) or type(x) in _CONSTANT:
        return True
    return isinstance(x, FunctionType) and holds_nothing(x)


@final
class Record:
    """Values that a rule saved, with their tensors apart.

    Attributes
    ----------
    tensors : list
        The tensors that PyTorch has to keep.
    again : Again or None
        Set if the rule saved something besides inputs and outputs, or may leave PyTorch.
    exact : bool
        Whether the rule saved only inputs, outputs and constants.
    """

    __slots__ = (
        "again",
        "bound",
        "call",
        "exact",
        "half",
        "layout",
        "spaces",
        "tensors",
        "treedef",
    )

    def __init__(
        self,
        call: Call,
        bound: Bound,
        record: tuple[Any, ...],
        leaves: Sequence[Any],
        needs: Sequence[bool],
        y: Any,
    ) -> None:
        self.call, self.bound, self.half = call, bound, record[0]
        self.spaces = [space(x) if n else None for x, n in zip(leaves, needs, strict=True)]
        outputs, treedef = flatten(y)
        self.treedef = None if isinstance(y, Tensor) else treedef
        self.tensors, self.layout = partition(record[2:], is_tensor)
        given = {id(x) for x in leaves}
        known = given.union(map(id, outputs))
        self.exact = all([id(x) in known for x in self.tensors])
        for x in flatten(record[2:])[0]:
            # A user-defined rule may have computed a number from operands.
            computed = call.plan.is_own and type(x) in _NUMBERS and id(x) not in given
            self.exact = self.exact and is_open(x) and not computed
        self.again: Again | None = None
        # A half that computes with NumPy runs on these; only its first run shows whether it does.
        if not (self.exact and call.plan.is_proven):
            self.again = Again(call, leaves, outputs, self.treedef)
            self.tensors += [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]

    def pull(self, tensors: Sequence[Any], bars: Sequence[Any], needs: Sequence[bool]) -> Any:
        """Pull back by the saved values; run the rule again where derivatives may be taken."""
        again, call, instead = self.again, self.call, _raised
        if again is not None:
            whole = tensors[len(tensors) - again.count :]
            if not self.exact and (torch.is_grad_enabled() or in_forward_mode()):
                return again.pull(whole, bars, needs)
            leaves, y = again.restored(whole)
            instead = Half(call, "reverse", leaves, y, bars, needs).by_numpy
        y_bar = cotangent(bars, self.treedef)
        saved = unflatten(self.layout, tensors[: self.layout.num_leaves])

        def pulled() -> Any:
            return call.placed(self.bound, call.plan.run(self.half, y_bar, *saved), self.spaces)

        return or_by_numpy(call, (*tensors, *bars), pulled, instead)


def _raised(error: Exception) -> Any:
    raise error


def _watched(plan: Plan, bound: Bound, operands: tuple[Any, ...]) -> Any:
    """Run a rule on operands that are not differentiated, to detect hidden tensors that are."""
    before = watching.get()
    try:
        watching.set(True)
        return plan.run(bound.run, None, *operands, **plan.options)
    finally:
        watching.set(before)


def kept(
    ctx: Any,
    call: Call,
    bound: Bound,
    record: tuple[Any, ...],
    leaves: Sequence[Any],
    needs: Sequence[bool],
    y: Any,
) -> Any:
    """Keep what a rule saved, and return the value in the form of `wrap`."""
    if not all(map(is_open, flatten(record[2:])[0])):
        # A closure over the result would form a reference cycle that only PyTorch sees.
        mine = set(map(id, leaves))
        y = map_leaves(lambda x: x if id(x) in mine or not is_tensor(x) else another(x, leaves), y)
    ctx.record = Record(call, bound, record, leaves, needs, y)
    ctx.save_for_backward(*ctx.record.tensors)
    ctx.record.tensors = []  # an output here would keep its own graph alive
    if not isinstance(y, Tensor):
        ctx.set_materialize_grads(False)
    return wrap(y)


def run_plain(ctx: Any, call: Call, leaves: Sequence[Any], needs: Sequence[bool]) -> Any:
    """Run the rule of a call, and keep what it saved."""
    plan = call.plan
    try:
        bound = plan.bound("reverse", call.wanted(needs), again=False)
    except NoRuleError:  # raised when the mode is used
        if plan.rule is None or plan.rule.statement("forward") is None:
            raise
        bound = None
    if bound is None or is_writing_down():
        return _later(ctx, call, leaves)
    of = bound
    if plan.solves:
        y, record = _watched(
            plan, bound, call.operands([x.detach() if isinstance(x, Tensor) else x for x in leaves])
        )
        return kept(ctx, call, bound, record, leaves, needs, map_leaves(outside, y))
    run = lambda: of.run(None, *call.operands(leaves), **plan.options)
    found = or_by_numpy(call, None, run, lambda _: None)
    if found is None:
        return _later(ctx, call, leaves)
    return kept(ctx, call, bound, found[1], leaves, needs, map_leaves(outside, found[0]))


class Plain(Function):
    """Autograd function for eager programs; it keeps what the rule saved."""

    @staticmethod
    def forward(ctx: Any, call: Any, *leaves: Any) -> Any:
        """Run the rule, and keep what it saved."""
        return run_plain(ctx, call, leaves, ctx.needs_input_grad[1:])

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pull back."""
        return None, *pulled(ctx, saved(ctx, ctx.record.call), bars, ctx.needs_input_grad[1:])


def _later(ctx: Any, call: Call, leaves: Sequence[Any]) -> Any:
    """Compute only the value; a pullback runs the rule again.

    While PyTorch captures a program, a rule may not read values, nor take PyTorch's derivatives.
    """
    y = call.value(leaves)
    outputs, treedef = split(y)
    ctx.record = Again(call, leaves, outputs, treedef)
    ctx.save_for_backward(*[x for x in (*leaves, *outputs) if isinstance(x, Tensor)])
    ctx.set_materialize_grads(False)
    return y


def pulled(ctx: Any, tensors: Any, bars: Any, needs: Sequence[bool]) -> Sequence[Any]:
    """Pull cotangents back by the record of `kept`."""
    if bars and all([bar is None for bar in bars]):
        return (None,) * len(needs)
    return ctx.record.pull(tensors, bars, needs)  # type: ignore[no-any-return]


class Transformed(Leveled):
    """Autograd function for `torch.func` and dual numbers; it keeps inputs and outputs."""

    @staticmethod
    def forward(call: Any, *leaves: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Compute the value."""
        before = computing.get()
        try:
            computing.set(True)
            out = call.value(leaves)
        except RuntimeError as error:
            refuse_asked(error, call)
            raise
        finally:
            computing.set(before)
        outputs = (out,) if isinstance(out, Tensor) else out
        others = [x for x in outputs[:-1] if not isinstance(x, Tensor)]
        if others and plan_of(call).is_own:
            check_result(brought_home(others, tuple(leaves)))
        # Otherwise the derivative of a view would have to be a view as well.
        found = tuple([owned(x, leaves) for x in outputs])
        return found[0] if isinstance(out, Tensor) else found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep inputs and outputs."""
        if not (
            True in ctx.needs_input_grad
            or _private.dual_level() >= 0
            or _private.transforms_active()  # a compiled program does not report dual numbers
        ):
            return
        call, *leaves = inputs
        outputs, treedef = split(output)
        tensors = [x for x in (*leaves, *outputs) if isinstance(x, Tensor)]
        ctx.record = Again(call, leaves, outputs, treedef)
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    @unseen
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pull back."""
        needs, n = ctx.needs_input_grad, len(ctx.record.leaves)
        if all([bar is None for bar in bars]):
            return (None,) * len(needs)
        tensors = list(map(alive, saved(ctx, ctx.record.call)))
        bars = tuple(map(outside, bars))
        # The plan precedes the leaves, or is none of the operands: see `transformed`.
        return (
            *[None] * (len(needs) - n),
            *ctx.record.pull(tensors, bars, needs[len(needs) - n :]),
        )

    @staticmethod
    @unseen
    def jvp(ctx: Any, *dots: Any) -> Any:
        """Push forward."""
        return below(ctx.record.push, ctx.saved_tensors, dots[len(dots) - len(ctx.record.leaves) :])

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Any, *leaves: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Apply the call to the whole batch at once."""
        out = Transformed.apply(Mapped(call, in_dims[1:]), *leaves)
        if isinstance(out, Tensor):
            return out, 0
        return out, tuple([0 if is_tensor(x) else None for x in out])


def transformed(plan: Plan) -> Callable[..., Any]:
    """Return what applies `Transformed` to the leaves of a plan.

    `torch.func` looks for tensors in each operand, several times: the plan is none of them.
    """
    members = {
        "forward": staticmethod(lambda *xs: Transformed.forward(plan, *xs)),
        "setup_context": staticmethod(
            lambda ctx, xs, out: Transformed.setup_context(ctx, (plan, *xs), out)
        ),
        "vmap": staticmethod(
            lambda info, in_dims, *xs: Transformed.vmap(info, (None, *in_dims), plan, *xs)
        ),
    }
    return new_class(  # type: ignore[attr-defined, no-any-return]
        plan.primal.__name__, (Transformed,), exec_body=lambda of: of.update(members)
    ).apply
