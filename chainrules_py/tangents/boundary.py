"""Boundary to people: tangents are checked on their way in, and owned on their way out."""

from __future__ import annotations

from typing import Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError
from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.space import Space, kind_of, project, space
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractTangent, NotImplementedTangent, is_zero
from chainrules_py.values import arrays
from chainrules_py.values.library import owners
from chainrules_py.values.pytree import flatten

__all__ = [
    "check_cotangent",
    "check_tangent_of",
    "deliver",
    "own",
    "project_exactly",
]


def check_tangent_of(x: Any, t: Any) -> Any:
    """Check a tangent that a person gave against its operand, and bring it to its space."""
    if type(t) is type(x) and kind_of(x) in ("real", "complex") and _agree(x, t):
        return t
    t = canonicalize(x, t)
    if isinstance(t, (Tangent, AbstractTangent)):
        return t
    of = space(x)
    return of if is_zero(of) else project_exactly(t, of)


def _agree(x: Any, t: Any) -> bool:
    """Tell whether two arrays or numbers of one type agree in dtype and shape."""
    same_dtype = getattr(x, "dtype", None) is getattr(t, "dtype", None)
    return same_dtype and getattr(x, "shape", ()) == getattr(t, "shape", ())


def project_exactly(t: Any, of: Space) -> Any:
    """Bring dtype, realness and device right; the shape has to be right already.

    Raises
    ------
    ProjectionError
        If the shape is another.
    """
    if (
        getattr(t, "dtype", None) is of.dtype and t.shape == of.shape
        if of.dtype is not None
        else type(t) is float
    ):
        return t
    shape = getattr(t, "shape", ())
    if shape != of.shape:
        msg = f"a tangent of shape {shape} for {of!r}: the shapes have to be equal"
        raise ProjectionError(msg)
    return project(t, of)


def check_cotangent(y: Any, y_bar: Any) -> Any:
    """Check a user's cotangent against the result, and bring it to the result's space.

    Raises
    ------
    ProjectionError
        If it does not belong to y: another shape, structure, or None.
    """
    if (
        type(y_bar) is type(y)
        and getattr(y, "dtype", None) is getattr(y_bar, "dtype", 0)
        and y.shape == y_bar.shape
    ):
        return y_bar
    y_bar = unthunk(canonicalize(y, y_bar))
    if isinstance(y_bar, AbstractTangent):
        if isinstance(y_bar, Tangent):
            return project(y_bar, y)
        return y_bar
    of = space(y)
    if type(of) is not Space:
        return of if is_zero(of) else y_bar
    return project_exactly(y_bar, of)


def deliver(t: Any) -> Any:
    """Return a tangent as people get it: no thunks at any level, and nothing that is not stated.

    Raises
    ------
    NotDifferentiableError
        Where a `NotImplementedTangent` is found, with its reason.

    Examples
    --------
    >>> from chainrules_py import Thunk
    >>> deliver(Tangent[tuple](Thunk(lambda: 2.0), 3.0))
    Tangent[tuple](2.0, 3.0)
    """
    t = unthunk(t)
    if isinstance(t, NotImplementedTangent):
        raise NotDifferentiableError(t.reason)
    if not isinstance(t, Tangent):
        return t
    entries = {}
    for key, value in t._entries.items():
        try:
            entries[key] = deliver(value)
        except NotDifferentiableError as error:
            error.add_note(f"in entry {key!r} of a {type(t).__name__}")
            raise
    unchanged = all(entries[key] is value for key, value in t._entries.items())
    return t if unchanged else t._of(entries, t._length)


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Return an array that a user may keep and write to; copy it only if that is needed."""
    cls = type(x)
    if cls in owners:
        return owners[cls](x, theirs)
    if isinstance(x, Tangent):
        flat = tuple(flatten(theirs)[0])
        return map_fields(lambda field: own(field, flat), x)
    if arrays.is_array_type(cls) and not arrays.is_tracer_type(cls):
        return arrays.namespace(x).asarray(x, copy=True)
    return x
