"""Operations by which a rule reports that a derivative is not determined at a point."""

from contextlib import AbstractContextManager
from typing import Any

from chainrules_py.errors import DegeneracyWarning, NotDifferentiableError
from chainrules_py.ops import reductions
from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.caller_frames import warn_program
from chainrules_py.values.locks_and_modes import Mode

__all__ = ["report", "tied_weights", "strict"]

_strict = Mode("strict")


@primitive
def report(condition: Any, /, *, message: str) -> None:
    """Warn, if the condition holds anywhere, that a derivative depends on a choice.

    The warning is a `DegeneracyWarning`; under `strict`, a `NotDifferentiableError` is raised. A
    library whose arrays are on a device keeps the condition there, without waiting for it.
    """
    if not (condition if type(condition) is bool else bool(reductions.any(condition))):
        return
    if _strict.get():
        raise NotDifferentiableError(message)
    warn_program(message, DegeneracyWarning)


@primitive
def tied_weights(even: Any, t: Any, values: Any, tied: Any, /) -> Any:
    """Return weights of values, made equal where values are tied.

    The operation itself reports nothing. Its derivative does, if a tangent would split tied values:
    weights that are made equal do not follow values that split.

    Parameters
    ----------
    even, t, values : array of shape (..., n)
        The weights, the weights before they were made equal, and the values.
    tied : bool array of shape (..., n, n)
        Which pairs of values are equal; on the diagonal, which values are zero.

    Raises
    ------
    ValueError
        If the numbers of weights and values differ.
    """
    lengths = [getattr(x, "shape", ())[-1:] for x in (even, tied)]
    if lengths[0] != lengths[1]:
        raise ValueError(f"{lengths[0]} weights of {lengths[1]} values")
    return even


def is_strict() -> bool:
    """Return whether reports are errors."""
    return _strict.get()


def strict(on: bool = True) -> AbstractContextManager[None]:
    """Raise, inside a ``with`` block, if a derivative depends on a choice of the primal.

    Parameters
    ----------
    on : bool
        False restores the warnings inside a strict block.

    Raises
    ------
    NotDifferentiableError
        In the block, instead of each `DegeneracyWarning`.

    Examples
    --------
    >>> with strict():
    ...     report(True, message="singular values 0 and 1 are equal")
    Traceback (most recent call last):
        ...
    chainrules_py.errors.NotDifferentiableError: singular values 0 and 1 are equal
    """
    return _strict.set(on)
