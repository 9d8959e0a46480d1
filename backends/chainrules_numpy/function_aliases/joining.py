"""Aliases of functions that join and split arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import joining as j
from chainrules_numpy.function_aliases.alias_constructors import axis, counted_axis, row
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call, kind_of, type_info

_f: Any
_composite: Any


def joined_as(call: Call, dtype: Any) -> None:
    """Lower ``dtype=``; as in NumPy, each array must be castable to it."""
    dtype = np.dtype(dtype)
    for name, value in call.operands.items():
        arrays = value if type(value) is list else [value]
        for x in arrays:
            if not np.can_cast(low.numpy_dtype(x), dtype, "same_kind"):
                raise TypeError(
                    f"Cannot cast array data from {x.dtype!r} to {dtype!r} by rule 'same_kind'"
                )
        arrays = [x if low.numpy_dtype(x) == dtype else v.astype(x, dtype=dtype) for x in arrays]
        call.operands[name] = arrays if type(value) is list else arrays[0]


def numbers_following(arrays: Any) -> list[Any]:
    """Convert arrays to be joined flat: unlike elsewhere, a Python number takes their dtype."""
    given, numbers = list(arrays), {"int": 0, "real": 0.0, "complex": 0j}
    weak = [numbers[kind_of(x)] if type_info(type(x)).is_python_number else None for x in given]
    each = list(zip(weak, map(low.array_of, given), strict=True))
    if weak == [None] * len(weak):
        return [x for _, x in each]
    dtype = np.result_type(*[low.numpy_dtype(x) if n is None else n for n, x in each])
    return [x if n is None else v.astype(x, dtype=dtype) for n, x in each]


def nested(call: Call, arrays: Any) -> None:
    """Convert the arrays in nested lists."""

    def each(x: Any) -> Any:
        if type(x) is tuple:
            raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks")
        return [each(item) for item in x] if type(x) is list else low.array_of(x)

    call.operands = {"arrays": each(arrays)}


_flat = AsArgument("arrays", numbers_following, low.as_arrays.place)
for _f, _composite, _arrays in (
    (np.concatenate, v.concat, _flat),
    (np.concat, v.concat, _flat),
    (np.stack, v.stack, low.as_arrays),
):
    row(
        _f,
        _composite,
        None,
        refuse=("out", "casting"),
        arrays=_arrays,
        axis=axis,
        dtype=joined_as,
    )
for _f, _composite in ((np.vstack, j.vstack), (np.hstack, j.hstack)):
    row(_f, _composite, None, refuse=("casting",), tup=low.as_arrays, dtype=joined_as)
for _f, _composite in ((np.dstack, j.dstack), (np.column_stack, j.column_stack)):
    row(_f, _composite, None, tup=low.as_arrays)
row(np.append, j.append, "arr", arr=low.as_array("x"), values=low.as_array("values"), axis=axis)
row(np.block, low.gives_arrays(j.block), None, arrays=nested)
row(
    np.meshgrid,
    j.meshgrid,
    None,
    gather="xi",
    parameters={"xi": None, "copy": True, "sparse": False, "indexing": "xy"},
    xi=low.as_arrays,
)
row(np.unstack, j.unstack, None)


for _f, _composite in (
    (np.hsplit, j.hsplit),
    (np.vsplit, j.vsplit),
    (np.dsplit, j.dsplit),
):
    row(_f, _composite, "ary")
for _f, _composite in ((np.split, j.split), (np.array_split, j.array_split)):
    row(_f, _composite, "ary", axis=counted_axis)
