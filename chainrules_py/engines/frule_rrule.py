"""The public functions ``frule`` and ``rrule``, which use rules by `bind` like every engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, final

from chainrules_py.engines.mutation_guard import watched
from chainrules_py.errors import (
    ChainRulesError,
    NoRuleError,
    NotDifferentiableError,
    ProjectionError,
    advise,
    describe,
)
from chainrules_py.primitives import plugins
from chainrules_py.primitives.closures.convert import HigherOrder
from chainrules_py.primitives.method_table import Cache
from chainrules_py.registry.bind.bind import bind, part
from chainrules_py.registry.call_normalization import normalise_call
from chainrules_py.registry.constructors import register_frule, register_rrule
from chainrules_py.registry.explain import demand_rule
from chainrules_py.registry.statement_and_rule import Rule
from chainrules_py.registry.table import find_rule, name_of, unbind
from chainrules_py.rule_config import Always, Config, ForwardMode, ReverseMode
from chainrules_py.tangents.primal_results import refuse_objects
from chainrules_py.tangents.space import kind_of, space, zero_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.user_tangent_checks import check_tangent_of, deliver, own
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_tracers
from chainrules_py.values.pytree import flatten, map_leaves
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info


class _Frule:
    """Compute value and tangent of a function that has a rule.

    ``y, y_dot = frule((x_dot, ...), f, x, ..., **options)``, with exactly one tangent per operand.
    With a `Config` before ``f``, rules that require the engine are found as well.

    Parameters
    ----------
    tangents : tuple
        One tangent per operand.
    f : callable
        The function.
    *operands
        Its operands, by position.
    **options
        Its options.

    Returns
    -------
    y
        The value.
    y_dot
        Its tangent.

    Raises
    ------
    NoRuleError
        If no rule matches, or the matching rule states no forward half.
    ProjectionError
        If a tangent does not match its operand.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> y, y_dot = frule((1.0,), sin, 0.0)
    >>> y, y_dot
    (0.0, 1.0)
    """

    register = staticmethod(register_frule)
    __name__ = "frule"

    def __call__(
        self, tangents: tuple[Any, ...], f: Any, /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        if type(tangents) is not tuple:
            raise ProjectionError(
                f"frule((x_dot, ...), f, x, ...) takes a tuple first, not {describe(tangents)}"
            )
        f, native, bind_for, _, options, operands = _call(f, operands, options, "forward")
        if len(tangents) != len(operands):
            raise ProjectionError(
                f"frule takes one tangent for each of {len(operands)} operands, got {len(tangents)}"
            )
        if f is None:
            y, y_dot = push_through(native, operands, tangents)
            return y, y_dot if _has_tangent(y) else NoTangent()
        tangents = tuple(map(check_tangent_of, operands, tangents))
        bound = bind_for(tuple([not is_zero(t) for t in tangents]))
        if bound is None:
            y = _told(native or f, *operands, **options)
            return y, ZeroTangent() if _has_tangent(y) else NoTangent()
        given = tuple([t for t, w in zip(tangents, bound.wanted, strict=True) if w])
        y, y_dot = _told(bound.run, given, *operands, **options)
        return y, own(deliver(y_dot), tuple(flatten((y, operands, given))[0]))

    def __repr__(self) -> str:
        return "<frule: y, y_dot = frule((x_dot, ...), f, x, ...)>"


class _Rrule:
    """Compute value and pullback of a function that has a rule.

    ``y, pullback = rrule(f, x, ..., **options)``. With a `Config` before ``f``, rules that require
    the engine are found as well.

    Parameters
    ----------
    f : callable
        The function.
    *operands
        Its operands, by position.
    **options
        Its options.

    Returns
    -------
    y
        The value.
    pullback : callable
        ``pullback(y_bar)`` returns a tuple with one cotangent per operand, even for one operand.

    Raises
    ------
    NoRuleError
        If no rule matches, or the matching rule states no reverse half.

    Examples
    --------
    >>> from chainrules_py.ops import multiply
    >>> y, pullback = rrule(multiply, 2.0, 3.0)
    >>> y, pullback(1.0)
    (6.0, (3.0, 2.0))
    >>> pullback(1.0, wanted=(True, False))
    (3.0, ZeroTangent())
    """

    register = staticmethod(register_rrule)
    __name__ = "rrule"

    def __call__(
        self, f: Any, /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        f, native, bind_for, made_by, options, operands = _call(f, operands, options, "reverse")
        if f is None:
            return pull_through(native, operands)
        bound = bind_for((True,) * len(operands))
        if bound is None:
            y = _told(native or f, *operands, **options)
            return y, Pullback(f, y, operands, None, (True,) * len(operands), made_by, options)
        y, record = _told(bound.run, None, *operands, **options)
        if isinstance(y, Tracer) or is_structure_type(type(y)):
            record = (*record[:2], *_as_now(record[2:]))
        # None for operands that the function does not depend on: their cotangents are zero.
        slots = bound.wanted
        if bound.recipe.is_elementwise:
            slots = tuple([w or None for w in slots])
        return y, Pullback(f, y, operands, record, slots, made_by, options)

    def __repr__(self) -> str:
        return "<rrule: y, pullback = rrule(f, x, ...)>"


frule = _Frule()
rrule = _Rrule()


def _as_now(x: Any) -> Any:
    """Return a value that stays as it is when an outer differentiation writes to a tracer in it."""
    if isinstance(x, Tracer):
        return x.frozen()
    return map_leaves(_as_now, x) if find_tracers(x) else x


@final
class Pullback:
    """Map from a cotangent of the result to a tuple with one cotangent per operand.

    ``pullback(y_bar)`` can be called any number of times; ``pullback(y_bar, wanted=(True, False))``
    skips the computation for unwanted operands, and returns ``ZeroTangent()`` for them.
    """

    __slots__ = ("call", "f", "guard", "operands", "options", "record", "wanted", "y")

    def __init__(
        self,
        f: Any,
        y: Any,
        operands: tuple[Any, ...],
        record: tuple[Any, ...] | None,
        wanted: tuple[bool | None, ...],
        call: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        self.guard = watched(record or ())
        self.f = f
        self.y, self.operands = y, operands
        self.record, self.wanted = record, wanted
        self.call = call
        self.options = options

    def __reduce__(self) -> Any:
        """Pickle as the call that made it; its rule is found and bound again."""
        self.guard.check()
        return _pullback_again, (self.call, self.operands, self.options)

    def __call__(
        self, y_bar: Any, /, *others: Any, wanted: tuple[bool, ...] | None = None
    ) -> tuple[Any, ...]:
        """Compute one cotangent per operand."""
        operands, record = self.operands, self.record
        y_bar = check_tangent_of(self.y, (y_bar, *others) if others else y_bar, "cotangent")
        self.guard.check()
        if record is not None and record[0].statement.recipe.always and is_zero(y_bar):
            y_bar = zero_tangent(self.y)
        if record is None or is_zero(y_bar):
            slots = zip(operands, self.wanted, strict=True)
            return tuple([NoTangent() if w is False else _nothing(x) for x, w in slots])
        pull = record[0]
        try:
            if wanted is not None:
                bars: Any = self._some(y_bar, record, wanted)
            else:
                bars = pull(y_bar, *record[2:])
                bars = bars if self.wanted.count(True) > 1 else (bars,)
                bars = bars if all(self.wanted) else self._placed(bars)
        except Exception as error:
            shown = ", ".join(map(describe, operands))
            note = f"while pulling back {describe(y_bar)} through {name_of(self.f)}({shown})"
            statement = getattr(pull, "statement", None)
            error.add_note(note if statement is None else f"{note}\n  rule: {statement.where}")
            raise
        theirs = (y_bar, self.y, *operands)
        theirs = tuple(flatten(theirs)[0]) if isinstance(y_bar, Tangent) else theirs
        given: list[Any] = []
        for bar, x in zip(bars, operands, strict=True):
            # A rule may return one array for several operands, and the caller may write to it.
            given.append(_leaving(bar, x, (*theirs, *given)))
        return tuple(given)

    def _placed(self, answer: tuple[Any, ...]) -> list[Any]:
        """Return one entry per operand, with zeros for operands without a cotangent."""
        rest, empty = iter(answer), {False: NoTangent(), None: ZeroTangent()}
        return [next(rest) if w else empty[w] for w in self.wanted]

    def _some(self, y_bar: Any, record: tuple[Any, ...], wanted: tuple[bool, ...]) -> list[Any]:
        """Compute the cotangents that are wanted, with None for the others."""
        if len(wanted) != len(self.operands):
            raise ProjectionError(
                f"wanted={wanted} has {len(wanted)} entries for {len(self.operands)} operands of "
                f"{name_of(self.f)}"
            )
        return self._placed(
            tuple(
                [
                    part(record[0], k, y_bar, record[2:]) if wanted[i] else None
                    for k, i in enumerate([i for i, w in enumerate(self.wanted) if w])
                ]
            )
        )

    def __repr__(self) -> str:
        return f"<pullback of {name_of(self.f)}({', '.join(map(describe, self.operands))})>"


def _pullback_again(call: Any, operands: Any, options: Any) -> Any:
    return rrule(*call, *operands, **options)[1]


def _told(run: Callable[..., Any], /, *operands: Any, **options: Any) -> Any:
    """Run a function that may raise another library's error, and add advice to the error."""
    try:
        return run(*operands, **options)
    except Exception as error:
        if not isinstance(error, ChainRulesError):
            for x in operands:
                refuse_objects(x)
        advise(error)
        raise


