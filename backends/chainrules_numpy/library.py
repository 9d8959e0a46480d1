"""NumPy, as it states itself: its arrays, its scalars, and what it computes in fewer calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy.broadcasting import dots, sums, vdot
from chainrules_numpy.memory import MEMORY
from chainrules_py.extend import (
    Library,
    number_homes,
    number_readers,
    register_array_type,
    register_scalar_type,
    stood_for,
    with_generators,
)

half: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Pulls with fewer calls, by the pulls of the rules; `adjoints` fills both when they are there."""
adjoint: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Transposes and adjoints with fewer calls, by those of the rules."""


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy what is read-only, broadcast, or shares memory with an array of the caller's."""
    if x.base is None and x.flags.writeable:
        for y in theirs:
            if y is x or (issubclass(type(y), np.ndarray) and y.base is x):
                return x.copy()
        return x
    return x.copy()


def finite(t: Any) -> bool:
    """Return whether all elements are finite; return False, too, where squares overflow.

    np.vdot is the cheapest question: one pass, no temporary, no warnings.
    """
    if isinstance(t, np.ndarray):
        if t.ndim != 1:
            t = t.ravel("K")
        t = vdot(t, t).real
    return math.isfinite(t)


number_homes["numpy"] = np
number_readers += [np.real, np.imag]
stood_for.update((np.ndarray, np.memmap, np.recarray))
stood_for.update([cls for cls in np.sctypeDict.values() if issubclass(cls, np.number)])
NUMPY = Library(
    np,
    devices=False,  # there is but one
    memory=MEMORY,
    mutable=lambda x: x.flags.writeable and 0 not in x.strides,
    own=own,
    scalar=lambda x: x[()],
    finite=finite,
    floats=(np.float16, np.float32, np.float64, np.longdouble),
    sums=sums,
    dots=dots,
    half=half,
    adjoint=adjoint,
    objects=np.dtype(object),
)
# Those two read otherwise, from a file or by names of fields, and compute as arrays do.
for _cls in (np.ndarray, np.memmap, np.recarray):
    register_array_type(_cls, NUMPY)
register_scalar_type(np.generic, array=np.ndarray)
with_generators |= dict.fromkeys(("numpy.random", "random"), "chainrules_numpy.random")
