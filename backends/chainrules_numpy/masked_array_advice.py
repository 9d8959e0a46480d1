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
    chosen = f"use {{0}}[~np.array({mask}, bool)], and np for np.ma"
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