_plans = Cache()
"""The rule for a function, types and mode, for calls whose operands are passed to it unchanged."""


def _call(f: Any, operands: tuple[Any, ...], options: dict[str, Any], mode: str) -> Any:
    """Return a call in normal form.

    Returns
    -------
    f, native, bind_for, made_by
        The primitive, the function called in its place, the function that binds its rule for
        wanted operands, and the arguments that make the call again. For a call of several
        operations, ``native``, the first is None.
    options, operands
        Those of the primitive.
    """
    key = (f, tuple(map(type, operands)), mode)
    if not options:
        try:
            return *_plans.table[key], operands
        except (KeyError, TypeError):  # not cached, or unhashable
            pass
    plans, config = _plans.open(), None
    called, xs = f, operands
    if isinstance(f, Config):
        config, called, xs = f, xs[0], xs[1:]
    called, xs = unbind(called, xs)
    primal, xs, given, native = normalise_call(called, xs, options)
    made_by = (primal,) if config is None else (config, primal)
    if primal is None:
        return None, native, None, made_by, given, xs
    for x in xs:
        if type_info(type(x)).is_number:
            kind_of(x)  # raises for classes derived from numbers
    classes = tuple(map(type, xs))
    rule, config = demand(primal, classes, config, mode)
    bind_for = functools.cache(
        lambda wanted: bind(rule, classes, wanted, mode, primal=native, config=config)
    )
    found = primal, native, bind_for, made_by, given
    if not options and xs is operands and f is (native or primal):
        plans[key] = found
    return *found, xs


