"""Checks of tangents, with their messages: what a tangent is, and which primals it fits."""

import operator
from enum import Enum
from typing import Any, NoReturn

from chainrules_py.errors import ProjectionError, describe
from chainrules_py.values.array_conversion import is_table
from chainrules_py.values.caches import forgets
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import check_tangent, type_info


def is_constant(primal: object) -> bool:
    """Return whether a value cannot be perturbed: None, a boolean, a string, an enumeration's."""
    return primal is None or isinstance(primal, (bool, str, bytes, Enum))


def is_number_or_array(x: object) -> bool:
    """Return whether a value has a shape and a dtype, or is a number."""
    return type_info(type(x)).is_number or (hasattr(x, "shape") and hasattr(x, "dtype"))


def shape_of(x: object) -> tuple[int, ...] | None:
    """Return the shape of an array or number, or None if it is not fully known."""
    if isinstance(x, (int, float, complex)):
        return ()
    try:
        return tuple([operator.index(n) for n in x.shape])  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return None


taken: set[type] = set()
"""Classes that `check_is_tangent` has accepted."""
forgets(lambda: (taken,))


def check_is_tangent(t: object) -> None:
    """Raise for None, strings, tables, and array classes that were refused as tangents."""
    cls = type(t)
    if cls in taken:
        return
    if t is None or isinstance(t, (str, bytes)):
        raise ProjectionError(
            f"{describe(t)} is never a tangent: did you forget return? Where nothing flows, write "
            f"ZeroTangent()"
        )
    check_tangent(t)
    if not is_table(cls):
        taken.add(cls)
    elif not isinstance(t, (int, float, complex)):
        raise ProjectionError(
            f"{cls.__qualname__} has labels, which would be aligned, and is not a tangent here: "
            f"give the array of its numbers, table.to_numpy()"
        )


def refuse_tangent(t: object) -> NoReturn:
    """Raise for a rule's result that is not a number, array or tangent."""
    check_is_tangent(t)
    raise ProjectionError(
        f"{describe(t)} is never the tangent of an array or number; a rule has to give a number, "
        f"an array or a tangent"
    )


def not_a_tangent_of(primal: object, t: object) -> str:
    """Return the message that a tangent does not belong to a primal, and what to write."""
    name = type(primal).__qualname__
    builtin = isinstance(primal, (tuple, list, dict))
    of_fields = (
        f"give a {name}, with a tangent for each" if builtin else f"write Tangent[{name}](...)"
    )
    of_numbers = "the tangent of an array or number is an array or number"
    remedy = of_fields if is_structure_type(type(primal)) else of_numbers
    return f"{describe(t)} is not a tangent of {describe(primal)}; {remedy}"


def check_keys(primal_type: type, given: Any, known: Any) -> None:
    """Raise for keys that are not fields of a structure."""
    if unknown := [key for key in given if key not in known]:
        raise ProjectionError(unknown_keys(primal_type, unknown, known))


def unknown_keys(primal_type: type, unknown: list[Any], known: Any) -> str:
    """Return the message that a structure lacks fields, and which it has."""
    what = f"field{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}"
    return f"{primal_type.__qualname__} has no {what}; its fields are: {', '.join(map(str, known))}"


def check_shape(primal: Any, t: Any) -> None:
    """Raise for a tangent of another shape than its primal, if both are known."""
    here, there = shape_of(primal), shape_of(t)
    if here != there and here is not None and there is not None:
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {describe(primal)}: the shapes differ"
        )
