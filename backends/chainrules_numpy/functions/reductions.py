"""The rows of NumPy's reductions and cumulative functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import axis, row
from chainrules_py import vocabulary as v
from chainrules_py.composites import manipulation as m

__all__: list[str] = []

_f: Any
_word: Any
_join: Any

for _f, _word, _identity, _join in (
    (np.sum, v.sum, 0, v.add),
    (np.prod, v.prod, 1, v.multiply),
):
    row(
        _f,
        _word,
        refuse=("out",),
        axis=axis,
        dtype=low.converted,
        where=low.masked(_identity),
        initial=low.started(_join),
    )
for _f, _word, _sign, _join in (
    (np.max, v.max, -1.0, v.maximum),
    (np.amax, v.max, -1.0, v.maximum),
    (np.min, v.min, 1.0, v.minimum),
    (np.amin, v.min, 1.0, v.minimum),
):
    row(
        _f,
        _word,
        refuse=("out",),
        axis=axis,
        initial=low.started(_join),
        where=low.masked_extreme(_sign),
    )
row(np.mean, v.mean, refuse=("out",), axis=axis, dtype=low.converted, where=low.masked_mean)
for _f, _word in ((np.var, v.var), (np.std, v.std)):
    row(
        _f,
        _word,
        refuse=("out", "where", "mean"),
        axis=axis,
        dtype=low.converted,
        ddof=low.ddof,
    )
row(np.any, v.any, refuse=("out",), axis=axis, where=low.masked(False))
row(np.all, v.all, refuse=("out",), axis=axis, where=low.masked(True))
row(np.argmax, v.argmax, refuse=("out",), axis=axis)
row(np.argmin, v.argmin, refuse=("out",), axis=axis)
row(np.count_nonzero, v.count_nonzero, axis=axis)
row(np.cumsum, v.cumulative_sum, refuse=("out",), axis=axis, dtype=low.converted)
row(np.cumprod, v.cumulative_prod, refuse=("out",), axis=axis, dtype=low.converted)
if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    for _f, _word in (
        (np.cumulative_sum, v.cumulative_sum),
        (np.cumulative_prod, v.cumulative_prod),
    ):
        row(_f, _word, None, refuse=("out",), axis=axis, dtype=low.converted)
row(np.ptp, m.ptp, refuse=("out",), axis=axis)
row(np.diff, m.diff, refuse=("prepend", "append"))
