"""Captured tracers: values that are being differentiated, and come in by a name."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.arrays import Tracer
from chainrules_py.values.holding import attributes, content
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.tracers import searches


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


def knows(f: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a function or object holds a value that passes a test: one level."""
    held = [x for _, x in parts_of(f)] or list(attributes(f).values())
    return any([is_it(leaf) for x in held for leaf in (flatten(x)[0] if _opens(x) else [x])])


def _opens(x: Any) -> bool:
    return structure_of(type(x)) is not None


searches.append(knows)
