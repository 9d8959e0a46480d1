"""Whose memory an array of NumPy's is, and whether it has changed."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from chainrules_py.extend import Memory, makers, viewers

SMALL, SAMPLE = 1 << 15, 1 << 11
"""Up to so many bytes are kept as they are; of more a sample of that size, or a checksum of all."""


def owner(x: np.ndarray) -> Any:
    """Return the object that owns the memory, at the end of the chain of bases."""
    holder: Any = x.base
    if holder is None:
        return x
    if type(holder) is np.ndarray and holder.base is None:
        return holder
    while isinstance(holder, np.ndarray) and holder.base is not None:
        holder = holder.base
    if isinstance(holder, np.ndarray):
        return holder
    # NumPy's windows, and Python's views of memory, know what they are of.
    inner = holder.obj if type(holder) is memoryview else getattr(holder, "base", None)
    if isinstance(inner, np.ndarray):
        return owner(inner)
    return inner if type(holder) is memoryview else holder


def layout(x: np.ndarray) -> Any:
    """Return the strides of the axes that have more than one element."""
    return [stride for stride, n in zip(x.strides, x.shape, strict=True) if n > 1]


def laid_out(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """In memory made for the other."""
    made = np.empty_like(like, x.dtype)
    made[...] = x
    return made


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


set_writeable: Any = np.ndarray.setflags
"""By position: a fifth of what setting the attribute of the flags costs."""


def lock(x: np.ndarray) -> Any:
    """Lock x by its flag and return the owner; None if locked before, or if not to be undone."""
    if not x.flags.writeable:
        return None
    base: Any = x.base
    if base is None:
        set_writeable(x, False)
        return x
    if not isinstance(base, np.ndarray) and not _can_be_reopened(base):
        return None
    set_writeable(x, False)
    return owner(x)


def _can_be_reopened(base: Any) -> bool:
    """Tell whether an object that owns memory, but is no array, says that it can be written to.

    PyTorch's tensors and NumPy's own windows do not say.
    """
    try:
        with memoryview(base) as buffer:
            return not buffer.readonly and buffer.c_contiguous
    except TypeError:
        return False


def unlock(x: np.ndarray, alone: bool = False) -> bool:
    """NumPy refuses while what x is a view of is read-only, so that is opened for a moment."""
    try:
        set_writeable(x, True)
    except ValueError:
        base: Any = x.base
        if not (alone and isinstance(base, np.ndarray) and unlock(base, True)):
            return False
        set_writeable(x, True)
        set_writeable(base, False)
    return True


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a read-only view; views of it cannot be written to either."""
    view = x.view()
    view.flags.writeable = False
    return view


MEMORY = Memory(
    owner=owner,
    layout=layout,
    laid_out=laid_out,
    fingerprint=fingerprint,
    lock=lock,
    unlock=unlock,
    read_only=read_only,
)

makers |= {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
makers |= {np.zeros, np.ones, np.empty, np.full, np.array, np.arange, np.eye, np.identity, np.tri}
viewers |= {np.reshape, np.ravel, np.transpose, np.permute_dims, np.matrix_transpose}
viewers |= {np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze}
viewers |= {np.flip, np.fliplr, np.flipud, np.rot90, np.broadcast_to, np.broadcast_arrays}
viewers |= {np.atleast_1d, np.atleast_2d, np.atleast_3d, np.asarray, np.asanyarray, np.require}
viewers |= {np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.unstack, np.trim_zeros}
viewers |= {np.real, np.imag, np.real_if_close, np.diagonal, np.diag}
viewers |= {np.linalg.diagonal, np.linalg.matrix_transpose}
viewers |= {np.lib.stride_tricks.sliding_window_view}
viewers |= {np.ndarray.reshape, np.ndarray.ravel, np.ndarray.transpose, np.ndarray.squeeze}
viewers |= {np.ndarray.swapaxes, np.ndarray.diagonal}
viewers |= {vars(np.ndarray)[name] for name in ("T", "mT", "real", "imag")}
