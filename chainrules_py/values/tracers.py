"""Tracers in values: finding them, and leaving them behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.errors import TracerError, describe
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten, map_leaves, too_deep
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_py.values.type_info import Host, hosts, type_info

_FUNCTIONS: Any = Callable


def find_tracers(x: Any) -> list[Tracer]:
    """List the tracers that a value is, or holds in its fields."""
    cls = type(x)
    if issubclass(cls, Tracer):
        return [x]
    if is_structure_type(cls):
        try:
            return [tracer for _, value in fields_of(x) for tracer in find_tracers(value)]
        except RecursionError:
            raise too_deep(x) from None
    return []


def find_host(operands: tuple[Any, ...]) -> Host | None:
    """Find the host that another engine registered for a value among these, or inside; or None."""
    if not hosts:
        return None
    found = [type_info(type(x)).host for x in flatten(operands)[0]]
    return next((host for host in found if host is not None), None)


def varies(x: Any) -> bool:
    """Tell whether something may be differentiated, here or by another engine, or holds such."""
    return bool(find_tracers(x)) or find_host((x,)) is not None


def highest_tracer(operands: tuple[Any, ...]) -> Tracer | None:
    """Find the tracer of the innermost differentiation among operands and their fields, or None."""
    top: Tracer | None = None
    for x in operands:
        for tracer in find_tracers(x):
            if top is None or tracer.level > top.level:
                top = tracer
    return top


def seen_through(body: Callable[..., Any], classes: tuple[type, ...]) -> Callable[..., Any]:
    """Return the body of a primitive, which raises if operands hide what is differentiated.

    In a class that nothing is known of, no rule sees a tracer. Functions are looked through.
    """
    infos = [type_info(cls) for cls in classes]
    known = [i.is_array or i.is_number for i in infos]
    if all(known) or any([issubclass(cls, _FUNCTIONS) for cls in classes]):
        return body

    def run(*operands: Any, **options: Any) -> Any:
        y = body(*operands, **options)
        if find_tracers(y):
            held = " or ".join([describe(x) for x in operands])
            msg = (
                f"{held} holds a value that is being differentiated, where no rule of "
                f"{body.__qualname__} sees it: pass the value itself, in a list, tuple or dict, or "
                f"register_structure the class"
            )
            raise TracerError(msg)
        return y

    return run


def untraced(x: Any) -> Any:
    """Take a value to be constant, in the memory that it has; functions stay what they are.

    The one of the face, `chainrules_py.ignore_derivatives`, gives arrays of their own.
    """
    cls = type(x)
    if issubclass(cls, Tracer):
        return untraced(x.__payload__)
    if is_structure_type(cls) and (find_tracers(x) or find_host((x,))):
        return map_leaves(untraced, x)
    host = type_info(cls).constant
    return x if host is None else host(x)
