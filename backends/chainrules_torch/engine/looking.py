"""Looks at numbers that a compiler has not: they are an operation in its graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_torch.engine.opaque import run_later

Tensor = torch.Tensor


def looked_later(
    given: Sequence[Tensor], look: Callable[[Any], None], seen: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return tensors, for which others are looked at when the compiled program comes to them.

    Parameters
    ----------
    given : sequence of tensor
        What is returned: values and derivatives are these.
    look : callable
        It is given the others, with numbers in them, and may raise.
    seen : sequence of tensor
        The others. Their batches are looked at as a whole. What is returned has a derivative in
        them, which is zero: a compiler that drops what nothing hangs on keeps the look.
    """
    return Looked.apply(_Look(look, len(given)), *given, *seen)  # type: ignore[no-any-return]


@final
class _Look:
    """Program that looks at tensors, and returns those before them."""

    def __init__(self, look: Callable[[Any], None], count: int) -> None:
        self.look = look
        self.count = count

    def compute(self, tensors: Sequence[Any]) -> list[Any]:
        """Look, and return the first ones."""
        self.look(tensors[self.count :])
        return list(tensors[: self.count])

    def like(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the first ones."""
        return list(tensors[: self.count])


class Looked(Function):
    """Tensors as they are, once others were looked at."""

    @staticmethod
    def forward(program: _Look, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Have a look later."""
        return tuple(run_later(program, tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what is looked at."""
        ctx.look, seen = inputs[0].look, inputs[1 + len(output) :]
        ctx.save_for_backward(*seen)
        ctx.save_for_forward(*seen)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pass them back, once the others were looked at."""
        seen = ctx.saved_tensors
        return None, *looked_later([*bars, *map(torch.zeros_like, seen)], ctx.look, seen)

    @staticmethod
    def jvp(ctx: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Pass them on, once the others were looked at."""
        seen = ctx.saved_tensors
        return looked_later(dots[1 : len(dots) - len(seen)], ctx.look, seen)

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: _Look, *tensors: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Have one look for the whole batch."""
        return Looked.apply(program, *tensors), in_dims[1 : 1 + program.count]
