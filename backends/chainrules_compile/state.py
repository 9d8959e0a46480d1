"""State: what values hold that a function can come to, and how that is put back.

A function runs once on noted values, and is as if it had not. What libraries' objects come to know
by that is their own; what they held, and hold no more, is put back as all else is.
"""

from __future__ import annotations

import contextlib
import contextvars
import types
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_bridge.reach import entries, written
from chainrules_compile.errors import RecordingError
from chainrules_compile.held import equal
from chainrules_py.extend import describe, is_library, type_info

_NOTHING = object()
_MOST = 1_000_000
"""How many elements a captured array has at most of which a copy is kept for a while."""


_AT_ONCE = list, set, deque
"""What is put back as a whole."""


class _Was(NamedTuple):
    """A place, and what was in it, by names, keys or numbers."""

    place: Any
    held: dict[Any, Any]

    def changes(self) -> list[Any]:
        """List what is held under another key or no more, by its key; the last one for an order."""
        now = entries(self.place)
        keys = [*self.held, *[key for key in now if key not in self.held]]
        found = [k for k in keys if not equal(self.held.get(k, _NOTHING), now.get(k, _NOTHING))]
        if not found and isinstance(self.place.x, dict) and [*now] != [*self.held]:
            return keys[-1:]
        return found

    def loses(self) -> list[Any]:
        """List the keys under which a value was held that is none, or is another, by now."""
        return [k for k in self.changes() if self.held.get(k) is not None]

    def put_back(self) -> None:
        """Have the place hold what it held, where Python lets us."""
        changed = self.changes()
        for key in changed[:1] if isinstance(self.place.x, _AT_ONCE) else changed:
            _put_back(self.place, key, self.held.get(key, _NOTHING), self.held)


@final
class State:
    """What values hold that a function can come to, as it was at some time.

    Parameters
    ----------
    places, arrays : iterable
        What holds something, as `Reach` has found it.
    memories : collection of int
        The ids of what functions remember in, which is no matter.
    """

    def __init__(
        self, places: Iterable[Any], arrays: Iterable[Any], memories: Collection[int] = ()
    ) -> None:
        places = [place for place in places if not _is_ours(place.x)]
        self._bytes = [put for place in places if (put := _putting_bytes(place.x))]
        held = [_Was(place, entries(place)) for place in places if place.mark is not None]
        self._places = [was for was in held if not was.place.fills]
        self._libraries = [
            was for was in held if was.place.fills and id(was.place.x) not in memories
        ]
        self._arrays = [
            (x, memory, _marks(x, memory), x.copy() if x.size <= _MOST else None)
            for x in arrays
            if (memory := None if hasattr(x, "recorder") else type_info(type(x)).memory) is not None
            and hasattr(x, "copy")
        ]

    def changed(self) -> list[str]:
        """Return how the code writes what was changed."""
        told = [shown(was.place, key) for was in self._places for key in was.changes()]
        told += [shown(was.place, key) for was in self._libraries for key in was.loses()]
        written = any([_marks(x, memory) != before for x, memory, before, _ in self._arrays])
        return [*dict.fromkeys(told), *(["an array that it captured"] if written else [])]

    def put_back(self) -> None:
        """Put everything back as it was."""
        for was in [*self._places, *[was for was in self._libraries if was.loses()]]:
            was.put_back()
        for put in self._bytes:
            put()
        for x, memory, before, kept in self._arrays:
            _lay_back(x, before[1:])
            if kept is not None and _marks(x, memory) != before and x.flags.writeable:
                x[...] = kept


def _putting_bytes(x: Any) -> Callable[[], None] | None:
    """Return what puts the bytes of a buffer back, for there is no other way to."""
    if isinstance(x, np.void):
        record = x.copy()

        def put() -> None:
            if x.tobytes() != record.tobytes():
                for name in x.dtype.names or ():
                    x[name] = record[name]

        return put
    if type_info(type(x)).memory is not None or isinstance(x, type):
        return None
    try:
        with memoryview(x) as view:
            known = None if view.readonly or view.nbytes > _MOST else view.tobytes()
    except (TypeError, ValueError, BufferError):
        return None
    return None if known is None else lambda: _put_bytes(x, known)


