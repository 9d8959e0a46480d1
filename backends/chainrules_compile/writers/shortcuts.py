"""Where a shorter way to write a call is open: by shapes, layouts and sizes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from chainrules_compile.passes.values import is_array, is_contiguous, size
from chainrules_py.program import Call, Value

_WHOLE = "bhilqpBHILQP"
ASKING = frozenset((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))
"""Ufuncs whose numbers are of the dtype of what they are compared with."""


@functools.lru_cache(maxsize=1024)
def takes_whole_numbers(function: Any) -> bool:
    """Tell whether a ufunc has loops of floating and whole numbers: 2 is not 2.0 to `np.ldexp`."""
    if not isinstance(function, np.ufunc):
        return False
    given = [{*kinds.partition("->")[0]} for kinds in function.types]
    return any([not chars.isdisjoint("efdgFDG") and chars & {*_WHOLE} for chars in given])


def is_plain(function: Any) -> bool:
    """Tell whether numbers among operands of a ufunc are of the dtype of its one result."""
    one = isinstance(function, np.ufunc) and function.nout == 1
    return one and function not in ASKING and not takes_whole_numbers(function)


def entry_text(entry: Any) -> str:
    """Return an entry of an index as it stands between brackets."""
    if type(entry) is not tuple:
        return repr(entry)
    if entry[0] is slice:
        start, stop, step = ["" if bound is None else repr(bound) for bound in entry[1:]]
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return repr(entry[1])


def takes_rows(x: Any, places: Any, call: Call) -> bool:
    """Tell whether rows are read at places of an array, which a method does in a third of it."""
    if not (is_array(x) and is_array(places)) or not is_contiguous(x) or not size(x):
        return False
    whole = len(x.shape) > 1 and len(call.options["index"]) == 1
    return whole and places.dtype.kind == "i" and len(places.shape) > 0


def rolled_places(n: int, shift: int) -> Any:
    """Return which of n elements, or rows, stands where after they were rolled."""
    return np.roll(np.arange(n), shift)


def rolls_by_places(x: Value, axis: int) -> bool:
    """Tell whether to read all places along an axis takes less than to join two parts."""
    shape: Any = x.shape
    n, behind = shape[axis], math.prod(shape[axis + 1 :])
    if len(shape) == 1:
        return bool(n <= _ROLLED)
    rows = math.prod(shape[:axis]) * n
    return bool(rows * behind <= _ROLLED_ROWS and rows <= (64 if behind > 1 else 128))


_ROLLED, _ROLLED_ROWS = 512, 1 << 14
"""How many elements of a vector, and of an array, are read by their places at most."""


def is_vector(x: Value) -> bool:
    """Tell whether an array is a vector without gaps, of several elements."""
    shape: Any = x.shape
    return len(shape) == 1 and shape[0] > 1 and x.layout == (x.dtype.itemsize,)


def is_matrix(x: Value) -> bool:
    """Tell whether an array is a matrix without gaps, of several rows and columns."""
    shape: Any = x.shape
    if len(shape) != 2 or min(shape) < 2:
        return False
    step = x.dtype.itemsize
    return x.layout in ((shape[1] * step, step), (step, shape[0] * step))
