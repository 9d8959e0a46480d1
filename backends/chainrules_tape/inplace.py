"""Writing to tracers in place: whose memory may be written to, and which views grow old by it.

A tracer that is written to takes over the value of a functional word, `put_at`. Nothing that was
recorded or handed out before sees the write: memory is written to only where nobody else has it,
and is copied once where somebody has. So n writes to one buffer cost n.

What NumPy's programs would see, and tracers do not, are views: after ``row = x[0]``, a write to x
changes row. Tracers that share memory form a `Family`; those that a write would have changed are
`stale` from then on, and raise wherever they are used.
"""

from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from chainrules_py import MutationError, TracerError, ignore_derivatives
from chainrules_py.arrays import (
    Tracer,
    dispatch_type,
    is_array_type,
    is_number_type,
    is_tracer_type,
    type_namespace,
)
from chainrules_py.errors import describe
from chainrules_py.memory import memory_of, share_memory
from chainrules_py.primitive import Primitive, find_tracers
from chainrules_py.project import kind_of
from chainrules_py.tangents import is_mutable_destination
from chainrules_py.vocabulary import (
    Index,
    astype,
    broadcast_to,
    concat,
    copy,
    cumulative_sum,
    lift,
    mean,
    put_at,
    scatter_add,
    stack,
    sum,
    take,
    to_device,
    where,
)

if TYPE_CHECKING:
    from chainrules_tape.tracing import ArrayLike

__all__ = [
    "Family",
    "Stale",
    "alone",
    "assign",
    "check_unwritten",
    "fits",
    "gives_views",
    "handed_out",
    "in_place",
    "join",
    "put",
    "share",
    "snapshot",
    "stacked",
    "stale_class",
]


# ------------------------------------------------------------------------------ whose memory it is


def references(holder: Any, name: str) -> int:
    """How many references there are to what a holder has under a name, with those made here."""
    value = getattr(holder, name)
    return sys.getrefcount(value)


class _Probe:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = object()


_ALONE = references(_Probe(), "value")  # which depends on how Python counts its own


def alone(holder: Any, name: str = "payload") -> bool:
    """Whether nobody but its holder has an array, nor a view of it, so that it may be written to.

    Records, variables, people and views each hold a reference, and this counts them: nothing that
    keeps an array can be forgotten.
    """
    value = getattr(holder, name)
    if is_tracer_type(type(value)):
        family = family_of(value)
        here = family is None or len(family.living()) == 1
    else:
        memory = memory_of(type(value))
        here = memory is not None and memory.owner(value) is value and is_mutable_destination(value)
    del value
    return here and references(holder, name) <= _ALONE


# ------------------------------------------------------------------------------------------ views

_COPIES = (astype, to_device, copy)
"""Words that may give the very array they got, where what the program called gives a copy."""
_NEW = (sum, mean, cumulative_sum, concat, stack, where, take, scatter_add, put_at)
"""Linear words that always make a new array: of them it need not be asked at each call."""
_FRESH = ("scalar_rule", "bilinear_rule")
"""The pens of functions that do."""


def gives_views(primitive: Primitive[..., Any], pen: str) -> bool:
    """Whether the result of a word may be a view of its first operand."""
    return pen not in _FRESH and primitive not in (*_COPIES, *_NEW)


