"""Ours: what an object of these packages holds that is somebody else's."""

from __future__ import annotations

from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import Closure, TreeDef, attributes, fields_of, structure_of

_OF_PRIMITIVES = {"operands", "options", "variadic", "shape_from_data", "opaque", "has_body",
                  "stated", "fixed", "is_program", "signature"}  # fmt: skip


def held_for_others(x: Any) -> Any:
    """Return what an object of these packages holds that is not theirs: functions, by name or not.

    What can be called (a compiled function, a linear map, a pullback) calls what it was given. What
    cannot, and is no structure, is the work of a package: records, tables, spaces; unless its class
    says ``__holds__``, as that of a matrix's factors, which people are given.
    """
    if isinstance(x, Primitive):
        found = {} if x.opaque else {"": x.__wrapped__}
        return found | {n: y for n, y in vars(x).items() if n not in _OF_PRIMITIVES and n[0] != "_"}
    if isinstance(x, Closure):
        return x.template, x.captured
    if isinstance(x, TreeDef):
        return x.like, *x.children
    if structure_of(type(x)):
        return tuple([y for _, y in fields_of(x)])
    if hasattr(x, "__wrapped__"):
        return (x.__wrapped__,)
    return tuple(attributes(x).values()) if callable(x) or hasattr(type(x), "__holds__") else ()
