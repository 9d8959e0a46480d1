"""Structures registered by users: compare what their functions state with what they do.

A registration has a function that takes a value apart and one that rebuilds it, and nothing else
checks that they agree. If they do not, derivatives go to other fields, or are lost: so inside
`debug` every rebuilt value is taken apart again, and must hold the values it was built from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from chainrules_py.errors import RuleError, describe
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.structure import fields_of, is_structure_type

_SHARED = (int, bool, str, type(None))
"""Classes whose objects are shared between equal values, so that identity shows nothing."""


def check_rebuilt(x: Any, new: Any, values: Sequence[Any]) -> None:
    """Raise if a rebuilt value holds something else than the values it was built from.

    Raises
    ------
    RuleError
        The message names the class and the field.
    """
    was, cls = type(x), type(new)
    if cls is not was and issubclass(was, cls):
        fact = f"rebuild made a {cls.__qualname__} for its subclass, whose methods are others"
        _refuse(x, fact, f"write type(x)(...) in place of {cls.__qualname__}(...)")
    if not is_structure_type(cls):
        _refuse(x, f"rebuild made {describe(new)}", "return a new object of the same class")
    before, now = fields_of(x), fields_of(new)
    if len({key for key, _ in before}) < len(before):
        _refuse(x, f"to_fields gave the keys {_keys(before)}", "give each field a key of its own")
    if [key for key, _ in now] != [key for key, _ in before]:
        fact = f"rebuild changed the fields {_keys(before)} to {_keys(now)}"
        _refuse(x, fact, "list them in the same order, whatever the values are")
    for (key, old), (_, found), given in zip(before, now, values, strict=False):
        if found is not given and (fault := _fault(old, found, given, values)):
            fact = f"rebuild was given {describe(given)} for {key!r}, and {fault} is there"
            _refuse(x, fact, "put each value where to_fields takes it from")


def _fault(old: Any, found: Any, given: Any, values: Sequence[Any]) -> str:
    """Describe what was found in place of a value; empty if it may be a converted value."""
    if found is old and not isinstance(found, _SHARED):
        return "the old value"
    if any([found is value for value in values]) and not isinstance(found, _SHARED):
        return "another field's value"
    return describe(found) if isinstance(given, Tracer) and isinstance(found, _PLAIN) else ""


_PLAIN = (float, complex, *_SHARED)


def _keys(pairs: list[tuple[Any, Any]]) -> str:
    return f"({', '.join([repr(key) for key, _ in pairs])})"


def _refuse(x: Any, fact: str, remedy: str) -> NoReturn:
    raise RuleError(f"register_structure of {type(x).__qualname__}: {fact}; {remedy}")
