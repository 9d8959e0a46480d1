"""The guard of a tape: arrays that a person can still write to, and that a derivative depends on.

Those are its inputs, and the plain arrays that its records save; what was computed on the way is
shown as read-only views alone. Each is made read-only for as long as the tape needs it, so that
the write itself raises, and its fingerprint is taken, for what a lock cannot see is found when the
tape is played backwards.
"""

from __future__ import annotations

import collections
import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, final

from chainrules_py import MutationError
from chainrules_py.extend import Memory, describe, type_info

Mode: TypeAlias = Literal["lock", "fingerprint", "full", "off"]
MODES: tuple[Mode, ...] = ("lock", "fingerprint", "full", "off")


@final
class Guard:
    """Guard of one tape: the arrays that it watches over.

    Parameters
    ----------
    mode : {"lock", "fingerprint", "full", "off"}
        Locks and sampled fingerprints, sampled fingerprints alone, fingerprints of all bytes, or
        nothing.

    Attributes
    ----------
    held : dict
        From the id of an array to the array, its name, what its library says of its memory, and
        its fingerprint.
    """

    __slots__ = ("__weakref__", "finalized", "held", "locked", "mode")

    def __init__(self, mode: Mode = "fingerprint") -> None:
        self.locked: dict[int, Any] = {}
        if mode not in MODES:
            msg = f"guard={mode!r}; write one of {', '.join(map(repr, MODES))}"
            raise ValueError(msg)
        self.mode = mode
        self.finalized = False
        self.held: dict[int, tuple[Any, Any, Memory, Any]] = {}

    def hold(self, x: Any, name: Any = None) -> None:
        """Watch over an array from now on; nothing happens for what has no memory to watch.

        Parameters
        ----------
        x : array
            It is kept, so that nothing else comes to have its id.
        name : object or tuple, optional
            What it is called, as text, or the pull of the record that saved it, in a tuple.
        """
        held, key, mode = self.held, id(x), self.mode
        if key in held or mode == "off":
            return
        memory = type_info(type(x)).memory
        if memory is None:
            return
        held[key] = (x, name, memory, memory.fingerprint(x, mode == "full"))
        if mode == "lock" and memory.lock is not None:
            locked = self.locked
            with _mutex:
                if not locked:
                    _open[id(locked)] = locked
                owner = memory.lock(x)
                if owner is None:
                    share_lock(x, locked)
                    owner = memory.owner(x)
                else:
                    locked[key] = x
                if owner is not x and covers(x, owner):
                    if memory.lock(owner) is None:
                        share_lock(owner, locked)
                    else:
                        locked[id(owner)] = owner

    def capture(self, x: Any, record: tuple[Any, ...]) -> None:
        """Watch over an array that was an operand, if the record of the call saved it."""
        for saved in record:
            if saved is x:
                self.hold(x, record[:1])
                return

    def check(self, name_of: Callable[[Any], str | None] = lambda x: None) -> None:
        """Raise if an array was written to since it is held.

        Parameters
        ----------
        name_of : callable, optional
            What an array is called that was held without a name.

        Raises
        ------
        MutationError
            It names the array.
        """
        full = self.mode == "full"
        for x, name, memory, fingerprint in self.held.values():
            if memory.fingerprint(x, full) != fingerprint:
                role = _role(name_of(x) if name is None else name)
                msg = (
                    f"{describe(x)}, {role}, was written to after that: its derivative "
                    f"would be taken at values that are gone. Write to a copy (x = x.copy()), "
                    f"or when the gradient has been taken"
                )
                raise MutationError(msg)

    def settle(self, since: int) -> None:
        """Keep no array that nobody else has: the records that saved them were dropped.

        Parameters
        ----------
        since : int
            How many arrays were held when the first of the records was made.
        """
        newest = itertools.islice(reversed(self.held), len(self.held) - since)
        for key in list(newest):
            locks = {key: self.held[key][0]} if key in self.locked else {}
            if holders(self.held[key]) <= ONLY_HERE + 2 * len(locks):
                del self.held[key]
                with _mutex:
                    self.locked.pop(key, None)
                    _undo(locks)

    def unlock(self) -> None:
        """Give every array its flag back; fingerprints stay."""
        unlock_all(self.locked)

    def release(self) -> None:
        """Watch over nothing any more."""
        unlock_all(self.locked)
        self.held.clear()

    def unlock_when_dropped(self) -> None:
        """Give every array its flag back when the guard is gone, at the latest."""
        if self.mode == "lock" and not self.finalized:
            self.finalized = True
            # Called with the list alone: a method would keep the guard.
            weakref.finalize(self, drop, self.locked).atexit = False

    def __del__(self, exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # An interrupt may come anywhere, also where locks are taken back.
        if self.locked and not exiting():
            drop(self.locked)

    def __repr__(self) -> str:
        return f"<guard of {len(self.held)} arrays, {self.mode}>"


def holders(entry: tuple[Any, ...]) -> int:
    """Count the references to the first element of a tuple, with those made here."""
    x = entry[0]
    return sys.getrefcount(x)


ONLY_HERE = holders((object(),))  # which depends on how Python counts its own


def _role(name: Any) -> str:
    if name is None:
        return "which is differentiated in"
    if type(name) is not tuple:
        return str(name)
    statement = getattr(name[0], "statement", None)
    return f"which {statement.primal.__name__} saved" if statement else "which was saved"


def covers(x: Any, owner: Any) -> bool:
    """Tell whether an array views all that its owner has, so that the owner is locked as well.

    Of a part only the part is: the rest may be written to while one row is in use, and for that row
    there is its fingerprint.
    """
    return type(owner) is type(x) and bool(owner.size == x.size)


# ------------------------------------------------------------------ locks, of all tapes together
#
# Who finds an array writable locks it alone, and no table says so. Only of an array that is
# read-only already it has to be found out whether another guard locks it, or a person did.

_mutex = threading.Lock()
_open: dict[int, dict[int, Any]] = {}
"""What each guard has locked, by id."""
_shared: dict[int, int] = {}
"""By the id of an array that several guards lock: how many."""
_waiting: dict[int, Any] = {}
"""Views that nobody locks any more, but that NumPy keeps locked as long as their owner is."""
_dropped: collections.deque[dict[int, Any]] = collections.deque()
"""What guards had locked that are gone."""


def share_lock(x: Any, locked: dict[int, Any]) -> None:
    """Note an array that is read-only already, unless it was before anybody here locked it."""
    key = id(x)
    if key in locked:
        return
    if any([key in others for others in _open.values()]):
        locked[key] = x
        _shared[key] = _shared.get(key, 1) + 1
    elif _waiting.pop(key, None) is not None:
        locked[key] = x


def unlock_all(locked: dict[int, Any]) -> None:
    """Take back the locks of a guard, and forget them."""
    if id(locked) in _open:
        with _mutex:
            _undo(locked)
            if _dropped:
                _undo_dropped()


def drop(locked: dict[int, Any]) -> None:
    """`unlock_all`, called from wherever the garbage collector happens to run."""
    _dropped.append(locked)
    if _mutex.acquire(blocking=False):  # else whoever has it, or comes next, does it
        try:
            _undo_dropped()
        finally:
            _mutex.release()


def _undo_dropped() -> None:
    while _dropped:
        _undo(_dropped.popleft())


def _undo(locked: dict[int, Any]) -> None:
    _open.pop(id(locked), None)
    cls: Any = None
    memory: Any = None
    for key, x in reversed(locked.items()):  # a view after its owner
        if _shared and key in _shared:
            _shared[key] -= 1
            if _shared[key] == 1:
                del _shared[key]
            continue
        if type(x) is not cls:
            cls = type(x)
            memory = type_info(cls).memory
        if not memory.unlock(x):
            _waiting[key] = x
    locked.clear()
    if _waiting:
        _undo_waiting()


def _undo_waiting() -> None:
    again = True
    while again:
        again = False
        for key, x in list(_waiting.items()):
            memory: Any = type_info(type(x)).memory
            owner = memory.owner(x)
            # Nobody here locks what it waits for: a person made that read-only.
            others = (*_open.values(), _waiting)
            alone = owner is x or not any([id(owner) in locked for locked in others])
            if memory.unlock(x, alone) or alone:
                del _waiting[key]
                again = True
