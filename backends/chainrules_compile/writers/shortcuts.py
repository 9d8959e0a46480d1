"""Conditions on shapes, layouts and sizes under which a call has a shorter form."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from chainrules_compile.passes.analysis import is_array, is_contiguous, size
from chainrules_py.program import Call, Value

_WHOLE = "bhilqpBHILQP"
ASKING = frozenset((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))
"""Comparisons: a number in them takes the dtype of the other operand."""


@functools.lru_cache(maxsize=1024)
def takes_whole_numbers(function: np.ufunc) -> bool:
    """Return whether a ufunc has loops with both floating and integer operands, as `np.ldexp`."""
    given = [{*kinds.partition("->")[0]} for kinds in function.types]
    return any([not chars.isdisjoint("efdgFDG") and chars & {*_WHOLE} for chars in given])


def entry_text(entry: Any) -> str:
    """Return an entry of an index as source between brackets."""
    if type(entry) is not tuple:
        return repr(entry)
    if entry[0] is slice:
        start, stop, step = ["" if bound is None else repr(bound) for bound in entry[1:]]
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return repr(entry[1])


def takes_rows(x: Any, places: Any, call: Call) -> bool:
    """Return whether a call reads rows by index; the method `take` needs a third of the time."""
    if not (is_array(x) and is_array(places)) or not is_contiguous(x) or not size(x):
        return False
    whole = len(x.shape) > 1 and len(call.options["index"]) == 1
    return whole and places.dtype.kind == "i" and len(places.shape) > 0


def rolled_places(n: int, shift: int) -> Any:
    """Return the indices of n elements, or rows, after a roll."""
    return np.roll(np.arange(n), shift)


def rolls_by_places(x: Value, axis: int) -> bool:
    """Return whether a roll by an index array is faster than joining two parts."""
    shape: Any = x.shape
    n, behind = shape[axis], math.prod(shape[axis + 1 :])
    if len(shape) == 1:
        return bool(n <= _ROLLED)
    rows = math.prod(shape[:axis]) * n
    return bool(rows * behind <= _ROLLED_ROWS and rows <= (64 if behind > 1 else 128))


_ROLLED, _ROLLED_ROWS = 512, 1 << 14
"""Maximum number of elements of a vector, and of an array, that an index array rolls."""


def is_vector(x: Value) -> bool:
    """Return whether an array is a contiguous vector of several elements."""
    shape: Any = x.shape
    return len(shape) == 1 and shape[0] > 1 and x.layout == (x.dtype.itemsize,)


def is_matrix(x: Value) -> bool:
    """Return whether an array is a contiguous matrix of several rows and columns."""
    shape: Any = x.shape
    if len(shape) != 2 or min(shape) < 2:
        return False
    step = x.dtype.itemsize
    return x.layout in ((shape[1] * step, step), (step, shape[0] * step))
