"""Memory that a rule is given, gives and keeps: operands, tangents, buffers, arrays that it saved.

What a person's function gives for a tangent is added to others, and handed out, when the function
has been called again. So what somebody else still holds is copied: Python counts who does. What it
is given are values of the program, tangents that others get as well, and what it saved for all
calls to come: it writes to none of these.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.closures.contents import content
from chainrules_py.primitives.closures.reach import Reach, Walk
from chainrules_py.primitives.closures.writes import updated
from chainrules_py.registry.statement import Statement
from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.tracers import is_opaque
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.manipulation import copy

_SAVED, _MOST = "saved values", 1_000


def give_own(bound: Any, mode: str, writes: bool) -> None:
    """Have the halves of a rule that a person wrote give arrays that nobody else holds.

    What they are given is compared before and after: at each call if their code may write to it.
    """
    statement: Statement = bound.statement
    run = watched(bound.run, statement, writes, "tangent", "operand")
    if mode == "forward":

        def run_forward(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, *dots = run(tangents, *xs, **options)
            return y, _own(dots, 0, tangents)

        bound.run = run_forward
        return
    n = 2 if mode == "both" else 1
    seeds = ("tangent", "cotangent")[mode == "reverse" :]

    def run_record(links: Any, *xs: Any, **options: Any) -> Any:
        y, record = run(links, *xs, **options)
        own = [_owning_half(half, statement, writes, seeds[i]) for i, half in enumerate(record[:n])]
        return y, (*own, *record[n:])

    bound.run = run_record


def _owning_half(half: Any, statement: Statement, writes: bool, seed: str) -> Any:
    """Wrap a half, once, so that what it gives is nobody else's."""
    made = getattr(half, "owning", None)
    if made is None:
        each = half, half.batched, *half.parts
        made, many, *parts = [
            owning(watched(f, statement, writes, seed, _SAVED)) if callable(f) else f for f in each
        ]
        made.statement, made.parts, made.batched = half.statement, tuple(parts), many
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


def watched(
    f: Callable[..., Any], statement: Statement, always: bool, first: str, rest: str
) -> Callable[..., Any]:
    """Wrap what a person wrote, so that it is an error if it writes to what it is given.

    Of code that cannot be seen to write, the first call is looked at.

    Parameters
    ----------
    f : callable
        What was written.
    statement : Statement
        Whose it is.
    always : bool
        Whether it may write at every call.
    first, rest : str
        What it is given: first, and besides.

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
        others = flatten((given[1:], options))[0]
        objects = [x for x in others if is_opaque(type(x))] if rest == _SAVED else []
        before = {rest: _marks([*others, *_inside(objects)]), first: _marks(flatten(given[:1])[0])}
        pullbacks = [x for x in others if type(x) is types.FunctionType and x.__closure__]
        known = [_check_again(x, statement) for x in pullbacks]
        try:
            found = f(*given, **options)
        except ValueError as error:  # NumPy's: of what is read-only anyway
            if "read-only" in str(error):
                shown = f"an array, read-only here, among its {first} and {rest}"
                raise MutationError(_written(statement, shown)) from error
            raise
        for what, marks in before.items():
            for x in _written_to(marks):
                raise MutationError(_written(statement, f"its {what} {describe(x)}"))
        if rest != _SAVED:  # which may be a memory of what was computed
            now = flatten((given[1:], options))[0]
            if [*map(id, now)] != [*map(id, others)]:
                raise MutationError(_written(statement, f"a container among its {rest}"))
        if not state.always and any([_written_to(m) for m in known]):
            state.next = state.always = True
        return found

    return unwriting


def _inside(objects: list[Any]) -> list[Any]:
    """List the arrays that objects hold, named or not."""
    if not objects:
        return []
    reach = Reach(())
    Walk(reach, _MOST).over(objects)
    return reach.arrays


_Marks: TypeAlias = list[tuple[Any, Any, Any]]
"""Arrays, each with what answers for its memory, and its fingerprint."""


class _Looks:
    """Whether the next call is looked at, and all; no copy of a pullback compares an object."""

    __slots__ = ("always", "next")

    def __init__(self, always: bool) -> None:
        self.always, self.next = always, True


def _written(statement: Statement, shown: str) -> str:
    return (
        f"{statement!r} writes in place to {shown}, which others read as well; compute a new array "
        f"(x * 2.0 in place of x *= 2.0), or write to a copy"
    )


def _marks(xs: Iterable[Any]) -> _Marks:
    """Take the fingerprints of the arrays among some values."""
    found = []
    for x in xs:
        memory = type_info(type(x)).memory
        if memory is not None and not isinstance(x, Tracer):
            found.append((x, memory, memory.fingerprint(x, False)))
    return found


def _written_to(marks: _Marks) -> list[Any]:
    return [x for x, memory, mark in marks if memory.fingerprint(x, False) != mark]


_CALLED: WeakKeyDictionary[types.FunctionType, tuple[_Marks, dict[str, _Marks]]] = (
    WeakKeyDictionary()
)
"""The arrays that pullbacks had captured when they were called first, and those they update."""


def _check_again(pullback: types.FunctionType, statement: Statement) -> _Marks:
    """Raise if a pullback that is called once more has written to an array that it captured.

    It may use one as scratch, and be called once; and remember what it has computed of others.
    """
    names, cells = pullback.__code__.co_freevars, pullback.__closure__ or ()
    held = {name: content(cell) for name, cell in zip(names, cells, strict=True)}
    own = {name: _marks([held[name]]) for name in updated(pullback.__code__)}
    if pullback not in _CALLED:
        _CALLED[pullback] = _marks(flatten(list(held.values()))[0]), own
    before, was = _CALLED[pullback]
    prints = {name: [m for *_, m in marks] for name, marks in own.items()}
    others = [x for name in own for x, _, m in was[name] if m not in prints[name]]
    for x in [*_written_to(before), *others]:
        msg = (
            f"a pullback of {statement!r} has written to {describe(x)}, which it captured: called "
            f"once more, it would give another derivative; write to an array that it makes itself"
        )
        raise MutationError(msg)
    return before
