"""Steadiness: whether every turn of a scan does what the one did that was recorded.

A turn that counts, draws, or takes from an iterator is another each time. What the function reaches
has to be as it was before the turns, with no iterator among it; and a turn that is recorded twice,
on the same values, has to be the same calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainrules_compile.captures import Captures, drawn
from chainrules_compile.passes.simplify import static_key
from chainrules_py.extend import states
from chainrules_py.program import Call, Value

_SEEN = (tuple, list, dict, float, complex, int, str, bool, type(None))


class Unsteady(Exception):  # noqa: N818 (it is no error: each turn is recorded)
    """A turn of a scan does something else each time."""


@contextlib.contextmanager
def steady(f: Any) -> Iterator[None]:
    """Raise where a function is not what it was after it was called, or may not be.

    Raises
    ------
    Unsteady
        The function around the scan is recorded anew: what was changed is not what it was.
    """
    captures = Captures((f,))
    if captures.iterator() is not None:
        raise Unsteady
    reach, state = captures.reach, captures.state()
    put_back = states(reach.generators, reach.may_draw())
    before = dict(map(drawn, put_back))
    try:
        yield
    finally:
        now = dict(map(drawn, states(reach.generators, reach.may_draw())))
        if any([now[key] != known for key, known in before.items()]):
            for put in put_back:
                put()
            raise Unsteady
        if state.changed():
            raise Unsteady


def check_same(
    calls: Sequence[Call],
    again: Sequence[Call],
    given: Mapping[Value, Value],
    constants: Mapping[Value, Any],
) -> None:
    """Raise unless two records of a turn, of values that stand for one another, are the same.

    Raises
    ------
    Unsteady
        If they differ in a call, a number, or an array.
    """
    if len(calls) != len(again):
        raise Unsteady
    instead = dict(given)
    for call, other in zip(calls, again, strict=True):
        for x in other.values:
            if x not in instead and x in constants:
                instead[x] = x  # unless it is the constant of the first turn
        if len(call.values) != len(other.values) or len(call.results) != len(other.results):
            raise Unsteady
        for x, y in zip(call.values, other.values, strict=True):
            if y in constants and x in constants and x is not y:
                if not _equal(constants[x], constants[y]):
                    raise Unsteady
                instead[y] = x
        if _form(call) != _form(other.replaced(instead)):
            raise Unsteady
        instead.update(zip(other.results, call.results, strict=True))


def _equal(x: Any, y: Any) -> bool:
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return type(x) is type(y)
    same = x.shape == y.shape and x.dtype == y.dtype
    return same and (x is y or x.tobytes() == y.tobytes())


def _form(call: Call) -> Any:
    """Return what two calls have in common that do the same."""
    name = getattr(call.function, "__name__", type(call.function).__name__)
    return name, _key(call.operands), _key({k: call.options[k] for k in sorted(call.options)})


def _key(x: Any) -> Any:
    """Return the key of an operand; of what is no number, structure or value, its class alone."""
    cls = type(x)
    if cls in (tuple, list):
        return (cls, *map(_key, x))
    if cls is dict:
        return (cls, *[(k, _key(y)) for k, y in x.items()])
    if cls is Value or cls in _SEEN or isinstance(x, (np.generic, type, np.dtype)):
        return static_key(x)
    return cls
