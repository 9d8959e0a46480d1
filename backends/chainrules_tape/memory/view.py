"""Views among tracers: a write to one is seen through all of them, as in NumPy.

A view remembers the tracer that it was read from, and the call that read it. When that one is
written to, the view is *outdated* (`chainrules_tape.memory.outdated`). When the view is written to,
what it holds is written back to where it was read (`chainrules_tape.memory.write_back`). So the
tracers of other arrays pay nothing for it.
"""

from __future__ import annotations

import weakref
from typing import Any, final

from chainrules_py.extend import Cache, is_tracer_type, memory_of, share_memory
from chainrules_py.vocabulary.views import (
    Index,
    always_views,
    depends_on_layout,
    duplicate,
    may_be_filled,
    read,
)

__all__ = ["View", "known_view", "note_view", "own_copy", "plain_holder", "share", "view_of"]


@final
class View:
    """Memory that a tracer shares with others, noted by the tracer.

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
        """List the views of it that still exist."""
        pairs = [(reference, reference()) for reference in self.children]
        self.children = [reference for reference, child in pairs if child is not None]
        return [child for _, child in pairs if child is not None]


class _NoLink:
    """Placeholder for the link of a view that no part was read from."""

    index = -1


_NONE = _NoLink()


def view_of(x: Any) -> View | None:
    """Return the view of a tracer, if anything was read from it or written to it.

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


def known_view(x: Any) -> View:
    """Return what a tracer shares with others, which is known to be something."""
    view = view_of(x)
    assert view is not None
    return view


def share(y: Any, x: Any) -> bool:
    """Tell whether a value shares memory with another; for tracers, if it is a view of that one."""
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


def plain_holder(x: Any) -> Any:
    """Return the tracer of the outermost level, which stands for a plain array."""
    while is_tracer_type(type(x.payload)):
        x = x.payload
    return x


def own_copy(made: Any) -> None:
    """Give a view memory of its own."""
    before = plain_holder(made).payload
    made.payload = duplicate(made.payload)
    after, memory = plain_holder(made).payload, memory_of(type(before))
    if memory is not None and memory.layout(after) != memory.layout(before):
        known_view(made).faithful = False
