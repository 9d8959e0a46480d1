"""Memory that a rule is given, gives and keeps: operands, tangents, buffers, arrays that it saved.

What a person's function gives for a tangent is added to others, and handed out, when the function
has been called again. So what somebody else still holds is copied: Python counts who does. What it
is given are values of the program, tangents that others get as well, and what it saved for all
calls to come: it writes to none of these.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.closures.contents import content
from chainrules_py.registry.statement import Statement
from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.manipulation import copy


def give_own(bound: Any, mode: str, writes: bool) -> None:
    """Have the halves of a rule that a person wrote give arrays that nobody else holds.

    What they are given is compared before and after: at each call if their code may write to it.
    """
    statement: Statement = bound.statement
    run = watched(bound.run, statement, writes)
    if mode == "forward":

        def run_forward(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, *dots = run(tangents, *xs, **options)
            return y, _own(dots, 0, tangents)

        bound.run = run_forward
        return
    n = 2 if mode == "both" else 1

    def run_record(links: Any, *xs: Any, **options: Any) -> Any:
        y, record = run(links, *xs, **options)
        return y, (*[_owning_half(half, statement, writes) for half in record[:n]], *record[n:])

    bound.run = run_record


def _owning_half(half: Any, statement: Statement, writes: bool) -> Any:
    """Wrap a half, once, so that what it gives is nobody else's."""
    made = getattr(half, "owning", None)
    if made is None:
        made, *parts = [owning(watched(f, statement, writes)) for f in (half, *half.parts)]
        made.statement, made.parts = half.statement, tuple(parts)
        made.batched = half.batched
        if callable(made.batched):
            made.batched = owning(watched(half.batched, statement, writes))
        half.owning = made
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


def watched(f: Callable[..., Any], statement: Statement, always: bool) -> Callable[..., Any]:
    """Wrap what a person wrote, so that it is an error if it writes to what it is given.

    Of code that cannot be seen to write, the first call is looked at.

    Raises
    ------
    MutationError
        When it is called: naming what was written to.
    """
    state = _Looks(always)

    def unwriting(*given: Any, **options: Any) -> Any:
        if not state.next:
            return f(*given, **options)
        state.next = state.always
        leaves = flatten((given, options))[0]
        before = [*_marks(leaves)]
        pullbacks = [x for x in leaves if type(x) is types.FunctionType and x.__closure__]
        first = [_check_again(x, statement) for x in pullbacks]
        try:
            found = f(*given, **options)
        except ValueError as error:  # NumPy's: of what is read-only anyway
            if "read-only" in str(error):
                raise MutationError(_written(statement, "an array, read-only here,")) from error
            raise
        for x, memory, mark in before:
            if memory.fingerprint(x, False) != mark:
                raise MutationError(_written(statement, describe(x)))
        if not state.always and [*map(_captured, pullbacks)] != first:
            state.next = state.always = True
        return found

    return unwriting


class _Looks:
    """Whether the next call is looked at, and all; no copy of a pullback compares an object."""

    __slots__ = ("always", "next")

    def __init__(self, always: bool) -> None:
        self.always, self.next = always, True


def _written(statement: Statement, shown: str) -> str:
    return (
        f"{statement!r} writes in place to {shown} that it was given, which others read as well; "
        f"compute a new one (x * 2.0 in place of x *= 2.0), or write to a copy"
    )


def _marks(leaves: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for x in leaves:
        memory = type_info(type(x)).memory
        if memory is not None and not isinstance(x, Tracer):
            yield x, memory, memory.fingerprint(x, False)


_CALLED: WeakKeyDictionary[types.FunctionType, tuple[Any, ...]] = WeakKeyDictionary()
"""What pullbacks had captured when they were called first."""


def _captured(pullback: types.FunctionType) -> tuple[Any, ...]:
    """Return what tells whether numbers that a function captured are others by now."""
    leaves = flatten([content(cell) for cell in pullback.__closure__ or ()])[0]
    numbers = [x for x in leaves if isinstance(x, (float, complex))]
    return len(leaves), numbers, [mark for *_, mark in _marks(leaves)]


def _check_again(pullback: types.FunctionType, statement: Statement) -> tuple[Any, ...]:
    """Raise if a pullback that is called once more has changed the numbers that it captured.

    It may use an array as scratch, and be called once. What is filled in is no change.
    """
    now = _captured(pullback)
    before = _CALLED.setdefault(pullback, now)
    if before != now and before[0] == now[0]:
        msg = (
            f"a pullback of {statement!r} has changed numbers that it captured: called once more, "
            f"it would give another derivative; let it assign to names of its own, and write to "
            f"arrays that it makes itself"
        )
        raise MutationError(msg)
    return now
