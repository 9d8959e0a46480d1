"""Writes to tracers: what else changes by them, up to where views were read, and down to views.

What was read from a tracer that is written to is *outdated*. The class of such a tracer is changed
to one that reads it again before anything else is done with it; then its class is what it was.
"""

from __future__ import annotations

from typing import Any

from chainrules_py import MutationError
from chainrules_py.extend import describe, forgets, innermost, set_class, type_info
from chainrules_py.vocabulary.views import sharing, store, written_through
from chainrules_tape.memory.view import (
    LIKE,
    UNCLEAR,
    UNLIKE,
    Call,
    View,
    plain_holder,
    view_of,
)

# --------------------------------------------------------------------------------- outdated views


def current(x: Any) -> Any:
    """Return a tracer, read again if it is outdated."""
    if issubclass(type(x), Outdated):
        x._read_again()
    return x


class Outdated:
    """The first base of the classes of outdated tracers.

    Whatever asks for the state of one reads it again first; then its class is what it was.
    """

    __slots__ = ()
    fresh: type
    as_view: View

    def _read_again(self) -> None:
        chain: list[Any] = [self]
        while isinstance(parent := chain[-1].as_view.parent, Outdated):
            chain.append(parent)
        while chain:
            chain.pop()._read_from_current()

    def _read_from_current(self) -> None:
        view, pending = self.as_view, type(self)
        if view.layout is UNCLEAR:
            word = view.how[0].__name__
            msg = (
                f"an array was written to, of which {word} gave a part that is used "
                f"after that; it is not known whether NumPy would have given a view, which the "
                f"write would have changed, or a copy: write .copy() behind it where it is read"
            )
            raise MutationError(msg)
        set_class(self, pending.fresh)
        try:
            new = view.read_again()
            self._become(new)  # type: ignore[attr-defined]
            view.layout = min(getattr(new, "as_view", view.parent.as_view).layout, UNLIKE)
        except BaseException:
            set_class(self, pending)
            raise

    def __trace__(self, *operands: Any, **options: Any) -> Any:
        self._read_again()
        return self.__trace__(*operands, **options)

    @classmethod
    def make_step(cls, site: Any, classes: Any) -> None:
        """None: it is read again first."""

    @classmethod
    def make_call(cls, site: Any, classes: Any) -> None:
        """None, as for steps."""

    @classmethod
    def __step__(cls, primitive: Any, classes: Any) -> None:
        return None


_outdated: dict[type, type] = {}
forgets(lambda: (_outdated,))


def _outdate(x: Any) -> None:
    """Give a tracer the class of outdated ones of its kind, whose instances have the same slots."""
    cls: Any = type(x)
    try:
        set_class(x, _outdated[cls])
    except KeyError:
        members: dict[str, Any] = {name: _state(name) for name in (*cls.state, "level")}
        members |= {"__slots__": (), "__module__": cls.__module__, "fresh": cls}
        made = type(f"Outdated{cls.__name__}", (Outdated, cls), members)
        set_class(x, _outdated.setdefault(cls, made))


def _state(name: str) -> property:
    def value(self: Any) -> Any:
        self._read_again()
        return getattr(self, name)

    return property(value)


# ------------------------------------------------------------------------------------- the writes


def check_writable(x: Any) -> None:
    """Raise if what is written to a view cannot be written to what it was read from.

    Raises
    ------
    MutationError
        If it is a view of one part of complex numbers, or one that the library gave to be read
        only, or if it is not known whether NumPy would have given a copy.
    """
    view = getattr(x, "as_view", None)
    while view is not None and (view.parent is not None or view.layout is UNCLEAR):
        unclear = view.layout is UNCLEAR
        read_only = not unclear and _is_read_only(x, view)
        parent: Any = view.parent
        if unclear or read_only or parent.dtype != x.dtype:
            reason = (
                f"is memory of an array that {view.how[0].__name__} was given, which would show it"
                if parent is None
                else f"is what {view.how[0].__name__} gave of a view that was copied meanwhile, so "
                f"that nobody knows whether NumPy would have given a view"
                if unclear
                else "is read-only, as its library gives such views"
                if read_only
                else "holds parts of the numbers of another array"
            )
            msg = (
                f"{describe(x.value)} is written to, and {reason}; write to a copy of it "
                f"(y = y.copy()), or to the array that it was read from"
            )
            raise MutationError(msg)
        x = view.parent
        view = x.as_view


def _is_read_only(x: Any, view: View) -> bool:
    """Tell whether nobody may write to a view, though one may to what it was read from."""
    if type(view.how) is Call and sharing.get(view.how[0]) == "filled":
        return True  # a copy that stands for a view which is read-only
    flags = [getattr(innermost(each), "flags", None) for each in (x, view.parent)]
    return [getattr(each, "writeable", True) for each in flags] == [False, True]


def replace_value(x: Any, z: Any) -> None:
    """Write all of z to x, in the layout of the value before where that can be."""
    before = plain_holder(x).payload
    x._become(z)
    holder = plain_holder(x)
    memory = type_info(type(before)).memory
    if memory is None or memory.layout(holder.payload) == memory.layout(before):
        return
    if type(holder.payload) is type(before):
        holder.payload = memory.laid_out(holder.payload, before)
    _compare(x, before)


def own_memory(x: Any, copied: Any) -> None:
    """Give a view memory of its own: a copy of its payload."""
    before = plain_holder(x).payload
    x.payload = copied
    _compare(x, before)


def _compare(x: Any, before: Any) -> None:
    """Note it if a tracer's memory is not laid out as it was before."""
    memory = type_info(type(before)).memory
    if memory is not None and memory.layout(plain_holder(x).payload) != memory.layout(before):
        view = view_of(x)
        view.layout = max(view.layout, UNLIKE)


def write_back(x: Any) -> None:
    """Write a view that was written to back to where it was read, and so on; spread the rest."""
    view, unlike = _mark_written(x), []
    while view.parent is not None:
        if view.layout is not LIKE:
            unlike.append(x)
        parent = view.parent
        pattern = view.pattern
        if pattern is None:
            replace_value(parent, written_through(parent, x, *view.how))
        elif not parent._put(pattern, (), x):
            replace_value(parent, store(parent, x, index=pattern))
        view = _mark_written(parent, but=x)
        x = parent
    for x in unlike:  # read again, it lies in memory as NumPy's does, if the array it is of does
        _outdate(x)


def _mark_written(x: Any, but: Any = None) -> View:
    """Make outdated what was read from a tracer that was written to; return its own view."""
    mine = view_of(x)
    rest = [(x, mine)]
    while rest:
        x, view = rest.pop()
        view.written = True
        for child in view.living() if view.children else ():
            if child is but or child.as_view.parent is not x:
                continue
            if not isinstance(child, Outdated):
                _outdate(child)
            rest.append((child, child.as_view))  # of one that is outdated, some may be read again
    return mine
