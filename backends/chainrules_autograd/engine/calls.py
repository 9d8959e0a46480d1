"""Calls of functions with a rule, recorded by autograd.

The rule runs where autograd records the call, on the values one trace below: besides the value it
returns the pullback, or the tangent, which the new node keeps. These values may be boxes of outer
traces; then the operations in the rule are recorded as well, which makes derivatives of any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from autograd.builtins import SequenceBox
from autograd.core import JVPNode, VJPNode
from autograd.extend import primitive
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import isbox

from chainrules_autograd.engine import _private
from chainrules_autograd.engine.boxes import bare, boxed, is_boxed, opened, runner
from chainrules_autograd.engine.rule_config import as_tuple, boxing, config, conjugated, moves
from chainrules_kit import (
    check_hidden,
    check_options,
    cotangents_in,
    is_captured,
    lookups,
    of_own,
    own_function,
    tangents_in,
    wanted_in,
)
from chainrules_py import NotDifferentiableError, Primitive, is_zero, space, unthunk
from chainrules_py.extend import (
    LEAF,
    Closure,
    HigherOrder,
    Operator,
    TreeDef,
    bind,
    closed,
    deliver,
    demand_rule,
    describe,
    flatten,
    flatten_tangent,
    hosted,
    is_structure_type,
    looked_into,
    partition,
    type_info,
    unflatten,
    unflatten_tangent,
)

MODES: dict[type, str] = {VJPNode: "reverse", JVPNode: "forward"}
"""The modes of rules, by autograd's class of nodes."""


