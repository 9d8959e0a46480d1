"""Calls of what solves for something, where values are hidden: they run apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import map_leaves
from chainrules_torch.engine.apart import apart
from chainrules_torch.engine.call import Call, Outputs
from chainrules_torch.engine.config import floats


def solved(call: Call, leaves: Sequence[Any], run: Callable[..., Any]) -> Any:
    """Run a call apart, whose result is computed as ``run(*leaves)``."""

    def pull(xs: Sequence[Any], y: Outputs, bars: Sequence[Any]) -> list[Any]:
        return [bar for bar in call.pull(xs, y, bars, list(map(floats, xs))) if bar is not None]

    return apart(run, leaves, lambda *xs: _like(call, xs), pull=pull)


def _like(call: Call, leaves: Sequence[Any]) -> Any:
    try:
        like = _LIKE[call.plan.primal]
    except KeyError:
        msg = (
            f"{call.plan.primal.__name__} looks at values, and under torch.compile it is not known "
            f"what its result is like; call it outside of what is compiled"
        )
        raise NotDifferentiableError(msg) from None
    return like(*call.operands(leaves))


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
