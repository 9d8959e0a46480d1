"""Calls of functions with a rule, as autograd records them.

The rule runs where autograd meets the call, on the values one trace below: with the value it gives
the pullback, or the tangent, that the new node keeps. These values may be boxes of outer traces;
then the words in the rule are such calls themselves, and derivatives of any order follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, final

import numpy as np
from autograd.builtins import SequenceBox
from autograd.core import JVPNode, VJPNode
from autograd.extend import primitive
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import isbox

from chainrules_autograd.engine import _private
from chainrules_autograd.engine.boxes import bare, boxed, is_boxed, opened, runner
from chainrules_autograd.engine.config import as_tuple, config, conjugated, moves
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
    Bound,
    Closure,
    HigherOrder,
    Operator,
    Space,
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

_MODES: dict[type, str] = {VJPNode: "reverse", JVPNode: "forward"}


def run(word: Primitive[..., Any], operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a call of a primitive, in its normalised form, with boxes in the operands.

    Raises
    ------
    NotDifferentiableError
        If an option is being differentiated, or a value that a function hides.
    NoRuleError
        If there is no rule for the mode that autograd is in, and no body to look into.
    """
    operands = opened(operands)
    check_options(word, options, is_boxed, operands)
    if (own := own_function(word, "autograd", isbox)) is not None:
        return boxed(own(*operands, **options))
    check_hidden(word, operands, isbox)
    if word.fixed:
        is_captured(word, isbox, True, operands)
    operands = tuple([of_own(x, "autograd") for x in operands])
    operands = tuple([closed(boxing(x), isbox) if is_function(x) else x for x in operands])
    if looked_into(word, tuple(map(type, operands)), config):
        return word.__wrapped__(*operands, **options)
    moment = Moment(word, operands, options)
    if lookups(word) and is_captured(word, isbox, bool(moment.leaves)):
        return boxed(word.__wrapped__(*operands, **options))
    if moment.kind is None:
        return moment.plain()
    return moment.recorded()


runner.append(run)


def is_function(x: Any) -> bool:
    """Tell whether an operand is a function to be called, which may hide boxes."""
    return callable(x) and not (isbox(x) or is_structure_type(type(x)))


def boxing(f: Any) -> Any:
    """Wrap a function so that autograd's own boxes in its results become ours."""
    if not is_function(f) or isinstance(f, (Closure, Operator, Primitive)) or hasattr(f, "boxes"):
        return f

    def boxed_result(*operands: Any) -> Any:
        return boxed(f(*operands))

    boxed_result.boxes = True  # type: ignore[attr-defined]
    return boxed_result


