"""Zeros: copies of constants that hold nothing else are made as zeros, those of one form at once.

They are the derivatives by what a function was given and did not use. To copy zeros takes longer
than to make them.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from chainrules_compile.passes.values import changed, is_array, is_contiguous, size
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import full_like
from chainrules_py.vocabulary.views import duplicate

_LARGEST = 1024
"""Of how many elements constants are looked at."""


def zeros_of(*, shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    """Return zeros of double precision, of some shapes."""
    return tuple(map(np.zeros, shapes))


def with_zeros(program: Program) -> Program:
    """Return the program with zeros for copies of zeros."""
    if duplicate not in program.functions:
        return program
    calls: list[Call] = []
    for form, each in groupby(program.calls, lambda call: _form(call, program)):
        several = tuple(each)
        if form is None:
            calls += several
            continue
        results = tuple([call.results[0] for call in several])
        if several[1:]:
            calls.append(Call(zeros_of, (), {"shapes": (form,) * len(results)}, results))
        else:
            options = {"shape": form, "fill": 0, "dtype": several[0].results[0].dtype}
            calls.append(Call(full_like, several[0].operands, options, results))
    return changed(program, calls=tuple(calls))


def _form(call: Call, program: Program) -> tuple[int, ...] | None:
    """Return the shape of what a call copies, if that is a constant array of zeros."""
    if call.function is not duplicate or call.options or len(call.operands) != 1:
        return None
    (x,), (y,) = call.operands, call.results
    array = program.constants.get(x) if type(x) is Value else None
    if type(array) is not np.ndarray or array.dtype != np.float64 or not 0 < size(y) <= _LARGEST:
        return None
    zero = is_array(y) and is_contiguous(y) and not any(array.tobytes())
    return y.shape if zero else None
