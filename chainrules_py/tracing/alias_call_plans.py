"""Plans of library functions that call another function, with rearranged arguments."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.aliases.alias import Alias, Row
from chainrules_py.primitives.primitive import is_static
from chainrules_py.primitives.signature import parameters_of


def renaming(operation: Any, record: Any, places: Any, stated: Any) -> Any:
    """Return a plan that selects operands and options from a call."""
    defaults = operation.options
    alone = places == (0,)
    known: dict[Any, dict[str, Any]] = {}  # options, by the arguments they come from

    def plan(*operands: Any, **keywords: Any) -> Any:
        key: Any = None
        if alone:
            given = (*operands[1:], *keywords.values()) if keywords else operands[1:]
            kinds = (*map(type, given),)
            if _FLAT.issuperset(kinds):
                key = given, kinds  # with the types, as True equals 1 in a dict
            elif tuple in kinds:
                key = _key_of_tuples(given, kinds)
            found = known.get(key)
            if found is not None:
                return record(*operands[:1], **found)
        options = options_of(stated, operands, keywords, defaults.copy())
        xs = operands[:1] if alone else tuple([operands[p] for p in places])
        if not is_static(*options.values()):
            return operation(*xs, **options)
        if key is not None:
            if len(known) >= _MOST:
                known.clear()
            known[key] = options
        return record(*xs, **options)

    return plan


def composing(row: Alias, rows: list[Row]) -> Any:
    """Return a plan that calls a composite, or None if the call needs more than that."""
    operation, parameters = row.operation, parameters_of(row.operation)
    several = parameters.variadic or len({name for name, *_ in rows}) != len(rows)
    if row.hands_on or row.gather is not None or several:
        return None
    pairs = zip(parameters.positional, rows, strict=False)
    ahead = [*[a == b and type(place) is int for a, (b, place, *_) in pairs], False].index(False)
    first, rest = rows[:ahead], rows[ahead:]  # the rest are passed by name
    if not rest and not any(convert for *_, convert in first):
        return operation

    def plan(*operands: Any, **keywords: Any) -> Any:
        options = options_of(rest, operands, keywords, {})
        xs = [
            x if convert is None or x is default else convert(x)
            for x, (_, _, default, convert) in zip(operands, first, strict=False)
        ]
        return operation(*xs, **options)

    return plan


def options_of(
    stated: Any, operands: tuple[Any, ...], keywords: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Add the options of a call to those in ``options``."""
    for name, place, default, convert in stated:
        kind = type(place)
        if kind is int:
            value = operands[place]
        elif kind is str:
            value = keywords[place]
        else:
            value = gathered(operands[place])
        if value is not default:
            options[name] = value if convert is None else convert(value)
    return options


_FLAT = {int, bool, type(None), str}
_MOST = 256
"""The number of option sets that a plan caches."""


def _key_of_tuples(given: tuple[Any, ...], kinds: tuple[type, ...]) -> Any:
    """Return a cache key for options that are numbers, names and tuples of them, or None."""
    inside = [x for value in given if type(value) is tuple for x in value]
    among = (*map(type, inside),)
    flat = _FLAT.issuperset(among) and _FLAT.issuperset(
        [kind for kind in kinds if kind is not tuple]
    )
    return (given, kinds, among) if flat else None


def gathered(rest: tuple[Any, ...]) -> Any:
    """Return values that are passed as several arguments, or as one sequence."""
    whole = len(rest) == 1 and (
        isinstance(rest[0], (type(None), tuple, list, range)) or getattr(rest[0], "ndim", 0) > 0
    )
    return rest[0] if whole else rest
