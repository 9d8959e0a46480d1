"""Aliases of creation functions: like other arrays, from values, and between two numbers.

NumPy does not dispatch calls of np.array, np.asarray, np.full and the like without ``like=``: with
a tracer they raise an error that says what to write.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import creation as c
from chainrules_numpy.function_aliases.alias_constructors import (
    constants,
    ignored,
    row,
    shape,
)
from chainrules_numpy.late_alias import alias
from chainrules_py import ZeroTangent, primitive, rrule
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument

_f: Any
_operation: Any
_made: Any = {"order": low.memory_order, "subok": ignored, "device": low.on_cpu}

for _f, _operation, _fill in ((np.zeros_like, v.zeros_like, 0), (np.ones_like, v.ones_like, 1)):
    row(_f, _operation, shape=low.of_shape(_fill), **_made)
row(np.empty_like, v.zeros_like, "prototype", shape=low.of_shape(0), **_made)
row(
    np.full_like,
    c.full_of,
    a=low.as_keyword("x"),
    fill_value=low.as_array("fill_value"),
    shape=shape,
    **_made,
)
row(
    np.full,
    c.full,
    None,
    refuse=("device", "like"),
    order=low.result_order,
    shape=shape,
    fill_value=low.as_array("fill_value"),
)

# Functions of numbers only; with ``like=`` a tracer dispatches them.
constants(np.zeros, np.ones, np.empty, np.eye, np.identity, np.tri)
_arange: Any = primitive(shape_from_data=True)(np.arange)
alias(np.arange, to=_arange)


@rrule.register(_arange)
def arange_rrule(start_or_stop: Any, stop: Any = None, step: Any = 1, /, **options: Any) -> Any:
    """Pull back to start + i step, the i-th number; their count changes in steps."""
    y = _arange(start_or_stop, stop, step, **options)

    def pullback(y_bar: Any) -> tuple[Any, Any, Any]:
        places = v.astype(v.arange_like(y_bar, stop=y_bar.shape[0]), dtype=y_bar.dtype)
        start_bar = ZeroTangent() if stop is None else v.sum(y_bar)
        return start_bar, ZeroTangent(), v.sum(y_bar * places)

    return y, pullback


# --------------------------------------------------------------------------------- from values


def asarray(a: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """Convert to an array, with another dtype if one is given."""
    x = low.array_of(a)
    if dtype is not None and low.numpy_dtype(x) != np.dtype(dtype):
        return low.in_array(v.astype(x, dtype=np.dtype(dtype)))
    return low.in_array(v.copy(x) if copy else x)


def array(object: Any, dtype: Any = None, copy: bool | None = True, ndmin: int = 0) -> Any:
    """Make an array, by default a copy, with leading axes of length one."""
    x = asarray(object, dtype, copy)
    missing = (1,) * (ndmin - x.ndim)
    return v.reshape(x, shape=(*missing, *x.shape)) if missing else x


def contiguous(a: Any, dtype: Any = None) -> Any:
    """Return an array with at least one axis."""
    return array(a, dtype, None, 1)


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """Return an array, copied if ownership is required; other requirements concern memory only."""
    np.require(np.zeros(()), None, requirements)  # checks the requirements
    names = [str(name).upper() for name in requirements or ()]
    return asarray(a, dtype, "O" in names or "OWNDATA" in names)


for _f in (asarray, array, contiguous, require):
    _f.reads_types = True  # a number becomes an array of the library of ``like=``
row(np.array, array, None, refuse=("subok", "ndmax", "like"), order=ignored)
for _f in (np.asarray, np.asanyarray):
    row(_f, asarray, None, refuse=("device", "like"), order=ignored)
for _f, _operation in (
    (np.ascontiguousarray, contiguous),
    (np.asfortranarray, contiguous),
    (np.require, require),
):
    row(_f, _operation, None, refuse=("like",))

# ------------------------------------------------------------------------------ between two numbers


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Call geomspace with its options as keywords."""
    return v.geomspace(start, stop, num=num, endpoint=endpoint, dtype=dtype, axis=axis)


def _one(axis: Any) -> int:
    """Return an axis, which may be given as a list of one."""
    if isinstance(axis, (list, tuple)):
        (axis,) = axis
    return operator.index(axis)


_ends: dict[str, Any] = {
    "start": AsArgument("start", low.unless_number),
    "stop": AsArgument("stop", low.unless_number),
    "dtype": AsArgument("dtype", np.dtype),
    "axis": AsArgument("axis", _one),
}
row(np.linspace, c.linspace, None, refuse=("device",), **_ends)
row(np.logspace, c.logspace, None, base=AsArgument("base", low.unless_number), **_ends)
row(np.geomspace, geomspace, None, **_ends)
