"""Facts about values that passes ask: how arrays lie, whose memory they have, when they die."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.program import Program, Value


def is_array(x: Any) -> bool:
    """Tell whether an operand is an array of NumPy's."""
    return type(x) is Value and x.type is np.ndarray


def alike(x: Value, y: Value) -> bool:
    """Tell whether two values agree in class, dtype and shape."""
    return x.type is y.type and x.shape == y.shape and x.dtype == y.dtype


def is_contiguous(x: Value) -> bool:
    """Tell whether the elements of an array lie in C order, without gaps."""
    if x.layout is None or x.shape is None:
        return False
    step, expected = x.dtype.itemsize, []
    for n in reversed(x.shape):
        if n > 1:
            expected.append(step)
        step *= n
    return list(x.layout) == expected[::-1]


def size(x: Value) -> int:
    """Count the elements."""
    n = 1
    for length in x.shape or ():
        n *= length
    return n


def ends(program: Program) -> dict[Value, int]:
    """Return, for each value that owns memory, the last call that uses it or a view of it."""
    last: dict[Value, int] = {}
    for x, places in program.uses().items():
        root = x.memory or x
        at = places[-1] if places else -1
        last[root] = max(last.get(root, -1), at)
    return last
