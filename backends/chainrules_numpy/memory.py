"""Whose memory an array of NumPy's is, and whether it has changed."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from chainrules_py.memory import makers, register_memory

__all__: list[str] = []

SMALL, SAMPLE = 1 << 14, 1 << 11
"""Up to so many bytes are kept as they are; of more a sample of that size, or a checksum of all."""


def owner(x: np.ndarray) -> Any:
    """What is at the end of the chain of bases."""
    holder: Any = x.base
    if holder is None:
        return x
    if type(holder) is np.ndarray and holder.base is None:
        return holder
    while isinstance(holder, np.ndarray) and holder.base is not None:
        holder = holder.base
    return holder


def layout(x: np.ndarray) -> Any:
    """The strides."""
    return x.strides


def fingerprint(x: np.ndarray, full: bool) -> Any:
    """All bytes of a small array; of a large one evenly spread elements, or the checksum of all."""
    if x.nbytes <= SMALL:
        return x.tobytes()
    if full:
        return zlib.crc32(np.ascontiguousarray(x).data)
    # Of each axis some places, and the last: no layout has to be flattened for it.
    each = int((SAMPLE // x.itemsize) ** (1 / x.ndim))
    steps = tuple([slice(None, None, -(-length // each)) for length in x.shape])
    return x[steps].tobytes(), x[(-1,) * x.ndim].tobytes()


def lock(x: np.ndarray) -> bool:
    """By the flag."""
    if not x.flags.writeable:
        return False
    x.setflags(write=False)  # a third of what setting the attribute of the flags costs
    return True


def unlock(x: np.ndarray) -> bool:
    """NumPy refuses while what x is a view of is read-only."""
    try:
        x.setflags(write=True)
    except ValueError:
        return False
    return True


def read_only(x: np.ndarray) -> np.ndarray:
    """A view; views of it cannot be written to either."""
    view = x.view()
    view.flags.writeable = False
    return view


register_memory(
    np.ndarray,
    owner=owner,
    layout=layout,
    fingerprint=fingerprint,
    lock=lock,
    unlock=unlock,
    read_only=read_only,
)

makers |= {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
makers |= {np.zeros, np.ones, np.empty, np.full, np.array, np.arange, np.eye, np.identity, np.tri}
