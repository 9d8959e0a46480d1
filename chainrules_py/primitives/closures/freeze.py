"""Captures of functions, kept as they were at a call.

A backward function runs long after the call that it belongs to. By then a loop has gone on, and
Python would show it the last version of each name.
"""

from __future__ import annotations

import functools
import types
from typing import Any, NamedTuple

_FIXED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, types.CellType)
"""What stays under a name: there is no need to keep it as it was."""


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
    names, _, _, assigned = names_in(code)
    found = {n: outside[n] for n in names if n in outside and not _is_fixed(outside[n])}
    cells: tuple[Any, ...] = function.__closure__ or ()
    if not found and not cells:
        return function, ()
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


class Names(NamedTuple):
    """Names that code, with that of the functions in it, uses.

    Attributes
    ----------
    scope, attributes : tuple of str
        The globals, and the attributes, that it looks up.
    own : frozenset of str
        Those of which it changes what they stand for, or the items of that.
    assigned : frozenset of str
        The names from outside that it assigns; "global" for globals.
    """

    scope: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()


NO_NAMES = Names()
_CHANGING = {
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
}
_CHANGING |= {"popleft", "remove", "reverse", "setdefault", "sort", "update"}
"""Methods of containers that change their items."""


@functools.lru_cache(maxsize=1024)
def names_in(code: types.CodeType) -> Names:
    """Find the names that a function uses."""
    import dis  # which imports inspect

    steps = [*dis.get_instructions(code)]
    scope, known = dict[str, None](), dict[str, None]()
    own, assigned = set[str](), set[str]()
    for i, step in enumerate(steps):
        kind, _, where = step.opname.partition("_")
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            scope[step.argval] = None
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            known[step.argval] = None
            if step.argval in _CHANGING:
                own.add(_changed(steps, i - 1))
        elif kind in ("STORE", "DELETE") and where in ("GLOBAL", "ATTR"):
            own.add(step.argval)
            assigned |= {"global"} if where == "GLOBAL" else set()
        elif kind in ("STORE", "DELETE") and where == "DEREF" and step.argval in code.co_freevars:
            assigned.add(step.argval)
        elif kind in ("STORE", "DELETE") and where == "SUBSCR":
            own.add(_changed(steps, _container(steps, i)))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names = names_in(inner)
            scope.update(dict.fromkeys(names.scope))
            known.update(dict.fromkeys(names.attributes))
            own |= names.own
            assigned |= names.assigned & {"global", *code.co_freevars}
    return Names(tuple(scope), tuple(known), frozenset(own | assigned), frozenset(assigned))


def _changed(steps: list[Any], i: int) -> str:
    """Name what the container that a step pushed on the stack is an attribute of, or stands for."""
    while steps[i].opname == "BINARY_SUBSCR" or steps[i].argrepr == "[]":
        i = _container(steps, i)
    return str(steps[i].argval)


def _container(steps: list[Any], i: int) -> int:
    """Find the step that pushed the container whose item a step reads or assigns."""
    import dis

    depth = 1  # below the key; of n[0] += 1 below the key and the sum, which are swapped then
    while steps[i - 1].opname == "SWAP":
        i, depth = i - 1, 2
    while depth and i:
        i -= 1
        depth -= dis.stack_effect(steps[i].opcode, steps[i].arg)
    return i - 1
