"""Registration of CuPy's arrays: their namespace, their memory, and writes to them."""

from __future__ import annotations

import zlib
from typing import Any

import cupy

from chainrules_cupy import namespace
from chainrules_py.extend import Library, Memory, makers, register_array_type


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy an array that is a view, broadcast, or shares memory with an array of the caller."""
    whole = x.base is None and 0 not in x.strides
    if whole and not any([x is y or x is getattr(y, "base", None) for y in theirs]):
        return x
    return x.copy()


# ------------------------------------------------------------------------------------- memory


def owner(x: Any) -> Any:
    """Return the object at the end of the chain of bases."""
    holder: Any = x
    while holder.base is not None:
        holder = holder.base
    return holder


def layout(x: Any) -> Any:
    """Return the strides."""
    return x.strides


def laid_out(x: Any, like: Any) -> Any:
    """Copy x into memory with the layout of ``like``."""
    made = cupy.empty_like(like, x.dtype)
    made[...] = x
    return made


def fingerprint(x: Any, full: bool) -> Any:
    """Return None, as reading an element synchronises; with ``full``, a checksum of all bytes."""
    return zlib.crc32(x.tobytes()) if full else None


register_array_type(
    cupy.ndarray,
    Library(
        namespace,
        mutable=lambda x: 0 not in x.strides,
        own=own,
        memory=Memory(  # arrays have no flag that makes them read-only
            owner=owner, layout=layout, laid_out=laid_out, fingerprint=fingerprint
        ),
    ),
)

makers |= {cupy.zeros_like, cupy.ones_like, cupy.empty_like, cupy.full_like}
