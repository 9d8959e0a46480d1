"""Whose memory an array of NumPy's is, and whether it has changed."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np

from chainrules_py.extend import Memory, makers, plain, undecided, viewers, wrapping

SMALL = 1 << 15
"""Up to so many bytes are kept as they are; of more, sums of all of them."""
LARGE, SAMPLE = 10**6, 1 << 11
"""Of more elements than that a sample of so many: what is as large is locked in place of it."""
COLUMNS = (251, 509, 1021, 2039, 4093, 8191, 16381, 32749)
"""Primes, each about twice as large as the one before."""


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
    """All bytes of a small array; of a large one sums, a checksum of all, or of many a sample."""
    if x.nbytes <= SMALL or x.dtype.hasobject:
        return x.tobytes(), x.shape, x.dtype
    if full:
        return zlib.crc32(np.ascontiguousarray(x).data), x.shape, x.dtype
    if x.size <= LARGE:
        return _sums(x), x.shape, x.dtype
    # Of each axis some places, and the last: no layout has to be flattened for it.
    each = int(SAMPLE ** (1 / x.ndim))
    steps = tuple([slice(None, None, -(-length // each)) for length in x.shape])
    return x[steps].tobytes(), x[(-1,) * x.ndim].tobytes(), x.shape, x.dtype


def _sums(x: np.ndarray) -> tuple[bytes, bytes]:
    """Sum the columns of the bytes, read as a matrix of words: a change of one word changes one.

    It takes the time of ``x * x``, where a checksum of all takes five times as long. What changes
    places is in another column, unless it moves by a multiple of their number: of an axis, none is.
    """
    x = np.asarray(x)
    if not x.flags.forc:
        x = np.ascontiguousarray(x)
    columns = _columns(x.nbytes // 8, x.strides)
    words = x.ravel("K").view(np.uint8)
    whole = len(words) // (8 * columns) * columns * 8
    sums = np.add.reduce(words[:whole].view(np.uint64).reshape(-1, columns), axis=0)
    return sums.tobytes(), words[whole:].tobytes()


@functools.lru_cache(1024)
def _columns(n: int, strides: tuple[int, ...]) -> int:
    """Choose how many columns n words have: no axis is to step from row to row of them."""
    fits = [p for p in COLUMNS if 64 * p >= n and all([step % (8 * p) for step in strides])]
    return fits[0] if fits else COLUMNS[-1]


def lock(x: np.ndarray) -> Any:
    """Return what locks a large array that owns its memory, and what undoes that, as calls in C."""
    if x.size <= LARGE or x.base is not None or not x.flags.writeable:
        return None
    return functools.partial(x.setflags, write=False), functools.partial(x.setflags, write=True)


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a read-only view; views of it cannot be written to either."""
    view = x.view()
    view.flags.writeable = False
    return view


def overlap(x: np.ndarray, y: np.ndarray) -> bool:
    """Tell whether two arrays have an element in common; yes where that is hard to find out."""
    most: Any = 10_000
    try:
        return np.shares_memory(x, y, max_work=most)
    except np.exceptions.TooHardError:
        return True


MEMORY = Memory(
    owner=owner,
    layout=layout,
    laid_out=laid_out,
    fingerprint=fingerprint,
    lock=lock,
    read_only=read_only,
    overlap=overlap,
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
viewers |= {np.ndarray.swapaxes, np.ndarray.diagonal, np.ndarray.view}
viewers |= {vars(np.ndarray)[name] for name in ("T", "mT", "real", "imag")}


def _has_one(operands: tuple[Any, ...], keywords: Any) -> bool:
    """Tell whether an einsum is of one array: a part of it, or its axes in another order."""
    arrays = [x for x in operands if not isinstance(x, (str, list, tuple))]
    return len(arrays) < 2


def _is_numpys(operands: tuple[Any, ...], keywords: Any) -> bool:
    """Tell whether an array is NumPy's own: another library's is not converted."""
    return isinstance(plain(operands[0]), np.ndarray)


_always = lambda operands, keywords: True
_if_copy = lambda operands, keywords: "copy" in keywords
undecided |= dict.fromkeys((np.rot90, np.ix_, np.ndarray.to_device), _always)
undecided[np.asfortranarray] = _is_numpys
undecided |= dict.fromkeys((np.meshgrid, np.astype, np.ndarray.astype), _if_copy)
undecided |= {np.einsum: _has_one, np.conjugate: lambda operands, keywords: bool(keywords)}
wrapping |= {np.clip, np.ndarray.clip, np.linalg.solve}
