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
    kind_of,
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


def check_scalar(y: Any, what: str, f: Any, leaves: Sequence[Any]) -> None:
    """Raise unless a result is one real number.

    Parameters
    ----------
    y
        The result.
    what : str
        What needs one, as people call it.
    f : callable or None
        What gave it; the loss of a tape is nobody's.
    leaves
        What is differentiated in.
    """
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    code = getattr(f, "__code__", None)
    place = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
    said = f"{name_of(f)}{place} returned" if f else "the loss is"
    msg = f"{what} needs one real number, and {said} {describe(y)}"
    raise NotDifferentiableError(f"{msg}: {_instead(y, of, what, leaves)}")


def _instead(y: Any, of: Any, what: str, leaves: Sequence[Any]) -> str:
    """Return what to write where a result is no real number."""
    if y is None:
        return "did you forget return?"
    has_aux = what in ("grad", "value_and_grad")
    if type(y) is tuple and len(y) == 2 and has_aux:
        return f"return the number alone, or write {what}(f, has_aux=True) for (loss, aux)"
    if type(y) in (tuple, list, dict):
        aux = f", or return loss, aux and write {what}(f, has_aux=True)" if has_aux else ""
        return f"return the number alone{aux}"
    if type(of) is not Space:
        return "return a number, as np.sum(...) gives"
    if of.size != 1:
        if what == "Tape.grad":
            return "take np.sum(...) of it on the tape, or give its cotangent, seed="
        return "return np.sum(...)" + ", or write jacobian(f) for all derivatives" * has_aux
    if of.kind != "int":
        return "return its real part, np.real(...), or abs(...)"
    if not any([kind_of(x) in ("real", "complex") for x in leaves]):
        return "a whole number does not change by a little: give floats (3.0 for 3)"
    return "a comparison, or a count, gives a whole number, whose derivative is zero"


def unit(y: Any, what: str, f: Any, leaves: Sequence[Any] = ()) -> Any:
    """Return the cotangent of a result that has to be one real number: one, as it is."""
    cls = type(y)
    if cls in units:
        return units[cls]
    check_scalar(y, what, f, leaves)
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
