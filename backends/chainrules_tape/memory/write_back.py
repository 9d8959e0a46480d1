"""Writes to tracers: what else changes by them, up to where views were read, and down to views."""

from __future__ import annotations

from typing import Any

from chainrules_py import MutationError
from chainrules_py.extend import describe, memory_of
from chainrules_py.vocabulary.views import read, store, written_through
from chainrules_tape.memory.outdated import Outdated, outdated_class
from chainrules_tape.memory.view import View, known_view, plain_holder, view_of

__all__ = ["check_writable", "mark_views_outdated", "replace_value", "write_back"]


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
        view = known_view(x)
        view.written = True
        for child in view.living() if view.children else ():
            if child is but or known_view(child).parent is not x:
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


def write_back(x: Any) -> None:
    """Write a view that was written to back to where it was read, and so on; spread the rest."""
    mark_views_outdated(x)
    unlike, view = [], known_view(x)
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
        view = known_view(x)
    for x in unlike:  # read again, it lies in memory as NumPy's does, if the array it is of does
        x.__class__ = outdated_class(type(x))
