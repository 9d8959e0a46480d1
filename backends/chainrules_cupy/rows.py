"""The rows of CuPy's functions, which are NumPy's as far as names and parameters agree."""

from __future__ import annotations

import functools
from typing import Any

import cupy
import numpy as np

from chainrules_py.alias import Alias
from chainrules_py.kinship import derive, rows_of
from chainrules_py.loading import see

__all__ = ["derive_all", "left_out"]

left_out: dict[str, str] = {}
"""The functions of NumPy with a row that have none here, with the reason."""

_UFUNC = {"out": None, "dtype": None, "casting": "same_kind"}
"""The keywords of CuPy's ufuncs."""

_OF_UFUNCS = ("reduce", "accumulate", "outer", "at")
"""Methods of CuPy's ufuncs are reductions of arrays, which have rows, or are not implemented."""


def _inside(space: Any, path: str) -> Any:
    try:
        return functools.reduce(getattr, path.split("."), space)
    except AttributeError:
        return None


def derive_all(root: str, space: Any) -> None:
    """Enter a row for each function of a library that is another's, by the other's rows."""
    for path, row in rows_of(root).items():
        first, _, last = path.partition(".")
        if first == "generic" or last in _OF_UFUNCS:
            continue
        native = _inside(space, path)
        if native is None:
            left_out[f"{root}.{path}"] = "CuPy has no function of this name"
        elif _derived(native, row) is None:
            left_out[f"{root}.{path}"] = "its parameters are others"


def _derived(native: Any, row: Alias) -> Alias | None:
    if isinstance(native, cupy.ufunc):
        operands = [n for n in row.positional if n not in _UFUNC]
        return derive(native, row, parameters=dict.fromkeys(operands) | _UFUNC)
    if not callable(native):  # a property
        return derive(native, row, parameters={"self": None})
    return derive(native, row)


# The rows of NumPy are entered by whoever speaks for it.
see(None, (np.ndarray,))
derive_all("numpy", cupy)
