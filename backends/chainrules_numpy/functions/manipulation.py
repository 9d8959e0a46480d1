"""The rows of what changes the shape or the order of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import axis, row, shape
from chainrules_py import vocabulary as v
from chainrules_py.composites import manipulation as m

__all__: list[str] = []

_f: Any
_composite: Any

row(np.reshape, v.reshape, refuse=("copy", "newshape"), shape=shape, order=low.element_order)
row(np.ravel, m.ravel)
row(np.transpose, v.permute_dims, axes=low.as_option("axes"))
row(np.matrix_transpose, v.matrix_transpose, None)
row(np.swapaxes, m.swapaxes)
row(np.moveaxis, m.moveaxis)
row(np.rollaxis, m.rollaxis)
row(np.expand_dims, v.expand_dims, axis=axis)
row(np.squeeze, v.squeeze, axis=axis)
row(np.broadcast_to, v.broadcast_to, "array", refuse=("subok",), shape=shape)
row(
    np.broadcast_arrays,
    m.broadcast_arrays,
    None,
    refuse=("subok",),
    gather="arrays",
    parameters={"arrays": None, "subok": False},
    arrays=low.as_arrays,
)
for _f, _composite in (
    (np.atleast_1d, m.atleast_1d),
    (np.atleast_2d, m.atleast_2d),
    (np.atleast_3d, m.atleast_3d),
):
    row(_f, _composite, None, gather="arrays", parameters={"arrays": None}, arrays=low.as_arrays)
row(np.flip, v.flip, "m", axis=axis)
row(np.fliplr, m.fliplr, "m")
row(np.flipud, m.flipud, "m")
row(np.roll, v.roll, shift=low.as_option("shift"), axis=axis)
row(np.tile, v.tile, "A", reps=low.as_option("repetitions", sequence=True))
row(np.repeat, v.repeat, axis=axis, repeats=low.as_array("repeats"))
row(np.astype, v.astype, None, refuse=("copy", "device"))
row(np.copy, v.copy, refuse=("order", "subok"))
