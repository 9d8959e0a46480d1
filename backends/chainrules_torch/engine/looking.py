"""Looks at numbers that a compiler has not: they are an operation in its graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch.autograd.function import Function

from chainrules_torch.engine.opaque import run_later

Tensor = torch.Tensor
_C: Any = torch._C
_unwrapped: Callable[[Tensor], Tensor] = _C._functorch.get_unwrapped
_is_wrapped: Callable[[Any], bool] = _C._functorch.is_functorch_wrapped_tensor


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
        The others. Their batches are looked at as a whole.
    """
    return Looked.apply(_Look(look, len(given)), *given, *map(_whole, seen))  # type: ignore[no-any-return]


def _whole(x: Tensor) -> Tensor:
    """Return what is in all transformations, without a derivative."""
    while _is_wrapped(x):
        x = _unwrapped(x)
    return x.detach()


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
        """Keep how many are not returned."""
        ctx.rest = len(inputs) - 1 - len(output)

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        """Pass them back."""
        return None, *bars, *(None,) * ctx.rest

    @staticmethod
    def jvp(ctx: Any, *dots: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Pass them on."""
        return dots[1 : len(dots) - ctx.rest]

    @staticmethod
    def vmap(info: Any, in_dims: Any, program: _Look, *tensors: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Have one look for the whole batch."""
        return Looked.apply(program, *tensors), in_dims[1 : 1 + program.count]
