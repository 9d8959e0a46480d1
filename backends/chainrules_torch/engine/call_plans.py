"""Calls prepared for PyTorch: their values, and the halves of their rules.

The *leaves* of a call are the tensors and numbers that are passed to a PyTorch function.
"""

from __future__ import annotations

import contextvars
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch

from chainrules_kit import (
    cotangents_in,
    imported_from,
    lookups,
    pulled_on_arrays,
    pushed_on_arrays,
    tangents_in,
    wanted_in,
)
from chainrules_py import Primitive, ZeroTangent, unthunk
from chainrules_py.extend import (
    Bound,
    HigherOrder,
    TreeDef,
    bind,
    demand_rule,
    find_rule,
    flatten,
    flatten_tangent,
    hosted,
    is_opaque,
    is_static,
    is_structure_type,
    see,
    type_info,
    unflatten,
    unflatten_tangent,
)
from chainrules_torch.engine.callback import BY_METHODS, called_back, of_body
from chainrules_torch.engine.outputs import cotangent, joined, tangents, wrap, written
from chainrules_torch.engine.rule_config import config, floats

Tensor = torch.Tensor
Outputs: TypeAlias = tuple[Sequence[Any], TreeDef | None]
"""The leaves of a result, and their structure."""


class ReusedValue(NamedTuple):
    """Value of a call, which `known_value` returns for calls inside `within`.

    An engine that keeps inputs and outputs runs a rule again to differentiate it, or to run its
    other half. A rule computes the value of its own call; with a known value, only the halves are
    computed, and derivatives of any order flow through the output of the call.


    Parameters
    ----------
    primal : Primitive
        The primitive that is called.
    operands, options
        The operands and options of the call, in normal form.
    y
        Its value.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> x = 0.5
    >>> value = ReusedValue(sin, (x,), {}, "its value")
    >>> value.within(lambda: (known_value(sin, (x,), {}).y, known_value(sin, (0.25,), {})))
    ('its value', None)
    """

    primal: Any
    operands: tuple[Any, ...]
    options: dict[str, Any]
    y: Any

    def within(self, call: Callable[..., Any], *operands: Any) -> Any:
        """Make a call during which this value is known."""
        token = known_values.set((self, *known_values.get()))
        try:
            return call(*operands)
        finally:
            known_values.reset(token)


known_values: contextvars.ContextVar[tuple[ReusedValue, ...]] = contextvars.ContextVar(
    "known_values", default=()
)
"""The values that are known here, innermost first."""


def known_value(
    primal: Any, operands: tuple[Any, ...], options: dict[str, Any]
) -> ReusedValue | None:
    """Return the `ReusedValue` of a call of the same primitive with the same objects, or None."""
    for known in known_values.get():
        same = known.primal is primal and len(known.operands) == len(operands)
        if same and all(map(operator.is_, known.operands, operands)) and known.options == options:
            return known
    return None


