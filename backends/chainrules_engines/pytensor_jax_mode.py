"""Exported functions in PyTensor's mode "JAX", where they are exported to JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from pytensor.link.jax import dispatch

from chainrules_kit import Kernel
from chainrules_py import export
from chainrules_py.extend import TreeDef

_dispatch: Any = dispatch  # its stubs are incomplete


def jax_kernel(
    called: Callable[..., Any],
    f: Callable[..., Any],
    layout: TreeDef,
    types: Sequence[Any],
    count: int,
    moving: Sequence[int],
) -> Kernel:
    """Return the kernel that computes and differentiates a call by JAX.

    Parameters
    ----------
    called : callable
        ``called(f, layout, types, *arrays)`` calls f, and checks its results.
    f : callable
        A function, as for `chainrules_engines.pytensor.export`.
    layout : TreeDef
        The structure of the operands and options, whose leaves are the arrays.
    types : sequence of TensorType
        The types of the results.
    count : int
        The number of arrays.
    moving : sequence of int
        The indices of the arrays with derivatives.
    """
    call = functools.partial(called, export(f, to="jax"), layout, types)
    return Kernel(call, count, moving, engine=_JAX())


def register(op: type) -> None:
    """Register with PyTensor how JAX computes operations of a class."""
    _dispatch.jax_funcify.register(op, _funcify)


def _funcify(op: Any, **_: Any) -> Callable[..., Any]:
    kernel = op.by_jax()

    def computed(*xs: Any) -> Any:
        found = kernel(*map(jnp.asarray, xs))
        ys = [jnp.asarray(y, of.dtype) for y, of in zip(found, op.types, strict=True)]
        return tuple(ys) if len(ys) > 1 else ys[0]

    return computed


class _JAX:
    """JAX's derivatives for a kernel: integers have zeros of their own dtype."""

    def vjp(self, f: Callable[..., Any], *xs: Any) -> tuple[Any, Callable[[Any], Any]]:
        ys, pullback = jax.vjp(f, *xs)

        def pull(bars: Sequence[Any]) -> Any:
            return pullback(tuple([_cotangent(y, bar) for y, bar in zip(ys, bars, strict=True)]))

        return ys, pull

    def jvp(self, f: Callable[..., Any], xs: Sequence[Any], dots: Sequence[Any]) -> tuple[Any, Any]:
        given = tuple([jnp.asarray(dot, x.dtype) for x, dot in zip(xs, dots, strict=True)])
        ys, found = jax.jvp(f, tuple(xs), given)
        return ys, [
            jnp.zeros(y.shape, y.dtype) if dot.dtype == jax.dtypes.float0 else dot
            for y, dot in zip(ys, found, strict=True)
        ]


def _cotangent(y: Any, bar: Any) -> Any:
    if not jnp.issubdtype(y.dtype, jnp.inexact):
        return np.zeros(y.shape, jax.dtypes.float0)
    return jnp.asarray(bar, y.dtype)
