"""Structures that people register: what they state is compared with what it does.

A statement has two halves, one that takes a value apart and one that puts it together, and nothing
else says that they agree. If they do not, derivatives go to other fields, or nowhere: so whatever
is rebuilt is taken apart again, and has to hold what was put in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from chainrules_py.errors import RuleError, describe
from chainrules_py.values.arrays import Tracer

_SHARED = (int, bool, str, type(None))
"""Classes of which one object stands for many values: which of them it was cannot be told."""


_MANY_KEYS = 1000  # a class with more is a table, whose keys are no attributes


def taking_apart(
    to_fields: Callable[[Any], Iterable[Any]], seen: dict[Any, None]
) -> Callable[[Any], list[tuple[Any, Any]]]:
    """Return what lists the pairs of a value; raise for what are none, or have one key twice.

    The keys that values had are ``seen``: the class does not know them.
    """

    def items(x: Any) -> list[tuple[Any, Any]]:
        found = to_fields(x)
        pairs: list[Any] = [*found] if isinstance(found, Iterable) else [None]
        if not all([isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs]):
            _refuse(x, f"to_fields gave {describe(found)}", "return (key, value) pairs, in a list")
        if len({key for key, _ in pairs}) < len(pairs):
            keys = ", ".join([repr(key) for key, _ in pairs])
            _refuse(x, f"to_fields gave the keys {keys}", "give each field a key of its own")
        if len(seen) < _MANY_KEYS:
            seen.update(dict.fromkeys([key for key, _ in pairs if type(key) is str]))
        return pairs

    return items


def putting_together(
    rebuild: Callable[[Any, Sequence[Any]], Any],
    items: Callable[[Any], list[tuple[Any, Any]]],
    items_of: Callable[[Any], list[tuple[Any, Any]] | None],
) -> Callable[[Any, Sequence[Any]], Any]:
    """Return what rebuilds a value; raise where it holds something else than was put in.

    Parameters
    ----------
    rebuild : callable
        As it was registered.
    items : callable
        What takes values apart.
    items_of : callable
        The same for what was rebuilt, which may be of another class; None where it is a leaf.
    """

    def rebuilt(x: Any, values: Sequence[Any]) -> Any:
        new = rebuild(x, values)
        was, cls = type(x), type(new)
        if cls is not was and issubclass(was, cls):
            fact = f"rebuild made a {cls.__qualname__} for its subclass, whose methods are others"
            _refuse(x, fact, f"write type(x)(...) in place of {cls.__qualname__}(...)")
        now = items_of(new)
        if now is None:
            _refuse(x, f"rebuild made {describe(new)}", "return a new object of the same class")
        before = items(x)
        if [key for key, _ in now] != [key for key, _ in before]:
            fact = f"rebuild changed the fields {_keys(before)} to {_keys(now)}"
            _refuse(x, fact, "list them in the same order, whatever the values are")
        for (key, old), (_, found), given in zip(before, now, values, strict=False):
            if found is not given and (fault := _fault(old, found, given, values)):
                fact = f"rebuild was given {describe(given)} for {key!r}, and {fault} is there"
                _refuse(x, fact, "put each value where to_fields takes it from")
        return new

    return rebuilt


def _fault(old: Any, found: Any, given: Any, values: Sequence[Any]) -> str:
    """Say what is in the place of a value, unless that was converted."""
    if found is old and not isinstance(found, _SHARED):
        return "the old value"
    if any([found is value for value in values]) and not isinstance(found, _SHARED):
        return "another field's value"
    return describe(found) if isinstance(given, Tracer) and isinstance(found, _PLAIN) else ""


_PLAIN = (float, complex, *_SHARED)


def _keys(pairs: list[tuple[Any, Any]]) -> str:
    return f"({', '.join([repr(key) for key, _ in pairs])})"


def _refuse(x: Any, fact: str, remedy: str) -> NoReturn:
    msg = f"register_structure of {type(x).__qualname__}: {fact}; {remedy}"
    raise RuleError(msg)
