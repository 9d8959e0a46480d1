"""Registration of NumPy: its arrays, its scalars, and rules with fewer calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy.broadcast_sums import dots, sums, vdot
from chainrules_numpy.memory import MEMORY
from chainrules_py.extend import (
    Library,
    number_homes,
    number_readers,
    register_array_type,
    register_scalar_type,
    stood_for,
)

half: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Pullbacks with fewer calls, by the pullbacks of the rules, and weights of weighted sums."""
adjoint: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Transposes and adjoints with fewer calls, by those of the rules."""


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy an array that is read-only, broadcast, or shares memory with one of the caller."""
    if x.base is None and x.flags.writeable:
        for y in theirs:
            if y is x or (issubclass(type(y), np.ndarray) and y.base is x):
                return x.copy()
        return x
    return x.copy()


def finite(t: Any) -> bool:
    """Return whether all elements are finite; also False if their squares overflow.

    np.vdot is the cheapest test: one pass, no temporary, no warnings.
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
    devices=False,  # NumPy has one device
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
# These two read differently, from a file or by field names, and compute as arrays do.
for _cls in (np.ndarray, np.memmap, np.recarray):
    register_array_type(_cls, NUMPY)
register_scalar_type(np.generic, array=np.ndarray)
