"""Axes of signals."""

from __future__ import annotations

from typing import Any

from chainrules_py import vocabulary as v


def last(x: Any, axis: int) -> Any:
    """Put an axis last."""
    axis = range(x.ndim)[axis]
    return v.permute_dims(x, axes=(*(i for i in range(x.ndim) if i != axis), axis))


def back(y: Any, axis: int) -> Any:
    """Put the last axis where it was."""
    axis = range(y.ndim)[axis]
    order = [*range(y.ndim - 1)]
    order.insert(axis, y.ndim - 1)
    return v.permute_dims(y, axes=tuple(order))