def _put_bytes(x: Any, known: bytes) -> None:
    with memoryview(x) as view:
        if view.tobytes() == known:
            return
        fits = view.nbytes == len(known) and view.c_contiguous
        if fits:
            view.cast("B")[:] = known
    if not fits and isinstance(x, bytearray):
        x[:] = known
    elif not fits and hasattr(x, "frombytes"):  # an array of the standard library
        del x[:]
        x.frombytes(known)


_LAYOUT = ("dtype", "shape", "strides")
"""What of an array of NumPy's a program may assign, in the order in which it is put back."""


def _marks(x: Any, memory: Any) -> tuple[Any, ...]:
    """Return what tells whether an array was written to, and what tells how it lies in memory."""
    return (memory.fingerprint(x, True), *[getattr(x, name, None) for name in _LAYOUT])


def _lay_back(x: Any, layout: tuple[Any, ...]) -> None:
    """Have an array lie in memory as it did.

    Raises
    ------
    RecordingError
        If NumPy does not let it: what owns less memory than before takes no longer strides.
    """
    for name, was in zip(_LAYOUT, layout, strict=True):
        if getattr(x, name, None) == was:
            continue
        try:
            with warnings.catch_warnings():  # NumPy will not let them be assigned for ever
                warnings.simplefilter("ignore", DeprecationWarning)
                setattr(x, name, was)
        except (AttributeError, TypeError, ValueError) as error:
            msg = (
                f"the function assigns x.{name} of an array that it captured, {describe(x)}, which "
                f"cannot be undone; assign it to a view: x = x.view(); x.{name} = ..."
            )
            raise RecordingError(msg) from error


def _is_ours(x: Any) -> bool:
    """Tell whether a value is of this library, which knows itself what it remembers."""
    return str(type(x).__module__).startswith("chainrules_")  # of Cython's classes it is no text


def shown(place: Any, key: Any) -> str:
    """Return how the code writes a place; of a list or a set itself."""
    if place.mark in (".", "") and isinstance(key, str):
        return written((place.path, place.mark, key)).lstrip(".") or "what it captured"
    if isinstance(place.x, dict):
        return written((place.path, "[", key)).lstrip(".")
    return written(place.path).lstrip(".") or f"a {type(place.x).__name__}"


def _put_back(place: Any, key: Any, was: Any, held: dict[Any, Any]) -> None:
    x: Any = place.x
    if isinstance(x, types.FunctionType) and place.mark != ".":
        _put_name_back(x, key, was)
    elif isinstance(x, types.CellType):
        x.cell_contents = was
    elif isinstance(x, dict):
        _put_item_back(x, key, was, held)
    elif isinstance(x, contextvars.ContextVar):
        x.set(was)
    elif isinstance(x, list):
        list.__setitem__(x, slice(None), [*held.values()])
    elif isinstance(x, _AT_ONCE):
        x.clear()
        (x.update if isinstance(x, set) else x.extend)(held.values())
    elif isinstance(key, str) and key.isidentifier():
        cls: Any = type if isinstance(x, type) else object
        if not isinstance(x, type) and is_library(type(x).__module__):
            cls = type(x)  # which may have ways of its own, in C
        write, remove = cls.__setattr__, cls.__delattr__
        with contextlib.suppress(AttributeError, TypeError):  # it is not to be written to
            if was is _NOTHING:
                remove(x, key)
            else:
                write(x, key, was)


def _put_item_back(x: dict[Any, Any], key: Any, was: Any, held: dict[Any, Any]) -> None:
    own: Any = OrderedDict if isinstance(x, OrderedDict) else dict
    if was is _NOTHING:
        own.pop(x, key, None)
    else:
        own.__setitem__(x, key, was)
    if len(x) == len(held) and [*own.keys(x)] != [*held]:  # in another order
        own.clear(x)
        own.update(x, held)


def _put_name_back(f: types.FunctionType, name: str, was: Any) -> None:
    if name in f.__code__.co_freevars:
        cell = (f.__closure__ or ())[f.__code__.co_freevars.index(name)]
        if was is _NOTHING:
            del cell.cell_contents
        else:
            cell.cell_contents = was
    elif was is _NOTHING:
        f.__globals__.pop(name, None)
    elif name in f.__globals__:
        f.__globals__[name] = was
