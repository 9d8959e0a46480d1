"""The rows of NumPy's functions: which word, or which composite of words, each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_py import alias, non_differentiable, primitive
from chainrules_py import vocabulary as v
from chainrules_py.alias import Lowering
from chainrules_py.composites import manipulation as m

__all__: list[str] = []


def row(
    native: Callable[..., Any],
    word: Callable[..., Any],
    first: str | None = "a",
    /,
    refuse: tuple[str, ...] = (),
    gather: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **lower: Lowering,
) -> None:
    """One row; ``first`` is what NumPy calls the operand x."""
    rename = {} if first is None else {first: "x"}
    alias(
        native,
        to=word,
        rename=rename,
        lower=lower,
        refuse=refuse,
        parameters=parameters,
        gather=gather,
    )


_f: Any
_word: Any
_composite: Any
_join: Any

axis = low.as_option("axis")
shape = low.as_option("shape", sequence=True)

# --------------------------------------------------------------------------------- reductions

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

# ------------------------------------------------------------------------------- manipulation

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

# ------------------------------------------------------------------------------------- joining

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

# ------------------------------------------------------------------------------------ indexing

row(np.take, v.take, refuse=("out", "mode"), indices=low.as_array("indices"), axis=axis)
row(np.take_along_axis, v.take_along_axis, "arr", axis=low.flattened)

# ------------------------------------------------------------------------------------- sorting


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Any:
    """The places that sorting takes the elements from, equal ones in the order of this kind."""
    if axis is None:
        x, axis = v.reshape(x, shape=(-1,)), -1
    in_order = bool(stable) or kind in ("stable", "mergesort")
    return v.argsort(x, axis=axis, descending=bool(descending), stable=in_order)


def ignored(call: Any, value: Any) -> None:
    """A keyword that changes how the result is found, and not what it is."""


row(np.sort, v.sort, refuse=("order",), axis=low.flattened, kind=ignored, stable=ignored)
row(np.argsort, argsort, refuse=("order",))

# ------------------------------------------------------------------------------------ creation

for _f, _word, _fill in ((np.zeros_like, v.zeros_like, 0), (np.ones_like, v.ones_like, 1)):
    row(_f, _word, refuse=("order", "subok", "device"), shape=low.of_shape(_fill))
row(
    np.empty_like,
    v.zeros_like,
    "prototype",
    refuse=("order", "subok", "device"),
    shape=low.of_shape(0),
)
row(
    np.full_like,
    m.full_of,
    refuse=("order", "subok", "device"),
    fill_value=low.as_array("fill_value"),
)

# ------------------------------------------------------- what is read off values, and is no number

for _f in (
    np.shape,
    np.ndim,
    np.size,
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.array_equal,
    np.iscomplexobj,
    np.isrealobj,
    np.searchsorted,
):
    _word = primitive(_f)
    non_differentiable(_word)
    alias(_f, to=_word)
