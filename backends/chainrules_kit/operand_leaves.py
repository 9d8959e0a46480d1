"""Structures among the operands of a call, and the arrays in them that an engine uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chainrules_py import ZeroTangent, unthunk
from chainrules_py.extend import (
    TreeDef,
    flatten_tangent,
    kind_of,
    moves,
    type_info,
    unflatten_tangent,
)


def of_some(
    f: Callable[..., Any], operands: Sequence[Any], places: Sequence[int]
) -> Callable[..., Any]:
    """Return a function of the operands at some indices, with the others fixed.

    Examples
    --------
    >>> of_some(lambda x, y: x - y, (5.0, 3.0), (1,))(2.0)
    3.0
    """

    def of_these(*some: Any) -> Any:
        given = list(operands)
        for i, x in zip(places, some, strict=True):
            given[i] = x
        return f(*given)

    return of_these


def wanted_in(operands: TreeDef, flags: Iterable[bool]) -> tuple[bool, ...]:
    """Return for each operand whether any of its arrays is flagged.

    Examples
    --------
    >>> from chainrules_py.extend import flatten
    >>> wanted_in(flatten(((1.0, 2.0), 3.0))[1], [False, True, False])
    (True, False)
    """
    rest = iter(flags)
    return tuple([any([next(rest) for _ in range(of.num_leaves)]) for of in operands.children])


def tangents_in(
    operands: TreeDef, entries: Iterable[Any], wanted: Sequence[bool]
) -> tuple[Any, ...]:
    """Return the tangents of the wanted operands from those of their arrays; None is zero.

    Examples
    --------
    >>> from chainrules_py.extend import flatten
    >>> tangents_in(flatten(((1.0, 2.0), 3.0))[1], [None, None, 5.0], (False, True))
    (5.0,)
    """
    given = unflatten_tangent(operands, [ZeroTangent() if t is None else t for t in entries])
    return tuple([t for t, w in zip(given, wanted, strict=True) if w])


def cotangents_in(operands: TreeDef, answer: Any, wanted: Sequence[bool]) -> list[Any]:
    """Return the cotangents of the arrays from the result of a pull for the wanted operands.

    Examples
    --------
    >>> from chainrules_py.extend import flatten
    >>> cotangents_in(flatten(((1.0, 2.0), 3.0))[1], 5.0, (False, True))
    [ZeroTangent(), ZeroTangent(), 5.0]
    """
    answers = iter((answer,) if wanted.count(True) == 1 else answer)
    bars = tuple([unthunk(next(answers)) if w else ZeroTangent() for w in wanted])
    return flatten_tangent(operands, bars)


def is_constant_of_another(x: Any, own: tuple[type, ...]) -> bool:
    """Return whether an operand is an array of another engine, which does not differentiate it.

    That engine's operators would take values of the own classes for constants.
    """
    fixed = not (isinstance(x, own) or moves(x))  # the second loads what supports the class
    return fixed and type_info(type(x)).host is not None and kind_of(x) != "none"
