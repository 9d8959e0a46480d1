"""Axes of a mesh that values vary over, under `jax.shard_map`; and axes of batches, in types.

What a device has of a value may be its own, or the same on all: JAX keeps account of it in the
types of arrays, and where the two meet, it has to be told that the second is taken as the first.
The transpose of that is a sum over the devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.core import ShapedArray


def varying_axes(aval: Any) -> frozenset[Any]:
    """Return the names of the axes that values of a type vary over."""
    kinds = getattr(aval, "manual_axis_type", None)  # what JAX calls it from 0.10 on
    found: frozenset[Any] = getattr(aval, "vma", frozenset()) if kinds is None else kinds.varying
    return found


def varying_alike(xs: Sequence[Any]) -> list[Any]:
    """Make traced operands of one call vary over the same axes."""
    axes = [varying_axes(jax.typeof(x)) for x in xs]
    every = frozenset[Any]().union(*axes)
    return [x if a == every else _cast(x, every - a) for x, a in zip(xs, axes, strict=True)]


def varying_as(x: Any, aval: Any) -> Any:
    """Make a value vary over the axes of a type."""
    missing = varying_axes(aval)
    if missing:
        missing -= varying_axes(jax.typeof(x))
    return _cast(x, missing) if missing else x


def _cast(x: Any, axes: frozenset[Any]) -> Any:
    return jax.lax.pcast(x, tuple(sorted(axes)), to="varying")


def tangent_type(x: Any) -> Any:
    """Return the type of a floating-point value's tangents."""
    aval = jax.typeof(x)
    return aval.update(weak_type=False) if varying_axes(aval) else ShapedArray(x.shape, x.dtype)


def batched_type(aval: Any, size: int) -> Any:
    """Return the type of a batch, whose values are of this type."""
    shape = (size, *aval.shape)
    if not varying_axes(aval):
        return ShapedArray(shape, aval.dtype)
    return aval.update(shape=shape, sharding=aval.sharding.update(spec=(None, *aval.sharding.spec)))


def element_type(aval: Any, dim: int | None) -> Any:
    """Return the type of the elements of a batch, which are counted by an axis."""
    if dim is None:
        return aval
    shape = tuple([n for k, n in enumerate(aval.shape) if k != dim])
    if not varying_axes(aval):
        return aval.update(shape=shape, sharding=None)
    spec = [s for k, s in enumerate(aval.sharding.spec) if k != dim]
    return aval.update(shape=shape, sharding=aval.sharding.update(spec=spec))
