"""The default engine, for calls of `frule` or `rrule` that need one without naming it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from chainrules_py.errors import NoRuleError, NotDifferentiableError, ProjectionError
from chainrules_py.primitives import plugins
from chainrules_py.primitives.closures.higher_order_primitive import HigherOrder
from chainrules_py.registry.explain import demand_rule
from chainrules_py.registry.statement_and_rule import Rule
from chainrules_py.registry.table import find_rule
from chainrules_py.rule_config import Always, Config, ForwardMode, ReverseMode
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.values.pytree import flatten
from chainrules_py.values.type_info import type_info

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
        rule = find_rule(f, operands)
        if rule is None or rule.statement(mode) is None:
            rule = find_rule(f, operands, any_engine)
            found = None if rule is None else rule.statement(mode)
            if (
                rule is not None
                and found is not None
                and (found.transposed or isinstance(f, HigherOrder) or Always in found.requires)
            ):
                return rule, any_engine
    return demand_rule(f, operands, config, mode), config


# ------------------------------------------------------------------ calls made of several
# operations


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
                f"{t!r} was given as its tangent; give NoTangent()"
            )
    xs, ts = [operands[i] for i in places], [tangents[i] for i in places]
    return _installed(NoRuleError, _SEVERAL).jvp(rest, tuple(xs), tuple(ts))  # type: ignore[no-any-return]


def _apart(
    f: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[list[int], Callable[..., Any]]:
    """Return the indices of operands that an engine traces, and a function of only these.

    Operands written as integers, such as axes, shapes and indices, are excluded, unless all are.
    """
    places = [i for i, x in enumerate(operands) if not _is_literal(x)]
    places = places or [*range(len(operands))]
    return places, f if len(places) == len(operands) else partial(_of_some, f, operands, places)


def _of_some(f: Callable[..., Any], operands: tuple[Any, ...], places: list[int], *xs: Any) -> Any:
    given = list(operands)
    for i, x in zip(places, xs, strict=True):
        given[i] = x
    return f(*given)


def _is_literal(x: Any) -> bool:
    kinds = [kind_of(leaf) if type_info(type(leaf)).is_number else "none" for leaf in flatten(x)[0]]
    return {"int"}.issuperset(kinds)
