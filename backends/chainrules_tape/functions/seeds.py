"""From a result to where its cotangent enters the tape, and the cotangent of a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrules_py import (
    NotDifferentiableError,
    Space,
    space,
)
from chainrules_py.extend import (
    describe,
    fields_of,
    find_tracers,
    is_number_type,
    is_structure_type,
    rebuild,
)
from chainrules_tape.core.variable import Variable
from chainrules_tape.memory.write import handed_out

if TYPE_CHECKING:
    from chainrules_tape.core.tape import Tape

__all__ = ["check_scalar", "lower", "one", "unit"]


def lower(
    y: Any, tape: Tape, path: tuple[Any, ...], starts: list[tuple[tuple[Any, ...], int]]
) -> Any:
    """A result without its variables; where they were is noted."""
    if isinstance(y, Variable) and y.tape is tape:
        starts.append((path, y.index))
        return handed_out(y)
    if is_structure_type(type(y)) and find_tracers(y):
        return rebuild(y, [lower(field, tape, (*path, key), starts) for key, field in fields_of(y)])
    return y


def check_scalar(y: Any) -> None:
    """Raise unless a result is one real number."""
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    msg = (
        f"grad is of a function with one real number for a result, and this one gave "
        f"{describe(y)}; vjp takes a cotangent of any result, jacobian gives all partial "
        f"derivatives"
    )
    raise NotDifferentiableError(msg)


def one(y: Any) -> Any:
    """The cotangent of a number: one, in its shape and dtype."""
    of = space(y)
    if of.dtype is None or is_number_type(of.like):
        return 1.0 if of.dtype is None else of.like(1)
    return of.zeros() + 1


def unit(y: Any) -> Any:
    """One, the cotangent of a result that has to be one real number, which is checked."""
    cls = type(y)
    found = _units.get(cls)
    if found is None:
        check_scalar(y)
        found = one(y)
        if is_number_type(cls):  # all of a class are alike, and the one cannot be written to
            _units[cls] = found
    return found


_units: dict[type, Any] = {}
