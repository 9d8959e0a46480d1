"""Tracers that the rule of a custom function gives, and that no operand has brought in."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator
from typing import Any

from chainrules_py import TracerError
from chainrules_py.extend import Tracer, captured, find_tracers, flatten, is_structure_type

recording: contextvars.ContextVar[tuple[Any, int] | None] = contextvars.ContextVar(
    "recording", default=None
)
"""The custom function whose call is being traced, if there is one, and the level that traces it."""


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
    return not is_structure_type(cls) and not issubclass(cls, Tracer)
