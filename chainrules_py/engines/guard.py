"""Guards: arrays that a derivative depends on, and that somebody could still write to.

Those are what is differentiated in, plain arrays that records saved, and what a rule keeps of its
own. Each is compared, before a derivative is taken, with a fingerprint of when it was recorded.
"""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Literal, NoReturn, TypeAlias, final

from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.closures.freeze import global_names
from chainrules_py.primitives.closures.search import attributes, globals_of, held, is_of_library
from chainrules_py.tangents.space import Space
from chainrules_py.values.library import Memory
from chainrules_py.values.type_info import type_info

GuardMode: TypeAlias = Literal["lock", "fingerprint", "full", "off"]
"""How closely arrays are watched; see `Guard`."""
MODES: tuple[GuardMode, ...] = ("lock", "fingerprint", "full", "off")


@final
class Guard:
    """Guard of one differentiation: the arrays that it watches over.

    Parameters
    ----------
    mode : {"lock", "fingerprint", "full", "off"}
        With ``"fingerprint"`` arrays are compared as their library can afford it: those of NumPy
        in each element up to 1e6 of them, above that in a sample. With ``"lock"`` what is larger is
        read-only besides, until it is unlocked. With ``"full"`` every byte is compared, with
        ``"off"`` nothing.

    Attributes
    ----------
    held : dict
        From the id of an array to the array, its name, what its library says of its memory, and
        its fingerprint.
    undo : callable
        ``undo()`` makes writable again what was locked, once and for all. It is one call in C, so
        that nothing can come between: an interrupt is raised before it or behind it.
    """

    __slots__ = ("_locks", "held", "mode", "undo")

    def __init__(self, mode: GuardMode = "fingerprint") -> None:
        self.mode = mode
        self.held: dict[int, tuple[Any, Any, Memory, Any]] = {}
        self.undo: Callable[[], object] = bool
        if mode == "lock":
            self._locks = _Locks()
            exhaust = collections.deque[Any](maxlen=0).extend
            self.undo = functools.partial(exhaust, map(operator.call, self._locks))
        elif mode not in MODES:
            msg = f"guard={mode!r}; write one of {', '.join(map(repr, MODES))}"
            raise ValueError(msg)

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
            pair = memory.lock(x)
            if pair is not None:
                self._locks.append(pair[1])  # before it is locked: an interrupt may come between
                pair[0]()

    def capture(self, x: Any, record: tuple[Any, ...]) -> None:
        """Watch over an array that was an operand, if the record of the call saved it."""
        for saved in record:
            if saved is x:
                self.hold(x, record[:1])
                return

    def hold_reached(self, record: tuple[Any, ...], y: Any) -> None:
        """Watch over the result of a call, and whatever its record can reach.

        A rule may keep arrays of its own, and write to them at its next call.
        """
        waiting, seen = [y, *record[2:]] if self.mode != "off" else [], set[int]()
        while waiting:
            x = waiting.pop()
            cls = type(x)
            if cls in _KNOWN or id(x) in seen:
                continue
            seen.add(id(x))
            if type_info(cls).memory is not None:
                self.hold(x, record[:1])
            elif cls is FunctionType:
                waiting.extend(_reached(x))
            elif cls is tuple or cls is list or cls is dict or cls is functools.partial:
                waiting.extend(held(x))

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
                refuse_written(x, name_of(x) if name is None else name)

    def settle(self, since: int) -> None:
        """Keep no array that nobody else has: the records that saved them were dropped.

        Parameters
        ----------
        since : int
            How many arrays were held when the first of the records was made.
        """
        newest = itertools.islice(reversed(self.held), len(self.held) - since)
        for key in list(newest):
            if holders(self.held[key]) <= ONLY_HERE:
                del self.held[key]

    def unlock(self) -> None:
        """Let everybody write to the arrays again; they are compared all the same."""
        self.undo()
        if self.mode == "lock":
            self.mode = "fingerprint"
            self._locks.clear()

    def release(self) -> None:
        """Watch over nothing any more."""
        self.unlock()
        self.held.clear()

    def __repr__(self) -> str:
        return f"<guard of {len(self.held)} arrays, {self.mode}>"


def watching(
    record: tuple[Any, ...], y: Any, operands: tuple[Any, ...], saves_anything: bool
) -> Guard | None:
    """Return a guard of what a record saved of a call; None if there is nothing to watch over."""
    guard = None
    for x in (y, *operands):
        if type_info(type(x)).memory is not None:
            guard = guard or Guard()
            guard.capture(x, record)
    if saves_anything:
        guard = guard or Guard()
        guard.hold_reached(record, y)
    return guard if guard is not None and guard.held else None


_KNOWN = {Space, bool, int, float, complex, str, type(None)}


def _reached(f: FunctionType) -> Iterator[Any]:
    """Yield what a function knows from outside: of objects, the attributes that its code names."""
    names = () if is_of_library(f) else global_names(f.__code__)
    for x in (*held(f), *(globals_of(f).values() if names else ())):
        yield x
        if names and not callable(x) and type_info(type(x)).memory is None:
            known = attributes(x)
            yield from [known[name] for name in names if name in known]


class _Locks(list[Callable[[], Any]]):
    """What undoes each lock, which is called at the latest when nobody has the guard any more."""

    __slots__ = ()

    def __del__(self) -> None:
        for undo in self:
            undo()


def refuse_written(x: Any, name: Any = None) -> NoReturn:
    """Raise for an array that was written to.

    Raises
    ------
    MutationError
        It names the array, as `Guard.hold` was told.
    """
    msg = (
        f"{describe(x)}, {_role(name)}, was written to after that: its derivative would be taken "
        f"at values that are gone. Write to a copy (x = x.copy()), or when the gradient has been "
        f"taken. To find the line that writes, make the array read-only before "
        f"(x.flags.writeable = False)"
    )
    raise MutationError(msg)


def holders(entry: tuple[Any, ...]) -> int:
    """Count the references to the first element of a tuple, with those made here."""
    x = entry[0]
    return sys.getrefcount(x)


ONLY_HERE = holders((object(),))
"""What `holders` counts of what nobody else has: it depends on how Python counts its own."""


def _role(name: Any) -> str:
    if name is None:
        return "which is differentiated in"
    if type(name) is not tuple:
        return str(name)
    statement = getattr(name[0], "statement", None)
    return f"which {statement.primal.__name__} saved" if statement else "which was saved"