@final
class Moment:
    """A call of a primitive at the innermost trace of its operands.

    Attributes
    ----------
    word : Primitive
        What is called.
    leaves : list
        The boxes in the operands, of any trace.
    treedef : TreeDef
        The tuple of the operands without them.
    options : dict
        All of them.
    trace : int
        The innermost trace.
    kind : type or None
        The class of its nodes; None without a box.
    """

    __slots__ = ("kind", "leaves", "operands", "options", "trace", "treedef", "word")

    def __init__(
        self, word: Primitive[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self.word = word
        self.operands = operands
        self.options = options
        self.leaves, self.treedef = partition(operands, isbox)
        top = max(self.leaves, key=_private.trace, default=None)
        self.trace: int = -1 if top is None else _private.trace(top)
        self.kind = None if top is None else type(_private.node(top))

    def plain(self) -> Any:
        """Compute the value, where nothing is traced."""
        with self._hosted():
            y = self.word(*self.operands, **self.options)
        return self._without_hidden(y, -1)

    def recorded(self) -> Any:
        """Record the call, and return its value as a box or with boxes in it."""
        moved = [i for i, leaf in enumerate(self.leaves) if _private.trace(leaf) == self.trace]
        mode = _MODES.get(self.kind)  # type: ignore[arg-type]
        if mode is None:
            return self._observed(moved)
        lower = [
            boxed(_private.value(x)) if _private.trace(x) == self.trace else x for x in self.leaves
        ]
        operands = unflatten(self.treedef, lower)
        wanted = wanted_in(self.treedef, [i in moved for i in range(len(lower))])
        classes = tuple(map(type, operands))
        rule = demand_rule(self.word, classes, config, mode)
        bound = bind(rule, classes, wanted, mode, config=config)
        record: Any = None
        y_dot: Any = None
        with self._hosted():
            if bound is None:
                return self._without_hidden(self.word(*operands, **self.options), self.trace - 1)
            if mode == "forward":
                dots = self._dots(moved, bound)
                y, y_dot = bound.run(dots, *operands, **self.options)
            else:
                y, record = bound.run(None, *operands, **self.options)
        self._without_hidden(y, self.trace - 1)
        result = Result(y)
        if not result.count:
            return y
        if mode == "forward":
            return result.entered(self.trace, forward_node(result.tangent(y_dot, y)))
        parents = [_private.node(self.leaves[i]) for i in moved]
        pull = self._pulling(bound, record, result, moved, [space(lower[i]) for i in moved])
        return result.entered(self.trace, reverse_node(parents, pull))

    def _hosted(self) -> Any:
        """Where functions are handed on, autograd takes the derivatives of them."""
        return hosted(config) if isinstance(self.word, HigherOrder) else nullcontext()

    def _observed(self, moved: Sequence[int]) -> Any:
        """Run the call for one of autograd's traces that keep graphs, not derivatives."""

        def value(*values: Any) -> Any:
            given = list(self.leaves)
            for i, x in zip(moved, values, strict=True):
                given[i] = boxed(x)
            return self.word(*unflatten(self.treedef, given), **self.options)

        value.__name__ = self.word.__name__
        return boxed(primitive(value)(*[self.leaves[i] for i in moved]))

    def _without_hidden(self, y: Any, below: int) -> Any:
        """Return a result; raise if it depends on a hidden value under differentiation."""
        if not isinstance(self.word, HigherOrder):
            return y
        if any([isbox(x) and _private.trace(x) > below for x in flatten(y)[0]]):
            msg = (
                f"{self.word.__name__} was given nothing that is being differentiated, and gave "
                f"{describe(bare(y))}, which is: a function that it was given uses such a value "
                f"from a place where it cannot be found; pass it as a parameter"
            )
            raise NotDifferentiableError(msg)
        return y

    def _dots(self, moved: Sequence[int], bound: Bound) -> tuple[Any, ...]:
        """Return one tangent for each operand of which the rule takes one."""
        given: list[Any] = [None] * len(self.leaves)
        for i in moved:
            given[i] = boxed(_private.node(self.leaves[i]).g)
        return tangents_in(self.treedef, given, bound.wanted)

    def _pulling(
        self,
        bound: Bound,
        record: tuple[Any, ...],
        result: Result,
        moved: Sequence[int],
        spaces: Sequence[Space],
    ) -> Callable[[Any], tuple[Any, ...]]:
        """From autograd's cotangent of the result to those of the leaves that are traced."""
        pull, _, *saved = record
        wanted, treedef, around = bound.wanted, self.treedef, self._hosted

        def vjp(g: Any) -> tuple[Any, ...]:
            with around():
                answer = pull(result.cotangent(g), *saved)
            found = cotangents_in(treedef, answer, wanted)
            return tuple(
                [_dense(conjugated(found[i]), of) for i, of in zip(moved, spaces, strict=True)]
            )

        return vjp


def reverse_node(parents: Sequence[Any], vjp: Callable[[Any], Any]) -> Any:
    """Make a node of autograd's reverse mode."""
    node = VJPNode.__new__(VJPNode)
    node.parents = parents
    node.vjp = vjp
    return node


def forward_node(g: Any) -> Any:
    """Make a node of autograd's forward mode."""
    node = JVPNode.__new__(JVPNode)
    node.g = g
    return node


@final
class Result:
    """Result of a call, split into the arrays that have derivatives and the rest."""

    __slots__ = ("count", "found", "python", "treedef")

    def __init__(self, y: Any) -> None:
        self.found, self.treedef = partition(y, moves)
        self.count = len(self.found)
        self.python = [type_info(type(x)).is_python_number for x in self.found]

    @property
    def is_one(self) -> bool:
        """Whether it is one array, and not a structure."""
        return self.treedef is LEAF

    def entered(self, trace: int, node: Any) -> Any:
        """Rebuild the result, with boxes for its arrays."""
        if self.is_one:
            return boxed(ArrayBox(self.found[0], trace, node))
        # A node has one value: the tuple of the arrays, each of which is an element of it.
        whole = SequenceBox(tuple(self.found), trace, node)
        return unflatten(self.treedef, [boxed(whole[i]) for i in range(self.count)])

    def cotangent(self, g: Any) -> Any:
        """autograd's cotangent as ours."""
        if self.is_one:
            return conjugated(entering(g, self.python[0]))
        entries = [conjugated(entering(g[i], self.python[i])) for i in range(self.count)]
        return unflatten_tangent(self.treedef, entries)

    def tangent(self, y_dot: Any, y: Any) -> Any:
        """Our tangent as autograd's."""
        if self.is_one:
            return tangent_of(y, y_dot)
        each = zip(flatten_tangent(self.treedef, unthunk(y_dot)), self.found, strict=True)
        return new_tuple([_dense(t, space(x)) for t, x in each])


def entering(g: Any, python: bool) -> Any:
    """Convert a cotangent for rules; a number that a person gave for an array becomes an array."""
    return np.asarray(g) if type(g) in (float, int, complex) and not python else boxed(g)


def new_tuple(entries: Sequence[Any]) -> Any:
    """Make a tuple of autograd's, which may hold boxes."""
    return as_tuple(tuple(entries))


def tangent_of(y: Any, y_dot: Any) -> Any:
    """Return a tangent of one array or number as autograd takes it, which knows of no zeros."""
    return _dense(unthunk(y_dot), space(y))


def _dense(t: Any, of: Any) -> Any:
    return of.zeros() if is_zero(t) else boxed(deliver(t))
