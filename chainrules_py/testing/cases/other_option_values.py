"""Other values of arguments without derivative, by type and annotation; other axes."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def other_values(f: Any, name: str, given: Any, known: Iterable[str]) -> list[Any]:
    """List other values of an argument without derivative, by its type and annotation.

    For None, only the annotation gives other values.

    Examples
    --------
    >>> import numpy as np
    >>> other_values(np.sum, "p", 2, ()), other_values(np.sum, "keepdims", False, ())
    ([3, 1, -2, 2.5], [True])
    >>> other_values(np.sum, "mode", "same", ())
    ['full', 'valid']
    >>> other_values(np.sum, "pad", (1, 1), ()), other_values(np.sum, "at", slice(4), ())
    ([(1, 2), (2, 1)], [slice(None, 4, 2), slice(None, None, -1), slice(-2, None, None)])
    """
    try:
        hint = typing.get_type_hints(getattr(f, "__wrapped__", f)).get(name)
    except Exception:
        hint = None
    listed = _listed_by(hint)
    is_said = isinstance(given, str) and any(isinstance(x, str) for x in listed)
    found = [*([] if is_said else _by_type(name, given)), *listed]
    found = [x for x in found if not (isinstance(x, str) and x in known)]
    apart = {repr(x): x for x in found if repr(x) != repr(given)}
    return list(apart.values()) or (["other"] if type(given) is str else [])


def _by_type(name: str, given: Any) -> list[Any]:
    """List other values of the type of a given one."""
    whole = name in _NO_NUMBERS
    if type(given) is bool:
        return [not given]
    if type(given) is int:
        return [given + 1, given - 1, -given or -1, *([] if whole else [given + 0.5])]
    if type(given) is float:
        other = [given + 0.5, 2.0 * given] if given else [0.5]
        return [*other, *([] if whole else [given + 1.25])]
    if type(given) is str:
        groups = [
            operations
            for operations in map(str.split, _OPERATIONS.get(name, ()))
            if given in operations
        ]
        return list(dict.fromkeys(operation for operations in groups for operation in operations))
    if isinstance(given, enum.Enum):
        return list(type(given))
    if type(given) is slice:
        return [slice(given.start, given.stop, 2), slice(None, None, -1), slice(-2, None)]
    if type(given) is tuple and len(given) > 1 and {*map(type, given)} == {int}:
        return [(*given[:-1], given[-1] + 1), (given[0] + 1, *given[1:]), given[::-1]]
    return []


_OPERATIONS = {
    "mode": (
        "constant edge reflect symmetric wrap",
        "full same valid",
        "mean sum max",
        "nearest linear cubic",
        "raise clip wrap",
    ),
    "padding": ("same valid", "zeros reflect replicate circular", "SAME VALID"),
    "reduction": ("mean sum none",),
    "norm": ("backward ortho forward",),
    "order": ("C F A",),
    "side": ("left right",),
    "uplo": ("U L",),
    "UPLO": ("U L",),
    "approximate": ("none tanh",),
    "method": ("linear lower higher midpoint nearest",),
}
"""For names of options, groups of values that they take in NumPy and related libraries."""

_NO_NUMBERS = {"axis", "axes", "dtype", "out", "where", "order", "rng", "seed", "device", "casting"}
_NO_NUMBERS |= {"tol", "rtol", "atol", "rcond", "eps", "max_steps", "maxiter", "solver"}


def _listed_by(hint: Any) -> list[Any]:
    """List the values that an annotation allows: those of a ``Literal`` or an enum, flags."""
    if typing.get_origin(hint) is typing.Literal:
        return [x for x in typing.get_args(hint) if x is not None]
    if isinstance(hint, enum.EnumMeta):
        return list(hint.__members__.values())
    plain: Mapping[Any, list[Any]] = {bool: [True, False], int: [0, 1, 2]}
    return [x for part in typing.get_args(hint) for x in plain.get(part) or _listed_by(part)]


def other_axes(
    names: set[str], given: Mapping[str, Any], ndim: int, default: Any = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every form of the axis, and keepdims, with the name of what may be wrong there."""
    axis = given.get("axis", default)
    if "keepdims" in names:
        other = not given.get("keepdims")
        yield f"keepdims={other}", {"keepdims": other}
    if "axis" not in names:
        return
    if type(axis) is not tuple:
        yield from ((f"axis={k}", {"axis": k}) for k in range(min(ndim, 2)) if k != axis)
    if (type(axis) is int or axis is None) and ndim:
        yield from (("negative axis", {"axis": k}) for k in {-1: 0, -ndim: 0} if k != axis)
    if axis is not None:
        yield "axis=None", {"axis": None}
    if ndim > 1 and type(axis) is not tuple:
        yield "a tuple of axes", {"axis": (0, 1)}
        yield "axes in another order", {"axis": (1, 0)}
        yield "negative axes", {"axis": (-1, 0)}
    if ndim > 2 and type(axis) is not tuple:
        yield "axes in another order", {"axis": (2, 0)}
    if "keepdims" in names and ndim > 1:
        yield "keepdims=True", {"axis": 1, "keepdims": True}
        yield "negative axis with keepdims=True", {"axis": -1, "keepdims": True}
