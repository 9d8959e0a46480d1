"""Programs that read values, or compute with NumPy, where PyTorch hides values.

A solver checks for convergence. Under vmap no value can be read, and under a compiler there is
none. Therefore a vmap is taken apart, and the program runs element by element; for a compiler the
program is one operation, which runs when the compiled program does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, final

import torch

from chainrules_py import ChainRulesError, NotDifferentiableError
from chainrules_py.extend import TreeDef, partition, unflatten
from chainrules_torch import _private
from chainrules_torch.engine.compilers import is_abstract, is_recorded, leave_out
from chainrules_torch.engine.outputs import owned
from chainrules_torch.engine.rule_config import Leveled, below, floats, is_tensor, outside

_functorch = _private.functorch


def is_hidden(tensors: Sequence[Any]) -> bool:
    """Return whether the values of tensors cannot be read."""
    stack = _functorch.get_interpreter_stack() or ()
    if any([level.key() == _functorch.TransformType.Vmap for level in stack]):
        return True
    return any(map(is_abstract, tensors))


def apart(
    compute: Callable[..., Any],
    groups: Sequence[Any],
    like: Callable[..., Any],
    *,
    pull: Callable[..., Sequence[Any]] | None = None,
    refusal: ChainRulesError | None = None,
) -> Any:
    """Run a program apart, and return its result.

    Parameters
    ----------
    compute : callable
        ``compute(*groups)`` returns tensors, in any structure.
    groups : sequence
        Tensors and constants, in any structure.
    like : callable
        ``like(*groups)`` returns the same structure of tensors with the same shapes and dtypes.
    pull : callable, optional
        ``pull(tensors, result, bars)`` returns the cotangents of the floating-point tensors in the
        groups; the result consists of its leaves and their structure. Without ``pull``, PyTorch
        differentiates the program.
    refusal : ChainRulesError, optional
        Raised by every derivative.
    """
    tensors, layout = partition(tuple(groups), is_tensor)
    program = Program(compute, like, layout, pull, refusal)
    found = Apart.apply(program, *tensors)
    assert program.treedef is not None
    return unflatten(program.treedef, found)


@final
class Program:
    """A function of tensors: see `apart`."""

    __slots__ = ("compute", "layout", "like", "pull", "refusal", "treedef")

    def __init__(
        self,
        compute: Callable[..., Any],
        like: Callable[..., Any],
        layout: TreeDef,
        pull: Callable[..., Sequence[Any]] | None,
        refusal: ChainRulesError | None,
    ) -> None:
        self.compute, self.like, self.layout = compute, like, layout
        self.pull, self.refusal = pull, refusal
        self.treedef: TreeDef | None = None

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """Compute the tensors of the result."""
        return self._taken(self.compute(*unflatten(self.layout, tensors)))

    def templates(self, tensors: Sequence[Any]) -> list[Any]:
        """Make tensors like those of the result."""
        return self._taken(self.like(*unflatten(self.layout, tensors)))

    def _taken(self, y: Any) -> list[Any]:
        """Return the tensors in a result; its texts and other values are the same at each run."""
        leaves, treedef = partition(y, is_tensor)
        if self.treedef is not None and repr(treedef) != repr(self.treedef):
            raise NotDifferentiableError(
                f"under vmap and torch.compile, what a result holds besides numbers cannot depend "
                f"on values: {self.treedef!r} and {treedef!r}; return numbers in its place"
            )
        self.treedef = treedef
        return leaves

    def pulled(self, xs: Sequence[Any], ys: Sequence[Any], bars: Sequence[Any]) -> Sequence[Any]:
        """Compute the cotangents of the floating-point tensors."""
        if self.pull is not None:
            return self.pull(xs, (ys, self.treedef), bars)
        pullback = torch.func.vjp(self._moved(xs), *filter(floats, xs))[1]
        moves = tuple([bar for y, bar in zip(ys, bars, strict=True) if floats(y)])
        return pullback(moves)  # type: ignore[no-any-return]

    def pushed(self, xs: Sequence[Any], dots: Sequence[Any]) -> Sequence[Any]:
        """Compute the tangents of the floating-point results."""
        # A dual number's parts share a layout: not both can be broadcast.
        given = tuple([t.contiguous() for x, t in zip(xs, dots, strict=True) if floats(x)])
        moving = tuple([x.contiguous() for x in xs if floats(x)])
        return torch.func.jvp(self._moved(xs), moving, given)[1]  # type: ignore[no-any-return]

    def _moved(self, xs: Sequence[Any]) -> Callable[..., Any]:
        """Restrict the program to floating-point inputs and outputs."""

        def moved(*given: Any) -> Any:
            rest = iter(given)
            return tuple(filter(floats, self.run([next(rest) if floats(x) else x for x in xs])))

        return moved


class Apart(Leveled):
    """A program as an autograd function, whose derivatives run apart as well."""

    @staticmethod
    def forward(program: Program, *xs: Any) -> Any:
        """Run the program, or schedule it for later.

        A result may be an operand itself (a solved start), and PyTorch needs another tensor.
        """
        later = is_recorded() or any([is_abstract(x) or x.is_meta for x in xs])
        found = _later(program, xs) if later else program.run(xs)
        return tuple([owned(y, xs) for y in found])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep inputs and outputs."""
        ctx.program, *xs = inputs
        ctx.count = len(xs)
        if ctx.program.refusal is None:
            ctx.save_for_backward(*xs, *output)
            ctx.save_for_forward(*xs, *output)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pull back, apart."""
        _refuse(ctx.program)
        tensors = list(map(outside, ctx.saved_tensors))
        xs, ys = tensors[: ctx.count], tensors[ctx.count :]
        groups = xs, ys, list(map(outside, bars))
        found = iter(apart(ctx.program.pulled, groups, lambda xs, *_: list(filter(floats, xs))))
        return None, *[next(found) if floats(x) else None for x in xs]

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Push forward, apart."""
        program = ctx.program
        _refuse(program)
        xs, ys = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]

        def push(xs: Sequence[Any], dots: Sequence[Any]) -> Any:
            given = [torch.zeros_like(x) if t is None else t for x, t in zip(xs, dots, strict=True)]
            like = lambda xs, _: tuple(filter(floats, program.templates(xs)))
            return apart(program.pushed, (list(xs), given), like)

        found = iter(below(push, xs, dots))
        return tuple([next(found) if floats(y) else None for y in ys])

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: Program, *xs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run the program for each element; an empty batch is made from templates."""
        pairs = list(zip(xs, in_dims[1:], strict=True))
        if not info.batch_size:
            like = [x if d is None else x.new_zeros(x.movedim(d, 0).shape[1:]) for x, d in pairs]
            found = [y.new_empty((0, *y.shape)) for y in program.templates(like)]
        else:
            each = [
                Apart.apply(program, *[x if d is None else x.select(d, i) for x, d in pairs])
                for i in range(info.batch_size)
            ]
            found = [torch.stack(parts) for parts in zip(*each, strict=True)]
        return tuple(found), (0,) * len(found)


def _refuse(program: Program) -> None:
    if program.refusal is not None:
        leave_out(program.refusal)
        raise program.refusal


# ------------------------------------------------------------ operations of compiled programs

_OUTSIDE = _private.dispatched.included(), _private.dispatched.excluded()
"""The dispatch state outside of operations; within one, derivatives are off."""

_waiting: dict[int, Program] = {}
_numbers = itertools.count()


def _later(program: Program, tensors: Sequence[Any]) -> list[Any]:
    """Schedule a program for when the compiled one runs; an operation takes its number."""
    number = next(_numbers)
    _waiting[number] = program
    try:
        return _operation(number, list(tensors))  # type: ignore[no-any-return]
    finally:
        # Otherwise the compiled or recorded program still needs it.
        if not (_private.is_written_down() or is_recorded()):
            del _waiting[number]


@torch.library.custom_op("chainrules::later", mutates_args=())
def _operation(number: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    with _private.dispatched.forced(*_OUTSIDE), _private.without_levels():
        found = _waiting[number].run(tensors)
    return [owned(y, tensors).detach() for y in found]


@_operation.register_fake
def _like(number: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    found = _waiting[number].templates(tensors)
    return [torch.empty_like(y, memory_format=torch.contiguous_format) for y in found]
