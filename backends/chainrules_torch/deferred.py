"""Calls that look at values, under a compiler: the value and the halves, each one operation.

What solves for something runs when the compiled program does, on tensors that are there. Shapes
and dtypes of the results are known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import torch

from chainrules_py import vocabulary as v
from chainrules_py.errors import NotDifferentiableError
from chainrules_py.structure import TreeDef, flatten, unflatten
from chainrules_torch.later import run_later
from chainrules_torch.results import apart

if TYPE_CHECKING:
    from chainrules_torch.plans import AnyCall, Outputs

__all__ = ["Deferred"]

Tensor = torch.Tensor


def _floating(x: Any) -> Any:
    leaves, _ = flatten(x)
    for leaf in leaves:
        if isinstance(leaf, Tensor) and not (leaf.is_floating_point() or leaf.is_complex()):
            msg = "an unknown of integers under torch.compile; start from floating-point numbers"
            raise NotDifferentiableError(msg)
    return x


def _states(f: Any, y0: Any, t: Tensor, *params: Any) -> Any:
    leaves, treedef = flatten(y0)
    made = [torch.empty((*t.shape, *y.shape), dtype=y.dtype, device=y.device) for y in leaves]
    return unflatten(treedef, made)


_LIKE: dict[Any, Callable[..., Any]] = {
    v.root: lambda f, x0, *params: _floating(x0),
    v.fixed_point: lambda f, x0, *params: _floating(x0),
    v.minimize: lambda f, x0, *params: _floating(x0),
    v.linear_solve: lambda matvec, b, *params: _floating(b),
    v.odeint: _states,
}
"""What the results of words that solve are like."""


@final
class Deferred:
    """A call that is made later."""

    __slots__ = ("call",)

    def __init__(self, call: AnyCall) -> None:
        self.call = call

    def like(self, leaves: Sequence[Any]) -> tuple[list[Any], TreeDef]:
        """Tensors like those of the result, and their structure."""
        call = self.call
        try:
            like = _LIKE[call.plan.primal]
        except KeyError:
            msg = (
                f"{call.plan.primal.__name__} looks at values, and under torch.compile it is not "
                f"known what its result is like; call it outside of what is compiled"
            )
            raise NotDifferentiableError(msg) from None
        return flatten(like(*call.operands(leaves)))

    def value(self, leaves: Sequence[Any]) -> Any:
        """The result, as `chainrules_torch.results.given` gives it."""
        call = self.call
        _, treedef = self.like(leaves)

        def compute(tensors: Sequence[Any]) -> list[Any]:
            return list(apart(call.value(tensors))[0])

        found = run_later(_Program(compute, lambda tensors: self.like(tensors)[0]), leaves)
        return found[0] if treedef.children is None else (*found, treedef)

    def pull(
        self, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """The cotangents of the leaves."""
        call, (outputs, treedef) = self.call, y
        n, m, given = len(leaves), len(outputs), [bar is not None for bar in bars[: len(outputs)]]

        def compute(tensors: Sequence[Any]) -> list[Any]:
            xs, ys, rest = tensors[:n], tensors[n : n + m], iter(tensors[n + m :])
            y_bars = [next(rest) if there else None for there in given]
            return [b for b in call.pull(xs, (ys, treedef), y_bars, needs) if b is not None]

        def like(tensors: Sequence[Any]) -> list[Any]:
            return [x for x, needed in zip(tensors, needs, strict=False) if needed]

        there = [bar for bar in bars[:m] if bar is not None]
        found = iter(run_later(_Program(compute, like), [*leaves, *outputs, *there]))
        return [next(found) if needed else None for needed in needs]


@final
class _Program:
    """A program, and what it gives."""

    __slots__ = ("compute", "like")

    def __init__(
        self,
        compute: Callable[[Sequence[Any]], list[Any]],
        like: Callable[[Sequence[Any]], list[Any]],
    ) -> None:
        self.compute = compute
        self.like = like