def run(operation: Primitive[..., Any], operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a call of a primitive, in normal form, with boxes among the operands.

    Raises
    ------
    NotDifferentiableError
        If an option is being differentiated, or a value that a function captured.
    NoRuleError
        If there is no rule for autograd's current mode, and no body to differentiate.
    """
    operands = opened(operands)
    check_options(operation, options, is_boxed, operands)
    if (own := own_function(operation, "autograd", isbox)) is not None:
        return boxed(own(*operands, **options))
    check_hidden(operation, operands, isbox)
    if operation.fixed:
        is_captured(operation, isbox, True, operands)
    operands = tuple([of_own(x, "autograd") for x in operands])
    operands = tuple([_converted(x) if is_function(x) else x for x in operands])
    if looked_into(operation, tuple(map(type, operands)), config):
        return operation.__wrapped__(*operands, **options)
    leaves, treedef = partition(operands, isbox)
    if lookups(operation) and is_captured(operation, isbox, bool(leaves)):
        return boxed(operation.__wrapped__(*operands, **options))
    if leaves:
        return _recorded(operation, treedef, leaves, options)
    with _hosted(operation):
        return _without_hidden(operation, operation(*operands, **options), -1)


runner.append(run)


def is_function(x: Any) -> bool:
    """Return whether an operand is a function, which may capture boxes."""
    return callable(x) and not (isbox(x) or is_structure_type(type(x)))


def _converted(f: Any) -> Any:
    """Turn captured values into operands, and autograd's boxes in the result into tracers."""
    return closed(f if isinstance(f, (Closure, Operator, Primitive)) else boxing(f), isbox)


def _hosted(operation: Primitive[..., Any]) -> Any:
    """Return a context in which autograd computes the derivatives of function operands."""
    return hosted(config) if isinstance(operation, HigherOrder) else nullcontext()


def _without_hidden(operation: Primitive[..., Any], y: Any, below: int) -> Any:
    """Return a result; raise if it depends on a hidden value that is being differentiated."""
    if not isinstance(operation, HigherOrder):
        return y
    if any([isbox(x) and _private.trace(x) > below for x in flatten(y)[0]]):
        raise NotDifferentiableError(
            f"{operation.__name__} was given nothing that is being differentiated, and gave "
            f"{describe(bare(y))}, which is: a function that it was given uses such a value "
            f"from a place where it cannot be found; pass it as a parameter"
        )
    return y


def _recorded(
    operation: Primitive[..., Any], treedef: TreeDef, leaves: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Record a call in the innermost trace of its boxes; return its value, with boxes in it."""
    top = max(leaves, key=_private.trace)
    trace, mode = _private.trace(top), MODES.get(type(_private.node(top)))
    moved = [_private.trace(x) == trace for x in leaves]
    if mode is None:
        return _observed(operation, treedef, leaves, moved, options)
    nodes = [_private.node(x) for x, m in zip(leaves, moved, strict=True) if m]
    lower = [boxed(_private.value(x)) if m else x for x, m in zip(leaves, moved, strict=True)]
    operands = unflatten(treedef, lower)
    classes = tuple(map(type, operands))
    rule = demand_rule(operation, classes, config, mode)
    bound = bind(rule, classes, wanted_in(treedef, moved), mode, config=config)
    if bound is None:
        with _hosted(operation):
            return _without_hidden(operation, operation(*operands, **options), trace - 1)
    wanted, dots = bound.wanted, None
    if mode == "forward":
        mine = iter(nodes)
        dots = tangents_in(treedef, [boxed(next(mine).g) if m else None for m in moved], wanted)
    with _hosted(operation):
        y, rest = bound.run(dots, *operands, **options)
    found, out = partition(_without_hidden(operation, y, trace - 1), moves)
    if not found:
        return y
    # A node has one value: several arrays become a tuple, whose elements are the results.
    one = out is LEAF
    if mode == "forward":
        each = zip(flatten_tangent(out, unthunk(rest)), found, strict=True)
        dots = tuple([tangent_of(x, t) for t, x in each])
        node = forward_node(dots[0] if one else as_tuple(dots))
    else:
        pull, _, *saved = rest
        python = [type_info(type(x)).is_python_number for x in found]
        spaces = [space(x) if m else None for x, m in zip(lower, moved, strict=True)]

        def vjp(g: Any) -> tuple[Any, ...]:
            bars = [conjugated(entering(g if one else g[i], p)) for i, p in enumerate(python)]
            with _hosted(operation):
                answer = pull(unflatten_tangent(out, bars), *saved)
            entries = zip(cotangents_in(treedef, answer, wanted), spaces, strict=True)
            return tuple([_dense(conjugated(t), of) for t, of in entries if of is not None])

        node = reverse_node(nodes, vjp)
    if one:
        return boxed(ArrayBox(found[0], trace, node))
    whole = SequenceBox(tuple(found), trace, node)
    return unflatten(out, [boxed(whole[i]) for i in range(len(found))])


def _observed(
    operation: Primitive[..., Any],
    treedef: TreeDef,
    leaves: Sequence[Any],
    moved: Sequence[bool],
    options: dict[str, Any],
) -> Any:
    """Run the call for an autograd trace that keeps graphs, not derivatives."""

    def value(*values: Any) -> Any:
        mine = map(boxed, values)
        given = [next(mine) if m else x for x, m in zip(leaves, moved, strict=True)]
        return operation(*unflatten(treedef, given), **options)

    value.__name__ = operation.__name__
    return boxed(primitive(value)(*[x for x, m in zip(leaves, moved, strict=True) if m]))


def reverse_node(parents: Sequence[Any], vjp: Callable[[Any], Any]) -> Any:
    """Make a node of autograd's reverse mode."""
    node = VJPNode.__new__(VJPNode)
    node.parents, node.vjp = parents, vjp
    return node


def forward_node(g: Any) -> Any:
    """Make a node of autograd's forward mode."""
    node = JVPNode.__new__(JVPNode)
    node.g = g
    return node


def entering(g: Any, python: bool) -> Any:
    """Convert a cotangent for rules; a number passed for an array becomes an array."""
    return np.asarray(g) if type(g) in (float, int, complex) and not python else boxed(g)


def tangent_of(y: Any, y_dot: Any) -> Any:
    """Return the tangent of one array or number for autograd, which has no symbolic zeros."""
    return _dense(unthunk(y_dot), space(y))


def _dense(t: Any, of: Any) -> Any:
    return of.zeros() if is_zero(t) else boxed(deliver(t))
