"""Calls of functions with a rule: their values, and their derivatives as linear pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, final

import jax
import numpy as np
from jax.interpreters import ad

import chainrules_py
from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.callback import called_back, classes_of, is_elementwise
from chainrules_jax.engine.linear_primitive import LinearPair, tangent_type
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import (
    COMPUTED,
    JAXS,
    conjugate,
    dense,
    is_inexact,
    is_value,
    settled,
    split,
)
from chainrules_kit import (
    UNFIT,
    AskedError,
    array_like,
    pulled_on_arrays,
    pushed_on_arrays,
    refused_half,
    wanted_in,
    widened,
)
from chainrules_py import (
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
    ZeroTangent,
    unthunk,
)
from chainrules_py import ops as v
from chainrules_py.extend import (
    Bound,
    Closure,
    HigherOrder,
    Rule,
    Space,
    StructureSpace,
    TreeDef,
    bind,
    closed,
    demand_rule,
    describe,
    exactly,
    find_rule,
    flatten,
    flatten_tangent,
    hosted,
    looked_into,
    unflatten,
    unflatten_tangent,
)

Operation: TypeAlias = chainrules_py.Primitive[..., Any]
Leaves: TypeAlias = Sequence[Any]
Linearized: TypeAlias = tuple[list[Any], LinearPair | None, list[Any]]
"""The arrays of a value; its derivative, None if none flows; and the residuals of that."""

_MOST = 128
LEAVES = (
    jax.errors.TracerArrayConversionError,
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
)
"""The errors that JAX raises if code reads the value of a tracer."""
# Errors that come from JAX or the body itself, not from failed tracing.
_OWN = (ArithmeticError, KeyError, NameError, jax.errors.JaxRuntimeError)


_EMPTY = (Space, StructureSpace, str, int, float, complex, bool, type(None), type)
_ARRAY: Final = object()
"""Where an array is missing."""


@final
class Kept:
    """The values that a rule saved: the arrays that JAX keeps, and a frame around them.

    Arrays may be anywhere in them: in tuples, in dicts, in the cells of a half that is a closure. A
    traced value must not stay in the frame, where JAX would not see it.

    Parameters
    ----------
    saved : tuple
        What the rule saved.
    traced : bool
        Whether they may contain traced values.

    Attributes
    ----------
    residuals : list
        The arrays.
    count : int
        The number of arrays.
    frame : tuple
        Everything except the arrays, for comparison.
    """

    __slots__ = ("_inner", "_parts", "_tree", "count", "frame", "residuals")

    def __init__(self, saved: tuple[Any, ...], traced: bool) -> None:
        leaves, self._tree = flatten(saved, is_value)
        self._inner: TreeDef | None = None
        if traced:
            whole = lambda x: is_value(x) or isinstance(x, _EMPTY)
            leaves = [x if whole(x) else closed(x, is_traced) for x in leaves]
            if any([type(x) is Closure for x in leaves]):
                leaves, self._inner = flatten(tuple(leaves), is_value)
        self._parts = [_ARRAY if is_value(x) else x for x in leaves]
        self.residuals = [x for x, part in zip(leaves, self._parts, strict=True) if part is _ARRAY]
        self.count = len(self.residuals)
        # A function that captured arrays equals no other.
        self.frame = self._tree, self._inner is None or object(), [*map(exactly, self._parts)]

    def taken(self) -> list[Any]:
        """Return the arrays and forget them: JAX's caches keep functions that use this object."""
        residuals, self.residuals = self.residuals, []
        return residuals

    def filled(self, residuals: Sequence[Any]) -> Any:
        """Rebuild the saved values around these arrays."""
        rest = iter(residuals)
        leaves = [next(rest) if x is _ARRAY else x for x in self._parts]
        if self._inner is not None:
            parts = unflatten(self._inner, leaves)
            leaves = [x.filled() if type(x) is Closure else x for x in parts]
        return unflatten(self._tree, leaves)


