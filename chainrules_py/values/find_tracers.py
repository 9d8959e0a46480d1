"""Tracers in values: finding and removing them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from chainrules_py.errors import TracerError, describe
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.object_contents import attributes, parts_of
from chainrules_py.values.pytree import flatten, map_leaves
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_py.values.type_info import Host, hosts, type_info

_FUNCTIONS: Any = Callable
_PLAIN = {bool, int, float, complex, str, bytes, type(None), range, type(...)}


def find_tracers(x: Any) -> list[Tracer]:
    """List the tracers that a value is, or holds in its fields."""
    cls = type(x)
    if issubclass(cls, Tracer):
        return [x]
    if is_structure_type(cls):
        return [tracer for _, value in fields_of(x) for tracer in find_tracers(value)]
    return []


def find_host(operands: tuple[Any, ...]) -> Host | None:
    """Find the host that another engine registered for an operand or a leaf of one, or None."""
    if not hosts:
        return None
    found = [type_info(type(x)).host for x in flatten(operands)[0]]
    return next((host for host in found if host is not None), None)


def is_traced(x: Any) -> bool:
    """Return whether a value is traced, by an engine of these packages or by another one."""
    cls = type(x)
    return issubclass(cls, Tracer) or type_info(cls).host is not None


def differentiates(cls: type) -> bool:
    """Return whether a class is of tracers, and not of those that stand for many plain examples."""
    while getattr(cls, "is_map", False):
        cls = cls.payload_type  # type: ignore[attr-defined]
    return issubclass(cls, Tracer)


def varies(x: Any) -> bool:
    """Return whether a value is or contains a tracer, or a traced value of another engine."""
    return bool(find_tracers(x)) or find_host((x,)) is not None


def highest_tracer(operands: tuple[Any, ...]) -> Tracer | None:
    """Find the tracer of the innermost differentiation among operands and their fields, or None."""
    tracers = [tracer for x in operands for tracer in find_tracers(x)]
    return max(tracers, key=operator.attrgetter("level"), default=None)


def moves(x: Any) -> bool:
    """Return whether a value is or contains one that is being differentiated, by any engine."""
    for leaf in flatten(x)[0]:
        if isinstance(leaf, Tracer):
            return True
        varies = type_info(type(leaf)).varies
        if varies is not None and varies(leaf):
            return True
    return False


def is_opaque(cls: type) -> bool:
    """Return whether the contents of a class's instances are unknown; functions' are known."""
    info = type_info(cls)
    known = info.is_array or info.is_number or info.host is not None or is_structure_type(cls)
    return not (known or cls in _PLAIN or issubclass(cls, _FUNCTIONS))


def knows(f: Any, is_it: Callable[[Any], bool]) -> bool:
    """Return whether a function or object directly holds a value that passes a test."""
    held = [x for _, x in parts_of(f)] or list(attributes(f).values())
    return any([is_it(leaf) for x in held for leaf in flatten(x)[0]])


def captured(functions: Iterable[Any], is_it: Callable[[Any], bool] | None = None) -> list[str]:
    """List the names under which functions captured tracers.

    ``is_it`` selects the values instead, for engines whose traced values are no `Tracer`.
    """
    found = is_it or (lambda x: isinstance(x, Tracer))
    owners: dict[str, list[str]] = {}
    waiting = list(functions)
    for f in waiting:  # functions that a function captured count as its own
        own = getattr(f, "__name__", "")
        for name, x in parts_of(f):
            if callable(x) and not isinstance(x, Tracer) and not any([x is g for g in waiting]):
                waiting.append(x)
            for leaf in flatten(x)[0]:
                if found(leaf) and own not in (by := owners.setdefault(name, [])):
                    by.append(own)
    return [f"{name} (captured by {', '.join(by)})" for name, by in owners.items()]


def in_operations(names: Iterable[str]) -> str:
    """Join the names that `captured` lists; an object or a partial adds no function's name."""
    shown = [x.removesuffix(" (captured by )").lstrip(".") or "a value" for x in names]
    return " and ".join(shown) or "a value"


def seen_through(
    operation: Any, body: Callable[..., Any], classes: tuple[type, ...]
) -> Callable[..., Any]:
    """Return a function that computes an operation, and raises if a derivative bypasses its rules.

    A derivative does so in an option, or in an operand that hides it from the rules.
    """
    if not (operation.has_body and any([s.recipe is not None for s in operation.stated[0]])):
        return body
    functions = any([issubclass(cls, _FUNCTIONS) for cls in classes])
    known = functions or not any([is_opaque(c) or is_structure_type(c) for c in classes])
    asked = bool(operation.options) and not operation.__module__.startswith("chainrules_")
    if known and not asked:
        return body

    def run(*operands: Any, **options: Any) -> Any:
        y = body(*operands, **options)
        if known and _PLAIN.issuperset(map(type, options.values())):
            return y
        if not moves(y) or moves(operands):
            return y
        if any(map(moves, options.values())):
            operation.normalise(operands, options)  # raises
        given = options.values() if asked else ()  # iterators are exhausted by now
        hiding = [x for x in given if hasattr(type(x), "__next__") or knows(x, moves)]
        if not hiding and not known:
            hiding = [x for x in flatten(operands)[0] if is_opaque(type(x))] or [*operands]
        if hiding:
            raise hidden(hiding, operation.__qualname__)
        return y

    return run


def hidden(operands: Iterable[Any], name: str) -> TracerError:
    """Make the error for operands that hide a differentiated value from the rules of ``name``."""
    held = " or ".join([describe(x) for x in operands])
    return TracerError(
        f"{held} holds a value that is being differentiated or mapped over, where no rule of "
        f"{name} sees it: pass the value itself as an operand"
    )


def untraced(x: Any) -> Any:
    """Return a value without tracers, sharing its memory; functions are returned unchanged.

    The public `chainrules_py.ignore_derivatives` returns arrays with memory of their own.
    """
    cls = type(x)
    if issubclass(cls, Tracer):
        return untraced(x.__payload__)
    if is_structure_type(cls) and (find_tracers(x) or find_host((x,))):
        return map_leaves(untraced, x)
    host = type_info(cls).constant
    return x if host is None else host(x)


def call_plain(f: Any, xs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call a library's function, or method, on the payloads of tracers.

    A payload need not be of the library: a value that a compiler records has its own methods.
    """
    home = getattr(f, "__objclass__", None)
    if home is None or isinstance(xs[0], home):
        return f(*xs, **options)
    return getattr(xs[0], f.__name__)(*xs[1:], **options)
