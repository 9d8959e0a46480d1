"""Results in the form of PyTorch functions: tensors and their structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from chainrules_py import ZeroTangent, is_zero, space
from chainrules_py.extend import (
    Space,
    TreeDef,
    deliver,
    flatten,
    flatten_tangent,
    unflatten,
    unflatten_tangent,
)
from chainrules_torch import _private
from chainrules_torch.array_types import owner
from chainrules_torch.engine.rule_config import as_tensor, dense, floats

Tensor = torch.Tensor


def wrap(y: Any) -> Any:
    """Return a result as a tensor, or as a tuple of its leaves and their structure."""
    if isinstance(y, Tensor):
        return y
    leaves, treedef = flatten(y)
    return (*[as_tensor(x) if type(x) in (float, complex) else x for x in leaves], treedef)


def unwrap(out: Any) -> Any:
    """Rebuild the result from the output of `wrap`."""
    return out if isinstance(out, Tensor) else unflatten(out[-1], out[:-1])


def split(out: Any) -> tuple[Sequence[Any], TreeDef | None]:
    """Split the output of `wrap` into leaves and structure; the structure of one tensor is None."""
    return ((out,), None) if isinstance(out, Tensor) else (out[:-1], out[-1])


def joined(leaves: Sequence[Any], treedef: TreeDef | None) -> Any:
    """Rebuild the result with these leaves."""
    return leaves[0] if treedef is None else unflatten(treedef, leaves)


def cotangent(bars: Sequence[Any], treedef: TreeDef | None) -> Any:
    """Build the cotangent of a result from those of its leaves; missing ones are zero."""
    if treedef is None:
        return bars[0]
    entries = [ZeroTangent() if bar is None else bar for bar in bars[: treedef.num_leaves]]
    return unflatten_tangent(treedef, entries)


def tangents(y_dot: Any, leaves: Sequence[Any], treedef: TreeDef | None) -> list[Any]:
    """List the tangents of a result's leaves: zeros as tensors, None for integers."""
    dots = [y_dot] if treedef is None else flatten_tangent(treedef, y_dot)
    return [_dense(t, leaf) for t, leaf in zip(dots, leaves, strict=True)]


def _dense(t: Any, leaf: Any) -> Any:
    return dense(deliver(t), leaf) if floats(leaf) else None


def written(bar: Any, of: Any) -> Any:
    """Return the cotangent of a leaf, or of a space, as a tensor; None if ``of`` is None."""
    if isinstance(bar, Tensor) or of is None:
        return bar if of is not None else None
    of = space(of) if isinstance(of, Tensor) else of
    if bar is None or is_zero(bar):
        return of.zeros() if type(of) is Space else None
    return torch.full(of.shape, deliver(bar), dtype=of.dtype, device=of.device)


def owned(x: Any, leaves: Sequence[Any]) -> Any:
    """Copy a tensor that is a view or one of the operands; return other values unchanged."""
    if isinstance(x, Tensor):
        for leaf in leaves:
            if x is leaf:
                return x.clone()
        return x.clone() if _private.is_view(x) else x
    return x


def another(x: Tensor, leaves: Sequence[Any]) -> Tensor:
    """Return another tensor with the memory of x; a view of x if it views an operand."""
    owners = [owner(t) for t in leaves if isinstance(t, Tensor)]
    return x.view_as(x) if any([owner(x) is t for t in owners]) else x.data
