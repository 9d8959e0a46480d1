"""Calls of a whole batch, for vmap: the call of each of its elements, and what is done with these.

What a transformation further out asks of the batch is then asked of one call, and answered by
mapping over the halves of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import torch

from chainrules_torch.engine.call import Call, Outputs
from chainrules_torch.engine.config import is_tensor
from chainrules_torch.engine.halves import pull, push


@final
class Mapped:
    """A call for each element of a batch.

    Attributes
    ----------
    call : Call or Mapped
        That of one element.
    dims : tuple of int or None
        Which axis of each leaf counts the batch.
    """

    __slots__ = ("call", "dims")

    def __init__(self, call: Call | Mapped, dims: Sequence[int | None]) -> None:
        self.call, self.dims = call, tuple(dims)

    def value(self, leaves: Sequence[Any]) -> Any:
        """Compute the results, with the batch on their first axes."""
        return self._map(self.call.value, (leaves, self.dims))

    def pull(
        self, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """Compute the cotangents of the leaves; of a leaf that all elements share, their sum."""
        outputs, treedef = y

        def each(xs: Any, ys: Any, y_bars: Any) -> Any:
            return tuple(pull(self.call, xs, (ys, treedef), y_bars, needs))

        found = self._map(each, (leaves, self.dims), _first(outputs), _first(bars))
        return [_placed(bar, dim) for bar, dim in zip(found, self.dims, strict=True)]

    def push(self, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> Any:
        """Compute the tangents of the results."""
        outputs, treedef = y

        def each(xs: Any, ys: Any, x_dots: Any) -> Any:
            return tuple(push(self.call, xs, (ys, treedef), x_dots))

        return self._map(each, (leaves, self.dims), _first(outputs), (dots, self.dims))

    def _map(self, f: Callable[..., Any], *groups: tuple[Sequence[Any], Sequence[Any]]) -> Any:
        """Map a function over groups of leaves, past which what is no tensor is carried."""
        made: list[Any] = []

        def mapped(*xs: Any) -> Any:
            made[:] = [f(*xs)]
            parts = made[0] if type(made[0]) is tuple else made
            return tuple(filter(is_tensor, parts))

        in_dims = [[d if is_tensor(x) else None for x, d in zip(*of, strict=True)] for of in groups]
        rest = iter(torch.vmap(mapped, tuple(in_dims))(*[list(xs) for xs, _ in groups]))
        out = made[0]
        if type(out) is not tuple:
            return next(rest) if is_tensor(out) else out
        return tuple([next(rest) if is_tensor(x) else x for x in out])


def _first(xs: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    return xs, [0] * len(xs)


def _placed(bar: Any, dim: int | None) -> Any:
    if not is_tensor(bar):
        return bar
    return bar.sum(0) if dim is None else torch.movedim(bar, 0, dim)
