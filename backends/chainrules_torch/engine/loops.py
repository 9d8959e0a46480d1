"""Programs that look at values, where PyTorch hides these.

A solver asks whether it has converged. Under vmap no value can be looked at, and under a compiler
there is none. So here a vmap is taken apart, and the program runs for one element after the other;
and for a compiler it is one operation, which runs when the compiled program does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_torch import _private
from chainrules_torch.engine.config import floats, is_tensor, outside
from chainrules_torch.engine.functorch import below, transformed
from chainrules_torch.engine.opaque import is_abstract, run_later
from chainrules_torch.engine.outputs import owned

_functorch = _private.functorch


def is_hidden(tensors: Sequence[Any]) -> bool:
    """Tell whether the values of tensors cannot be looked at."""
    stack = _functorch.get_interpreter_stack() or ()
    if any([level.key() == _functorch.TransformType.Vmap for level in stack]):
        return True
    return any(map(is_abstract, tensors))


@final
class Program:
    """A function of tensors that gives a tensor, or a tuple of tensors and of what is none.

    Attributes
    ----------
    compute : callable
        Runs it.
    like : callable
        ``like(*tensors)`` gives what it gives, with tensors of the same shapes and dtypes.
    pull : callable or None
        ``pull(tensors, result, bars)`` gives a cotangent for each floating-point tensor, None for
        the others. Without it, PyTorch differentiates the program.
    """

    __slots__ = ("compute", "like", "pull")

    def __init__(
        self,
        compute: Callable[..., Any],
        like: Callable[..., Any],
        pull: Callable[..., Any] | None = None,
    ) -> None:
        self.compute = compute
        self.like = like
        self.pull = pull

    def __call__(self, *xs: Any) -> Any:
        """Run it, or have it run later."""
        if not any(map(is_abstract, xs)):
            return self.compute(*xs)
        template = self.like(*xs)
        found = iter(run_later(_Later(self), xs))
        if type(template) is not tuple:
            return next(found)
        return tuple([next(found) if is_tensor(x) else x for x in template])


@final
class _Later:
    """A program, of which only the tensors are given."""

    __slots__ = ("program",)

    def __init__(self, program: Program) -> None:
        self.program = program

    def compute(self, tensors: Sequence[Any]) -> list[Any]:
        """Run it."""
        return _tensors(self.program.compute(*tensors))

    def like(self, tensors: Sequence[Any]) -> list[Any]:
        """Tensors like those that it gives."""
        return _tensors(self.program.like(*tensors))


def _tensors(out: Any) -> list[Any]:
    return [x for x in (out if type(out) is tuple else (out,)) if is_tensor(x)]


class Loop(Function):
    """A program as a function of PyTorch's. Its derivatives are programs as well."""

    @staticmethod
    def forward(program: Program, *xs: Any) -> Any:
        """Run it; what is solved already comes back as it was, and PyTorch wants another tensor."""
        out = program(*xs)
        return tuple([owned(y, xs) for y in out]) if type(out) is tuple else owned(out, xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep inputs and outputs."""
        program, *xs = inputs
        outputs = output if type(output) is tuple else (output,)
        ctx.program = program
        ctx.statics = [() if is_tensor(x) else (x,) for x in outputs]
        tensors = [*xs, *filter(is_tensor, outputs)]
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.count = len(xs)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Run the program that pulls back."""
        tensors = list(map(outside, ctx.saved_tensors))
        given = [outside(bar) for bar in bars if is_tensor(bar)]
        program = _pulling(ctx.program, ctx.count, ctx.statics, [is_tensor(bar) for bar in bars])
        return None, *transformed(Loop, program, *tensors, *given)

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run the program that pushes forward."""
        xs = ctx.saved_tensors[: ctx.count]

        def push(xs: Sequence[Any], dots: Sequence[Any]) -> Any:
            given = [torch.zeros_like(x) if t is None else t for x, t in zip(xs, dots, strict=True)]
            return transformed(Loop, _pushing(ctx.program, ctx.count), *xs, *given)

        return below(push, xs, dots)

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: Program, *xs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Run it for each element."""
        return each_of(Loop, info, in_dims, program, xs)


def each_of(function: Any, info: Any, in_dims: Any, program: Any, xs: Sequence[Any]) -> Any:
    """Apply a function of autograd to each element of a batch."""

    def run(i: int) -> Any:
        each = [x if d is None else x.select(d, i) for x, d in zip(xs, in_dims[1:], strict=True)]
        return transformed(function, program, *each)

    results = [run(i) for i in range(info.batch_size)]
    if type(results[0]) is not tuple:
        return _stacked(results)
    stacked = [_stacked(part) for part in zip(*results, strict=True)]
    return tuple([x for x, _ in stacked]), tuple([d for _, d in stacked])


def _stacked(parts: Sequence[Any]) -> tuple[Any, int | None]:
    return (torch.stack(list(parts)), 0) if is_tensor(parts[0]) else (parts[0], None)


def _moving(program: Program, xs: Sequence[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Restrict a program to the floating-point tensors among its inputs and its outputs."""

    def moved(*given: Any) -> Any:
        rest = iter(given)
        out = program.compute(*[next(rest) if floats(x) else x for x in xs])
        return tuple([y for y in _tensors(out) if floats(y)])

    return moved, [x for x in xs if floats(x)]


def _pulling(
    program: Program, n: int, statics: Sequence[tuple[Any, ...]], given: Sequence[bool]
) -> Program:
    """Build the program from inputs, outputs and their cotangents to the inputs' cotangents."""
    m = statics.count(())

    def compute(*tensors: Any) -> Any:
        xs, ys, rest = tensors[:n], iter(tensors[n : n + m]), iter(tensors[n + m :])
        outputs = [entry[0] if entry else next(ys) for entry in statics]
        bars = [next(rest) if there else None for there in given]
        if program.pull is not None:
            return tuple(program.pull(xs, outputs, bars))
        moved, moving = _moving(program, xs)
        pullback = torch.func.vjp(moved, *moving)[1]
        moves = [bar for y, bar in zip(outputs, bars, strict=True) if floats(y)]
        found = iter(pullback(tuple(moves)))
        return tuple([next(found) if floats(x) else None for x in xs])

    def like(*tensors: Any) -> Any:
        return tuple([x if floats(x) else None for x in tensors[:n]])

    return Program(compute, like)


def _pushing(program: Program, n: int) -> Program:
    """Build the program from inputs and their tangents to the tangents of the outputs."""

    def of(out: Any, found: Any) -> Any:
        if type(out) is not tuple:
            return next(found, None)
        return tuple([next(found) if floats(y) else None for y in out])

    def compute(*tensors: Any) -> Any:
        xs, dots = tensors[:n], tensors[n:]
        moved, moving = _moving(program, xs)
        # A dual number's parts lie alike in memory: not both can be broadcast.
        given = tuple([t.contiguous() for x, t in zip(xs, dots, strict=True) if floats(x)])
        found = torch.func.jvp(moved, tuple([x.contiguous() for x in moving]), given)[1]
        return of(program.compute(*xs), iter(found))

    def like(*tensors: Any) -> Any:
        out = program.like(*tensors[:n])
        return of(out, iter([y for y in _tensors(out) if floats(y)]))

    return Program(compute, like)
