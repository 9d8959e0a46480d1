"""Calls of what solves for something, where values are hidden: as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import map_leaves
from chainrules_torch.engine.call import AnyCall, Outputs
from chainrules_torch.engine.config import floats
from chainrules_torch.engine.loops import Program
from chainrules_torch.engine.outputs import wrap


def solving(call: AnyCall, compute: Callable[..., Any]) -> Program:
    """Build the program of a call, whose value is computed as ``compute(*leaves)``."""

    def pull(leaves: Sequence[Any], out: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        y = (out, None) if len(out) == 1 else (out[:-1], out[-1])
        return call.pull(leaves, y, bars, [floats(x) for x in leaves])

    return Program(compute, lambda *leaves: _like(call, leaves), pull)


def _like(call: AnyCall, leaves: Sequence[Any]) -> Any:
    try:
        like = _LIKE[call.plan.primal]
    except KeyError:
        msg = (
            f"{call.plan.primal.__name__} looks at values, and under torch.compile it is not known "
            f"what its result is like; call it outside of what is compiled"
        )
        raise NotDifferentiableError(msg) from None
    return wrap(like(*call.operands(leaves)))


def _states(f: Any, y0: Any, t: torch.Tensor, *params: Any) -> Any:
    shape = tuple(t.shape)
    return map_leaves(lambda y: torch.empty((*shape, *y.shape), dtype=y.dtype, device=y.device), y0)


_LIKE: dict[Any, Callable[..., Any]] = {
    v.root: lambda f, x0, *params: x0,
    v.fixed_point: lambda f, x0, *params: x0,
    v.minimize: lambda f, x0, *params: x0,
    v.linear_solve: lambda matvec, b, *params: b,
    v.odeint: _states,
}
"""What the results of words that solve are like."""


def is_known(word: Any) -> bool:
    """Tell whether a compiler can be told what a word that solves will give."""
    return word in _LIKE


def pulling(
    call: AnyCall, y: Outputs, bars: Sequence[Any], needs: Sequence[bool], n: int
) -> Program:
    """Build a program of leaves, outputs and present cotangents that gives those of the leaves."""
    outputs, treedef = y
    m, there = len(outputs), [bar is not None for bar in bars[: len(outputs)]]

    def compute(*tensors: Any) -> Any:
        rest = iter(tensors[n + m :])
        y_bars = [next(rest) if is_there else None for is_there in there]
        return tuple(call.pull(tensors[:n], (tensors[n : n + m], treedef), y_bars, needs))

    def like(*tensors: Any) -> Any:
        return tuple([x if needed else None for x, needed in zip(tensors, needs, strict=False)])

    return Program(compute, like)


def pushing(call: AnyCall, y: Outputs, moved: Sequence[bool], n: int) -> Program:
    """Build a program of leaves, outputs and present tangents that gives those of the outputs."""
    outputs, treedef = y
    m = len(outputs)

    def compute(*tensors: Any) -> Any:
        rest = iter(tensors[n + m :])
        dots = [next(rest) if is_moved else None for is_moved in moved]
        return call.push(tensors[:n], (tensors[n : n + m], treedef), dots)

    def like(*tensors: Any) -> Any:
        outputs = tensors[n : n + m]
        return outputs[0] if treedef is None else (*outputs, None)

    return Program(compute, like)
