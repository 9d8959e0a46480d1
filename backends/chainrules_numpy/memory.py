"""The memory of NumPy arrays: its owner, its layout, and whether it has changed."""

from __future__ import annotations

import collections
import functools
import operator
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.extend import Memory, at_once, makers, plain, undecided, viewers, wrapping

SAMPLE = 64
"""The number of elements of an array that are compared, unless all are requested."""
SMALL = 1 << 15
"""The number of bytes up to which all are kept; of larger arrays a checksum is kept."""


def owner(x: np.ndarray) -> Any:
    """Return the object that owns the memory, at the end of the chain of bases."""
    holder: Any = x.base
    if holder is None:
        return x
    if isinstance(holder, np.ndarray):
        return owner(holder)
    # NumPy's windows, and memoryviews, refer to their source.
    inner = holder.obj if type(holder) is memoryview else getattr(holder, "base", None)
    if isinstance(inner, np.ndarray):
        return owner(inner)
    return inner if type(holder) is memoryview else holder


def layout(x: np.ndarray) -> Any:
    """Return the strides of the axes that have more than one element."""
    return [stride for stride, n in zip(x.strides, x.shape, strict=True) if n > 1]


def laid_out(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Copy x into memory with the layout of ``like``."""
    made = np.empty_like(like, x.dtype)
    made[...] = x
    return made


def fingerprint(x: np.ndarray, full: bool) -> Any:
    """Return the bytes of a sample of an array; with ``full`` all of them, or their checksum."""
    if not full:
        return (x if x.size <= SAMPLE else x[_places(x.shape)]).tobytes()
    if x.nbytes <= SMALL or x.dtype.hasobject:
        return x.tobytes(), x.shape, x.dtype
    return zlib.crc32(np.ascontiguousarray(x).data), x.shape, x.dtype


@functools.lru_cache(1024)
def _places(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the index of a sample: a slice of each axis, so that no layout needs a copy.

    An axis longer than its share is read in steps, from the middle of the first step on, so that a
    write to either half of the array is likely to be detected.
    """
    places: list[tuple[int, slice]] = []
    left = SAMPLE
    for k, length in sorted(enumerate(shape), key=lambda pair: pair[1]):
        each = max(1, int(left ** (1 / (len(shape) - len(places)))))
        step = -(-length // min(each, length))
        places.append((k, slice((length - 1) % step // 2, None, step)))
        left //= -(-length // step)
    return tuple([at for _, at in sorted(places, key=lambda pair: pair[0])])


def lock(x: np.ndarray, locks: list[Any]) -> Any:
    """Make an array read-only, and append a C call that undoes it to ``locks``.

    Return the array that owns the memory; None for a part of another array, which may be written to
    meanwhile, and for memory of others. A reshaped or transposed array has all elements of its
    owner: both are locked. Nothing is appended if the array was read-only before.
    """
    owner = x
    if (base := x.base) is not None:
        owner = base
        if type(owner) is not np.ndarray or owner.base is not None or owner.size != x.size:
            return None
    flags = owner.flags
    if flags.writeable:
        undo: Any = functools.partial(owner.setflags, True)  # type: ignore[call-arg]
        if owner is not x and x.flags.writeable:
            undo = at_once([undo, functools.partial(x.setflags, write=True)])
        locks.append(undo)  # before locking: an interrupt may come in between
        flags.writeable = False
        if owner is not x:
            x.flags.writeable = False
    return owner


def lock_all(
    xs: Sequence[np.ndarray], locks: list[Any]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Make those arrays read-only that own their memory; return them, and parts of others."""
    mine = [x for x in xs if x.base is None and x.flags.writeable]
    parts = [x for x in xs if (of := x.base) is not None and getattr(of, "size", 0) != x.size]
    # One C call, which an interrupt precedes or follows: see `at_once`.
    locks.append(functools.partial(_nowhere.extend, map(_unlocked, mine)))
    _nowhere.extend(map(_locked, mine))
    return mine, parts


_locked = operator.methodcaller("setflags", write=False)
_unlocked = operator.methodcaller("setflags", write=True)
_nowhere: collections.deque[None] = collections.deque(maxlen=0)


def contents(xs: Sequence[np.ndarray]) -> list[bytes]:
    """Return the bytes of arrays."""
    return [*map(operator.methodcaller("tobytes"), xs)]


def read_only(x: np.ndarray) -> np.ndarray:
    """Return a read-only view; views of it cannot be written to either."""
    view = x.view()
    view.flags.writeable = False
    return view


def overlap(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two arrays share an element; True if that is too hard to determine."""
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
    lock_all=lock_all,
    contents=contents,
)

makers |= {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
makers |= {v.zeros_like, v.ones_like, v.full_like}
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
    """Return whether an einsum has one array, of which it may return a view."""
    arrays = [x for x in operands if not isinstance(x, (str, list, tuple))]
    return len(arrays) < 2


def _is_numpys(operands: tuple[Any, ...], keywords: Any) -> bool:
    """Return whether an array is NumPy's own: another library's is not converted."""
    return isinstance(plain(operands[0]), np.ndarray)


_always = lambda operands, keywords: True
_if_copy = lambda operands, keywords: "copy" in keywords
undecided |= dict.fromkeys((np.rot90, np.ix_, np.ndarray.to_device), _always)
undecided[np.asfortranarray] = _is_numpys
undecided |= dict.fromkeys((np.meshgrid, np.astype, np.ndarray.astype), _if_copy)
undecided |= {np.einsum: _has_one, np.conjugate: lambda operands, keywords: bool(keywords)}
wrapping |= {np.clip, np.ndarray.clip, np.linalg.solve}
