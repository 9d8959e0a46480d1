"""Results that are taken for constants, and may hold numbers that no derivative sees."""

from __future__ import annotations

from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.tangents.space import kind_of, refuse_numbers
from chainrules_py.values.holding import holds, is_real
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.type_info import type_info

_EXACT = (bool, int, str, range, slice, type(None), type(...), Primitive)


def hides(cls: type) -> bool:
    """Tell whether results of a class are taken for constants, and may hold numbers."""
    info = type_info(cls)
    known = info.is_array or info.is_number or info.host is not None or is_structure_type(cls)
    return not (known or issubclass(cls, _EXACT))


def kept(value: Any, *_: Any) -> Any:
    """Return a result that has no derivative; raise if numbers hide in it that would have one.

    Raises
    ------
    NotDifferentiableError
        What holds them is no structure, or an array of numbers that nothing is known of.
    """
    for x in flatten(value)[0]:
        refuse_objects(x)
        if hides(type(x)) and holds(x, is_real):
            msg = (
                f"a function with a rule returned {describe(x)}, which holds numbers where no "
                f"derivative sees them: return them in a list, tuple, dict or dataclass, or "
                f"register_structure the class"
            )
            raise NotDifferentiableError(msg)
    return value


def refuse_objects(x: Any) -> None:
    """Raise for an array of numbers that nothing is known of: in objects, or in fields."""
    if kind_of(x) == "other" and _is_of_numbers(x):
        refuse_numbers(x)


def _is_of_numbers(x: Any) -> bool:
    """Tell whether an array has real numbers in objects or fields, or of another library's type."""
    kind = getattr(x.dtype, "kind", None)
    if type_info(type(x)).is_hidden:  # it has no elements that could be looked at
        return kind == "O" or bool(getattr(x.dtype, "names", None))
    if kind == "O":
        return any([holds(part, is_real) for part in x.flat])
    names = getattr(x.dtype, "names", None)
    if names:
        fields = [x[name] for name in names]
        return any([kind_of(of) in ("real", "complex") or _is_of_numbers(of) for of in fields])
    return kind == "V" and x.dtype.type.__name__ != "void"
