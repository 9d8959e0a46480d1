"""Many directions in one call: check and return tangents with a leading axis of directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrules_py import NotDifferentiableError, ProjectionError, is_zero, project, space
from chainrules_py.extend import (
    Space,
    TreeDef,
    as_arrays,
    canonicalize,
    declares_space,
    describe,
    flatten,
    flatten_tangent,
    kind_of,
    own_all,
    unflatten_tangent,
)
from chainrules_py.ops import full_like


def many_directions(what: str, tree: TreeDef, value: Any, ts: Any) -> list[Any]:
    """Check tangents with a leading axis, and return those of the leaves.

    Parameters
    ----------
    what : str
        The name of the function, for messages.
    tree, value
        The value that they are tangents of, and its tree.
    ts
        The tangents, in the structure of the value.

    Raises
    ------
    ProjectionError
        If a tangent has another shape or kind, if the leading axes differ, or if all are zero.
    """
    found = [] if is_zero(ts) else flatten_tangent(tree, canonicalize(value, ts))
    n = None
    for i, (x, t) in enumerate(zip(as_arrays(flatten(value)[0]), found, strict=False)):
        if is_zero(t):
            continue
        of = space(x)
        shape: tuple[int, ...] = tuple(getattr(t, "shape", ()))
        length = next(iter(shape), None)
        fits = type(of) is Space and length is not None and shape[1:] == of.shape
        real = kind_of(t) != "complex" or (fits and of.kind == "complex")
        if not fits or not real or n not in (None, length):
            raise ProjectionError(
                f"{what} with batched=True takes for {describe(x)} an array with one more axis in "
                f"front, which counts directions, and as long everywhere; it got {describe(t)}"
            )
        n, found[i] = length, project(t, of, batch=1)
    if n is None:
        raise ProjectionError(f"{what} with batched=True was given no direction that is not zero")
    return found


def deliver_many(
    tree: TreeDef, xs: list[Any], ts: Sequence[Any], given: Sequence[Any], theirs: Sequence[Any]
) -> Any:
    """Return dense derivatives of many directions, with the leading axis of those in ``given``."""
    if declares_space(tree):
        raise NotDifferentiableError(
            "batched=True gives tangents field by field, and a structure here declares its own: "
            "take the directions one by one"
        )
    dense = []
    for x, t in zip(xs, ts, strict=True):
        of = space(x)
        if is_zero(t) and type(of) is Space:
            like = next(t for t in given if not is_zero(t))
            shape, dtype = (like.shape[0], *of.shape), of.dtype and of.tangent_dtype
            t = full_like(like, shape=shape, fill=0, dtype=dtype)
        elif is_zero(t):
            t = of
        elif type(of) is not Space:
            raise NotDifferentiableError(f"{describe(x)} has no directions that could be counted")
        dense.append(t)
    return unflatten_tangent(tree, own_all(xs, dense, (*given, *theirs)), plain=True)
