"""Reach: what functions look up when they are called, as it was, and being differentiated.

What a rule states is called long after the call that it was recorded for. Between the two, people
may write to arrays that it captured, and give names, attributes and items another value. And a
tracer that comes in by a name, and not as an operand, has no cotangent: its gradient would be lost.
"""

from __future__ import annotations

import contextvars
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, final

from chainrules_py.errors import TracerError, describe
from chainrules_py.primitives.closures.convert import Closure
from chainrules_py.primitives.closures.freeze import NO_NAMES, Names
from chainrules_py.primitives.closures.search import names_of, read_step, steps
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.tracers import find_tracers
from chainrules_py.values.type_info import type_info

recording: contextvars.ContextVar[tuple[Any, int] | None] = contextvars.ContextVar(
    "recording", default=None
)
"""The custom function whose call is being traced, if there is one, and the level that traces it."""

Path: TypeAlias = tuple[Any, str]
"""Where a value is: the path of what holds it, and one step; of None and the name of a function."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LASTING = (
    types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type,
    Primitive,
)  # fmt: skip
"""What programs do not replace under a name."""


@final
class Reach:
    """What can be looked up from some values, functions among them.

    Attributes
    ----------
    arrays : list
        What has memory to be watched over.
    places : list of tuple
        ``(read, key, value, path)``: ``read(key)``, a cell, global, attribute or item, was the
        value. What code changes itself is left out: counts, and memories of what it knows.
    keeps : bool
        Whether there is such a thing.
    """

    __slots__ = ("arrays", "keeps", "places")

    def __init__(self, roots: Iterable[Any]) -> None:
        self.arrays: list[Any] = []
        self.keeps = False
        self.places: list[tuple[Callable[[Any], Any], Any, Any, Path]] = []
        seen: dict[tuple[int, int], Any] = {}  # which keeps ids from being given again
        waiting: list[tuple[Any, Names, bool, Path]] = []
        waiting += [(x, NO_NAMES, False, (None, "")) for x in roots]
        while waiting:
            x, names, quiet, path = waiting.pop()
            cls = type(x)
            if cls in _PLAIN or (id(x), id(names)) in seen:
                continue
            seen[id(x), id(names)] = x
            if type_info(cls).memory is not None:
                self.arrays.append(x)
                continue
            if cls is types.FunctionType:
                names, path = names_of(x), (None, x.__name__)
            elif cls is types.MethodType:
                names = names_of(x.__func__)
            elif cls is Closure:
                waiting.append((x.template, names, quiet, path))
            for read, key, step in steps(x, names):
                value = read_step(read, key)
                still = quiet or step.lstrip(".") in names.own
                self.keeps |= still
                if not (still or isinstance(value, _LASTING)):
                    self.places.append((read, key, value, (path, step)))
                waiting.append((value, names, still, (path, step)))

    def __bool__(self) -> bool:
        return bool(self.arrays or self.places or self.keeps)

    def changed(self) -> str | None:
        """Tell of the first place where there is something else by now; None if there is none."""
        for read, key, value, path in self.places:
            now = read_step(read, key)
            plain = issubclass(type(value), _PLAIN), issubclass(type(now), _PLAIN)
            if now is not value and not (all(plain) and now == value):
                was, is_now = (
                    repr(x) if p else describe(x) for x, p in zip((value, now), plain, strict=True)
                )
                return f"{_written(path)} was {was} and is {is_now}"
        return None


def _written(path: Path) -> str:
    return "" if path[0] is None else _written(path[0]) + path[1]


def _owner(path: Path) -> str:
    return path[1] if path[0] is None else _owner(path[0])


# ------------------------------------------------------------------------------------- tracers


def captured(
    functions: Iterable[Any], level: int = 0, is_it: Callable[[Any], bool] | None = None
) -> list[str]:
    """List the outside names under which functions find tracers of a level or above.

    ``is_it`` says instead which values are meant, of an engine whose traced values are no `Tracer`.
    """
    owners: dict[str, list[str]] = {}
    for _, _, value, path in Reach(functions).places:
        if is_it(value) if is_it else any([t.level >= level for t in find_tracers(value)]):
            by = owners.setdefault(_written(path), [])
            if _owner(path) not in by:
                by.append(_owner(path))
    return [f"{name} (captured by {', '.join(by)})" for name, by in owners.items()]


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
