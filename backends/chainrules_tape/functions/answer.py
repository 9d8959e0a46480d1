"""What a function that is differentiated gives: one real number, or a result with an auxiliary."""

from __future__ import annotations

from typing import Any

from chainrules_py import NotDifferentiableError, space
from chainrules_py.extend import Space, describe, forgets, name_of, type_info


def split_aux(f: Any, answer: Any) -> tuple[Any, Any]:
    """Split the answer of a function said to return ``(result, aux)`` into these two."""
    if type(answer) is tuple and len(answer) == 2:
        return answer
    msg = (
        f"has_aux says that {name_of(f)} returns (result, aux), and it returned "
        f"{describe(answer)}; return a tuple of these two"
    )
    raise NotDifferentiableError(msg)


def check_scalar(y: Any) -> None:
    """Raise unless a result is one real number."""
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    whole = type(of) is Space and of.kind == "int" and of.size == 1
    msg = (
        f"grad is of a function with one real number for a result, and this one gave "
        f"{describe(y)}; "
        + (
            "a whole number does not change by a little: give floats (3.0 for 3)"
            if whole
            else "write vjp, which takes a cotangent of any result, or jacobian, for all partial "
            "derivatives"
        )
    )
    raise NotDifferentiableError(msg)


def unit(y: Any) -> Any:
    """Return the cotangent of a result that has to be one real number: one, as it is."""
    cls = type(y)
    if cls in _units:
        return _units[cls]
    check_scalar(y)
    of = space(y)
    if of.dtype is not None and not type_info(of.like).is_number:
        return of.zeros() + 1
    found = 1.0 if of.dtype is None else of.like(1)
    if type_info(cls).is_number:  # all of a class are alike, and the one cannot be written to
        _units[cls] = found
    return found


_units: dict[type, Any] = {}
forgets(lambda: (_units,))
