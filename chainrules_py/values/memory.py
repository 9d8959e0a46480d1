"""Memory behind an array, as an engine may ask: whose it is, and whether it has changed.

An engine that records a call keeps arrays that the program can still reach and write to. It knows
no library, so a library says here what its arrays can do. One whose arrays cannot be written to has
nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, final

from chainrules_py.errors import TracerError, describe

__all__ = [
    "Memory",
    "has_known_layout",
    "makers",
    "memory_of",
    "refuse_plain",
    "register_memory",
    "share_memory",
    "viewers",
]

makers: set[Any] = set()
"""Functions of libraries that make arrays for a program to write to, as ``np.zeros(n, like=x)``."""
viewers: set[Any] = set()
"""Functions of libraries whose results may be views; what another one gives is an array of its own,
even if it is computed by a word that gives views."""


@final
class Memory:
    """Memory of a library's arrays, as the library describes it; see `register_memory`."""

    __slots__ = ("fingerprint", "laid_out", "layout", "lock", "owner", "read_only", "unlock")

    def __init__(
        self,
        owner: Callable[[Any], Any],
        layout: Callable[[Any], Any],
        laid_out: Callable[[Any, Any], Any],
        fingerprint: Callable[[Any, bool], Any],
        lock: Callable[[Any], Any] | None,
        unlock: Callable[..., bool] | None,
        read_only: Callable[[Any], Any] | None,
    ) -> None:
        self.owner = owner
        self.layout = layout
        self.laid_out = laid_out
        self.fingerprint = fingerprint
        self.lock = lock
        self.unlock = unlock
        self.read_only = read_only


_registered: dict[type, Memory] = {}
_found: dict[type, Memory | None] = {}


def register_memory(
    cls: type,
    *,
    owner: Callable[[Any], Any],
    layout: Callable[[Any], Any],
    laid_out: Callable[[Any, Any], Any],
    fingerprint: Callable[[Any, bool], Any],
    lock: Callable[[Any], Any] | None = None,
    unlock: Callable[..., bool] | None = None,
    read_only: Callable[[Any], Any] | None = None,
) -> None:
    """Say how the memory of a class of arrays is watched over; its subclasses follow it.

    Parameters
    ----------
    cls : type
        A class of arrays that can be written to.
    owner : callable
        ``owner(x)`` is what holds the memory of x: x itself, or the array that x is a view of.
    layout : callable
        ``layout(x)`` is something to compare with ``==``: how the elements lie in memory, on which
        it depends whether reshaping gives a view.
    laid_out : callable
        ``laid_out(x, like)`` is a copy of x whose elements lie as those of an array of its shape
        do; as near as can be, where that one is a view of a part of another.
    fingerprint : callable
        ``fingerprint(x, full)`` is something small to compare with ``==`` later. With ``full`` it
        differs wherever a byte does; without, it may look at a sample.
    lock, unlock : callable, optional
        ``lock(x)`` makes x read-only and returns its owner, or None if it was read-only before.
        ``unlock(x, alone)`` undoes it, and says whether it could: for a view it may not while the
        owner is read-only, unless, with ``alone``, only a person made that so. Without them arrays
        are never locked.
    read_only : callable, optional
        ``read_only(x)`` is a view of x that cannot be written to.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4.0)
    >>> memory = memory_of(np.ndarray)
    >>> memory.owner(x[1:]) is x, memory.layout(x) == memory.layout(x[::2])
    (True, False)
    >>> memory.lock(x) is x, x.flags.writeable, memory.unlock(x), x.flags.writeable
    (True, False, True, True)
    """
    global _found
    _registered[cls] = Memory(owner, layout, laid_out, fingerprint, lock, unlock, read_only)
    _found = {}


def memory_of(cls: type) -> Memory | None:
    """Return the description of the memory of a class, or None."""
    table = _found
    try:
        return table[cls]
    except KeyError:
        found = next((_registered[base] for base in cls.__mro__ if base in _registered), None)
        table[cls] = found
        return found


def share_memory(x: Any, y: Any) -> bool:
    """Tell whether two values live in the same memory, as far as anybody can tell."""
    if x is y:
        return True
    memory = memory_of(type(x))
    return memory is not None and type(y) is type(x) and memory.owner(x) is memory.owner(y)


def has_known_layout(x: Any) -> bool:
    """Tell whether a tracer's value lies in memory as the program's own array would.

    If not, nobody knows whether a library would give a view of it or a copy.
    """
    return bool(getattr(x, "has_known_layout", True))


def refuse_plain(target: Any, x: Any) -> NoReturn:
    """Raise: a tracer is written into a plain array, or into None where that is not known.

    Raises
    ------
    TracerError
        With the line to write.
    """
    into = "a plain array" if target is None else f"the plain {describe(target)}"
    msg = (
        f"{describe(x.__payload__)}, which is being differentiated, is written into {into}, where "
        f"its derivative would be lost; make the array like it, as buffer = np.zeros(n, like=x) or "
        f"np.zeros_like(x), or write y = y + x for y += x"
    )
    raise TracerError(msg)
