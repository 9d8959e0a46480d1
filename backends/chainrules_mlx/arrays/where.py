"""`mx.where` with derivatives that ignore the value that is not chosen.

MLX multiplies tangents by the mask, which makes NaN of an infinite value that is not chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

_mx: Any = mx


def select(condition: Any, x: Any, y: Any) -> Any:
    """Return ``mx.where`` of arrays of one dtype; its derivative is a choice as well."""
    if not _mx.issubdtype(x.dtype, mx.inexact):
        return _mx.where(condition, x, y)
    condition = _mx.stop_gradient(_mx.array(condition, _mx.bool_))
    return _selected(*_mx.broadcast_arrays(condition, x, y))


def _push(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    some, others = [
        _mx.zeros_like(x) if t is None else t
        for x, t in zip(primals[1:], tangents[1:], strict=True)
    ]
    return _selected(primals[0], some, others)


def _pull(primals: Sequence[Any], bar: Any, _y: Any) -> tuple[Any, ...]:
    condition, nothing = primals[0], _mx.zeros_like(bar)
    return (
        _mx.zeros_like(condition),
        _selected(condition, bar, nothing),
        _selected(condition, nothing, bar),
    )


def _mapped(arrays: Sequence[Any], axes: Sequence[Any]) -> tuple[Any, int]:
    rows = [
        x[None] if axis is None else _mx.moveaxis(x, axis, 0)
        for x, axis in zip(arrays, axes, strict=True)
    ]
    return _selected(*_mx.broadcast_arrays(*rows)), 0


_selected: Any = _mx.custom_function(_mx.where)
_selected.jvp(_push)
_selected.vjp(_pull)
_selected.vmap(_mapped)
