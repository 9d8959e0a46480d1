"""The rows of what joins arrays, and takes them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import axis, row
from chainrules_py import vocabulary as v
from chainrules_py.composites import manipulation as m

__all__: list[str] = []

_f: Any
_composite: Any

for _f in (np.concatenate, np.concat):
    row(
        _f,
        v.concat,
        None,
        refuse=("out", "casting"),
        arrays=low.as_arrays,
        axis=axis,
        dtype=low.converted,
    )
row(
    np.stack,
    v.stack,
    None,
    refuse=("out", "casting"),
    arrays=low.as_arrays,
    axis=axis,
    dtype=low.converted,
)
for _f, _composite in ((np.vstack, m.vstack), (np.hstack, m.hstack)):
    row(_f, _composite, None, refuse=("dtype", "casting"), tup=low.as_arrays)
for _f, _composite in ((np.dstack, m.dstack), (np.column_stack, m.column_stack)):
    row(_f, _composite, None, tup=low.as_arrays)
row(np.append, m.append, "arr", values=low.as_array("values"))
if hasattr(np, "unstack"):  # since NumPy 2.1
    row(np.unstack, m.unstack, None)
for _f, _composite in (
    (np.split, m.split),
    (np.array_split, m.array_split),
    (np.hsplit, m.hsplit),
    (np.vsplit, m.vsplit),
    (np.dsplit, m.dsplit),
):
    row(_f, _composite, "ary")
