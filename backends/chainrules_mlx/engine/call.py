"""A call of a function with a rule, as one MLX function with its own derivatives."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import mlx.core as mx
import numpy as np

import chainrules_py
from chainrules_kit import (
    UNFIT,
    check_hidden,
    check_options,
    cotangents_in,
    is_captured,
    lookups,
    own_function,
    refused_half,
    tangents_in,
    unstated,
    wanted_in,
)
from chainrules_mlx.engine.rule_config import config
from chainrules_mlx.engine.values import (
    as_values,
    dense,
    is_array,
    is_floating,
    lacks_dtype,
    leaves_mlx,
    refusing,
    varies,
)
from chainrules_mlx.namespace import kept
from chainrules_py import (
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    unthunk,
)
from chainrules_py.extend import (
    Bound,
    HigherOrder,
    Rule,
    TreeDef,
    bind,
    brought_home,
    check_result,
    closed,
    demand_rule,
    find_rule,
    flatten_tangent,
    hosted,
    looked_into,
    map_leaves,
    partition,
    unflatten,
    unflatten_tangent,
)

_mx: Any = mx
Operation: TypeAlias = chainrules_py.Primitive[..., Any]
Leaves: TypeAlias = Sequence[Any]

computing: contextvars.ContextVar[bool] = contextvars.ContextVar("computing", default=False)
"""Whether this runs inside a body, whose derivative is handled outside."""


@final
@dataclass(slots=True, eq=False)
class Program:
    """A call, without its arrays.

    Attributes
    ----------
    primal : Primitive
        The primitive that is called.
    treedef : TreeDef
        The structure of the tuple of its operands.
    options : dict
        All of its options.
    compute : callable
        The implementation of the operation.
    rule : Rule or None
        The rule at the time of the call; MLX requests a derivative later.
    """

    primal: Any  # a dataclass would have checkers read it as a method
    treedef: TreeDef
    options: dict[str, Any]
    compute: Callable[..., Any]
    rule: Rule | None
    _out: TreeDef | None = field(default=None, init=False)

    def operands(self, leaves: Leaves) -> tuple[Any, ...]:
        """Rebuild the operands around these arrays."""
        return unflatten(self.treedef, leaves)  # type: ignore[no-any-return]

    def closed(self, leaves: Leaves) -> Any:
        """Rebuild the result around its arrays."""
        assert self._out is not None
        return unflatten(self._out, leaves[: self._out.num_leaves])

    def value(self, leaves: Leaves) -> list[Any]:
        """Compute the arrays of the result."""
        # MLX pushes tangents through a body, too. A body that differentiates and reads values, as
        # solvers do, would make MLX forget the graph of its arrays.
        alone = isinstance(self.primal, HigherOrder)
        token = computing.set(not alone)
        try:
            with refusing(self.primal, _looks(self.primal)), self._hosted():
                leaves = list(map(_apart if alone else _mx.stop_gradient, leaves))
                run = self.compute if alone else functools.partial(kept, self.compute)
                y = run(*self.operands(leaves), **self.options)
        finally:
            computing.reset(token)
        # MLX needs no derivative of the rest.
        y = as_values((brought_home(y, tuple(leaves)),))[0]
        check_result(y)
        found, self._out = partition(y, is_array)
        return found or [_mx.zeros(())]  # MLX fails for an empty result

    def _hosted(self) -> Any:
        """Return a context in which MLX computes the derivatives of function operands."""
        return hosted(config) if isinstance(self.primal, HigherOrder) else nullcontext()

    def _bound(self, leaves: Leaves, moves: Sequence[bool], mode: str) -> Bound | None:
        wanted = wanted_in(self.treedef, moves)
        wanted = tuple([w and i not in self.primal.fixed for i, w in enumerate(wanted)])
        if not any(wanted) or (self._out is not None and not self._out.num_leaves):
            return None
        classes = tuple(map(type, self.operands(leaves)))
        rule = self.rule
        if rule is None or rule.statement(mode) is None:
            rule = demand_rule(self.primal, classes, config, mode)
        return bind(rule, classes, wanted, mode, config=config)

    def _half(self) -> Any:
        """Return a context that raises our error where MLX has no values for half of a rule."""
        return refusing(self.primal, refused_half(self.primal, "MLX"))

    def pull(self, leaves: Leaves, bars: Leaves, ys: Leaves) -> list[Any]:
        """Pull the cotangents of the result's arrays back to those of the operands."""
        bound = self._bound(leaves, list(map(is_floating, leaves)), "reverse")
        if bound is None:
            return list(map(_mx.zeros_like, leaves))
        with self._half(), self._hosted():
            _, (pull, _, *saved) = bound.run(None, *self.operands(leaves), **self.options)
            assert self._out is not None
            t = [c if is_floating(c) else NoTangent() for c in bars]
            answer = pull(unflatten_tangent(self._out, t), *saved)
            found = cotangents_in(self.treedef, answer, bound.wanted)
            return [_written(t, x) for t, x in zip(found, leaves, strict=True)]

    def push(self, leaves: Leaves, dots: Leaves) -> list[Any]:
        """Push the tangents of the operands' arrays, None for zeros, forward to the result."""
        dots = [t if is_floating(x) else None for t, x in zip(dots, leaves, strict=True)]
        bound = self._bound(leaves, [t is not None for t in dots], "forward")
        if bound is None:
            return list(map(_mx.zeros_like, self.value(leaves)))
        rule = bound

        def half() -> list[Any]:
            given = tangents_in(self.treedef, dots, rule.wanted)
            with self._hosted():
                y, y_dot = rule.run(given, *self.operands(leaves), **self.options)
            ys, out = partition(as_values((y,))[0], is_array)
            found = flatten_tangent(out, unthunk(y_dot))
            return [
                dense(t, y) if is_floating(y) else _mx.zeros_like(y)
                for t, y in zip(found, ys, strict=True)
            ]

        with self._half():
            return kept(half)  # type: ignore[no-any-return]


