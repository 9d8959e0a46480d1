"""Implementations for NumPy by other functions than the one of the word's name; cheap spellings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_py import register_array_type, register_scalar_type
from chainrules_py.extend import (
    register_finite,
    register_mutable,
    register_number_home,
    register_owner,
)

register_array_type(np.ndarray, np)
register_scalar_type(np.generic, np, array=np.ndarray, take=lambda x: x[()])
register_number_home("numpy", np)
register_mutable(np.ndarray, lambda x: x.flags.writeable and 0 not in x.strides)


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy what is read-only, broadcast, or shares memory with an array of the caller's."""
    if x.base is None and x.flags.writeable:
        for y in theirs:
            base: Any = getattr(y, "base", None)
            if y is x or base is x:
                return x.copy()
        return x
    return x.copy()


register_owner(np.ndarray, own)


# The function itself, that does not look for arrays of other libraries first.
vdot: Any = getattr(np.vdot, "_implementation", np.vdot)


def finite(t: Any) -> bool:
    """Tell whether all elements are finite; return False, too, where squares overflow.

    np.vdot is the cheapest question: one pass, no temporary, no warnings.
    """
    if type(t) is np.ndarray:
        if t.ndim != 1:
            t = t.ravel("K")
        t = vdot(t, t)
    return math.isfinite(t)


for _cls in (np.ndarray, np.float16, np.float32, np.float64, np.longdouble):
    register_finite(_cls, finite)
