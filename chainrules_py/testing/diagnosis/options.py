"""Other values of what has no derivative: by type and annotation; all ways to say an axis."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np


def _hint(f: Any, name: str) -> Any:
    try:
        return typing.get_type_hints(getattr(f, "__wrapped__", f)).get(name)
    except Exception:
        return None


def other_values(f: Any, name: str, given: Any, known: Iterable[str]) -> list[Any]:
    """List other values of what has no derivative, by its type and annotation.

    None may mean anything: its other values are those of the annotation.

    Examples
    --------
    >>> other_values(np.sum, "p", 2, ()), other_values(np.sum, "keepdims", False, ())
    ([3, 1, -2, 2.5], [True])
    >>> other_values(np.sum, "mode", "same", ())
    ['full', 'valid']
    >>> other_values(np.sum, "pad", (1, 1), ()), other_values(np.sum, "at", slice(4), ())
    ([(1, 2), (2, 1)], [slice(None, 4, 2), slice(None, None, -1), slice(-2, None, None)])
    """
    listed = _listed_by(_hint(f, name))
    is_said = isinstance(given, str) and any(isinstance(x, str) for x in listed)
    found = [*([] if is_said else _by_type(name, given)), *listed]
    found = [x for x in found if not (isinstance(x, str) and x in known)]
    apart = {repr(x): x for x in found if repr(x) != repr(given)}
    return list(apart.values()) or (["other"] if type(given) is str else [])


def _by_type(name: str, given: Any) -> list[Any]:
    """List values of the type of one that is given."""
    if type(given) is bool:
        return [not given]
    if type(given) is int:
        parts = [] if name in _NO_NUMBERS else [given + 0.5]
        return [given + 1, given - 1, -given or -1, *parts]
    if type(given) is float:
        sides = [] if name in _NO_NUMBERS else [given + 1.25]
        return [*([given + 0.5, 2.0 * given] if given else [0.5]), *sides]
    if type(given) is str:
        return _words_for(name, given)
    if isinstance(given, enum.Enum):
        return list(type(given))
    if type(given) is slice:
        return slices_beside(given)
    if type(given) is tuple and len(given) > 1 and {*map(type, given)} == {int}:
        return [(*given[:-1], given[-1] + 1), (given[0] + 1, *given[1:]), given[::-1]]
    return []


def slices_beside(given: slice) -> list[slice]:
    """List other slices: with a step, the other way round, counted from the end."""
    return [slice(given.start, given.stop, 2), slice(None, None, -1), slice(-2, None)]


def _words_for(option: str, given: str) -> list[str]:
    """List the words that an option of this name takes in NumPy and its relatives, beside one."""
    groups = [group for group in _WORDS.get(option, ()) if given in group]
    return list(dict.fromkeys(word for group in groups for word in group))


_WORDS = {
    "mode": (
        ("constant", "edge", "reflect", "symmetric", "wrap"),
        ("full", "same", "valid"),
        ("mean", "sum", "max"),
        ("nearest", "linear", "cubic"),
        ("raise", "clip", "wrap"),
    ),
    "padding": (
        ("same", "valid"),
        ("zeros", "reflect", "replicate", "circular"),
        ("SAME", "VALID"),
    ),
    "reduction": (("mean", "sum", "none"),),
    "norm": (("backward", "ortho", "forward"),),
    "order": (("C", "F", "A"),),
    "side": (("left", "right"),),
    "uplo": (("U", "L"),),
    "UPLO": (("U", "L"),),
    "approximate": (("none", "tanh"),),
    "method": (("linear", "lower", "higher", "midpoint", "nearest"),),
}


_NO_NUMBERS = {"axis", "axes", "dtype", "out", "where", "order", "rng", "seed", "device", "casting"}
_NO_NUMBERS |= {"tol", "rtol", "atol", "rcond", "eps", "max_steps", "maxiter", "solver"}


def _listed_by(hint: Any) -> list[Any]:
    """List values that an annotation lists: ``Literal["full", "same"]``, members, two flags."""
    found = [x for x in _listed(hint) if x is not None]
    parts = () if typing.get_origin(hint) is typing.Literal else typing.get_args(hint)
    for one in parts:
        found += [True, False] if one is bool else [0, 1, 2] if one is int else []
    for kind in (hint, *parts):
        found += list(kind.__members__.values()) if isinstance(kind, enum.EnumMeta) else []
    return found


def spelled(given: Any) -> list[tuple[Any, Any]]:
    """List other spellings of values, and what they mean where a function takes them.

    Examples
    --------
    >>> spelled("same"), spelled((0, 1)), spelled(False), spelled(2)
    ([('SAME', 'same')], [([0, 1], (0, 1))], [(1, True)], [(np.int64(2), 2)])
    """
    if type(given) in (bool, int):
        return [(1, True) if type(given) is bool else (np.int64(given), given)]
    ways: dict[Any, Any] = {str: str.swapcase, tuple: list, list: tuple}
    other = ways.get(type(given))
    return [] if other is None or other(given) == given else [(other(given), given)]


def turned_axes(options: Mapping[str, Any], operands: Any) -> Iterator[tuple[str, Any]]:
    """List options that are an order of axes with others that are not their own inverse.

    One is of as many axes as there are, if these are three or more, and one of one more.

    Examples
    --------
    >>> list(turned_axes({"axes": (1, 0)}, (np.ones((2, 3)),)))
    [('axes', (1, 2, 0)), ('axes', (1, -1, 0))]
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
            yield name, kind((*range(1, ndim), -1, 0))


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
