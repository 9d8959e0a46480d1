"""What a function that is differentiated gives: one real number, or a result with an auxiliary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrules_py import NotDifferentiableError, space
from chainrules_py.extend import (
    Space,
    Tracer,
    describe,
    forgets,
    holds,
    name_of,
    type_info,
)

_EXACT = (bool, int, float, complex, str, bytes, range, type(None), type(...))


def split_aux(f: Any, answer: Any) -> tuple[Any, Any]:
    """Split the answer of a function said to return ``(result, aux)`` into these two."""
    if type(answer) is tuple and len(answer) == 2:
        return answer
    msg = (
        f"has_aux says that {name_of(f)} returns (result, aux), and it returned "
        f"{describe(answer)}; return a tuple of these two"
    )
    raise NotDifferentiableError(msg)


def refuse_hidden(f: Any, what: str, leaves: Sequence[Any], level: Any) -> None:
    """Raise where an answer holds what is differentiated elsewhere than in its leaves.

    Parameters
    ----------
    f : callable or None
        What gave it; a loss is nobody's.
    what : str
        What part of the answer it is.
    leaves
        It, taken apart, with plain values for tracers that are leaves.
    level
        Which differentiation it is.

    Raises
    ------
    NotDifferentiableError
        Of an object, function or iterator that holds a tracer of this differentiation.
    """
    for x in leaves:
        if _may_hide(x) and holds(x, lambda y: issubclass(type(y), Tracer) and _is_of(y, level)):
            whole = f"{what} of {name_of(f)}" if f else "the loss"
            msg = (
                f"{whole} has {describe(x)}, which holds what is being differentiated where no "
                f"derivative sees it: return the numbers or arrays themselves, or a dataclass of "
                f"them"
            )
            raise NotDifferentiableError(msg)


def _may_hide(x: Any) -> bool:
    """Tell whether a leaf may hold something else."""
    cls = type(x)
    if cls in _EXACT or issubclass(cls, Tracer) or hasattr(cls, "__outside__"):
        return False
    info = type_info(cls)
    if info.is_array or info.is_number or info.host is not None:
        return bool(getattr(getattr(x, "dtype", None), "hasobject", False))
    return True


def _is_of(x: Any, level: Any) -> bool:
    """Tell whether a tracer is of a level, or stands for one that is."""
    while issubclass(type(x), Tracer) and x.level != level:
        x = x.__payload__
    return issubclass(type(x), Tracer)


def check_scalar(y: Any) -> None:
    """Raise unless a result is one real number."""
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    msg = f"grad needs a function whose result is one real number; this one gave {describe(y)}"
    raise NotDifferentiableError(f"{msg}: {_instead(y, of)}")


def _instead(y: Any, of: Any) -> str:
    """Return what to write where a result is no real number."""
    if y is None:
        return "did you forget return?"
    if type(y) in (tuple, list, dict):
        return (
            "return the number alone, or write grad(f, has_aux=True) if the rest of a pair comes "
            "along"
        )
    if type(of) is not Space:
        return "return a number, as np.sum(...) gives"
    if of.size != 1:
        return "write jacobian(f) for all partial derivatives, or return np.sum(...)"
    if of.kind == "int":
        return "a whole number does not change by a little: give floats (3.0 for 3)"
    return "return its real part, np.real(...), or abs(...)"


def unit(y: Any) -> Any:
    """Return the cotangent of a result that has to be one real number: one, as it is."""
    cls = type(y)
    if cls in units:
        return units[cls]
    check_scalar(y)
    of = space(y)
    if of.dtype is not None and not type_info(of.like).is_number:
        return of.zeros() + 1
    found = 1.0 if of.dtype is None else of.like(1)
    if type_info(cls).is_number:  # all of a class are alike, and the one cannot be written to
        units[cls] = found
    return found


units: dict[type, Any] = {}
"""The `unit` of classes of numbers."""
forgets(lambda: (units,))
