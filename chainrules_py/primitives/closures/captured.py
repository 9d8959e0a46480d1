"""Captured tracers: values that are being differentiated, and come in by a name."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chainrules_py.errors import TracerError
from chainrules_py.primitives.closures.places import owner, written
from chainrules_py.primitives.closures.reach import Reach, Walk
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.tracers import find_tracers, searches

recording: contextvars.ContextVar[tuple[Any, int] | None] = contextvars.ContextVar(
    "recording", default=None
)
"""The custom function whose call is being traced, if there is one, and the level that traces it."""


def captured(
    functions: Iterable[Any], level: int = 0, is_it: Callable[[Any], bool] | None = None
) -> list[str]:
    """List the outside names under which functions find tracers of a level or above.

    ``is_it`` says instead which values are meant, of an engine whose traced values are no `Tracer`.
    """
    owners: dict[str, list[str]] = {}
    for path, x in Reach(functions).values():
        if is_it(x) if is_it else isinstance(x, Tracer) and x.level >= level:
            by = owners.setdefault(written(path), [])
            if owner(path) not in by:
                by.append(owner(path))
    return [f"{name} (captured by {', '.join(by)})" for name, by in owners.items()]


def in_words(names: Iterable[str]) -> str:
    """Join what `captured` lists; what an object or a partial holds has no function's name."""
    of_none = " (captured by )"
    return " and ".join([x.removesuffix(of_none).lstrip(".") or "a value" for x in names])


def check_captured(
    primal: Any,
    result: Iterable[Any],
    functions: Iterable[Any],
    what: str,
    tangents: tuple[Any, ...] = (),
) -> None:
    """Raise if a result holds a tracer that no operand has brought in.

    Operands reach a rule without the level that traces the call. A tracer of that level in what
    the rule gives can only have come by a name.

    Parameters
    ----------
    primal : Primitive
        Whose rule it is; nothing is known of calls other than those of custom functions.
    result : iterable
        What a rule gave.
    functions : iterable of callable
        Where to look for what was captured.
    what : str
        What the result is, for the message.
    tangents : tuple, optional
        What the rule was given beside the operands: the levels of these are no captured ones.

    Raises
    ------
    TracerError
        Naming what was captured.
    """
    under_way = recording.get()
    if under_way is None or under_way[0] is not primal:
        return
    level = under_way[1]
    found = [t for part in result if not _is_plain(type(part)) for t in find_tracers(part)]
    if not found:
        return
    known = {t.level for t in _nested(tangents)}
    if not any([t.level >= level and t.level not in known for t in _nested(found)]):
        return
    names = captured(functions, level)
    shown = " and ".join(names) if names else "a value that is no operand"
    msg = (
        f"{what} depends on {shown}, which is being differentiated: that gradient would be lost; "
        f"pass it as an operand, or hold it fixed with ignore_derivatives"
    )
    raise TracerError(msg)


def _nested(x: Any) -> Iterator[Tracer]:
    """Yield the tracers that a value holds, and those that these stand for."""
    for t in flatten(x)[0]:
        if isinstance(t, Tracer):
            yield t
            yield from _nested(t.__payload__)


def _is_plain(cls: type) -> bool:
    """Tell whether values of a class neither are nor hold tracers, as far as anybody can see."""
    return structure_of(cls) is None and not issubclass(cls, Tracer)


def knows(f: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a function holds a value that passes a test, however it would get there.

    Whether code names it is asked of what modules hold alone. Of too many values the answer is yes.
    """
    walk = Walk(Reach(()), 100_000)
    walk.over([f])
    return not walk.reach.whole or any(map(is_it, walk.seen.values()))


searches.append(knows)
