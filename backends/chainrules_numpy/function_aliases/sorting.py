"""Aliases of sorting and searching."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.function_aliases.alias_constructors import constants, ignored, row
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call

_NONE: Any = np.zeros(1)
_argsort: Any = np.argsort


def argsort(
    x: Any,
    axis: int | None = -1,
    kind: str | None = None,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Any:
    """Return the indices that sort x; ``kind`` determines the order of equal elements."""
    since_2_5 = {} if descending is None else {"descending": descending}
    _argsort(_NONE, kind=kind, stable=stable, **since_2_5)  # checks the kind
    if axis is None:
        x, axis = v.reshape(x, shape=(-1,)), -1
    in_order = bool(stable) or kind in ("stable", "mergesort")
    return v.argsort(x, axis=axis, descending=bool(descending), stable=in_order)


def sort_complex(x: Any) -> Any:
    """Sort along the last axis, with a complex result."""
    y = v.sort(x)
    dtype = low.numpy_dtype(y)
    return y if dtype.kind == "c" else v.astype(y, dtype=np.sort_complex(dtype.type([])).dtype)


def known(f: Any) -> Any:
    """Return a lowering that lets NumPy check the kind of sorting."""

    def lower(call: Call, kind: Any) -> None:
        # What NumPy takes without a kind, since 2.5.
        f(kind=kind, **{k: o for k, o in call.options.items() if k == "descending"})

    return lower


row(
    np.sort,
    v.sort,
    refuse=("order",),
    axis=low.flattened,
    kind=known(functools.partial(np.sort, _NONE)),
    stable=ignored,
)
row(np.argsort, argsort, refuse=("order",))
row(np.sort_complex, sort_complex, a=low.as_array("x"))
row(
    np.partition,
    v.partition,
    refuse=("order",),
    axis=low.flattened,
    kind=known(functools.partial(np.partition, _NONE, 0)),
    kth=AsArgument("kth", low.static),
)
constants(np.argpartition, np.lexsort, np.searchsorted, np.isin, refuse=("order",))
