"""Axes of a mesh that values vary over, under `jax.shard_map`; axes of batches, and their names.

What a device has of a value may be its own, or the same on all: JAX keeps account of it in the
types of arrays, and where the two meet, it has to be told that the second is taken as the first.
The transpose of that is a sum over the devices. What a function names (`jax.lax.pmean(x, "i")`) is
there where JAX traces it, and nowhere else.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray

from chainrules_jax import _private


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


def varying_with(ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """Make values vary over the axes of what they were computed of, where JAX did not see how."""
    every = frozenset[Any]().union(*[varying_axes(jax.typeof(x)) for x in xs])
    return [_cast(y, every - varying_axes(jax.typeof(y))) for y in ys]


def _cast(x: Any, axes: frozenset[Any]) -> Any:
    if not axes:
        return x
    return jax.lax.pcast(x, tuple(sorted(axes)), to="varying")


def while_loop(going: Callable[[Any], Any], step: Callable[[Any], Any], state: Any) -> Any:
    """Do as `jax.lax.while_loop`, of a state that varies over the axes that a step gives it."""
    state, turned = _steady(step, state)
    return jax.lax.while_loop(going, lambda s: turned(step(s)), state)


def scan(step: Callable[..., Any], state: Any, xs: Any, *, reverse: bool = False) -> Any:
    """Do as `jax.lax.scan`, of a state that varies over the axes that a step gives it."""
    first = jax.tree.map(lambda x: x[0], xs) if len(jax.tree.leaves(xs)[0]) else None
    if first is None:
        return jax.lax.scan(step, state, xs, reverse=reverse)
    state, turned = _steady(lambda s: step(s, first)[0], state)

    def turn(s: Any, x: Any) -> Any:
        after, y = step(s, x)
        return turned(after), y

    return jax.lax.scan(turn, state, xs, reverse=reverse)


def _steady(step: Callable[[Any], Any], state: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Make a state vary as it will after a step; return it, and what does so after each step."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return state, lambda after: after
    avals = [jax.typeof(x) for x in jax.tree.leaves(state)]
    avals += jax.tree.leaves(jax.eval_shape(step, state))
    every = frozenset[Any]().union(*map(varying_axes, avals))

    def turned(after: Any) -> Any:
        return jax.tree.map(lambda x: _cast(x, every - varying_axes(jax.typeof(x))), after)

    return turned(state), turned


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


# --------------------------------------------------------------------------------------- names


def has_name(name: Any) -> bool:
    """Tell whether the axis of a ``vmap`` was given a name; JAX has an object for none."""
    return name is not None and type(name) is not object


def traced(f: Callable[..., Any], *ins: Any) -> tuple[list[Any], bool]:
    """Trace a function of values of these types, and see whether it asks for axes by their names.

    Returns
    -------
    avals : list
        The types of its results.
    names : bool
        Whether it does; then these may depend on how long the axes are.
    """
    of_mesh = bool(jax.sharding.get_abstract_mesh().manual_axes)
    if not of_mesh and _private.axis_env is not None:
        try:
            return list(without_names(jax.make_jaxpr(f), *ins).out_avals), False
        except NameError:
            pass
    made = jax.make_jaxpr(f)(*ins)
    return list(made.out_avals), not of_mesh or any([hasattr(e, "name") for e in made.effects])


def mapped(f: Callable[..., Any], dims: Any, size: int, name: Any) -> Callable[..., Any]:
    """Do as `jax.vmap`, over an axis of this name; all calls may share all operands."""
    if jax.tree.leaves(dims):
        return jax.vmap(f, in_axes=dims, axis_name=name)
    each = jax.vmap(lambda _, *xs: f(*xs), in_axes=(0, *dims), axis_name=name)
    return lambda *xs: each(jnp.zeros(size), *xs)


def without_names(f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call a function where no axis has a name: it is given one slice, and would take it for all.

    Where JAX does not say how, that is in a new thread.
    """
    context = _private.axis_env
    if context is None:
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            run = contextvars.copy_context().run
            return thread.submit(run, f, *operands, **options).result()
    before = context.axis_env
    context.set_axis_env(_private.no_axes)
    try:
        return f(*operands, **options)
    finally:
        context.set_axis_env(before)
