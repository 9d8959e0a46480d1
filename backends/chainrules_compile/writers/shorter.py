"""Where a shorter way to write a call is open: by shapes, layouts and sizes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from chainrules_compile.calls import spread
from chainrules_compile.passes.values import axes_of, is_array, is_contiguous, size
from chainrules_py.program import Call, Value

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_WHOLE = "bhilqpBHILQP"
ASKING = frozenset((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))
"""Ufuncs whose numbers are of the dtype of what they are compared with."""
_SHORT = 64
"""How many elements are repeated at most; longer ones NumPy spreads as fast."""
_VIEWED = 1 << 14
"""How many elements are written out at most of what is a view in the library's own way."""
_CHOSEN = 1024
"""From how many elements on `np.where` takes longer than what looks at bits, if they are others
in each call: of one mask a processor learns 2,000 branches, and is as fast."""


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


def many_or_zero(mask: Any, x: Any, zero: Any, y: Value) -> bool:
    """Tell whether many elements are those of an array or zero, as a mask says."""
    if type(zero) not in (int, float, np.float64) or str(zero) not in ("0", "0.0"):
        return False
    if not (is_array(mask) and is_array(x)) or mask.dtype != bool or x.dtype != y.dtype:
        return False
    if mask.shape != y.shape or x.dtype not in _FLOATS or size(y) < _CHOSEN or x.shape == ():
        return False
    step: int = y.dtype.itemsize
    return mask.layout is not None and tuple([step * n for n in mask.layout]) == y.layout


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


def many_of_both(mask: Any, x: Any, other: Any, y: Value) -> bool:
    """Tell whether many elements are those of one array or of another, as a mask says."""
    given = (mask, x, other)
    if not all([is_array(z) and z.shape == y.shape and is_contiguous(z) for z in given]):
        return False
    alike = x.dtype == other.dtype == y.dtype in _FLOATS and mask.dtype == bool
    return alike and is_contiguous(y) and _CHOSEN_OF_BOTH <= size(y) <= _CHOSEN_MOST


_CHOSEN_OF_BOTH, _CHOSEN_MOST = 2048, 1 << 17
"""From and up to how many elements bits take less time than `np.where`, of two arrays."""


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


def repeated(call: Call) -> Call | None:
    """Return the call that repeats what is spread along neighbouring axes, if that is shorter."""
    (y_bar, _), axis, (y,) = call.operands, call.options["axis"], call.results
    if not (is_array(y_bar) and is_array(y)) or not is_contiguous(y_bar) or not size(y):
        return None
    if size(y) > _VIEWED if y.memory is not None else not is_contiguous(y):
        return None
    shape, axes = y.shape or (), (axis,) if type(axis) is int else axis
    if not axes or len(axes) >= len(shape) or y.dtype != y_bar.dtype:
        return None
    along = sorted(axes_of(axis, len(shape)))
    behind = math.prod(shape[along[-1] + 1 :])
    if along != [*range(along[0], along[-1] + 1)] or behind > _SHORT:
        return None
    before = math.prod(shape[: along[0]])
    options = {"before": before, "times": size(y) // (before * behind), "shape": shape}
    return Call(spread, (y_bar,), options, (y,))
