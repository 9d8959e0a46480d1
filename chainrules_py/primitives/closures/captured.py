"""Captured tracers: values that are being differentiated, and come in by a name."""

from __future__ import annotations

import contextvars
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chainrules_py.errors import TracerError
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.holding import attributes, content
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.tracers import find_tracers, searches

recording: contextvars.ContextVar[tuple[Any, int] | None] = contextvars.ContextVar(
    "recording", default=None
)
"""The custom function whose call is being traced, if there is one, and the level that traces it."""


def parts_of(f: Any) -> list[tuple[str, Any]]:
    """List what a function captured, with names: its cells, defaults, and the object it is of.

    One level: what an object holds that is captured is the author's.
    """
    if isinstance(f, types.MethodType):
        return [("self", f.__self__), *attributes(f.__self__).items(), *parts_of(f.__func__)]
    if isinstance(f, functools.partial):
        named = [(f"argument {i}", x) for i, x in enumerate(f.args)]
        return [*named, *f.keywords.items(), *parts_of(f.func)]
    if not isinstance(f, types.FunctionType):
        opens = callable(f) and not isinstance(f, (type, types.BuiltinFunctionType))
        return list(attributes(f).items()) if opens and not hasattr(f, "__wrapped__") else []
    cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    found = [(name, content(cell)) for name, cell in cells]
    defaults = f.__defaults__ or ()
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    found += zip(names[len(names) - len(defaults) :], defaults, strict=True)
    return [*found, *(f.__kwdefaults__ or {}).items()]


def captured(
    functions: Iterable[Any], level: int = 0, is_it: Callable[[Any], bool] | None = None
) -> list[str]:
    """List the names under which functions captured tracers of a level or above.

    ``is_it`` says instead which values are meant, of an engine whose traced values are no `Tracer`.
    """
    found = is_it or (lambda x: isinstance(x, Tracer) and x.level >= level)
    owners: dict[str, list[str]] = {}
    waiting = list(functions)
    for f in waiting:  # the functions that a function captured count as its own
        own = getattr(f, "__name__", "")
        for name, x in parts_of(f):
            if callable(x) and not isinstance(x, Tracer) and not any([x is g for g in waiting]):
                waiting.append(x)
            for leaf in flatten(x)[0] if _opens(x) else [x]:
                if found(leaf) and own not in (by := owners.setdefault(name, [])):
                    by.append(own)
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
    """Tell whether a function or object holds a value that passes a test: one level."""
    held = [x for _, x in parts_of(f)] or list(attributes(f).values())
    return any([is_it(leaf) for x in held for leaf in (flatten(x)[0] if _opens(x) else [x])])


def _opens(x: Any) -> bool:
    return structure_of(type(x)) is not None


searches.append(knows)