class Call:
    """A call as PyTorch functions receive it: its leaves are the tensors in its operands.

    Attributes
    ----------
    plan : Plan
        The plan of the primitive.
    treedef : TreeDef
        The structure of the operands around their leaves.
    """

    __slots__ = ("plan", "treedef")
    plan: Plan
    treedef: TreeDef

    def __init__(self, plan: Plan, treedef: TreeDef) -> None:
        self.plan, self.treedef = plan, treedef

    def operands(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Build the operands that have these leaves."""
        return unflatten(self.treedef, leaves)  # type: ignore[no-any-return]

    def wanted(self, leaves: Sequence[bool]) -> tuple[bool, ...]:
        """Return which operands are wanted, given which leaves are."""
        return wanted_in(self.treedef, leaves)

    def value(self, leaves: Sequence[Any]) -> Any:
        """Compute the result in the form of `chainrules_torch.engine.outputs.wrap`."""
        plan = self.plan
        return wrap(plan.run(plan.compute, *self.operands(leaves), **plan.options))

    def pull(
        self, leaves: Sequence[Any], y: Outputs, bars: Sequence[Any], needs: Sequence[bool]
    ) -> list[Any]:
        """Run the rule, and pull the cotangents of a known result back to the leaves."""
        plan, operands = self.plan, self.operands(leaves)
        bound = plan.bound("reverse", self.wanted(needs), again=True)
        wanted = [x if needed else None for x, needed in zip(leaves, needs, strict=True)]
        if bound is None:
            return [written(None, of) for of in wanted]

        def pulled() -> Any:
            _, record = bound.run(None, *operands, **plan.options)
            return record[0](cotangent(bars, y[1]), *record[2:])

        known = ReusedValue(plan.primal, operands, plan.options, joined(*y))
        answer = plan.run(known.within, pulled) if plan.solves else known.within(pulled)
        return self.placed(bound, answer, wanted)

    def placed(self, bound: Bound, answer: Any, spaces: Sequence[Any]) -> list[Any]:
        """List the cotangents of a pullback leaf by leaf; ``spaces`` has None for unwanted ones."""
        bars = cotangents_in(self.treedef, answer, bound.wanted)
        return [written(bar, of) for bar, of in zip(bars, spaces, strict=True)]

    def push(self, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> list[Any]:
        """Run the rule, and push the tangents of leaves forward to those of a known result."""
        plan, operands = self.plan, self.operands(leaves)
        if plan.solves and plan.pulls_only():
            return self._transposed(leaves, y, dots)
        moved = self.wanted([t is not None for t in dots])
        bound = plan.bound("forward", moved, again=True)
        if bound is None:
            return tangents(ZeroTangent(), *y)
        moving = tangents_in(self.treedef, dots, bound.wanted)

        def pushed() -> Any:
            return bound.run(moving, *operands, **plan.options)[1]

        known = ReusedValue(plan.primal, operands, plan.options, joined(*y))
        return tangents(unthunk(plan.run(known.within, pushed)), *y)

    def on_arrays(
        self,
        mode: str,
        leaves: Sequence[Any],
        treedef: TreeDef | None,
        given: Sequence[Any],
        needs: Sequence[bool],
    ) -> list[Any]:
        """Run half of the rule on NumPy arrays, and list its results leaf by leaf."""
        primal, options, operands = self.plan.primal, self.plan.options, self.operands(leaves)
        if mode == "reverse":
            bar = cotangent(given, treedef)
            bars = pulled_on_arrays(primal, operands, options, self.wanted(needs), bar)
            return flatten_tangent(self.treedef, tuple(bars))
        moved = self.wanted([t is not None for t in given])
        dots = unflatten_tangent(self.treedef, [ZeroTangent() if t is None else t for t in given])
        y_dot = pushed_on_arrays(primal, operands, options, moved, list(dots))
        return [y_dot] if treedef is None else flatten_tangent(treedef, y_dot)

    def _transposed(self, leaves: Sequence[Any], y: Outputs, dots: Sequence[Any]) -> list[Any]:
        """Push forward by PyTorch's transpose of the pullback."""
        needs, moving = [t is not None for t in dots], [floats(x) for x in y[0]]

        def pulled(*bars: Any) -> tuple[Any, ...]:
            rest = iter(bars)
            found = self.pull(leaves, y, [next(rest) if m else None for m in moving], needs)
            return tuple([bar for bar, needed in zip(found, needs, strict=True) if needed])

        zeros = [torch.zeros_like(x) for x, m in zip(y[0], moving, strict=True) if m]
        found = iter(torch.func.vjp(pulled, *zeros)[1](tuple([t for t in dots if t is not None])))
        return [next(found) if m else None for m in moving]


def computed_by(primal: Primitive[..., Any], classes: tuple[type, ...]) -> Callable[..., Any]:
    """Return the function that computes a primitive for plain tensors.

    Raises
    ------
    NoRuleError
        If there is none.
    """
    see(primal, classes)
    found = primal.implementation(classes)
    if found is None or found in BY_METHODS:
        found = called_back(primal, classes)
    return of_body(primal, found)


class Plan(Call):
    """A primitive with options, for operands of some types.

    If each operand is a tensor or a number, the plan is its own call, and the operands are the
    leaves.

    Attributes
    ----------
    primal : Primitive
        The primitive that is called.
    all_tensors : bool
        Whether each operand is a tensor.
    compute : callable
        Computes the value for plain tensors.
    flat : bool
        Whether the plan is its own call.
    imported : bool
        Whether the primitive is imported, so that values it captured may be traced.
    is_own : bool
        Whether the rule is user-defined.
    is_static : bool
        Whether nothing is held fixed, and no option can hold a tensor.
    lookups : tuple of callable
        User-defined functions of the primitive that look up values.
    of_numpy : Exception or None
        The error that half of the rule raised for tensors before it ran on NumPy arrays.
    is_proven : bool
        Whether half of the rule has run on tensors.
    rule : Rule or None
        The rule that was found when the plan was made.
    is_stored : bool
        Whether the plan is cached for later calls.
    short : dict
        Eager functions of `chainrules_torch.engine.eager_functions`, by the operands wanted.
    solves : bool
        Whether the value may need derivatives of function operands, and depends on values.
    takes_functions : bool
        Whether some operands are functions.
    """

    __slots__ = (
        "_bound",
        "of_numpy",
        "is_proven",
        "all_tensors",
        "classes",
        "compute",
        "flat",
        "imported",
        "is_own",
        "is_static",
        "is_stored",
        "lookups",
        "options",
        "primal",
        "rule",
        "short",
        "solves",
        "takes_functions",
    )

    def __init__(
        self, primal: Primitive[..., Any], classes: tuple[type, ...], options: dict[str, Any]
    ) -> None:
        super().__init__(self, flatten(classes)[1])
        self.primal, self.classes, self.options = primal, classes, options
        self.compute: Callable[..., Any] = computed_by(primal, classes)
        self.solves = isinstance(primal, HigherOrder)
        self.takes_functions = any(map(_is_called, classes))
        holds = lambda cls: is_structure_type(cls) or is_opaque(cls)
        self.flat = not self.takes_functions and not any(map(holds, classes))
        self.all_tensors = all([issubclass(cls, Tensor) for cls in classes])
        self.lookups = lookups(primal)
        self.imported = imported_from(primal) is not None
        self.rule = find_rule(primal, classes, config)
        self.is_own = self.rule is not None and not self.rule.is_core
        self.is_static = not primal.fixed and all(map(_is_plain, options.values()))
        self._bound: dict[Any, Bound | None] = {}
        self.is_stored = False
        self.of_numpy: Exception | None = None
        self.is_proven = not self.is_own
        self.short: dict[Any, Callable[..., Any]] = {}

    def bound(self, mode: str, wanted: tuple[bool, ...], *, again: bool) -> Bound | None:
        """Return the rule, specialised for the operands wanted; None if no derivative flows.

        With ``again``, a `ReusedValue` is not computed again.

        Raises
        ------
        NoRuleError
            If there is no rule for the mode.
        """
        key = (mode, wanted, again)
        try:
            return self._bound[key]
        except KeyError:
            rule = self.rule
            if rule is None or rule.statement(mode) is None:
                rule = demand_rule(self.primal, self.classes, config, mode)
            primal = self.again if again else self.compute
            bound = bind(rule, self.classes, wanted, mode, primal=primal, config=config)
            self._bound[key] = bound
            return bound

    def pulls_only(self) -> bool:
        """Return whether the rule states reverse mode alone."""
        statement = None if self.rule is None else self.rule.statement("forward")
        return statement is not None and statement.transposed

    def run(self, f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        """Call a function that may need derivatives of function operands; PyTorch computes them."""
        if not self.solves:
            return f(*operands, **options)
        with hosted(config):
            return f(*operands, **options)

    def again(self, *operands: Any, **options: Any) -> Any:
        """Return the value when a rule is run again; compute it only if it is not known."""
        found = known_value(self.primal, operands, options)
        return self.compute(*operands, **options) if found is None else found.y

    def value(self, leaves: Sequence[Any]) -> Any:
        """Compute the result; the leaves are the operands."""
        if self.solves:
            return super().value(leaves)
        y = self.compute(*leaves, **self.options)
        return y if isinstance(y, Tensor) else wrap(y)

    def operands(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return the leaves, which are the operands."""
        return tuple(leaves)

    def wanted(self, leaves: Sequence[bool]) -> tuple[bool, ...]:
        """Return the flags of the leaves."""
        return tuple(leaves)


def _is_plain(x: Any) -> bool:
    """Return whether an option certainly holds no tensor."""
    return is_static(x) and not callable(x)


def _is_called(cls: type) -> bool:
    """Return whether operands of a class are functions, not structures that can be called."""
    if type_info(cls).is_array or is_structure_type(cls):
        return False
    return any(["__call__" in vars(base) for base in cls.__mro__])
