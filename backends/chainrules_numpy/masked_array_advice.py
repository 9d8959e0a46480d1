"""Hints for every function of numpy.ma that would make a plain array of a tracer."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy.refused_array_types import INSTEAD
from chainrules_py.extend import advise

_core: Any = np.ma.core
_PLAIN = f"a masked array holds plain numbers alone: {INSTEAD}"


def _chosen(line: Any) -> str:
    """Suggest the elements that a mask leaves, in place of a masked array of them."""
    mask = line.option("mask")
    chosen = (
        f"use {{0}}[~np.array({mask}, bool)], and np for np.ma, or np.where({mask}, fill, {{0}}), "
        "which is filled"
    )
    return _PLAIN if mask is None else chosen


for _entrance in (
    np.ma.getdata,
    np.ma.masked_where,
    np.ma.masked_invalid,
    np.ma.where,
    np.ma.concatenate,
    np.ma.dot,
    _core._MaskedUnaryOperation.__call__,
    _core._MaskedBinaryOperation.__call__,
    _core._DomainedBinaryOperation.__call__,
):
    advise(_entrance, _PLAIN)
advise(np.ma.MaskedArray.__new__, _chosen)

# These fill an array of objects with a text, which NumPy then compares with numbers.
_masked: Any = np.ma.MaskedArray
_FIRST = "a masked array holds plain numbers alone: write "
_CHOSEN = f"{_FIRST}m.data[~np.ma.getmaskarray(m)], which are the others, and np for np.ma"
_PLACES = f"{_FIRST}np.ma.masked_array(ignore_derivatives(x), mask): the places are constants"
for _ordering, _write in {
    **dict.fromkeys((_masked.max, _masked.min, _masked.sort), _CHOSEN),
    **dict.fromkeys((_masked.argmax, _masked.argmin, _masked.argsort), _PLACES),
}.items():
    advise(_ordering, _write)
