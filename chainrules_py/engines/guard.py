"""Guards: arrays that a derivative depends on, and that somebody could still write to.

Those are what is differentiated in, plain arrays that records saved, and what a rule keeps of its
own. Each is compared, before a derivative is taken, with a fingerprint of when it was recorded.
"""

from __future__ import annotations

import itertools
import operator
import sys
import warnings
from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeAlias, final

from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.closures.places import written
from chainrules_py.primitives.closures.reach import Reach
from chainrules_py.registry.bind.bind import Bound
from chainrules_py.tangents.space import Space
from chainrules_py.values.holding import holds_objects
from chainrules_py.values.library import Memory
from chainrules_py.values.locks import at_once
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

    __slots__ = ("__del__", "_locks", "held", "mode", "undo")  # Python calls what is in the first

    def __init__(self, mode: GuardMode = "fingerprint") -> None:
        self.mode = mode
        self.held: dict[int, tuple[Any, Any, Memory, Any]] = {}
        self.undo: Callable[[], object] = bool
        self._locks: list[Callable[[], Any]] = []
        if mode == "lock":
            self.undo = at_once(self._locks)
        elif mode not in MODES:
            msg = f"guard={mode!r}; write one of {', '.join(map(repr, MODES))}"
            raise ValueError(msg)
        self.__del__ = self.undo  # at the latest when nobody has the guard any more

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
                # Before it is locked: an interrupt may come between. Twice: should one find no
                # memory, it raises, and whoever drops the guard comes to the other.
                self._locks += pair[1], pair[1]
                pair[0]()

    def capture(self, x: Any, record: tuple[Any, ...]) -> None:
        """Watch over an array that was an operand, if the record of the call saved it."""
        for saved in record:
            if saved is x:
                self.hold(x, record[:1])
                return

    def hold_reached(self, record: tuple[Any, ...], y: Any, later: tuple[Any, ...]) -> None:
        """Watch over the result of a call, and all that its record can look up.

        Parameters
        ----------
        record, y
            What the bound rule gave.
        later : tuple of callable
            What else of the rule runs later: see `chainrules_py.extend.Bound`.
        """
        held, name = self.held, record[:1]
        if self.mode == "off":
            return
        before = held.get(id(later))
        if before is None or not before[0].lasts():  # else a call before this one found the same
            reach = self.watch(Reach(later), name)
            if before is not None:
                held[id(before[0])] = before
            held[id(later)] = reach, name, _PLACES, None
        others = []
        for x in (y, *record[2:]):
            cls = type(x)
            if cls in _HOLDS_NOTHING:
                continue
            if cls.__dictoffset__ or type_info(cls).memory is None or holds_objects(x):
                others.append(x)
            else:
                self.hold(x, name)
        if others:  # of whose attributes those count that the rule names
            names = held[id(later)][0].names
            self.watch(Reach(others, names=names), name)

    def watch(self, reach: Reach, name: Any) -> Reach:
        """Watch over all that can be looked up, under a name as in `hold`."""
        if self.mode == "off":
            return reach
        if not reach.whole:
            msg = (
                f"what {_whose(name)} looks up is more than can be compared at each call: after "
                f"10,000 values changes are no longer seen; pass what it needs as operands, or "
                f"hold large models where it does not name them"
            )
            warnings.warn(msg, RuntimeWarning, stacklevel=2)
        ours = (*name, reach) if reach.places and type(name) is tuple else name
        for x in reach.arrays:
            self.hold(x, ours)
        if reach.places:
            self.held[id(reach)] = (reach, name, _PLACES, None)
        return reach

    def digests(self) -> list[int]:
        """Sum up what rules look up, as it was at their calls; see `Reach.digest`."""
        return [x.digest() for x, *_ in self.held.values() if type(x) is Reach]

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

    def explain(self, error: object) -> None:
        """Raise in place of a library's error about an array that is read-only, if some are locked.

        Raises
        ------
        MutationError
            With what to write instead.
        """
        if not isinstance(error, ValueError) or "read-only" not in str(error):
            return
        if self.mode == "lock" and self._locks:
            raise MutationError(_LOCKED) from error

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
    record: tuple[Any, ...],
    y: Any,
    operands: tuple[Any, ...],
    later: tuple[Any, ...] | None,
) -> Guard | None:
    """Return a guard of what a record saved of a call; None if there is nothing to watch over."""
    guard = None
    for x in (y, *operands):
        if type_info(type(x)).memory is not None:
            guard = guard or Guard()
            guard.capture(x, record)
    if later is not None:
        guard = guard or Guard()
        guard.hold_reached(record, y, later)
    return guard if guard is not None and guard.held else None


def looking(bound: Bound, half: Any, *saved: Any) -> Guard | None:
    """Return a guard of what a bound rule looks up, for another engine that pulls and pushes."""
    if bound.later is None:
        return None
    guard = Guard()
    guard.hold_reached((half, None, *saved), None, bound.later)
    if bound.statement.transposed:  # that engine's own pullback may keep them
        for x in Reach(bound.statement.recipe.functions).arrays:
            guard.hold(x, (half,))
    return guard


_LOCKED = (
    "an array was written to that is read-only: those of more than 1e6 elements, on which the "
    "gradient depends, are so until it is taken; write to a copy (x = x.copy()), or when the "
    "gradient has been taken, or say guard='full' to have them compared"
)
_PLACES = Memory(id, id, operator.is_, lambda reach, _: reach.changed())
"""Places that a rule looks at are held among the arrays."""
_HOLDS_NOTHING = {type(None), bool, int, float, complex, str, bytes, Space}


def refuse_written(x: Any, name: Any = None) -> NoReturn:
    """Raise for an array that was written to.

    Raises
    ------
    MutationError
        It names the array, as `Guard.hold` was told.
    """
    if type(x) is Reach:
        msg = (
            f"{x.changed()}, {_role(name, 'looks at')}, after that: its derivative would be taken "
            f"with another value than its result. Pass it as an operand, save the value itself "
            f"(not a key to find it by), or change it when the gradient has been taken"
        )
        raise MutationError(msg)
    found = name[1].values() if _reached(name) else ()
    places = [*filter(None, [written(path) for path, y in found if y is x])]
    own = "" if not _reached(name) else (
        "; scratch that a function and its rule both use, or several calls, is made where it is "
        "used (np.empty_like), or each has its own"
    )  # fmt: skip
    msg = (
        f"{', '.join([*places, describe(x)])}, {_role(name)}, was written to after that: its "
        f"derivative would be taken at values that are gone. Write to a copy (x = x.copy()), or "
        f"when the gradient has been taken{own}. To find the line that writes, make the array "
        f"read-only before (x.flags.writeable = False)"
    )
    raise MutationError(msg)


def _reached(name: Any) -> bool:
    return type(name) is tuple and len(name) > 1


def holders(entry: tuple[Any, ...]) -> int:
    """Count the references to the first element of a tuple, with those made here."""
    x = entry[0]
    return sys.getrefcount(x)


ONLY_HERE = holders((object(),))
"""What `holders` counts of what nobody else has: it depends on how Python counts its own."""


def _role(name: Any, does: str = "saved") -> str:
    if name is None:
        return "which is differentiated in"
    if type(name) is not tuple:
        return str(name)
    return f"which {_whose(name)} {'looks at' if _reached(name) else does}"


def _whose(name: Any) -> str:
    if type(name) is not tuple:
        return str(name)
    primal = getattr(getattr(name[0], "statement", name[0]), "primal", None)
    return primal.__name__ if primal else "a rule"
