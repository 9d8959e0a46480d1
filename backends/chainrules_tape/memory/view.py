"""Views among tracers: a write to one is seen through all of them, as in NumPy.

A view remembers the tracer that it was read from, and the call that read it. So the tracers of
other arrays pay nothing for it. What becomes of them is drawn in `chainrules_tape.memory`.
"""

from __future__ import annotations

import weakref
from typing import Any, final

from chainrules_py.extend import Tracer, share_memory, type_info
from chainrules_py.vocabulary.views import Index, read, sharing
from chainrules_tape.core.links import LEAF

LIKE, UNLIKE, UNCLEAR = range(3)
"""The layout of a tracer: whether its memory lies as NumPy's would, so that reshaping gives a view
of both. If it is unlike, that cannot be found out here; it is unclear of what such a reshaping
gave, which may be a copy, and no view at all."""


class Call(tuple[Any, tuple[Any, ...], Any]):
    """Call that read a view, as ``(word, rest, options)``: ``word(parent, *rest, **options)``.

    Each transpose of a program makes one, where that of a named tuple would be a call of ours.
    """

    __slots__ = ()


@final
class View:
    """Memory that a tracer shares with others, noted once it was read from or written to.

    Attributes
    ----------
    parent : tracer or None
        What it was read from.
    how : object
        The index by which it was read, as it was written or an `Index`; or the `Call` of a word.
    layout : {LIKE, UNLIKE, UNCLEAR}
        Whether its memory is laid out as NumPy's would be.
    written : bool
        Whether it, or a part of it, was written to.
    children : list or None
        Weak references to what was read from it.
    limit : int
        At how many children those that are gone are forgotten.
    link : object
        What the records of the parts that were read last from it share; its ``parents`` says for
        which value of the tracer it was made.
    """

    # No __init__: each slice of a program makes one, where a call of ours would be a tenth.
    parent: Any = None
    how: Any = None
    layout: int = LIKE
    written = False
    children: list[Any] | None = None
    limit = 16
    link: Any = LEAF

    @classmethod
    def of(cls, parent: Any, how: Any, layout: int) -> View:
        """Return the view of a tracer that nothing was read from yet."""
        view = cls()
        view.parent, view.how, view.layout = parent, how, layout
        return view

    @property
    def pattern(self) -> Index | None:
        """The index by which it was read; None if it was read by another word."""
        how = self.how
        if type(how) is Call:
            return None
        return how if type(how) is Index else Index.split(how)[0]

    def read_again(self) -> Any:
        """Read it as it was read."""
        pattern = self.pattern
        if pattern is not None:
            return read(self.parent, index=pattern)
        word, rest, options = self.how
        return word(self.parent, *rest, **options)

    def add(self, child: Any) -> None:
        """Add a view of it; those that are gone are forgotten now and then."""
        if self.children is None:
            self.children = []
        self.children.append(weakref.ref(child))
        if len(self.children) > self.limit:
            self.forget()

    def forget(self) -> None:
        """Forget the views that are gone."""
        self.limit = 2 * len(self.living()) + 16

    def living(self) -> list[Any]:
        """List the views of it that still exist."""
        pairs = [(reference, reference()) for reference in self.children or ()]
        self.children = [reference for reference, child in pairs if child is not None]
        return [child for _, child in pairs if child is not None]


def view_of(x: Any) -> View:
    """Return the view of a tracer, which is a new one if nothing was read from it or written."""
    try:
        view: View = x.as_view
    except AttributeError:
        view = x.as_view = View()
    return view


def share(y: Any, x: Any) -> bool:
    """Tell whether a value shares memory with another; for tracers, if it is a view of that one."""
    if not isinstance(y, Tracer):
        return share_memory(y, x)
    while y is not x:
        view = getattr(y, "as_view", None)
        if view is None or view.parent is None:
            return False
        y = view.parent
    return True


def fits(array: Any, *given: Any) -> bool:
    """Tell whether an array, or its tracer, can itself hold values; no engine has to see that."""
    cls = type(array)
    if {cls}.issuperset(map(type, given)) and not issubclass(cls, Tracer):
        return True
    hosts, level = (None, type_info(cls).host), getattr(array, "level", 0)
    each = [(getattr(x, "level", 0), type_info(type(x)).host) for x in given]
    return all([theirs <= level and host in hosts for theirs, host in each])


def note_view(
    made: Any, word: Any, operands: tuple[Any, ...], options: Any, y: Any, payload: Any
) -> None:
    """Note that the result of a call is a view of its first operand, if it is one.

    A small part of what is being written to gets memory of its own: what saves it would hold all of
    that memory, which then had to be copied at each write.

    Parameters
    ----------
    made : tracer
        The result.
    word, operands, options
        The call.
    y, payload
        What the result and the first operand stand for.
    """
    if type(y) is not type(payload):
        return  # an element
    x = operands[0]
    view = getattr(x, "as_view", None)
    layout = LIKE if view is None or view.layout is LIKE else UNLIKE
    how: Any = None
    if word is read:
        if options["index"].is_basic:
            how = options["index"]
        elif any(map(_axes, operands[1:])) or not share(y, payload):
            return
    else:
        shares = sharing.get(word)
        if shares == "layout" and layout:
            layout = UNCLEAR
        elif shares != "view" and not share(y, payload):
            if shares != "filled":
                return
            layout = UNLIKE
    if view is None:
        view = x.as_view = View()
    if how is None:
        how = Call((word, operands[1:], options))
    made.as_view = new = View()  # `View.of`, written out
    new.parent, new.how, new.layout = x, how, layout
    view.add(made)
    if view.written and 2 * made.size <= x.size:
        made.own_memory()


def _axes(x: Any) -> Any:
    return getattr(x, "shape", True)


def plain_holder(x: Any) -> Any:
    """Return the tracer of the outermost level, which stands for a plain array."""
    while isinstance(x.payload, Tracer):
        x = x.payload
    return x
