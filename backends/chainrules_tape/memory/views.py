"""Tracers that are views of others: a write to one is seen through all of them, as in NumPy.

A view remembers the tracer that it was read from, and the call that read it. When that one is
written to, the view is *outdated*: its class is changed to one that reads it again before anything
else is done with it. When the view is written to, what it holds is written back to where it was
read. So the tracers of other arrays pay nothing for it.
"""

from __future__ import annotations

import weakref
from typing import Any, final

from chainrules_py import MutationError
from chainrules_py.extend import (
    Cache,
    describe,
    find_tracers,
    is_tracer_type,
    memory_of,
    share_memory,
)
from chainrules_py.vocabulary.views import (
    Index,
    always_views,
    depends_on_layout,
    duplicate,
    may_be_filled,
    read,
    store,
    written_through,
)

__all__ = [
    "Outdated",
    "View",
    "check_writable",
    "current",
    "forget_view",
    "note_view",
    "write_back",
    "own_copy",
    "share",
    "mark_views_outdated",
    "replace_value",
    "view_of",
]


@final
class View:
    """What a tracer shares with others, kept by the tracer.

    Attributes
    ----------
    parent : tracer or None
        What it was read from.
    word, rest, options
        The call that read it, ``word(parent, *rest, **options)``.
    faithful : bool
        Whether its memory is laid out as NumPy's would be, on which it depends whether reshaping
        gives a view.
    certain : bool
        Whether it is known to be a view, and not a copy.
    children : list
        Weak references to what was read from it.
    link : object
        What the records of the parts that were read last from it share; its ``index`` says for
        which value of the tracer it was made.
    limit : int
        At how many children those that are gone are forgotten.
    written : bool
        Whether it, or a part of it, was written to.
    """

    __slots__ = (
        "certain",
        "children",
        "faithful",
        "limit",
        "link",
        "options",
        "parent",
        "rest",
        "word",
        "written",
    )

    def __init__(
        self,
        parent: Any = None,
        word: Any = None,
        rest: tuple[Any, ...] = (),
        options: Any = None,
        faithful: bool = True,
        certain: bool = True,
    ) -> None:
        self.parent = parent
        self.word = word
        self.rest = rest
        self.options = options
        self.faithful = faithful
        self.certain = certain
        self.children: list[Any] = []
        self.limit = 16
        self.link: Any = _NONE
        self.written = False

    def add(self, child: Any) -> None:
        """Add a view of it; those that are gone are forgotten now and then."""
        self.children.append(weakref.ref(child))
        if len(self.children) > self.limit:
            self.forget()

    def forget(self) -> None:
        """Forget the views that are gone."""
        self.limit = 2 * len(self.living()) + 16

    def living(self) -> list[Any]:
        """The views of it that are there."""
        pairs = [(reference, reference()) for reference in self.children]
        self.children = [reference for reference, child in pairs if child is not None]
        return [child for _, child in pairs if child is not None]


class _NoLink:
    """Of a view that no part was read from."""

    index = -1


_NONE = _NoLink()


def view_of(x: Any) -> View | None:
    """What a tracer shares with others, if anything was read from it or written to it.

    Of most views nobody asks. They are noted as ``(parent, where, faithful)`` if they are parts,
    else as what a `View` is made of.
    """
    view: Any = getattr(x, "view", None)
    if type(view) is tuple:
        if len(view) == 3:
            parent, where, faithful = view
            view = (parent, read, (), {"index": Index.split(where)[0]}, faithful)
        view = x.view = View(*view)
    return view  # type: ignore[no-any-return]


def _known(x: Any) -> View:
    view = view_of(x)
    assert view is not None
    return view


def share(y: Any, x: Any) -> bool:
    """Whether a value shares memory with another; of tracers, whether it is a view of that one."""
    cls = type(y)
    if not is_tracer_type(cls):
        memory = memory_of(cls)
        if memory is None or cls is not type(x):
            return cls is type(x) and share_memory(y, x)
        return y is x or memory.owner(y) is memory.owner(x)
    while y is not x:
        view = view_of(y)
        if view is None or view.parent is None:
            return False
        y = view.parent
    return True


def note_view(
    made: Any, word: Any, operands: tuple[Any, ...], options: Any, y: Any, payload: Any
) -> bool:
    """Note that the result of a call is a view of its first operand, if it is one.

    Parameters
    ----------
    made : tracer
        The result.
    word, operands, options
        The call.
    y, payload
        What the result and the first operand stand for.

    Returns
    -------
    bool
        Whether the result is to have memory of its own: it is a small part of what is being written
        to. What saves it would hold all of that memory, which then had to be copied at each write.
    """
    if type(y) is not type(payload):
        return False  # an element
    if word is read and not options["index"].is_basic:
        return False
    x = operands[0]
    view = view_of(x)
    if word is read:
        faithful = certain = True
    else:
        try:
            certain, depends, filled = _conduct.table[word]
        except KeyError:
            known = (always_views(word), depends_on_layout(word), may_be_filled(word))
            certain, depends, filled = _conduct.open()[word] = known
        if not certain:
            certain = view is None or view.faithful or not depends
            if certain and not share(y, payload):
                return False
        faithful = not filled or share(y, payload)
    if view is None:
        view = x.view = View()
    made.view = (x, word, operands[1:], options, faithful and view.faithful, certain)
    view.add(made)
    return view.written and 2 * made.size <= x.size


_conduct = Cache()
"""By a word: whether it always gives views, whether that depends on the memory of its operand, and
whether it gives copies here of what are views in NumPy."""