@final
class Family:
    """Tracers that share memory in the program, whatever memory they have here.

    Attributes
    ----------
    members : list of tuple
        For each a weak reference to it, one to the tracer that it was read from, and the pattern
        of the index that read it, if it was one.
    written : bool
        Whether one of them was written to.
    """

    __slots__ = ("limit", "members", "written")

    def __init__(self, x: Any, *, written: bool = False) -> None:
        self.members: list[tuple[Any, Any, Any]] = [(weakref.ref(x), None, None)]
        self.written = written
        self.limit = 16

    def add(self, x: Any, parent: Any, pattern: Any) -> None:
        """Add a view; those that are gone are forgotten now and then."""
        self.members.append((weakref.ref(x), weakref.ref(parent), pattern))
        if len(self.members) > self.limit:
            self.members = [member for member in self.members if member[0]() is not None]
            self.limit = 2 * len(self.members) + 16

    def living(self) -> list[tuple[Any, Any, Any]]:
        """The members that are there: the tracer, what it was read from or None, and the index."""
        found, members = [], []
        for member in self.members:
            x, parent = member[0](), member[1] and member[1]()
            if x is not None and not isinstance(x, Stale):
                members.append(member)
                found.append((x, None if isinstance(parent, Stale) else parent, member[2]))
        self.members = members
        return found


def family_of(x: Any) -> Family | None:
    """The family of a tracer, if anything was read from it or written to it."""
    try:
        return x.family  # type: ignore[no-any-return]
    except AttributeError:
        return None


def share(y: Any, x: Any) -> bool:
    """Whether two payloads share memory; of tracers, whether they do one level down."""
    if is_tracer_type(type(y)) or is_tracer_type(type(x)):
        return y is x or ((family := family_of(y)) is not None and family is family_of(x))
    return share_memory(y, x)


def join(view: Any, x: Any, options: dict[str, Any]) -> bool:
    """Note that one tracer is a view of another; whether it should have memory of its own.

    It should if it is a small part of a buffer that is being written to: what saves the part would
    hold the whole buffer, which then had to be copied at the next write.
    """
    family = family_of(x)
    if family is None:
        family = x.family = Family(x)
    pattern = options.get("index")
    family.add(view, x, pattern)
    view.family = family
    return family.written and 2 * view.size <= x.size


@final
class Write:
    """A write to a tracer while it is done: what it makes stale, found before and made so after.

    Parameters
    ----------
    x : tracer
        What is written to.
    pattern : Index or None
        Where, if that is an index without arrays; None stands for everywhere.
    """

    __slots__ = ("changed", "family", "kept", "mine", "x")

    def __init__(self, x: Any, pattern: Index | None) -> None:
        self.x = x
        self.family = family_of(x)
        self.changed: list[Any] = []
        self.mine: tuple[Any, Any] = (None, None)
        self.kept = False
        if self.family is None or len(living := self.family.living()) == 1:
            return
        self.mine = next((parent, read) for other, parent, read in living if other is x)
        for other, *origin in living:
            if other is x:
                continue
            if overlap(x, pattern, self.mine, other, origin):
                self.changed.append(other)
            elif overlap(x, None, self.mine, other, origin):
                self.kept = True

    def done(self) -> None:
        """The value is there: views of the old one are stale, and x has memory of its own."""
        x, family = self.x, self.family
        parent, pattern = self.mine
        for other in self.changed:
            other.family = Spoiled(other, x, parent, pattern)
            other.__class__ = type(other).stale
        if family is not None and (self.kept or len(family.members) == 1):
            family.written = True
            return
        if family is not None:
            family.members = [member for member in family.members if member[0]() is not x]
        x.family = Family(x, written=True)


def overlap(x: Any, pattern: Index | None, mine: Any, other: Any, theirs: Any) -> bool:
    """Whether a write to x at an index changes another member of its family.

    Indices say it best, for memory may have been copied since; where they do not tell, and the
    memory is not shared any more, it is taken that it does.
    """
    (parent, read), (other_parent, other_read) = mine, theirs
    here, there = innermost(x), innermost(other)
    memory = memory_of(type(here))
    if memory is None:
        return True
    if other_parent is x and other_read is not None:
        there = part(here, other_read)
    elif None not in (parent, read, other_read) and parent is other_parent:
        here, there, pattern = innermost(parent), innermost(parent), None
        here, there = part(here, read), part(there, other_read)
    elif type(there) is not type(here) or memory.owner(there) is not memory.owner(here):
        return True
    return memory.overlap(here if pattern is None else part(here, pattern), there)