def _has_tangent(y: Any) -> bool:
    """Return whether a result has a tangent, as no integer, boolean or other object has one."""
    of = space(y)
    return not is_zero(of) and getattr(of, "kind", None) != "int"


def _nothing(x: Any) -> Any:
    return NoTangent() if is_zero(space(x)) else ZeroTangent()


def _leaving(bar: Any, x: Any, theirs: tuple[Any, ...]) -> Any:
    if bar is None:
        return _nothing(x)
    if kind_of(x) == "bool":
        return NoTangent()
    return own(deliver(bar), theirs)


# ------------------------------------------------- the default engine, for calls that name none

_ONE_MODE = (
    "only one mode is stated here, and no engine is installed that could transpose it; install "
    "one, or state the other mode"
)
_SEVERAL = "this call consists of several operations, and no engine is installed for them"


class AnyEngine(Config):
    """The installed engine, as rules see it."""

    capabilities = frozenset((ReverseMode, ForwardMode, Always))
    vjp: Any = property(lambda _: _installed(NotDifferentiableError, _ONE_MODE).vjp)
    jvp: Any = property(lambda _: _installed(NotDifferentiableError, _ONE_MODE).jvp)


any_engine = AnyEngine()
"""The installed engine, for callers that pass none."""


def _installed(lacking: type[Exception], msg: str) -> Any:
    """Return the installed engine; raise this error if there is none."""
    engine = plugins.default_engine()
    if engine is None:
        raise lacking(msg)
    return engine


