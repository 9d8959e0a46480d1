"""Memory that a rule gives and keeps: a buffer that it uses again, an array that it has saved.

What a person's function gives for a tangent is added to others, and handed out, when the function
has been called again. So what somebody else still holds is copied: Python counts who does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.manipulation import copy


def give_own(bound: Any, mode: str) -> None:
    """Have the halves of a rule that a person wrote give arrays that nobody else holds."""
    run = bound.run
    if mode == "forward":

        def run_forward(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, *dots = run(tangents, *xs, **options)
            return y, _own(dots, 0, tangents)

        bound.run = run_forward
        return
    n = 2 if mode == "both" else 1

    def run_record(links: Any, *xs: Any, **options: Any) -> Any:
        y, record = run(links, *xs, **options)
        return y, (*map(_owning_half, record[:n]), *record[n:])

    bound.run = run_record


def _owning_half(half: Any) -> Any:
    """Wrap a half, once, so that what it gives is nobody else's."""
    made = getattr(half, "owning", None)
    if made is None:
        made = half.owning = owning(half)
        made.statement, made.parts = half.statement, tuple(map(owning, half.parts))
        made.batched = owning(half.batched) if callable(half.batched) else half.batched
    return made


def owning(half: Callable[..., Any]) -> Any:
    """Wrap a push or pull, so that what it gives is nobody else's when it is called again."""

    def own_half(given: Any, *kept: Any) -> Any:
        found: Any = half(given, *kept)
        given = given if type(given) is tuple else (given,)
        if type(found) is not tuple:
            bars = [found]
            del found
            return _own(bars, 0, given)
        bars = [*found]
        del found
        return tuple([_own(bars, i, given) for i in range(len(bars))])

    return own_half


def _own(ts: list[Any], i: int, given: tuple[Any, ...]) -> Any:
    """Copy one of some tangents if somebody else holds it; what a half was given it may give."""
    t = ts[i]
    cls = type(t)
    if issubclass(cls, Tangent):
        return map_fields(lambda part: _own([part], 0, given), t)
    info = type_info(cls)
    if info.is_foreign:
        check_is_tangent(t)
    if info.memory is None or info.library.mutable is None or issubclass(cls, Tracer):
        return t
    if any([t is x for x in given]):
        return t
    if sys.getrefcount(t) <= _ALONE:
        memory = info.memory.owner(t)
        if memory is t or sys.getrefcount(memory) <= _ALONE:
            return t
        if any([type(x) is cls and memory is info.memory.owner(x) for x in given]):
            return t
    return copy(t)


def _references(ts: Any, i: int) -> int:
    """Count the references to what one container and one name hold."""
    t = ts[i]
    return sys.getrefcount(t)


_ALONE = _references((object(),), 0)  # which depends on how Python counts its own