def part(x: Any, pattern: Index) -> Any:
    """What an index without arrays reads, as a view, not as a number."""
    where = pattern.join(())
    return x[where if Ellipsis in pattern else (*where, Ellipsis)]


def innermost(x: Any) -> Any:
    """The plain array in a tracer."""
    while is_tracer_type(type(x)):
        x = x.payload
    return x


# ------------------------------------------------------------------------------------------ stale


class Stale:
    """What the class of a tracer becomes when a write has changed what it is a view of.

    Each engine derives a class from its tracers that gets these members; all that reads the value
    raises, and a write that puts the view back where it was read heals: ``x[1:3] += y`` is nothing
    else.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def __trace__(self, *_: Any, **__: Any) -> Any:
        """Raise."""
        raise self._error()

    def __repr__(self) -> str:
        return f"<stale view of {self.family.shown}>"  # type: ignore[attr-defined]

    def _error(self, *_: Any) -> MutationError:
        return MutationError(self.family.message())  # type: ignore[attr-defined]

    def __setitem__(self, where: Any, value: Any) -> None:
        spoiled: Spoiled = self.family  # type: ignore[attr-defined]
        if spoiled.by is value and spoiled.parent() is self:
            pattern, arrays = Index.split(where)
            if not arrays and pattern == spoiled.pattern:
                spoiled.heal(self)
                self[where] = value
                return
        raise self._error()


def _unreadable(self: Any, *_: Any) -> Any:
    raise self._error()


_READING = ("__bool__", "__contains__", "__format__", "__getitem__", "__iter__", "__len__")


def stale_class(base: type, slots: tuple[str, ...]) -> type:
    """The class of an engine's stale tracers; its slots cannot be read any more."""
    members: dict[str, Any] = {"__slots__": (), "__module__": base.__module__}
    members |= {"__dispatch_type__": object, "payload_type": object}
    members |= dict.fromkeys((*slots, "level"), property(_unreadable))
    members |= dict.fromkeys(_READING, _unreadable)
    return type(f"Stale{base.__name__}", (Stale, base), members)


@final
class Spoiled:
    """Why a tracer is stale, in the place of its family."""

    __slots__ = ("by", "cls", "family", "parent", "pattern", "shown")

    def __init__(self, x: Any, by: Any, parent: Any, pattern: Any) -> None:
        self.by = by
        self.cls = type(x)
        self.family = x.family
        self.parent: Any = weakref.ref(parent) if parent is not None else lambda: None
        self.pattern = pattern
        self.shown = describe(innermost(x))

    def heal(self, x: Any) -> None:
        """Make a tracer again what it was."""
        x.__class__ = self.cls
        x.family = self.family

    def message(self) -> str:
        """What to say when it is used."""
        return (
            f"this {self.shown} shares memory with an array that was written to since, so NumPy "
            f"would have changed it as well. To keep the old values, copy before the write "
            f"(row = x[0].copy()); for the new ones, read again after it; and to write to a part "
            f"of x, write x[i] = ... or x[i] += ..., not row = x[i]; row += ..."
        )


# ---------------------------------------------------------------------------------------- writing


def put(x: ArrayLike, where: Any, value: Any) -> None:
    """``x[where] = value``, for an index as Python writes it."""
    refuse_inner(x, value)
    cls = type(x)
    if not is_array_type(cls):
        msg = f"{dispatch_type(cls).__name__!r} object does not support item assignment"
        raise TypeError(msg)
    pattern, arrays = Index.split(where, lambda entry: as_index(entry, x))
    arrays = tuple([ignore_derivatives(a) for a in arrays])
    cls = type(value)
    if not (is_tracer_type(cls) or is_array_type(cls) or is_number_type(cls)):
        value = stacked(value, x)
    if is_tracer_type(type(value)) and kind_of(x) in ("int", "bool"):
        value = astype(value, dtype=x.dtype)  # which is constant
    write = Write(x, pattern if pattern.is_basic else None)
    if not x._put(pattern, arrays, value):
        x._become(put_at(x, value, *arrays, index=pattern))
    write.done()


