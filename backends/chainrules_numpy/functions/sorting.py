"""The rows of sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import ignored, row
from chainrules_numpy.rows import alias
from chainrules_py import non_differentiable, primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import Call

_f: Any
_word: Any


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Any:
    """Find the places that sorting takes elements from; ``kind`` orders equal elements."""
    if axis is None:
        x, axis = v.reshape(x, shape=(-1,)), -1
    in_order = bool(stable) or kind in ("stable", "mergesort")
    return v.argsort(x, axis=axis, descending=bool(descending), stable=in_order)


def sort_complex(x: Any) -> Any:
    """Along the last axis, as complex numbers."""
    y = v.sort(x)
    dtype = low.numpy_dtype(y)
    return y if dtype.kind == "c" else v.astype(y, dtype=np.sort_complex(dtype.type([])).dtype)


def places(call: Call, kth: Any) -> None:
    """``kth=``: one place or several."""
    call.options["kth"] = low.static(kth)


row(np.sort, v.sort, refuse=("order",), axis=low.flattened, kind=ignored, stable=ignored)
row(np.argsort, argsort, refuse=("order",))
row(np.sort_complex, sort_complex)
row(np.partition, v.partition, refuse=("order",), axis=low.flattened, kind=ignored, kth=places)
for _f in (np.argpartition, np.lexsort, np.searchsorted, np.isin):
    _word = primitive(_f)
    non_differentiable(_word)
    alias(_f, to=_word, refuse=("order",) if "order" in _word.operands else ())
