"""Memory that a rule is given, gives and keeps: operands, tangents, buffers, arrays that it saved.

What a person's function gives for a tangent is added to others, and handed out, when the function
has been called again. So what somebody else still holds is copied: Python counts who does. What it
is given are values of the program, tangents that others get as well, and what it saved for all
calls to come: it writes to none of these.
"""

from __future__ import annotations

import contextlib
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeAlias

from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.closures.places import equal
from chainrules_py.primitives.closures.reach import Reach
from chainrules_py.primitives.closures.writes import updated
from chainrules_py.primitives.dispatch import Cache, MethodTable
from chainrules_py.registry.statement import Statement
from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.results import Results
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.holding import inside, is_real, named
from chainrules_py.values.pytree import flatten
from chainrules_py.values.tracers import is_opaque
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary.manipulation import copy

_SAVED, _MOST = "saved values", 1_000


def give_own(bound: Any, mode: str, writes: bool, known: Results) -> None:
    """Have the halves of a rule that a person wrote give arrays that nobody else holds.

    What they are given is compared before and after: at each call if their code may write to it.
    What they give for the value has to hide nothing.
    """
    statement: Statement = bound.statement
    run = watched(bound.run, statement, writes, "tangent", "operand")
    if mode == "forward":

        def run_forward(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, *dots = run(tangents, *xs, **options)
            if type(y) not in known and (type(y), getattr(y, "dtype", None)) not in known:
                y = known.shown(y, xs)
            return y, _own(dots, 0, tangents)

        bound.run = run_forward
        return
    n = 2 if mode == "both" else 1
    seeds = ("tangent", "cotangent")[mode == "reverse" :]

    def run_record(links: Any, *xs: Any, **options: Any) -> Any:
        y, record = run(links, *xs, **options)
        if type(y) not in known and (type(y), getattr(y, "dtype", None)) not in known:
            y = known.shown(y, xs)
        own = [_owning_half(half, statement, writes, seeds[i]) for i, half in enumerate(record[:n])]
        return y, (*own, *record[n:])

    bound.run = run_record


def _owning_half(half: Any, statement: Statement, writes: bool, seed: str) -> Any:
    """Wrap a half, once, so that what it gives is nobody else's."""
    made = getattr(half, "owning", None)
    if made is None:
        each = half, half.batched, *half.parts
        made, many, *parts = [
            owning(watched(f, statement, writes, seed, _SAVED, i == 1)) if callable(f) else f
            for i, f in enumerate(each)
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
    if info.is_foreign or not (info.is_array or info.is_number):
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
    f: Callable[..., Any],
    statement: Statement,
    always: bool,
    first: str,
    besides: str,
    many: bool = False,
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
    first, besides : str
        What it is given: first, and besides.
    many : bool, optional
        Whether one call may be many, one for each direction.

    Raises
    ------
    MutationError
        When it is called: naming what was written to.
    """
    state = _Looks(always)

    def unwriting(*given: Any, **options: Any) -> Any:
        if not state.next:
            return f(*given, **options)
        others = flatten((given[1:], options))[0]
        objects = [x for x in others if _has_state(x)] if besides == _SAVED else []
        held = [y for x in others if besides == _SAVED and is_opaque(type(x)) for y in inside(x)]
        before = {besides: _marks([*others, *held]), first: _marks(flatten(given[:1])[0])}
        states = [_check_state(x, statement) for x in objects]
        try:
            found = f(*given, **options)
        except ValueError as error:  # NumPy's: of what is read-only anyway
            if "read-only" in str(error):
                shown = (
                    f"an array, read-only here: among its {first} and {besides}, or scratch that "
                    f"an earlier call of it needs yet (make that where it is used)"
                )
                raise MutationError(_written(statement, shown)) from error
            raise
        for what, marks in before.items():
            for x in _written_to(marks):
                raise MutationError(_written(statement, f"its {what} {describe(x)}"))
        if besides != _SAVED:  # which may be a memory of what was computed
            now = flatten((given[1:], options))[0]
            if [*map(id, now)] != [*map(id, others)]:
                raise MutationError(_written(statement, f"a container among its {besides}"))
        written = [_updated(x, statement, was) for x, was in zip(objects, states, strict=True)]
        for x, names in zip(objects, written, strict=True):
            if names and (many or id(x) not in _STATES):
                _refuse_updated(x, names[0], statement)
        state.always = state.always or any(written)
        state.next = state.always
        return found

    return unwriting


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


_States: TypeAlias = dict[str, tuple[Any, Any]]
_STATES: dict[int, tuple[weakref.ref[Any], _States]] = {}
"""What objects held when the pullbacks that saved them were called first."""


def _has_state(x: Any) -> bool:
    """Tell whether something saved may know more after a call than before."""
    cls = type(x)
    if cls is types.FunctionType:
        return bool(x.__closure__)
    ours = cls.__module__.startswith("chainrules_") or isinstance(x, type)
    return not ours and (callable(x) or is_opaque(cls))


def _check_state(x: Any, statement: Statement) -> _States:
    """Raise if a call before has changed an object that is saved; return what it held then.

    It may use what it holds as scratch, and be called once; and remember what it has computed.
    """
    known = _STATES.get(id(x))
    if known is not None and known[0]() is x:
        for name in _updated(x, statement, known[1]):
            _refuse_updated(x, name, statement)
        return known[1]
    state, key = _state(x), id(x)
    with contextlib.suppress(TypeError):  # which such cannot be told from others later
        _STATES[key] = weakref.ref(x, lambda _: _STATES.pop(key, None)), state
    return state


def _refuse_updated(x: Any, name: str, statement: Statement) -> NoReturn:
    msg = (
        f"a pullback of {statement!r} has changed {describe(x)}{name}, which it had saved: called "
        f"once more, it would give another derivative; compute a new value, and store it in no "
        f"object that the rule saved"
    )
    raise MutationError(msg)


def _state(x: Any) -> _States:
    """Return the real numbers in what something holds, with their fingerprints."""
    found, seen, waiting = dict[str, Any](), dict[int, Any](), [("", x)]
    for path, y in waiting:  # it grows meanwhile
        if is_real(y):
            found[path] = y, _marks([y])
        elif id(y) not in seen and len(seen) < _MOST and not isinstance(y, _STATELESS):
            seen[id(y)] = y
            waiting += [(path + step, z) for step, z in named(y)]
    return found


_STATELESS = (type, types.ModuleType, str, bytes, int, Cache, MethodTable, Statement)


def _updated(x: Any, statement: Statement, before: _States) -> list[str]:
    """Name the numbers in an object that are others by now: written to, or put where code reads."""
    if not before:
        return []
    now = _state(x)
    both = [(name, *was, *now[name]) for name, was in before.items() if name in now]
    changed = [(name, y is z) for name, y, was, z, is_now in both
               if not (was[0][2] == is_now[0][2] if was and is_now else equal(y, z))]  # fmt: skip
    names = Reach([*statement.recipe.functions, x]).names if changed else set()
    names |= updated(x.__code__) if type(x) is types.FunctionType else set()
    last = [name.rpartition(".")[2].partition("[")[0] for name, _ in changed]
    return [name for (name, same), n in zip(changed, last, strict=True) if same or n in names]
