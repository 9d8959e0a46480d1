"""Aliases of NumPy's reductions, cumulative functions and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import reductions as r
from chainrules_numpy.function_aliases.alias_constructors import (
    axes,
    axis,
    constants,
    counted_axis,
    one_axis,
    row,
)
from chainrules_numpy.late_alias import alias
from chainrules_numpy.reduction_values_by_numpy import asks, warning
from chainrules_py import ops as v

_f: Any
_operation: Any

for _f, _operation, _identity, _start in (
    (np.sum, v.sum, 0, low.started(v.add)),
    (np.prod, v.prod, 1, low.multiplied()),
    (np.nansum, r.nansum, 0, low.started(v.add)),
    (np.nanprod, r.nanprod, 1, low.multiplied(lambda x: r.without_nan(x, 1))),
):
    row(
        _f,
        _operation,
        refuse=("out",),
        axis=axes,
        **asks(
            _f,
            dtype=low.converted,
            where=low.masked(_identity),
            initial=_start,
        ),
    )
for _f, _operation, _sign, _join in (
    (np.max, v.max, -1.0, v.maximum),
    (np.amax, v.max, -1.0, v.maximum),
    (np.min, v.min, 1.0, v.minimum),
    (np.amin, v.min, 1.0, v.minimum),
    (np.nanmax, warning(np.nanmax, v.nanmax), -1.0, v.fmax),
    (np.nanmin, warning(np.nanmin, v.nanmin), 1.0, v.fmin),
):
    row(
        _f,
        _operation,
        refuse=("out",),
        axis=axes,
        **asks(
            _f,
            initial=low.started_extreme(_join, _sign),
            where=low.masked_extreme(_sign),
        ),
    )
row(np.any, v.any, refuse=("out",), axis=axes, where=low.masked(False))
row(np.all, v.all, refuse=("out",), axis=axes, where=low.masked(True))
row(np.argmax, v.argmax, refuse=("out",), axis=one_axis)
row(np.argmin, v.argmin, refuse=("out",), axis=one_axis)
row(np.count_nonzero, v.count_nonzero, axis=axes)
for _f, _operation in (
    (np.cumsum, v.cumulative_sum),
    (np.cumprod, v.cumulative_prod),
    (np.nancumsum, r.nancumsum),
    (np.nancumprod, r.nancumprod),
):
    row(_f, _operation, refuse=("out",), axis=one_axis, **asks(_f, dtype=low.converted))


def along(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a cumulative function that requires an axis, unless there is only one."""

    def cumulative(x: Any, *, axis: Any = None, include_initial: bool = False) -> Any:
        if x.ndim > 1 and axis is None:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        axis = axis[0] if type(axis) is tuple and len(axis) == 1 else axis
        return operation(x, axis=axis, include_initial=include_initial)

    return cumulative


for _f, _operation in (
    (np.cumulative_sum, along(v.cumulative_sum)),
    (np.cumulative_prod, along(v.cumulative_prod)),
):
    row(_f, _operation, None, refuse=("out",), axis=axes, **asks(_f, dtype=low.converted))
constants(np.nanargmax, np.nanargmin, np.digitize)
row(np.ptp, r.ptp, refuse=("out",), axis=axes)
row(
    np.diff,
    r.diff,
    a=low.as_keyword("x"),
    axis=counted_axis,
    prepend=low.as_keyword("prepend"),
    append=low.as_keyword("append"),
)
row(
    np.ediff1d,
    r.ediff1d,
    "ary",
    ary=low.as_keyword("x"),
    to_begin=low.as_keyword("to_begin"),
    to_end=low.as_keyword("to_end"),
)
row(
    np.trapezoid, r.trapezoid, None, y=low.as_keyword("y"), x=low.as_keyword("x"), axis=counted_axis
)
alias(
    np.gradient,
    to=r.gradient,
    parameters={"f": None, "varargs": (), "axis": None, "edge_order": 1},
    positional=("f", "varargs"),
    gather="varargs",
    rename={"f": "x", "varargs": "spacings"},
    lower={"f": low.as_keyword("x"), "axis": axis},
)
