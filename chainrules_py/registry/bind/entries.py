"""Tangents as people see them, and leaf by leaf: each by the space that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.errors import ProjectionError, describe
from chainrules_py.tangents.space import Space, StructureSpace, kind_of, space
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractTangent, NoTangent, is_zero
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_py.vocabulary.elementwise import conj

__all__ = [
    "assembled",
    "canonical",
    "conjugated",
    "dense",
    "densely",
    "flat",
    "leaf_spaces",
]

PLAIN = (tuple, list, dict)


def leaf_spaces(onto: list[Any]) -> Iterator[Space]:
    """Yield the spaces of all arrays and numbers in some spaces, in the order of `flat`."""
    for of in onto:
        if type(of) is StructureSpace:
            yield from leaf_spaces(list(of.fields.values()))
        elif type(of) is Space:
            yield of


def flat(t: Any, of: Any) -> list[Any]:
    """List the entries of a canonical tangent at the leaves of its space."""
    if type(of) is StructureSpace:
        t = unthunk(t)
        return [
            leaf
            for key, inner in of.fields.items()
            for leaf in flat(t if is_zero(t) else t[key], inner)
        ]
    return [unthunk(t)] if type(of) is Space else []


def conjugated(t: Any) -> Any:
    """Conjugate a canonical tangent."""
    t = unthunk(t)
    if isinstance(t, Tangent):
        return map_fields(conjugated, t)
    return t if is_zero(t) or kind_of(t) != "complex" else conj(t)


def assembled(of: Any, leaves: Iterator[Any]) -> Any:
    """Assemble the canonical tangent with these entries at the leaves of its space."""
    if type(of) is StructureSpace:
        made = {key: assembled(inner, leaves) for key, inner in of.fields.items()}
        return Tangent.of(of.primal_type, made, of.length)
    return next(leaves) if type(of) is Space else NoTangent()


def dense(t: Any, of: Any) -> Any:
    """Make a tangent what users get: zeros filled in, plain containers for those of the primal."""
    t = unthunk(t)
    if type(of) is StructureSpace:
        made = {k: dense(t if is_zero(t) else t[k], inner) for k, inner in of.fields.items()}
        return _container(of, made)
    if type(of) is Space:
        return of.zeros() if is_zero(t) else t
    return NoTangent()


def densely(
    pullback: Callable[[Any], tuple[Any, ...]], operands: tuple[Any, ...]
) -> Callable[[Any], tuple[Any, ...]]:
    """Make a pullback give its cotangents in the form that users get."""
    spaces = [space(x) for x in operands]

    def dense_pullback(y_bar: Any) -> tuple[Any, ...]:
        bars = pullback(y_bar)
        return tuple([dense(bar, of) for bar, of in zip(bars, spaces, strict=True)])

    return dense_pullback


def _container(of: StructureSpace, made: dict[Any, Any]) -> Any:
    cls: type = of.primal_type
    if cls not in PLAIN:
        return Tangent.of(cls, made, of.length)
    return made if cls is dict else cls(made.values())


def canonical(t: Any, of: Any, statement: Any) -> Any:
    """Bring a user's tangent to canonical form, with `Tangent` for each container."""
    if is_zero(of):
        return of  # of None, a string, a flag, which may stand for themselves
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
            entries = dict(given) if [key for key, _ in given] == keys else None
        if entries is not None:
            made = {k: canonical(unthunk(x), of.fields[k], statement) for k, x in entries.items()}
            return Tangent.of(of.primal_type, made, of.length)
    elif not (isinstance(t, Tangent) or is_structure_type(cls)):
        return t
    msg = f"{statement!r} gave {describe(t)}, which is no tangent of {of!r}"
    raise ProjectionError(msg)
