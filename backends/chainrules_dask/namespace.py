"""Dask as an array-API namespace: that of array-api-compat, restricted to lazy functions.

Functions with other parameters than the operation of their name are omitted, so that the operation
is composed of other operations, and so are functions that would compute: nothing is computed while
a program is recorded.
"""

from __future__ import annotations

import importlib
import numbers
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError

compat: Any = importlib.import_module("array_api_compat.dask.array")

# Functions with the name of an operation, but other parameters.
_OTHER = frozenset(
    {
        *("bincount", "choose", "diagonal", "dot", "einsum", "interp", "inner", "linspace"),
        *("nan_to_num", "outer", "pad", "partition", "polyval", "trace", "unwrap"),
    }
)

_MATRIX = "call the whole function with NumPy's array, x.compute(), if one machine holds the matrix"
_VALUES = "call the whole function with NumPy's array, x.compute(), or leave it out"
_REFUSED = {
    **dict.fromkeys(("svd", "svdvals", "qr", "lstsq", "matrix_rank"), _MATRIX),
    **dict.fromkeys(("eig", "eigvals", "lu_factor", "qr_raw", "matrix_norm"), _MATRIX),
    **dict.fromkeys(("real_if_close", "complex_outside"), _VALUES),
    "bincount": "write np.sum(np.where(labels == k, weights, 0.0)) for each k",
    "linspace": "write start + (stop - start) * da.linspace(0, 1, n), with numbers there",
    "reduce": "write the loop, or chainrules_dask.map_reduce_grad over blocks",
    "map": "write da.stack([f(x[i]) for i in range(n)]), or map_reduce_grad over blocks",
    "roots": _VALUES,
    "unique_values": _VALUES,
}


def refusal(name: str, instead: str) -> NotDifferentiableError:
    """Return the error for a function that Dask arrays do not have here."""
    msg = (
        f"{name} of a Dask array has no derivative here: Dask has no such function that is lazy, "
        f"or needs to see values first; {instead}"
    )
    return NotDifferentiableError(msg)


def _refused(name: str, instead: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise refusal(name, instead.format(name=name))

    return refuse


class _Part:
    """An extension of the array-API standard, without the omitted functions."""

    def __init__(self, space: Any) -> None:
        self._space = space

    def __getattr__(self, name: str) -> Any:
        return _found(self._space, name)


def _found(space: Any, name: str) -> Any:
    if name in _REFUSED:
        return _refused(name, _REFUSED[name])
    if name in _OTHER:
        raise AttributeError(f"Dask has no {name} that takes what the operation does")
    return getattr(space, name)


linalg, fft = _Part(compat.linalg), _Part(compat.fft)


def asarray(x: Any, /, **options: Any) -> Any:
    """Convert to a Dask array; a list or number to NumPy's, whose values are known."""
    return (np if isinstance(x, list | tuple | numbers.Number) else compat).asarray(x, **options)


def __getattr__(name: str) -> Any:
    return _found(compat, name)