def demand(
    f: Any, operands: tuple[type, ...], config: Config | None, mode: str
) -> tuple[Rule, Config | None]:
    """Return the rule for a mode, and the engine that it runs with.

    Without a config, the installed engine is used for operations that take functions, and to
    transpose a statement of the other mode, if that was made for it.

    Raises
    ------
    NoRuleError
        If there is no rule.
    """
    if config is None:
        plain, rule = find_rule(f, operands), find_rule(f, operands, any_engine)
        stated = None if plain is None else plain.statement(mode)
        found = None if rule is None else rule.statement(mode)
        if (
            rule is not None
            and found is not None
            and (stated is None or found.layer > stated.layer)
            and (found.transposed or isinstance(f, HigherOrder) or Always in found.requires)
        ):
            return rule, any_engine
    return demand_rule(f, operands, config, mode), config


# -------------------------------------------------------------- calls made of several operations


def pull_through(
    f: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[Any, Callable[..., Any]]:
    """Compute value and pullback of a call of several operations, by the installed engine."""
    places, rest = _apart(f, operands)
    y, pullback = _installed(NoRuleError, _SEVERAL).vjp(rest, *[operands[i] for i in places])

    return y, partial(_placed, pullback, places, len(operands))


def _placed(
    pullback: Callable[..., Any],
    places: list[int],
    n: int,
    y_bar: Any,
    /,
    *,
    wanted: tuple[bool, ...] | None = None,
) -> tuple[Any, ...]:
    if wanted is not None and len(wanted) != n:
        raise ProjectionError(f"wanted={wanted} has {len(wanted)} entries for {n} operands")
    bars = dict(zip(places, pullback(y_bar), strict=True))
    given = [bars.get(i, NoTangent()) for i in range(n)]
    return tuple([t if wanted is None or wanted[i] else ZeroTangent() for i, t in enumerate(given)])


def push_through(
    f: Callable[..., Any], operands: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Compute value and tangent of a call of several operations, by the installed engine.

    Raises
    ------
    ProjectionError
        If an operand that cannot be perturbed has a tangent.
    """
    places, rest = _apart(f, operands)
    for i, t in enumerate(tangents):
        if i not in places and not is_zero(t):
            raise ProjectionError(
                f"operand {i}, {operands[i]!r}, stands for itself, as an axis or a shape does, and "
                f"{describe(t)} was given as its tangent; give NoTangent()"
            )
    xs, ts = [operands[i] for i in places], [tangents[i] for i in places]
    return _installed(NoRuleError, _SEVERAL).jvp(rest, tuple(xs), tuple(ts))  # type: ignore[no-any-return]


def _apart(
    f: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[list[int], Callable[..., Any]]:
    """Return the indices of operands that an engine traces, and a function of only these.

    Operands written as integers, such as axes, shapes and indices, are excluded, unless all are.
    """
    places = [i for i, x in enumerate(operands) if not _is_literal(x)] or [*range(len(operands))]
    return places, f if len(places) == len(operands) else partial(_of_some, f, operands, places)


def _of_some(f: Callable[..., Any], operands: tuple[Any, ...], places: list[int], *xs: Any) -> Any:
    given = dict(zip(places, xs, strict=True))
    return f(*[given.get(i, x) for i, x in enumerate(operands)])


def _is_literal(x: Any) -> bool:
    kinds = [kind_of(leaf) if type_info(type(leaf)).is_number else "none" for leaf in flatten(x)[0]]
    return {"int"}.issuperset(kinds)
