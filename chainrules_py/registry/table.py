"""The table of rules, and the look-up of a rule.

Each primal has two small tables, one per mode; most statements are in both. In front of them, one
dict per set of engine capabilities maps ``(f, types)`` to the rule, misses included.
"""

from __future__ import annotations

import types
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

from chainrules_py.errors import AmbiguousRuleError, RuleError, describe
from chainrules_py.primitives.aliases.alias import UFUNC_KEYWORDS, alias, aliases
from chainrules_py.primitives.method_table import Cache, MethodTable, invalidate, lock
from chainrules_py.primitives.plugins import (
    Layer,
    check_contract,
    module_of,
    see_about,
    see_libraries,
)
from chainrules_py.primitives.primitive import Primitive, primitive
from chainrules_py.primitives.signature import of_operands
from chainrules_py.registry.statement_and_rule import MODES, Rule, Source, Statement
from chainrules_py.rule_config import Capability, Config, meets
from chainrules_py.values.caches import entering, named

stated: weakref.WeakKeyDictionary[Primitive[..., Any], None] = weakref.WeakKeyDictionary()
"""The primals that have statements, in order of their first statement."""
_asked: weakref.WeakSet[Primitive[..., Any]] = weakref.WeakSet()
"""The primals whose rules have been looked up."""
named.append(Primitive)
_caches: defaultdict[frozenset[Capability], Cache] = defaultdict(Cache)
_plain = _caches[frozenset()]
on_change: list[Callable[[], object]] = []
"""Called when users change statements of a primal that was looked up, so that what follows from
rules, such as compiled programs, is dropped."""
_MISSING = object()


@lock
def enter(statement: Statement) -> None:
    """Add a statement to the table; on an error the table is unchanged.

    Raises
    ------
    RuleError
        If the same layer has another statement of the same signature. If two packages state
        one, both are kept, and a call that finds them raises.
    ContractError
        If the stating package was written for another contract, or declares none.
    """
    check_contract(statement.source.module)
    present = statement.primal.stated[0]
    kept = []
    for other in present:
        if not other.has_place_of(statement) or other.owner != statement.owner:
            kept.append(other)
        elif other.modes != statement.modes or not statement.source.replaces(other.source):
            name = statement.primal.__name__
            over = (
                ""
                if statement.source.by_call
                else f", or write @{statement.recipe.constructor}({name}, override=True)"
            )
            raise RuleError(
                f"{name} has two rules for the same types, at {other.source.where} and at "
                f"{statement.source.where}; delete one, in a notebook by unregister({name}){over}"
            )
    stated[statement.primal] = None
    # A primal that was never looked up is in no cache: functions that are repeatedly created
    # and given a rule do not invalidate the caches of others.
    tell = (invalidate, *on_change) if statement.primal in _asked else ()
    _put(statement.primal, (*kept, statement), tell)


@lock
def remove(statements: Collection[Statement], instead: Collection[Statement] = ()) -> None:
    """Remove statements from the table, and add others; idempotent."""
    for primal in {s.primal for s in (*statements, *instead)}:
        kept = [s for s in primal.stated[0] if s not in statements and s not in instead]
        rest = [s for s in instead if s.primal is primal]
        _put(primal, (*kept, *rest), (invalidate, *on_change))


def _put(primal: Any, statements: tuple[Statement, ...], tell: tuple[Any, ...]) -> None:
    """Replace all statements of a primal at once, and invalidate what was looked up before."""
    for each in tell:  # before the change: an interruption after it leaves nothing outdated
        each()
    primal.stated = statements, {}
    for each in tell:  # after it: a signal handler may have looked something up in between
        each()


@lock
def _table(
    primal: Primitive[..., Any],
    mode: str,
    can: frozenset[Capability],
    layer: int,
    writer: Layer | str | None = None,
) -> MethodTable[Statement]:
    """Return the method table for a mode in a layer of overrides.

    With a ``writer``, only statements of this owner that are not derived from the other mode.
    """
    statements, tables = primal.stated
    key = (mode, can, layer, writer)
    if key not in tables:
        table: MethodTable[Statement] = MethodTable(primal.__name__)
        # At equal signature and layer, a rule with more requirements replaces one with fewer.
        for s in sorted(statements, key=lambda s: len(s.requires)):
            fits = mode in s.modes and meets(can, s.requires) and s.override == layer
            if fits and (writer is None or (s.owner == writer and not s.transposed)):
                # Of equal signatures the layer decides, and then whether the mode is written.
                table.add(s.signature, s.varargs, 2 * s.layer - s.transposed, s)
        tables[key] = table
    return tables[key]  # type: ignore[no-any-return]


def _best(
    primal: Primitive[..., Any],
    mode: str,
    can: frozenset[Capability],
    operands: tuple[type, ...],
) -> Statement | None:
    """Return the statement for these types in the highest layer that has one.

    Overrides form a layer above all other statements, and each block of overrides a layer above
    the earlier ones.
    """
    for layer in sorted({s.override for s in primal.stated[0]}, reverse=True):
        found = _table(primal, mode, can, layer).resolve(operands)
        if found is not None and found.transposed:
            # Of one package, what states the mode comes before what follows, for any types.
            found = _table(primal, mode, can, layer, found.owner).resolve(operands) or found
        if found is not None:
            equal = [s for s in primal.stated[0] if mode in s.modes and s.has_place_of(found)]
            if len(equal) > 1:  # of several packages
                places = "".join([f"\n  {s.owner}, at {s.where}" for s in equal])
                raise AmbiguousRuleError(
                    f"{primal.__name__} has derivatives of several packages, and none comes before "
                    f"the others:{places}\nstate one yourself, which comes before theirs, or "
                    f"uninstall all but one of them"
                )
            return found
    return None


