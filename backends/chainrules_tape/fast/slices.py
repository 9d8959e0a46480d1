"""Fast path for reading parts of arrays, because programs are full of slices.

If the library declares that subscripting gives the elements of an array, an index of integers,
slices, None and Ellipsis is not converted: it subscripts the array directly, it is kept unchanged,
and a cotangent is added to the part of a buffer that the same index selects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from weakref import ref

from chainrules_py.extend import Bound, annotate, fit, type_info, untraced
from chainrules_py.ops.engine_operations import (
    Index,
    adds_in_place,
    read,
    read_whole,
    reshaping,
    shape_back,
    subscripts,
)
from chainrules_tape.array_writes.in_place_cotangent_links import linked, rows_reader
from chainrules_tape.array_writes.writes_and_views import UNLIKE, View, writing
from chainrules_tape.core.variable import BareVariable

Reader: TypeAlias = Callable[[Any, Any], Any]
"""``(x, where)``, which returns ``x[where]``."""

_BOUND = frozenset((int, type(None)))


class FastSlices(BareVariable):
    """Variables that are read by subscripting the array itself."""

    __slots__ = ()

    def _reader(self) -> Reader:
        """Return the function that reads variables of this class by an index."""
        return reader(type(self), self.payload)


def general(x: Any, where: Any) -> Any:
    """Return ``x[where]`` by the operation."""
    return x._read(*Index.split(where))


# One function: a further Python call would be a tenth of the cost of a slice.
def reader(cls: Any, payload: Any) -> Reader:  # noqa: C901
    """Build the function that reads variables of a class by any index.

    Parameters
    ----------
    cls : type
        The class of the variables.
    payload : array
        The payload of one of these variables.
    """
    own, classes = cls.payload_type, cls.results
    bound = cls.tracing.find(read, None, (own,), (True,))[1]
    if (
        bound is None
        or not subscripts(type_info(own).dispatch_type if issubclass(own, FastSlices) else own)
        or not adds_in_place(bound.recipe)
    ):
        return general
    pull = bound.run(None, untraced(payload), index=read_whole)[1][0]  # an outer tape records none
    pull_part, pull_whole = _pulls(bound, pull, own)
    read_rows = rows_reader(cls)
    plain = type_info(own).dispatch_type  # the class that another engine's array may represent

    def read_part(x: Any, where: Any) -> Any:  # noqa: C901
        kind, whole = type(where), False
        if kind is slice:
            start, stop, step = where.start, where.stop, where.step
            if not (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (step is None or type(step) is int)
            ):
                return general(x, where)  # objects used as bounds may be mutable
            whole = start is None and stop is None and step is None
        elif kind is tuple:
            whole = True
            for entry in where:
                kind = type(entry)
                if kind is slice:
                    start, stop, step = entry.start, entry.stop, entry.step
                    if start is None and stop is None and step is None:
                        continue
                    if type(start) in _BOUND and type(stop) in _BOUND and type(step) in _BOUND:
                        whole = False
                        continue
                elif kind is int:
                    whole = False
                    continue
                elif entry is None or entry is Ellipsis:
                    continue
                return general(x, where)
        elif where is None or where is Ellipsis:
            whole = True
        elif kind is own or kind is plain:
            return read_rows(x, where)
        elif kind is not int:
            return general(x, where)
        payload, tape = x.payload, x.tape
        y = payload[where]
        view = getattr(x, "as_view", None)
        if view is None:
            with writing:
                view = x.as_view = getattr(x, "as_view", None) or View()
        link = view.link
        if link.parents != x.place and (link := linked(x, view)) is None:
            return general(x, where)
        index = len(tape)
        tape.append(
            (pull_whole, link.parents, where, link.of)
            if whole
            else (pull_part, link, where, link.of)
        )
        if type(y) is not own:
            link.element = element = type(y)
            return classes[element](y, tape, index)
        made = classes[own](y, tape, index)
        made.as_view = new = View()
        new.parent, new.how = x, where
        new.layout = view.layout and UNLIKE
        if view.written and 2 * made.size <= x.size:
            made.own_memory()
        children: Any = view.children
        children.append(ref(made))  # last: a write in another thread may outdate it from now on
        if len(children) > view.limit:
            view.forget()
        return made

    return read_part


def _pulls(bound: Bound, pull: Any, own: type) -> tuple[Any, Any]:
    """Build the pulls ``(y_bar, where, of)`` for a part, and for all elements in another shape."""
    give_shape = reshaping(own)

    def pull_part(y_bar: Any, where: Any, of: Any) -> Any:
        return pull(y_bar, {"index": Index.split(where)[0]}, of)

    def pull_whole(y_bar: Any, where: Any, of: Any) -> Any:
        if type(y_bar) is own:
            return give_shape(y_bar, shape=of.shape)
        return fit(shape_back(y_bar, of.shape), of)

    def pull_wholes(y_bar: Any, where: Any, of: Any) -> Any:
        return fit(shape_back(y_bar, (y_bar.shape[0], *of.shape)), of, batch=1)

    return annotate(pull_part, bound), annotate(pull_whole, bound, batched=pull_wholes)