def own_copy(made: Any) -> None:
    """Give a view memory of its own."""
    before = plain_holder(made).payload
    made.payload = duplicate(made.payload)
    after, memory = plain_holder(made).payload, memory_of(type(before))
    if memory is not None and memory.layout(after) != memory.layout(before):
        _known(made).faithful = False


def forget_view(result: Any, operands: tuple[Any, ...]) -> Any:
    """The result of a function that gives arrays of their own, whatever it is computed with.

    Memory is counted, so nothing has to be copied for it: that it is a view is forgotten.
    """
    x: Any
    for x in find_tracers(result):
        if view_of(x) is not None and not any([x is operand for operand in operands]):
            x.view = View()
    return result


# ----------------------------------------------------------------------------- what a write changes


def check_writable(x: Any) -> None:
    """Raise if what is written to a view cannot be written to what it was read from.

    Raises
    ------
    MutationError
        If it is a view of one part of complex numbers, or if it is not known whether NumPy would
        have given a copy.
    """
    view = view_of(x)
    while view is not None and view.parent is not None:
        if not view.certain or view.parent.dtype != x.dtype:
            reason = (
                "holds parts of the numbers of another array"
                if view.certain
                else f"is what {view.word.__name__} gave of a view that was copied meanwhile, so "
                f"that nobody knows whether NumPy would have given a view"
            )
            msg = (
                f"{describe(x.value)} is written to, and {reason}; write to a copy of it "
                f"(y = y.copy()), or to the array that it was read from"
            )
            raise MutationError(msg)
        x = view.parent
        view = view_of(x)


def mark_views_outdated(x: Any, but: Any = None) -> None:
    """Make outdated what was read from a tracer that was written to."""
    if view_of(x) is None:
        x.view = View()
    rest = [x]
    while rest:
        x = rest.pop()
        view = _known(x)
        view.written = True
        for child in view.living() if view.children else ():
            if child is but or _known(child).parent is not x:
                continue
            if not isinstance(child, Outdated):
                child.__class__ = outdated_class(type(child))
            rest.append(child)  # of one that is outdated some may have been read again since


def replace_value(x: Any, z: Any) -> None:
    """Write all of z to x."""
    before = plain_holder(x).payload
    x._become(z)
    holder = plain_holder(x)
    memory = memory_of(type(before))
    if memory is None or memory.layout(holder.payload) == memory.layout(before):
        return
    if type(holder.payload) is type(before):
        holder.payload = memory.laid_out(holder.payload, before)
    if memory.layout(holder.payload) != memory.layout(before):
        view = view_of(x)
        if view is None:
            view = x.view = View()
        view.faithful = False


def plain_holder(x: Any) -> Any:
    """The tracer of the outermost level, which stands for a plain array."""
    while is_tracer_type(type(x.payload)):
        x = x.payload
    return x


def write_back(x: Any) -> None:
    """Write a view that was written to back to where it was read, and so on; spread the rest."""
    mark_views_outdated(x)
    unlike, view = [], _known(x)
    while view.parent is not None:
        if not view.faithful:
            unlike.append(x)
        parent = view.parent
        if view.word is read:
            if not parent._put(view.options["index"], (), x):
                replace_value(parent, store(parent, x, index=view.options["index"]))
        else:
            replace_value(parent, written_through(parent, x, view.word, view.rest, view.options))
        mark_views_outdated(parent, but=x)
        x = parent
        view = _known(x)
    for x in unlike:  # read again, it lies in memory as NumPy's does, if the array it is of does
        x.__class__ = outdated_class(type(x))


def current(x: Any) -> Any:
    """A tracer, read again if it is outdated."""
    if isinstance(x, Outdated):
        x._read_again()
    return x


class Outdated:
    """The first base of the classes of outdated tracers.

    Whatever asks for the state of one reads it again first; then its class is what it was.
    """

    __slots__ = ()
    fresh: type

    def _read_again(self) -> None:
        chain: list[Any] = [self]
        while isinstance(parent := _known(chain[-1]).parent, Outdated):
            chain.append(parent)
        while chain:
            chain.pop()._read_from_current()

    def _read_from_current(self) -> None:
        view, pending = _known(self), type(self)
        if not view.certain:
            msg = (
                f"an array was written to, of which {view.word.__name__} gave a part that is used "
                f"after that; it is not known whether NumPy would have given a view, which the "
                f"write would have changed, or a copy: write .copy() behind it where it is read"
            )
            raise MutationError(msg)
        object.__setattr__(self, "__class__", pending.fresh)
        try:
            new = view.word(view.parent, *view.rest, **view.options)
            self._become(new)  # type: ignore[attr-defined]
            view.faithful = (view_of(new) or _known(view.parent)).faithful
        except BaseException:
            object.__setattr__(self, "__class__", pending)
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


_pending: dict[type, type] = {}


def outdated_class(cls: Any) -> type:
    """The class of outdated tracers of a class; its instances have the same slots."""
    try:
        return _pending[cls]
    except KeyError:
        members = {name: _state(name) for name in (*cls.state, "level")}
        made = type(
            f"Outdated{cls.__name__}",
            (Outdated, cls),
            {"__slots__": (), "__module__": cls.__module__, "fresh": cls} | members,
        )
        return _pending.setdefault(cls, made)


def _state(name: str) -> property:
    def value(self: Any) -> Any:
        self._read_again()
        return getattr(self, name)

    return property(value)