def _apart(x: Any) -> Any:
    """Return an array of the same numbers without a graph."""
    if x.dtype == mx.bfloat16:
        return _apart(x.astype(mx.float32)).astype(mx.bfloat16)
    return _mx.array(kept(np.array, x), x.dtype)


def _looks(operation: Operation) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{operation.__name__} looks at values, by NumPy or to choose its steps, and of what "
        "mx.vmap and mx.compile trace there are none: call it outside of these"
    )


def _written(t: Any, x: Any) -> Any:
    """Return the cotangent of an array; zero if there is none and the array is not traced."""
    if not is_floating(x):
        return _mx.zeros_like(x)
    try:
        return dense(t, x)
    except NotDifferentiableError:
        if varies(x):
            raise
        return _mx.zeros_like(x)


@final
@dataclass(slots=True, eq=False)
class Mapped:
    """A program under ``mx.vmap``: the same for several calls at once.

    Attributes
    ----------
    program : Program or Mapped
        The program of one call.
    axes : list
        The batch axis of each array, None for an array that all calls share.
    """

    program: Any
    axes: list[int | None]

    def _mapped(self, f: Callable[..., Any], axes: list[int | None], arrays: Leaves) -> list[Any]:
        return list(_mx.vmap(f, in_axes=tuple(axes))(*arrays))

    def value(self, leaves: Leaves) -> list[Any]:
        """Compute the results of all calls, with a leading batch axis."""
        return self._mapped(lambda *xs: self.program.value(xs), self.axes, leaves)

    def pull(self, leaves: Leaves, bars: Leaves, ys: Leaves) -> list[Any]:
        """Pull the cotangents of all calls; those of shared arrays are summed."""
        n = len(leaves)
        both = [*self.axes, *[0] * len(bars)]
        one = lambda *xs: self.program.pull(xs[:n], xs[n:], ys)
        found = self._mapped(one, both, [*leaves, *bars])
        return [
            t.sum(0).astype(t.dtype) if axis is None else _mx.moveaxis(t, 0, axis)
            for t, axis in zip(found, self.axes, strict=True)
        ]

    def push(self, leaves: Leaves, dots: Leaves) -> list[Any]:
        """Push the tangents of all calls."""
        n = len(leaves)
        there = [t is not None for t in dots]

        def one(*xs: Any) -> list[Any]:
            rest = iter(xs[n:])
            return self.program.push(xs[:n], [next(rest) if m else None for m in there])  # type: ignore[no-any-return]

        both = [*self.axes, *[a for a, m in zip(self.axes, there, strict=True) if m]]
        return self._mapped(one, both, [*leaves, *[t for t in dots if t is not None]])