@final
class Program:
    """Call of a primitive, without its arrays.

    Attributes
    ----------
    operation : Primitive
        The primitive that is called.
    treedef : TreeDef
        The structure of the tuple of its operands.
    options : dict
        All of its options.
    avals : callable
        ``avals(*ins)`` returns the types of the result's arrays, given those of the operands.
    """

    __slots__ = (
        "_asks",
        "_has_code",
        "_leaves_jax",
        "_out",
        "_pairs",
        "_rules",
        "avals",
        "options",
        "treedef",
        "operation",
    )

    def __init__(self, operation: Operation, treedef: TreeDef, options: dict[str, Any]) -> None:
        self.operation, self.treedef, self.options = operation, treedef, options
        self.avals = functools.cache(self._avals)
        self._rules: dict[Any, Rule | None] = {}
        self._pairs: dict[Any, tuple[Any, LinearPair]] = {}  # the last pair of each kind of call
        self._has_code = operation.has_body and not isinstance(operation, HigherOrder)
        self._leaves_jax = False
        self._asks: bool | None = None  # whether its rule reads numbers; None if unknown
        self._out: Any = None  # the structure of the result, once it is known

    def operands(self, leaves: Leaves) -> tuple[Any, ...]:
        """Rebuild the operands around these arrays."""
        return unflatten(self.treedef, leaves)  # type: ignore[no-any-return]

    def _given(self, leaves: Leaves) -> tuple[Any, ...]:
        """Rebuild the operands for a user-defined body, which may pass them to NumPy."""
        settles = self._has_code and not any(map(is_traced, leaves))
        return self.operands(settled(leaves) if settles else leaves)

    # ----------------------------------------------------------------------------- the value

    def value(self, *leaves: Any) -> list[Any]:
        """Compute the arrays of the result by JAX's operations."""
        traced, given = any(map(is_traced, leaves)), self._given(leaves)
        f = COMPUTED.get(self.operation) if traced else None
        classes, of = classes_of(given), self.operation
        # The last call loads missing modules, and raises.
        f = f or of.implementation(classes) or of.plain_implementation(classes)
        if traced and self._leaves_jax:
            return self._called_back(leaves, None)
        try:
            return self.opened(self._run(f, *given, **self.options), leaves)
        except UNFIT as error:
            if not (traced and self._is_body(f)) or isinstance(error, _OWN):
                raise
            return self._called_back(leaves, error)

    def _is_body(self, f: Any) -> bool:
        """Return whether a function is the user-defined body of the operation."""
        return self._has_code and f is self.operation.__wrapped__

    def _called_back(self, leaves: Leaves, error: Exception | None) -> list[Any]:
        """Call the body with NumPy arrays, since it raised an error for tracers."""
        operation = self.operation
        computed = called_back(operation, operation.__wrapped__, None, vectorized=False, eager=True)
        try:
            y = computed(*self.operands(leaves), **self.options)
        except NoRuleError as refusal:
            if error is None:
                raise
            if isinstance(refusal.__cause__, NotDifferentiableError):
                raise refusal.__cause__ from None
            raise (refusal if isinstance(error, LEAVES) else error) from None
        self._leaves_jax = True
        return self.opened(y, leaves)

    def _run(self, f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        """Call an implementation or a rule; JAX differentiates function operands."""
        try:
            if not isinstance(self.operation, HigherOrder):
                return f(*operands, **options)
            with hosted(config):  # a solver reads numbers, to choose its steps
                return f(*operands, **options)
        except (*LEAVES, ValueError) as error:
            # NumPy raises a ValueError from JAX's error for a write into an element of an array.
            if self._is_body(f) or not any(isinstance(x, LEAVES) for x in (error, error.__cause__)):
                raise
            if not isinstance(self.operation, HigherOrder):
                raise refused_half(self.operation, "JAX") from error
            raise NotDifferentiableError(
                f"{self.operation.__name__} looks at values to choose its steps, and of what "
                f"jit, vmap "
                f"and scan trace there are none: call it outside of these"
            ) from error

    def opened(self, y: Any, given: Leaves) -> list[Any]:
        """Return the arrays of a result, and store its structure."""
        leaves, layout = split(y, numbers=True, others=given)
        if self._out is not None and self._out.num_leaves != layout.num_leaves:
            raise RuleError(
                f"{self.operation.__name__} gives {self._out.num_leaves} arrays, and its rule "
                f"{layout.num_leaves}: {describe(y)}; a rule has to give the value of its function"
            )
        self._out = layout
        return leaves

    def closed(self, leaves: Leaves) -> Any:
        """Rebuild the result around its arrays."""
        return unflatten(self._out, leaves)

    def _avals(self, *ins: Any) -> list[Any]:
        """Return the shapes and dtypes of the result's arrays, given those of the operands.

        Raises
        ------
        NotDifferentiableError
            If a function captured a traced value that cannot be found in it.
        """
        program = jax.make_jaxpr(self.value)(*ins)
        if hidden := [x for x in program.consts if is_traced(x)]:
            raise not_found(self.operation, hidden[0])
        return list(program.out_avals)

    # ------------------------------------------------------------------------------ its rule

    def find(self, leaves: Leaves) -> Rule | None:
        """Find the rule, or None; for 0-d operands, a rule for numbers applies as well.

        The rule is stored at the call, so that a later derivative uses the same rule. The structure
        of the operands is that of the program; what differs are the arrays.
        """
        key = tuple([(x.ndim, x.dtype) for x in leaves])
        if key not in self._rules:
            operands = self.operands(leaves)
            classes = classes_of(operands)
            pairs = zip(operands, classes, strict=True)
            numbers = [_number(x) if is_value(x) and not x.ndim else cls for x, cls in pairs]
            rule = find_rule(self.operation, classes, config)
            self._rules[key] = rule or find_rule(self.operation, tuple(numbers), config)
        return self._rules[key]

    def is_looked_into(self, leaves: Leaves) -> bool:
        """Return whether JAX differentiates through the body, or through its own function."""
        if self.operation is v.scan:
            return True
        rule = self.find(leaves)
        if rule is not None:
            return self.operation in JAXS and rule.is_core
        classes = tuple(map(type, self.operands(leaves)))
        return self.operation not in JAXS and looked_into(self.operation, classes, config)

    def is_elementwise(self, leaves: Leaves) -> bool:
        """Return whether a batch of calls is, by its rule, one call with a further axis."""
        return self.operation not in COMPUTED and is_elementwise(self.find(leaves))

    def stays(self, ins: Leaves) -> bool:
        """Return whether the implementation runs on JAX's values of these shapes and dtypes."""
        if self.operation.has_body and not self._leaves_jax:
            self.avals(*ins)
        return not self._leaves_jax

    def _wanted(self, moves: Sequence[bool]) -> tuple[bool, ...]:
        """Return which operands have a tangent, given which of their arrays do."""
        found = wanted_in(self.treedef, moves)
        for i in self.operation.fixed:
            if found[i]:
                raise NotDifferentiableError(
                    f"{self.operation.operands[i]} of {self.operation.__name__} is held fixed "
                    f"(nondiff_argnums), and is being differentiated: its gradient would be "
                    f"lost; state a derivative in it, or pass it through jax.lax.stop_gradient"
                )
        return found

    # ------------------------------------------------------------------------ its derivative

    def linearize(self, leaves: Leaves, moves: Sequence[bool]) -> Linearized:
        """Return value and derivative with respect to the arrays that have tangents."""
        operands = self._given(leaves)
        rule = self.find(leaves) or demand_rule(  # raises, and lists the rules that exist
            self.operation, classes_of(operands), config, "reverse"
        )
        classes = tuple(map(type, operands))
        bound = bind(rule, classes, self._wanted(moves), "both", config=config)
        if bound is None:
            return self.opened(self.operation(*operands, **self.options), leaves), None, []
        try:
            y, (push, pull, *saved) = self._run(bound.run, None, *operands, **self.options)
        except NotDifferentiableError as error:
            asks = isinstance(error, AskedError) or isinstance(error.__cause__, LEAVES)
            stated = asks and rule.forward is not None and not rule.forward.transposed
            if not (asks and (stated or any(map(is_traced, leaves)))):
                raise
            try:
                ys, self._asks = self.value(*leaves), True
            except ValueError:  # of JAX, which does not differentiate the callback that computes it
                raise error from None
            push, pull, saved = self._asking, self._asking, list[Any]()
            if stated and (onward := bind(rule, classes, bound.wanted, "forward", config=config)):
                push = lambda dots, *xs: onward.run(dots, *xs, **self.options)[1]
                saved = list(operands)
            halves: Any = None, None
        else:
            ys, halves = self.opened(y, leaves), (push, pull)
        kept = Kept(tuple(saved), any(map(is_traced, (*leaves, *ys))))
        some = [x for x, m in zip(leaves, moves, strict=True) if m]
        # JAX caches each pair that it has seen: equal calls share one.
        call = bound, tuple(moves), *[(x.shape, x.dtype) for x in (*some, *ys)]
        made_of = *halves, self._asks, kept.frame
        before, pair = self._pairs.get(call, (None, None))
        try:
            is_same = pair is not None and made_of == before
        except ValueError:  # comparison of arrays that JAX does not trace
            is_same = False
        if pair is None or not is_same:
            if len(self._pairs) >= _MOST:
                self._pairs.clear()
            pair = self._pair(push, pull, kept, rule, bound, moves, some, ys)
            self._pairs[call] = made_of, pair
        # Until its rule has run on tracers, a half may need the operands themselves.
        return ys, pair, [*kept.taken(), *leaves[: pair.residuals - kept.count]]

    def _asking(self, *_: Any) -> Any:
        """Raise: replaces half of a rule that reads numbers where JAX has none."""
        raise refused_half(self.operation, "JAX")

    def _pair(
        self,
        push: Any,
        pull: Any,
        kept: Kept,
        rule: Rule,
        bound: Bound,
        moves: Sequence[bool],
        some: Leaves,
        ys: Leaves,
    ) -> LinearPair:
        out, wanted = self._out, bound.wanted
        floating = [*map(is_inexact, ys)]
        ins, outs = [tuple(map(tangent_type, xs)) for xs in (some, filter(is_inexact, ys))]

        def through_push(half: Any, ts: Leaves) -> list[Any]:
            rest = iter(ts)
            dots = [next(rest) if m else ZeroTangent() for m in moves]
            y_dot = unthunk(half(list(unflatten_tangent(self.treedef, dots))))
            return [t for t, f in zip(flatten_tangent(out, y_dot), floating, strict=True) if f]

        def through_pull(half: Any, cts: Leaves) -> list[Any]:
            rest = iter(cts)
            y_bar = unflatten_tangent(out, [next(rest) if f else NoTangent() for f in floating])
            bars = flatten_tangent(self.treedef, tuple(half(y_bar)))
            return [t for t, m in zip(bars, moves, strict=True) if m]

        def pushed(dots: Leaves, saved: Any) -> Any:
            return push(tuple([t for t, w in zip(dots, wanted, strict=True) if w]), *saved)

        def pulled(y_bar: Any, saved: Any) -> list[Any]:
            bars = iter(pull(y_bar, *saved))
            return [next(bars) if w else ZeroTangent() for w in wanted]

        def made(
            what: str, through: Any, stated: Any, half: Any, on_arrays: Any, avals: Any
        ) -> Any:
            def run(res: Leaves, values: Leaves) -> list[Any]:
                try:
                    by_rule = lambda t: self._run(half, t, kept.filled(res[:count]))
                    pairs = zip(through(by_rule, values), avals, strict=True)
                    found = [dense(t, a) for t, a in pairs]
                except Exception as error:
                    # NumPy's results are no tangents of a dtype that NumPy lacks.
                    lacks = isinstance(error, ProjectionError) and any(map(_is_narrow, res))
                    if (lacks or isinstance(error, AskedError)) and len(res) > count:
                        self._asks = True
                        again = lambda xs, given: through(
                            lambda t: on_arrays(self.operation, xs, self.options, wanted, t), given
                        )
                        return self._on_arrays(again, res[count:], values, avals)
                    where = getattr(getattr(stated, "statement", None), "where", "unknown")
                    error.add_note(f"while {what} {name}\n  rule: {where}")
                    raise
                if self._asks is None and all(map(is_traced, (*res[:count], *values))):
                    self._asks = False
                return found

            return run

        name, count = self.operation.__name__, kept.count
        forward = made(
            "pushing a tangent through", through_push, push, pushed, pushed_on_arrays, outs
        )
        pull_back = made(
            "pulling a cotangent back through", through_pull, pull, pulled, pulled_on_arrays, ins
        )
        # JAX's cotangents are those of the transpose, ours those of the adjoint.
        backward = lambda res, cts: [*map(conjugate, pull_back(res, [*map(conjugate, cts)]))]
        # What an elementwise rule saves are the factors: its halves read no numbers.
        may_ask = self._asks is None and not (rule.is_core or bound.recipe.is_elementwise)
        more = self.treedef.num_leaves if self._asks or may_ask else 0
        is_linear = bound.recipe.is_linear or self.operation is v.astype
        if bound.recipe.constructor == "bilinear_rule":
            is_linear = sum(wanted) == 1
        return LinearPair(forward, backward, ins, outs, count + more, name, _alone(rule), is_linear)

    def _on_arrays(
        self, half: Callable[..., Any], leaves: Leaves, values: Leaves, avals: Sequence[Any]
    ) -> list[Any]:
        """Run half of the rule on NumPy arrays, called back from a traced program."""

        def kernel(*arrays: Any) -> list[Any]:
            xs = [widened(np.asarray(x)) for x in arrays]
            found = half(unflatten(self.treedef, xs[: len(leaves)]), xs[len(leaves) :])
            return [array_like(t, a.shape, a.dtype) for t, a in zip(found, avals, strict=True)]

        @jax.custom_jvp
        def called(*xs: Any) -> Any:
            return jax.pure_callback(kernel, list(avals), *xs, vmap_method="sequential")

        called.defjvp(self._asking)
        return list(called(*leaves, *values))

    def __repr__(self) -> str:
        return self.operation.__name__


def _is_narrow(x: Any) -> bool:
    """Return whether an array is of a floating dtype that NumPy lacks, as bfloat16."""
    return is_inexact(x) and x.dtype.kind == "V"


def _number(x: Any) -> type:
    """Return the class of Python numbers of the same kind as an array."""
    return {"c": complex, "i": int, "u": int, "b": bool}.get(getattr(x.dtype, "kind", ""), float)


def not_found(operation: Operation, x: Any) -> NotDifferentiableError:
    """Return the error for a captured value that cannot be found in a function."""
    return NotDifferentiableError(
        f"{operation.__name__} uses {describe(x)}, which JAX traces, from a place where it is not "
        f"found: pass it as an operand"
    )


def no_tangent(y: Any) -> Any:
    """Return the zero tangent of a value without tangent, or of one that depends on nothing."""
    return ad.Zero(jax.typeof(y).to_tangent_aval())


def _alone(rule: Rule) -> str:
    """Return the half that is stated, if the other one is its transpose; else an empty string."""
    if rule.forward is not None and rule.forward.transposed:
        return "backward"
    return "forward" if rule.reverse is not None and rule.reverse.transposed else ""
