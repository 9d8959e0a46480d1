"""Programs that look at values, under vmap: one element of the batch after the other.

A solver asks whether it has converged. Under vmap no value can be looked at, so the transformation
is taken apart here, and the program runs on tensors that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import Function

from chainrules_torch.config import floats, is_tensor

__all__ = ["Loop", "is_mapped"]

_functorch: Any = torch._C._functorch
Program = Callable[..., Any]


def is_mapped() -> bool:
    """Whether this is the inside of a vmap."""
    stack = _functorch.get_interpreter_stack() or ()
    return any([level.key() == _functorch.TransformType.Vmap for level in stack])


class Loop(Function):
    """A program of tensors, with PyTorch's own derivatives of it.

    It gives a tensor, or a tuple of tensors and of what is none. Its derivatives are such programs
    as well.
    """

    @staticmethod
    def forward(program: Program, *xs: Any) -> Any:  # type: ignore[override]
        """Run it."""
        return program(*xs)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the inputs."""
        program, *xs = inputs
        ctx.program = program
        ctx.save_for_backward(*xs)
        ctx.save_for_forward(*xs)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Run the program that pulls back."""
        xs = ctx.saved_tensors
        return None, *Loop.apply(_pulling(ctx.program, len(xs)), *xs, *bars)

    @staticmethod
    def jvp(ctx: Any, _: Any, *dots: Any) -> Any:  # type: ignore[override]
        """Run the program that pushes forward."""
        xs = ctx.saved_tensors
        return Loop.apply(_pushing(ctx.program, len(xs)), *xs, *dots)

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: Program, *xs: Any) -> Any:  # type: ignore[override]
        """Run it for each element."""
        dims = in_dims[1:]
        results = []
        for i in range(info.batch_size):
            each = [x if d is None else x.select(d, i) for x, d in zip(xs, dims, strict=True)]
            results.append(Loop.apply(program, *each))
        if type(results[0]) is not tuple:
            return _stacked(results)
        stacked = [_stacked(part) for part in zip(*results, strict=True)]
        return tuple([x for x, _ in stacked]), tuple([d for _, d in stacked])


def _stacked(parts: Sequence[Any]) -> tuple[Any, int | None]:
    return (torch.stack(list(parts)), 0) if is_tensor(parts[0]) else (parts[0], None)


def _moving(program: Program, xs: Sequence[Any]) -> tuple[Program, list[Any]]:
    """A program as one of the floating-point tensors among the inputs, giving such a tuple."""

    def moved(*given: Any) -> Any:
        rest = iter(given)
        out = program(*[next(rest) if floats(x) else x for x in xs])
        return tuple([y for y in (out if type(out) is tuple else (out,)) if floats(y)])

    return moved, [x for x in xs if floats(x)]


def _pulling(program: Program, n: int) -> Program:
    def pull(*given: Any) -> Any:
        xs, bars = given[:n], given[n:]
        moved, moving = _moving(program, xs)
        ys, pullback = torch.func.vjp(moved, *moving)
        found = iter(pullback(tuple([bar for bar in bars if floats(bar)][: len(ys)])))
        return tuple([next(found) if floats(x) else None for x in xs])

    return pull


def _pushing(program: Program, n: int) -> Program:
    def push(*given: Any) -> Any:
        xs, dots = given[:n], given[n:]
        moved, moving = _moving(program, xs)
        tangents = [
            torch.zeros_like(x) if t is None else t for x, t in zip(xs, dots, strict=True) if floats(x)
        ]
        out = program(*xs)
        found = iter(torch.func.jvp(moved, tuple(moving), tuple(tangents))[1])
        if type(out) is not tuple:
            return next(found, None)
        return tuple([next(found) if floats(y) else None for y in out])

    return push