def transformed(program: Any, leaves: Leaves) -> list[Any]:
    """Compute a program as an MLX function, which MLX transforms by the rule."""
    call = _mx.custom_function(program.value)
    call.vjp(program.pull)
    call.jvp(program.push)

    def mapped(xs: Any, axes: Any) -> Any:
        ys = transformed(Mapped(program, list(axes)), xs)
        return ys, [0] * len(ys)

    call.vmap(mapped)
    return list(call(list(leaves)))


def of_body(operation: Operation, found: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a primitive: its body on MLX arrays, or on NumPy arrays if that fails.

    The derivative is the rule's; without a rule, there is no derivative of what NumPy computes. An
    implementation other than the body is returned unchanged.
    """
    if (
        found is not operation.__wrapped__
        or not operation.has_body
        or isinstance(operation, HigherOrder)
    ):
        return found

    def computed(*operands: Any, **options: Any) -> Any:
        try:
            return found(*operands, **options)
        except UNFIT as error:
            given = partition(operands, is_array)[0]
            if isinstance(error, NoRuleError) or not given or leaves_mlx(error):
                raise
            if any(map(varies, given)) and looked_into(
                operation, tuple(map(type, operands)), config
            ):
                if not isinstance(error, (AttributeError, TypeError)):
                    raise
                raise unstated(operation) from error
            try:
                plain = map_leaves(lambda x: np.array(x) if is_array(x) else x, operands)
                return as_values((found(*plain, **options),))[0]
            except Exception as again:  # the body is wrong, or its operands are
                of_arrays = not isinstance(again, (AttributeError, TypeError))
                misfit = lacks_dtype(again) or leaves_mlx(again)
                raise (again if of_arrays or misfit else error) from None

    return computed


def run(
    operation: Operation,
    operands: tuple[Any, ...],
    options: dict[str, Any],
    compute: Callable[..., Any] | None = None,
) -> Any:
    """Call a primitive with all its options; its rule differentiates it."""
    operands = tuple([closed(x, is_array) if callable(x) else x for x in as_values(operands)])
    classes = tuple(map(type, operands))
    found = compute or operation.implementation(classes) or operation.plain_implementation(classes)
    compute = of_body(operation, found)
    check_options(operation, options, varies, operands)
    own_function(operation, "MLX", varies)
    check_hidden(operation, operands, varies)
    leaves, treedef = partition(operands, is_array)
    if computing.get() or not any(map(is_floating, leaves)):
        if isinstance(operation, HigherOrder):
            operands = unflatten(treedef, list(map(_apart, leaves)))
        with nullcontext() if computing.get() else refusing(operation, _looks(operation)):
            return compute(*operands, **options)
    if looked_into(operation, classes, config):
        return kept(compute, *operands, **options)  # MLX differentiates through the body
    if operation.fixed:
        is_captured(operation, varies, True, operands)
    asked = lookups(operation) and is_captured(operation, is_floating, False)
    if asked and is_captured(operation, varies, any(map(varies, leaves))):
        return found(*operands, **options)
    program = Program(operation, treedef, options, compute, find_rule(operation, classes, config))
    return program.closed(transformed(program, leaves))
