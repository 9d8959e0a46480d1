"""Aliases of NumPy's statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import histograms as h
from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import quantiles as q
from chainrules_numpy.composites import statistics as s
from chainrules_numpy.function_aliases.alias_constructors import axes, axis, ignored, row
from chainrules_numpy.late_alias import alias
from chainrules_numpy.reduction_values_by_numpy import asks, warning
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call

_f: Any
_composite: Any

for _f, _operation, _composite in (
    (np.mean, v.mean, s.mean),
    (np.nanmean, warning(np.nanmean, s.nanmean), s.nanmean),
):
    row(
        _f,
        _operation,
        refuse=("out",),
        axis=axes,
        **asks(_f, dtype=low.computed_in, where=low.as_keyword("where", _composite)),
    )
for _f, _operation, _composite in (
    (np.var, v.var, s.var),
    (np.std, v.std, s.std),
    (np.nanvar, warning(np.nanvar, s.nanvar), s.nanvar),
    (np.nanstd, warning(np.nanstd, s.nanstd), s.nanstd),
):
    row(
        _f,
        _operation,
        refuse=("out",),
        axis=axes,
        ddof=low.ddof,
        **asks(
            _f,
            dtype=low.computed_in,
            where=low.as_keyword("where", _composite),
            mean=low.as_keyword("mean", _composite, numbers=False),
        ),
    )
row(np.average, s.average, a=low.as_keyword("x"), axis=axis, weights=low.as_keyword("weights"))


def kept(call: Call, keepdims: Any) -> None:
    """Lower ``keepdims=``: the result is an array, even without an axis to keep."""
    call.options["keepdims"] = keepdims
    if keepdims:
        call.after.append(low.in_array)


for _f, _composite in ((np.median, q.median), (np.nanmedian, warning(np.nanmedian, q.nanmedian))):
    row(
        _f,
        _composite,
        refuse=("out",),
        overwrite_input=ignored,
        axis=axis,
        keepdims=kept,
    )
for _f, _composite in (
    (np.quantile, q.quantile),
    (np.percentile, q.percentile),
    (np.nanquantile, warning(np.nanquantile, q.nanquantile)),
    (np.nanpercentile, warning(np.nanpercentile, q.nanpercentile)),
):
    row(
        _f,
        _composite,
        refuse=("out",),
        overwrite_input=ignored,
        a=low.as_keyword("x"),
        q=low.as_keyword("q", numbers=False),
        axis=axis,
        weights=low.as_keyword("weights"),
    )
_MODES = ("valid", "same", "full")


def _mode(value: Any) -> Any:
    """Return a mode by its name; as in NumPy, its number is allowed as well."""
    if value in _MODES:
        return value
    if isinstance(value, int) and 0 <= value < len(_MODES):
        return _MODES[value]
    raise (ValueError if isinstance(value, (str, int)) else TypeError)(
        f"mode={value!r} of convolve or correlate; write one of {', '.join(map(repr, _MODES))}"
    )


for _f, _operation, _operand in (
    (np.convolve, v.convolve, low.as_array),
    (np.correlate, s.correlate, low.as_keyword),
):
    alias(
        _f,
        to=_operation,
        rename={"a": "x1", "v": "x2"},
        lower={
            "a": _operand("x1"),
            "v": _operand("x2"),
            "mode": AsArgument("mode", _mode),
        },
    )
row(
    np.bincount,
    s.bincount,
    None,
    x=low.as_keyword("x"),
    weights=low.as_keyword("weights"),
)


def inexact(call: Call, dtype: Any) -> None:
    """Lower ``dtype=``: it must hold floating-point differences from a mean."""
    if np.dtype(dtype).kind not in "fc":
        raise TypeError(
            f"Cannot cast what is computed in dtype float64 to {np.dtype(dtype)} by 'same_kind'"
        )
    call.options["dtype"] = dtype


row(
    np.cov,
    s.cov,
    "m",
    dtype=inexact,
    m=low.as_keyword("x"),
    y=low.as_keyword("y"),
    fweights=low.as_keyword("fweights"),
    aweights=low.as_keyword("aweights"),
)
row(
    np.corrcoef,
    s.corrcoef,
    None,
    x=low.as_keyword("x"),
    y=low.as_keyword("y"),
    dtype=inexact,
)
_named: dict[str, Any] = {name: low.as_keyword(name) for name in ("a", "x", "y", "weights")}
for _f, _composite in (
    (np.histogram, h.histogram),
    (np.histogram_bin_edges, h.histogram_bin_edges),
    (np.histogram2d, h.histogram2d),
    (np.histogramdd, h.histogramdd),
):
    row(_f, _composite, None, **_named)
