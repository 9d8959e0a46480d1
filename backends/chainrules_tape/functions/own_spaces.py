"""Blocks of a Jacobian, brought to the tangent spaces that people declared for their structures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import chainrules_py.vocabulary as v
from chainrules_py import NotDifferentiableError, is_zero, project, space
from chainrules_py.extend import Space, deliver, flatten_tangent, unflatten_tangent


def projected_rows(rows: list[Any], ys: Sequence[Any], xs: Any, tree: Any) -> list[Any]:
    """Return a Jacobian of which each row is a cotangent in the space that was declared.

    A declared projection takes one tangent at a time, so there is one call of it for each number
    of the result.

    Parameters
    ----------
    rows : list
        For each leaf of the result, its blocks, or `NoTangent()`.
    ys : sequence
        Spaces of the leaves of the result.
    xs, tree
        The arguments, and their `TreeDef`.
    """
    onto = space(xs)
    return [
        _projected(blocks, y, onto, tree) if type(y) is Space else blocks
        for blocks, y in zip(rows, ys, strict=True)
    ]


def _projected(blocks: list[Any], y: Space, onto: Any, tree: Any) -> list[Any]:
    if y.kind == "complex":
        msg = (
            "the Jacobian of complex numbers in a structure whose tangents are declared "
            "(register_tangent): return their real and imaginary parts"
        )
        raise NotDifferentiableError(msg)
    if not y.size:
        return blocks
    found = []
    for place in itertools.product(*map(range, y.shape)):
        ts = [b[place] if place and not is_zero(b) else b for b in blocks]
        t = project(unflatten_tangent(tree, ts), onto)
        found.append([deliver(part) for part in flatten_tangent(tree, t)])
    if not y.shape:
        return [0.0 * b if is_zero(t) and not is_zero(b) else t
                for t, b in zip(found[0], blocks, strict=True)]  # fmt: skip
    made: list[Any] = []
    for b, *parts in zip(blocks, *found, strict=True):
        if is_zero(b):
            made.append(b)
            continue
        parts = [0.0 * b[(0,) * len(y.shape)] if is_zero(t) else t for t in parts]
        made.append(v.reshape(v.stack(*parts, axis=0), shape=b.shape))
    return made
