"""Captures of functions: kept as they were at a call, and searched for tracers.

A backward function runs long after the call that it belongs to. By then a loop has gone on, and
Python would show it the last version of each name. And a tracer that comes in by a name, and not as
an operand, has no cotangent: its gradient would be lost.
"""

from __future__ import annotations

import contextvars
import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

from chainrules_py.errors import TracerError
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.tracers import find_tracers

recording: contextvars.ContextVar[tuple[Any, int] | None] = contextvars.ContextVar(
    "recording", default=None
)
"""The custom function whose call is being traced, if there is one, and the level that traces it."""

_FIXED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, types.CellType)
"""What stays under a name: there is no need to keep it as it was."""


class CapturedValues(tuple[Any, ...]):
    """Values that a backward function uses from outside, at the end of a record.

    A program can reach these values by other ways, and write to them: an engine that guards arrays
    watches over those among them.
    """

    __slots__ = ()


def frozen(function: Any) -> tuple[Any, tuple[Any, ...]]:
    """Make a function see the names from outside as they are now; return it and their values.

    Names that the function assigns to itself stay shared with the others who see them.

    Parameters
    ----------
    function : callable
        Anything but a plain Python function is given back as it is.

    Examples
    --------
    >>> shift = 1.0
    >>> now, values = frozen(lambda x: x + shift)
    >>> shift = 2.0
    >>> now(10.0), values
    (11.0, (1.0,))
    """
    if type(function) is not types.FunctionType:
        return function, ()
    code, outside = function.__code__, function.__globals__
    names = global_names(code)
    found = {n: outside[n] for n in names if n in outside and not _is_fixed(outside[n])}
    cells: tuple[Any, ...] = function.__closure__ or ()
    if not found and not cells:
        return function, ()
    assigned = assigned_names(code)
    if "global" in assigned:
        found = {}  # then all of them have to be its module's own
    if found:
        outside = {n: outside[n] for n in ("__builtins__", "__name__", *names) if n in outside}
    values = [
        cell if name in assigned else _content(cell)
        for name, cell in zip(code.co_freevars, cells, strict=True)
    ]
    fresh = [v if type(v) is types.CellType else types.CellType(v) for v in values]
    made = types.FunctionType(code, outside, function.__name__, function.__defaults__, tuple(fresh))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made, (*found.values(), *[v for v in values if not _is_fixed(v)])


def _is_fixed(value: Any) -> bool:
    return isinstance(value, _FIXED)


def _content(cell: types.CellType) -> Any:
    """Return the content of a cell; the cell itself, to be shared, while it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


@functools.lru_cache(maxsize=1024)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """List the global names, and the attributes, that a function and those inside it look up."""
    names = dict.fromkeys(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names.update(dict.fromkeys(global_names(inner)))
    return tuple(names)


@functools.lru_cache(maxsize=1024)
def assigned_names(code: types.CodeType) -> frozenset[str]:
    """List the outside names that a function, or one inside it, assigns; "global" for globals."""
    import dis  # which imports inspect

    names = set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            names.add("global")
        elif step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            names.add(str(step.argval))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= assigned_names(inner) & {"global", *code.co_freevars}
    return frozenset(names)


# ------------------------------------------------------------------------------------- tracers


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


def captured(functions: Iterable[Any], level: int = 0) -> list[str]:
    """List the outside names under which functions find tracers of a level or above."""
    owners: dict[str, list[str]] = {}
    for function in functions:
        _search(function, level, owners, _DEPTH)
    return [f"{name} (captured by {', '.join(by)})" for name, by in owners.items()]


_DEPTH = 3
"""How far to follow functions that are found under names: this is for a message."""


def _search(function: Any, level: int, owners: dict[str, list[str]], depth: int) -> None:
    for name, value in _used(function):
        if any([t.level >= level for t in find_tracers(value)]):
            by = getattr(function, "__name__", type(function).__name__)
            if by not in owners.setdefault(name, []):
                owners[name].append(by)
        elif depth and callable(value):
            _search(value, level, owners, depth - 1)


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names that a callable takes from outside, with their values."""
    if isinstance(function, functools.partial):
        yield from ((f"argument {i}", x) for i, x in enumerate(function.args))
        yield from function.keywords.items()
        yield "the function", function.func
    elif isinstance(function, types.MethodType):
        yield "self", function.__self__
        yield from _used(function.__func__)
    elif isinstance(function, types.FunctionType):
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            yield name, _content(cell)
        outside = function.__globals__
        yield from ((n, outside[n]) for n in global_names(code) if n in outside)
        given = function.__defaults__ or ()
        yield from zip(code.co_varnames[code.co_argcount - len(given) :], given, strict=False)
        yield from (function.__kwdefaults__ or {}).items()
    elif hasattr(function, "__wrapped__"):
        yield from _used(function.__wrapped__)
