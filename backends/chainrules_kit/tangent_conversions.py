"""Tangents in the form that users see, and as lists of entries by their spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chainrules_py import ProjectionError, Tangent, is_zero, unthunk
from chainrules_py.extend import (
    LEAF,
    PLAIN,
    AbstractTangent,
    Space,
    StructureSpace,
    TreeDef,
    deliver,
    describe,
    fields_of,
    flatten_tangent,
    is_structure_type,
    kind_of,
    map_fields,
    structure_of,
    unflatten_tangent,
)
from chainrules_py.ops import conj


def opened(of: Any) -> tuple[list[Space], TreeDef]:
    """Flatten a space, or a list of spaces, into those of arrays and numbers, and its tree."""
    spaces: list[Space] = []
    return spaces, _shape(of, spaces)


def _shape(of: Any, spaces: list[Space]) -> TreeDef:
    if type(of) is Space:
        spaces.append(of)
        return LEAF
    cls: type[Any] | None = list if type(of) is list else None
    fields = {} if cls is None else dict(enumerate(of))
    if type(of) is StructureSpace:
        cls, fields = of.primal_type, of.fields
    children = tuple([_shape(inner, spaces) for inner in fields.values()])
    return TreeDef(None if cls is None else structure_of(cls), None, list(fields), children, cls)


def flat(t: Any, of: Any) -> list[Any]:
    """Return the entries of a canonical tangent at the leaves of its space."""
    return flatten_tangent(opened(of)[1], t)


def assembled(of: Any, leaves: Iterable[Any]) -> Any:
    """Assemble the canonical tangent with these entries at the leaves of its space."""
    return unflatten_tangent(opened(of)[1], leaves)


def dense(t: Any, of: Any) -> Any:
    """Convert a tangent to the form that users get: dense, in containers like the primal's.

    Raises
    ------
    NotDifferentiableError
        If an entry is not implemented.
    """
    if type(of) is Space:
        return of.zeros() if is_zero(t) else deliver(t)
    spaces, treedef = opened(of)
    pairs = zip(flatten_tangent(treedef, t), spaces, strict=True)
    ts = [space.zeros() if is_zero(t) else deliver(t) for t, space in pairs]
    return unflatten_tangent(treedef, ts, plain=True)


def conjugated(t: Any) -> Any:
    """Conjugate a canonical tangent."""
    t = unthunk(t)
    if isinstance(t, Tangent):
        return map_fields(conjugated, t)
    return t if is_zero(t) or kind_of(t) != "complex" else conj(t)


def canonical(t: Any, of: Any, statement: Any) -> Any:
    """Convert a user's tangent to canonical form, with `Tangent` for each container."""
    if is_zero(of):
        return of  # for None, a string or a flag, whose tangent may be given as the value itself
    cls = type(t)
    if type(of) is StructureSpace:
        if isinstance(t, AbstractTangent) and not isinstance(t, Tangent):
            return t
        keys = list(of.fields)
        entries = None
        if isinstance(t, Tangent):
            entries = dict(t.fields()) if t.primal_type is of.primal_type else None
        elif cls is of.primal_type or (cls in PLAIN and issubclass(of.primal_type, cls)):
            given = fields_of(t)
            if cls in (tuple, list) and len(given) == len(keys):
                given = list(zip(keys, t, strict=True))
            # As in gradients, which have no key for texts, flags, dates and classes.
            constant = {key for key in keys if is_zero(of.fields[key])}
            entries = dict(given) if {key for key, _ in given} | constant == {*keys} else None
        if entries is not None:
            made = {k: canonical(unthunk(x), of.fields[k], statement) for k, x in entries.items()}
            return Tangent.of(of.primal_type, made, of.length)
    elif not (isinstance(t, Tangent) or is_structure_type(cls)):
        return t
    named = [str(key) for key, x in getattr(of, "fields", {}).items() if not is_zero(x)]
    raise ProjectionError(
        f"{statement!r} gave {describe(t)}, which is not a tangent of {of!r} with "
        f"({', '.join(named)})"
    )
