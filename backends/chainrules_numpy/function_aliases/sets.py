"""Aliases of set operations, which return elements of their operands in order.

Each element of the result is the first element of the operands that is equal to it, and follows
that element only: moving one of two equal elements separates them, which has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites.manipulation import moveaxis
from chainrules_numpy.function_aliases.alias_constructors import row
from chainrules_numpy.function_aliases.joining import numbers_following
from chainrules_py import ops as v

_f: Any


def found(values: Any, *arrays: Any) -> Any:
    """Return, for each value, the first equal element of the arrays."""
    flat = v.concat(*numbers_following(arrays), axis=None)
    plain = low.readable(flat)
    order = np.argsort(plain, kind="stable")
    return v.take(flat, order[np.searchsorted(plain, values, sorter=order)])


def _slices(x: Any, places: Any, axis: int) -> Any:
    """Take slices along an axis, which is the outermost in the memory of NumPy's result."""
    return moveaxis(v.take(moveaxis(x, axis, 0), places, axis=0), 0, axis)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Call np.unique; along an axis, take slices at the indices that it returns."""
    plain = low.readable(ar)
    keywords: dict[str, Any] = {"axis": axis, "equal_nan": equal_nan}
    keywords |= {} if sorted else {"sorted": sorted}  # not supported by every library
    keywords |= {"return_index": return_index or axis is not None}
    keywords |= {"return_inverse": return_inverse, "return_counts": return_counts}
    result: Any = np.unique(plain, **keywords)
    values, *rest = result if type(result) is tuple else (result,)
    values = found(values, ar) if axis is None else _slices(ar, rest[0], int(axis))
    rest = rest[1:] if keywords["return_index"] and not return_index else rest
    return (values, *rest) if rest else values


def standard(native: Callable[..., Any]) -> Callable[[Any], Any]:
    """Wrap one of the standard's four unique functions: values alone, or first in a namedtuple."""

    def function(x: Any) -> Any:
        y: Any = native(low.readable(x))
        return y._replace(values=found(y.values, x)) if hasattr(y, "values") else found(y, x)

    return function


def union1d(x: Any, y: Any) -> Any:
    """Find the elements that are in x, in y or in both."""
    return found(np.union1d(low.readable(x), low.readable(y)), x, y)


def setdiff1d(x: Any, y: Any, assume_unique: bool = False) -> Any:
    """Find the elements of x that are not in y."""
    return found(np.setdiff1d(low.readable(x), low.readable(y), assume_unique), x)


def setxor1d(x: Any, y: Any, assume_unique: bool = False) -> Any:
    """Find the elements of either array that are not in the other."""
    x, y = (x, y) if assume_unique else (low.array_of(x), low.array_of(y))  # as np.unique does
    return found(np.setxor1d(low.readable(x), low.readable(y), assume_unique), x, y)


def intersect1d(x: Any, y: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Find the elements of x that are in y as well, and their indices in both."""
    plain = low.readable(x), low.readable(y)
    values, *places = np.intersect1d(*plain, assume_unique, return_indices=True)
    values = found(values, x, y)
    return (values, *places) if return_indices else values


_both: dict[str, Any] = {"ar1": low.as_array("x"), "ar2": low.as_array("y")}
_joined: dict[str, Any] = {
    "ar1": low.as_array("x", low.unless_number),
    "ar2": low.as_array("y", low.unless_number),
}
row(np.unique, unique, None, ar=low.as_array("ar"))
for _f in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values):
    row(_f, standard(_f), None)
for _f, _composite, _operands in (
    (np.union1d, union1d, _joined),
    (np.setdiff1d, setdiff1d, _both),
    (np.setxor1d, setxor1d, _joined),
    (np.intersect1d, intersect1d, _both),
):
    row(_f, _composite, None, **_operands)
