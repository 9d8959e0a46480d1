"""The rows of sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import row
from chainrules_py import vocabulary as v

__all__: list[str] = []


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