def find_rule(f: Any, operands: tuple[type, ...], config: Config | None = None) -> Rule | None:
    """Return the rule of a function for operands of these types, or None.

    Parameters
    ----------
    f : callable
        A primitive, a library function that is aliased to one, or any callable.
    operands : tuple of type
        The types of the operands; a tracer counts as its payload.
    config : Config, optional
        The engine; rules with ``requires=`` are only found if it has these capabilities.

    Raises
    ------
    AmbiguousRuleError
        If two rules match and neither has precedence.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> find_rule(sin, (float,)) is find_rule(sin, (float,))
    True
    >>> find_rule(print, (str,)) is None
    True
    """
    cache = _plain if config is None else _caches[config.capabilities]
    try:
        rule = cache.table.get((f, operands), _MISSING)
        if rule is not _MISSING:
            return rule  # type: ignore[no-any-return]
    except TypeError:  # f has no hash
        pass
    return _fill(f, operands, config)


def _fill(f: Any, operands: tuple[type, ...], config: Config | None) -> Rule | None:
    called, _ = unbind(f, ())
    if called is not f:
        return find_rule(called, (type(getattr(f, "__self__", f)), *operands), config)
    see_libraries(f, operands)
    if primal_of(f) is None:
        see_about(module_of(f))
    can = frozenset() if config is None else config.capabilities
    cache = _caches[can].open()  # before anything that a registration changes is read
    primal = primal_of(f)
    if primal is None:
        return None
    see_about(primal.__module__)
    entering(primal, weight=32)  # its rule keeps alive what its functions captured
    found = cache[f, operands] = _resolve(primal, operands, can)
    return found


def _resolve(
    primal: Primitive[..., Any], operands: tuple[type, ...], can: frozenset[Capability]
) -> Rule | None:
    _asked.add(primal)  # before statements are read: one that is added meanwhile invalidates this
    best = [_best(primal, mode, can, operands) for mode in MODES]
    forward, reverse = [None if s is None or s.recipe is None else s for s in best]
    return None if forward is None and reverse is None else Rule(primal, forward, reverse)


def looked_into(
    primal: Primitive[..., Any], operands: tuple[type, ...], config: Config | None = None
) -> bool:
    """Return whether a call is differentiated through the body of its primitive.

    It is not if any rule is stated for the primitive, in any mode and for any types: tracing the
    body would silently skip the rule. `opt_out` states for which types the body is traced anyway.

    Parameters
    ----------
    primal : Primitive
        The operation that is called.
    operands : tuple of type
        The types of the operands.
    config : Config, optional
        The engine.
    """
    return primal.has_body and not primal.opaque and is_ruleless(primal, operands, config)


def is_ruleless(
    primal: Primitive[..., Any], operands: tuple[type, ...], config: Config | None = None
) -> bool:
    """Return whether no rule concerns a call, so that hosts may leave it to its implementation.

    If there is a rule for other types, or in another mode, differentiating the call raises.
    Parameters are those of `looked_into`.
    """
    if find_rule(primal, operands, config) is not None:
        return False
    if all([s.recipe is None for s in primal.stated[0]]):
        return True
    can = frozenset() if config is None else config.capabilities
    return all([_best(primal, mode, can, operands) is not None for mode in MODES])


def primal_of(f: Any) -> Primitive[..., Any] | None:
    """Return the primitive that holds the rules of a callable, or None.

    Lowered aliases and composites have none, as they consist of several operations.
    """
    if isinstance(f, Primitive):
        return f
    try:
        row = aliases.get(f)
    except TypeError:  # unhashable
        return None
    return row.operation if row is not None and isinstance(row.operation, Primitive) else None


def declare(f: Callable[..., Any]) -> Primitive[..., Any]:
    """Declare a primitive for a ufunc, whose calls reach the operands by NumPy's protocol.

    If it already has an alias, the alias still applies to types without a rule.
    """
    with lock:
        found = primal_of(f)
        if found is None:
            composite = aliases.get(f)
            # Its operands do not include those for the result.
            found = primitive(of_operands(f, None if composite is None else composite.operation))
            names = dict.fromkeys(found.operands)
            aliases[f] = alias(
                f,
                to=found,
                parameters=names | UFUNC_KEYWORDS,
                refuse=tuple(UFUNC_KEYWORDS),
                positional=tuple(names),
            )
            found.opaque = composite is None
            if composite is not None:
                anything = (object,) * len(found.operands)
                found.implement(f, types=anything)
                enter(Statement(found, anything, None, Source.function(composite.operation), None))
                for each in on_change:
                    each()
            invalidate()  # f itself may have been looked up
        return found


def unbind(f: Any, operands: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Replace a bound method or instance by its function, and prepend ``self`` to the operands."""
    if isinstance(f, types.MethodType):
        return f.__func__, (f.__self__, *operands)
    if isinstance(f, (Primitive, types.FunctionType, types.BuiltinFunctionType, type)):
        return f, operands
    call = type(f).__call__ if callable(f) else None
    return (f, operands) if primal_of(call) is None else (call, (f, *operands))


def name_of(f: Any) -> str:
    """Return the name of a callable, for messages."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or describe(f)
    return str(name).rpartition("<locals>.")[2]
