"""Guards for arrays that a derivative depends on, and that a program could still write to.

They watch the arrays with respect to which a function is differentiated, and the plain arrays that
records saved. Inside `grad`, `value_and_grad` and the block of a tape these are read-only. Before a
derivative is computed, each is also compared with a sample from when it was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Literal, NoReturn, TypeAlias, final

from chainrules_py import debug_hooks
from chainrules_py.errors import MutationError, describe
from chainrules_py.primitives.conversion_advice import Line, told
from chainrules_py.values.library import Memory
from chainrules_py.values.locks_and_modes import at_once
from chainrules_py.values.type_info import type_info

GuardMode: TypeAlias = Literal["lock", "sample", "full", "off"]
"""How arrays are guarded; see `Guard`."""
MODES: tuple[GuardMode, ...] = ("lock", "sample", "full", "off")


_SMALL, _LARGE = 64, 100_000
"""Locked arrays of at most this size are also compared: earlier views can still be written to."""
_locking: dict[int, tuple[dict[int, int], list[Any]]] = {}
"""By the id of a locking guard: `Guard._places` and `Guard._locks`."""


class _Shared:
    """A lock that several guards share: it is undone, in C, when the last of them drops it.

    Each has it in a list of its own, and ``clear`` of that list among its locks.
    """

    __slots__ = ("__del__",)  # Python calls the value

    def __init__(self, undo: Callable[[], object]) -> None:
        self.__del__ = undo


@final
class Guard:
    """The arrays that one differentiation guards.

    Parameters
    ----------
    mode : {"lock", "sample", "full", "off"}
        With ``"lock"`` arrays are read-only until the guard is unlocked; those that cannot be
        locked, such as parts of other arrays, are compared by a sample. With ``"sample"`` all
        arrays are compared by a sample, with ``"full"`` by every byte, with ``"off"`` not at all.

    Attributes
    ----------
    held : dict
        From the id of an array to the array, its name, the `Memory` of its library, its
        fingerprint, and the number of earlier locks. Arrays that are held together have one entry,
        with the list of them.
    compares : bool
        Whether `check` compares the contents of any array.
    large : bool
        Whether a locked array is so large that a pass over it takes time.
    undo : callable
        ``undo()`` makes writable, once, what only this guard has locked. It is one call in C, so
        that an interrupt is raised either before or after it.
    """

    __slots__ = (
        "__del__",
        "_groups",
        "_locks",
        "_places",
        "compares",
        "held",
        "large",
        "mode",
        "undo",
    )

    def __init__(self, mode: GuardMode = "sample") -> None:
        self.mode: GuardMode = (
            "full" if debug_hooks.checks is not None and mode == "sample" else mode
        )
        self.held: dict[int, tuple[Any, Any, Memory, Any, int]] = {}
        self.compares, self.large = False, mode == "off"
        self.undo: Callable[[], object] = bool
        self._locks: list[Any] = []  # made with the first lock, as numbers need none
        self._places: dict[int, int] = {}  # from the id of the owner of memory to its lock
        self._groups: list[tuple[list[Any], Any, Any, list[Any]]] = []  # of small arrays
        if mode not in MODES:
            raise ValueError(f"guard={mode!r}; write one of {', '.join(map(repr, MODES))}")

    def hold(self, x: Any, name: Any = None) -> None:
        """Guard an array from now on; values without memory are ignored.

        Parameters
        ----------
        x : array
            It is referenced, so that its id stays unique.
        name : object or tuple, optional
            Its name as text, or a tuple with the pull of the record that saved it.
        """
        key, mode, count = id(x), self.mode, 0
        if key in self.held or mode == "off":
            return
        memory = type_info(type(x)).memory
        if memory is None:
            return
        if mode == "lock" and memory.lock is not None:
            locks = self._locks or self._begin()
            count = len(locks)
            owner = memory.lock(x, locks)
            if len(locks) > count:
                self._places[id(owner)] = count
            elif owner is not None and not self._shares(id(owner)):
                owner = None
            if owner is not None and x.size > _SMALL:
                self.large = self.large or x.size > _LARGE
                self.held[key] = x, name, memory, None, count
                return
        self.held[key] = x, name, memory, memory.fingerprint(x, mode == "full"), count
        self.compares = True

    def hold_all(self, xs: Sequence[Any], name: Any = None) -> Sequence[Any]:
        """Guard those of several arrays that own their memory, locked together, and small parts.

        Return the arrays that must still be passed to `hold` one by one.
        """
        alike = self.mode == "lock" and len(set(map(type, xs))) == 1
        memory = type_info(type(xs[0])).memory if alike else None
        if memory is None or memory.lock_all is None or memory.contents is None:
            return xs
        locks = self._locks or self._begin()
        count = len(locks)
        locked, parts = memory.lock_all(xs, locks)
        self._places.update(dict.fromkeys(map(id, locked), count))
        mine = [*locked, *[x for x in parts if x.size <= _SMALL and id(x) not in self.held]]
        self.held.update(dict.fromkeys(map(id, mine), (mine, name, memory, None, count)))
        small = [x for x in mine if x.size <= _SMALL]
        self.large = self.large or any([x.size > _LARGE for x in mine])
        self._groups.append((small, name, memory.contents, memory.contents(small)))
        self.compares = self.compares or bool(small)
        return () if len(mine) == len(xs) else [x for x in xs if id(x) not in self.held]

    def _begin(self) -> list[Any]:
        """Prepare the function that undoes the locks, before there is one."""
        key, locks = id(self), self._locks
        locks.append(partial(_locking.pop, key, None))
        self.undo = self.__del__ = at_once(locks)
        _locking[key] = self._places, locks
        return locks

    def _shares(self, owner: int) -> bool:
        """Return whether another guard has locked an array, and share its lock if so."""
        if owner in self._places:
            return True
        for places, locks in [*_locking.values()]:
            if (at := places.get(owner)) is not None and at < len(locks):
                shared = getattr(locks[at], "__self__", None)
                if type(shared) is not list:
                    locks[at] = (shared := [_Shared(locks[at])]).clear
                self._places[owner] = len(self._locks)
                self._locks.append([*shared].clear)
                return True
        return False

    def capture(self, x: Any, record: tuple[Any, ...]) -> None:
        """Guard an operand if the record of the call saved it."""
        for saved in record:
            if saved is x:
                self.hold(x, record[:1])
                return

    def check(self, name_of: Callable[[Any], str | None] = lambda x: None) -> None:
        """Raise if an array was written to since it was passed to `hold`.

        Parameters
        ----------
        name_of : callable, optional
            Returns the name of an array that was held without one.

        Raises
        ------
        MutationError
            The message names the array.
        """
        for arrays, name, contents, before in self._groups:
            now = contents(arrays)
            if now != before:
                x = next(x for x, a, b in zip(arrays, now, before, strict=True) if a != b)
                refuse_written(x, name_of(x) if name is None else name)
        full = self.mode == "full"
        for x, name, memory, fingerprint, _ in self.held.values():
            if fingerprint is not None and memory.fingerprint(x, full) != fingerprint:
                refuse_written(x, name_of(x) if name is None else name)

    def explain(self, error: Any) -> None:
        """Raise in place of a library's error about a read-only array, if this guard locks arrays.

        Raises
        ------
        MutationError
            With the line to write.
        """
        locks = self.mode == "lock" and len(self._locks) > 1
        if locks and isinstance(error, ValueError) and "read-only" in str(error):
            line = Line.of(error)
            name = "x" if line is None else line.option("out") or line.written or "x"
            raise MutationError(
                told(
                    "the line writes to an array on which the gradient depends: it is read-only "
                    "until the gradient is taken",
                    line,
                    f"make a copy, v = {name}.copy(), and write to v; read v, not {name}, after "
                    f"that, in the caller too",
                )
            ) from error

    def settle(self, since: int, kept: Iterable[Any] = ()) -> None:
        """Release the arrays of dropped records, which will be made again.

        Parameters
        ----------
        since : int
            The number of arrays that were held when the first of these records was made.
        kept : iterable, optional
            What is kept of these records; arrays among it stay guarded.
        """
        newest = dict.fromkeys(islice(reversed(self.held), len(self.held) - since))
        still = [(x, self.held[id(x)]) for x in kept if id(x) in newest]
        if newest and self.mode == "lock":
            first = self.held[next(reversed(newest))][-1]
            at_once(self._locks[first:])()
            del self._locks[first:]
            self._places = {key: at for key, at in self._places.items() if at < first}
            _locking[id(self)] = self._places, self._locks
        for key in newest:
            del self.held[key]
        self.held.update({id(x): entry for x, entry in still if entry[3] is not None})
        for x, entry in still:  # those that were locked
            self.hold(x, entry[1])

    def unlock(self) -> None:
        """Make the arrays writable again, and compare them by samples from now on."""
        if self.mode == "lock":
            entries = {id(entry): entry for entry in self.held.values() if entry[3] is None}
            for held, name, memory, _, _ in entries.values():
                for x in held if type(held) is list else (held,):
                    self.held[id(x)] = x, name, memory, memory.fingerprint(x, False), 0
            self.compares = True
            self._free()

    def release(self) -> None:
        """Stop guarding any array."""
        if self.mode == "lock":
            self._free()
        self.held.clear()
        self._groups.clear()

    def _free(self) -> None:
        self.undo()
        self._locks, self._places, self.mode = [], {}, "sample"

    def __repr__(self) -> str:
        return f"<guard of {len(self.held)} arrays, {self.mode}>"


def watched(record: tuple[Any, ...]) -> Guard:
    """Return a guard of the arrays that the record of a call saved."""
    guard, parts = Guard(), [*record[2:]]
    for part in parts:  # which grows meanwhile
        if type(part) in (tuple, list):
            parts += part
        guard.hold(part, record[:1])
    return guard


def refuse_written(x: Any, name: Any = None) -> NoReturn:
    """Raise for an array that was written to.

    Raises
    ------
    MutationError
        The message names the array, by the name passed to `Guard.hold`.
    """
    raise MutationError(
        f"{describe(x)}, {_role(name)}, was written to after that: its derivative would be taken "
        f"at values that are gone; make a copy, v = x.copy(), and write to v"
    )


def _role(name: Any) -> str:
    if name is None:
        return "which is differentiated in"
    if type(name) is not tuple:
        return str(name)
    primal = getattr(getattr(name[0], "statement", name[0]), "primal", None)
    return f"which {primal.__name__ if primal else 'a rule'} saved"
