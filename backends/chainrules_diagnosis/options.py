"""Other options of a call: the values that an annotation lists, and every way to say an axis."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from chainrules_diagnosis.constants import words_for, words_in


def literals_of(f: Any, name: str) -> list[Any]:
    """Find the values that an annotation lists: ``mode: Literal["full", "same"]``."""
    try:
        hints = typing.get_type_hints(getattr(f, "__wrapped__", f))
    except Exception:
        return []
    return [value for value in _listed(hints.get(name)) if value is not None]


def other_values(
    f: Any, name: str, given: Any, functions: list[Any], known: Iterable[str]
) -> list[Any]:
    """List other values of an option, by its type and annotation, and by the code of functions.

    Examples
    --------
    >>> other_values(np.sum, "p", 2, [], ()), other_values(np.sum, "keepdims", False, [], ())
    ([3, 1, -2], [True])
    """
    if type(given) is bool:
        return [not given]
    if type(given) is int:
        return [value for value in (given + 1, given - 1, -given or -1) if value != given]
    if type(given) is float:
        return [given + 0.5, 2.0 * given] if given else [0.5]
    found = literals_of(f, name)
    if type(given) is str and not found:
        found = [*words_for(name, given), *words_in(functions)]
    found = [value for value in dict.fromkeys(found) if value not in (given, *known)]
    return found or (["other"] if type(given) is str else [])


def turned_axes(options: Mapping[str, Any], operands: Any) -> Iterator[tuple[str, Any]]:
    """List options that are an order of axes with others that are not their own inverse.

    One is of as many axes as there are, if these are three or more, and one of one more.

    Examples
    --------
    >>> list(turned_axes({"axes": (1, 0)}, (np.ones((2, 3)),)))
    [('axes', (1, 2, 0))]
    """
    ndim = np.ndim(operands[0]) if operands and isinstance(operands[0], np.ndarray) else 0
    for name, given in options.items():
        is_order = type(given) in (tuple, list) and sorted(map(repr, given)) == [
            repr(k) for k in range(ndim)
        ]
        if ndim > 1 and (is_order or (given is None and name in _ORDERS)):
            kind = tuple if given is None else type(given)
            for n in range(max(3, ndim), ndim + 2):
                yield name, kind((*range(1, n), 0))


_ORDERS = "axes", "perm", "permutation", "dims"


def _listed(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return [value for part in typing.get_args(annotation) for value in _listed(part)]


def other_axes(
    names: set[str], given: Mapping[str, Any], ndim: int, default: Any = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """List every way to say the axis, and keepdims, with what is wrong only there."""
    axis = given.get("axis", default)
    if "keepdims" in names and not given.get("keepdims"):
        yield "wrong only for keepdims=True", {"keepdims": True}
    if "axis" in names:
        for other in range(min(ndim, 2)):
            if axis != other and type(axis) is not tuple:
                yield f"wrong only for axis={other}", {"axis": other}
        if ((type(axis) is int and axis >= 0) or axis is None) and ndim:
            yield "wrong only for negative axis", {"axis": -1}
            if ndim > 1:
                yield "wrong only for negative axis", {"axis": -ndim}
        if axis is not None:
            yield "wrong only for axis=None", {"axis": None}
        if ndim > 1 and type(axis) is not tuple:
            yield "wrong only for a tuple of axes", {"axis": (0, 1)}
            yield "wrong only for axes in another order", {"axis": (1, 0)}
            if ndim > 2:
                yield "wrong only for axes in another order", {"axis": (2, 0)}
            yield "wrong only for negative axes", {"axis": (-1, 0)}
        if "keepdims" in names and ndim > 1:
            yield "wrong only for keepdims=True", {"axis": 1, "keepdims": True}
            yield "wrong only for negative axis with keepdims=True", {"axis": -1, "keepdims": True}