def as_index(entry: Any, x: Any) -> Any:
    """A list in an index as an array."""
    xp = type_namespace(dispatch_type(type(x)))
    if xp is None:
        return operator.index(entry)
    return stacked(entry, x) if len(entry) else xp.zeros((0,), dtype=xp.int64)


def stacked(values: Any, x: Any) -> Any:
    """What is no array, a list of tracers and numbers most often, as an array like x."""
    xp: Any = type_namespace(dispatch_type(type(x)))
    if not find_tracers(values):
        return values if xp is None else xp.asarray(values)
    if is_tracer_type(type(values)):
        return lift(values, to=xp)
    return stack(*[stacked(value, x) for value in values])


def assign(x: ArrayLike, z: Any, natively: Callable[[Any], Any]) -> None:
    """Make x the value z, in the shape and dtype of x, as an array is that is written over.

    ``natively(array)`` does the same to a plain array, and raises as its library does where the
    two do not fit.
    """
    if z.shape != x.shape or z.dtype != x.dtype:
        natively(copy(innermost(x)))
        z = z if z.shape == x.shape else broadcast_to(z, shape=x.shape)
        z = z if z.dtype == x.dtype else astype(z, dtype=x.dtype)
    if not is_array_type(type(z)):  # as NumPy makes numbers of arrays without axes
        put(x, Ellipsis, z)
        return
    write = Write(x, None)
    x._become(z)
    write.done()


def in_place(
    operation: Callable[[Any, Any], Any], native: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """The method ``__iadd__`` made of ``__add__``."""

    def method(self: Any, other: Any) -> Any:
        refuse_inner(self, other)
        z = operation(self, other)
        if z is NotImplemented:
            return z
        assign(self, z, lambda array: native(array, innermost(other)))
        return self

    return method


def refuse_inner(x: ArrayLike, value: Any) -> None:
    """Raise if a value belongs to a differentiation that began inside that of x."""
    inner: Tracer
    for inner in find_tracers(value):
        if inner.level > x.level:
            msg = (
                f"{inner!r} is written into {x!r}, which comes from outside of the "
                f"differentiation: it would hold a traced value when that is over. Make the "
                f"buffer inside, as buffer = np.zeros(n, like=x), or return the value"
            )
            raise TracerError(msg)


def fits(array: Any, value: Any) -> bool:
    """Whether an array, or a tracer of one, can itself hold a value."""
    tracers = find_tracers(value)
    if not tracers:
        return True
    return is_tracer_type(type(array)) and all([t.level <= array.level for t in tracers])


# ------------------------------------------------------------------- what writes shall not change


def snapshot(x: Any) -> Any:
    """A tracer as it is now, for whoever keeps it; the memory is shared until one is written to."""
    return x._snapshot() if is_tracer_type(type(x)) else x


def check_unwritten(given: list[Any], leaves: list[Any]) -> None:
    """Raise if arguments that are tracers were written to by another name while a function ran.

    Raises
    ------
    MutationError
        The function has computed with their values of before, and NumPy would not have.
    """
    for x, before in zip(given, leaves, strict=True):
        if x is not before and any([getattr(x, n) is not getattr(before, n) for n in x.state]):
            msg = (
                f"{describe(innermost(x))}, an argument of the function that is differentiated, "
                f"was written to from inside, by its name outside; write to the argument itself, "
                f"which is a copy, or before the call"
            )
            raise MutationError(msg)


def handed_out(x: ArrayLike) -> Any:
    """What a tracer stands for, as a person may keep and write to it."""
    payload = x.payload
    if is_tracer_type(type(payload)):
        return snapshot(payload)
    if memory_of(type(payload)) is None:
        return payload
    del payload
    return x.payload if alone(x) else copy(x.payload)
