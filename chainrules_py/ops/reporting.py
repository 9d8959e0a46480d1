"""The operations by which a rule says that a derivative is not determined at a point."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

from chainrules_py.errors import DegeneracyWarning, NotDifferentiableError
from chainrules_py.ops import reductions
from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.locks import Mode

__all__ = ["report", "tied_weights", "strict"]

_strict = Mode("strict")


@primitive
def report(condition: Any, /, *, message: str) -> None:
    """Tell the caller, if the condition holds anywhere, that a derivative depends on a choice.

    It is a `DegeneracyWarning`, or under `strict` a `NotDifferentiableError`. A library whose
    arrays live on a device keeps the flag there instead of waiting for it.
    """
    if not (condition if type(condition) is bool else bool(reductions.any(condition))):
        return
    if _strict.get():
        raise NotDifferentiableError(message)
    warnings.warn(message, DegeneracyWarning, stacklevel=3)


@primitive
def tied_weights(even: Any, t: Any, values: Any, tied: Any, /) -> Any:
    """Return weights of values, made equal where values are tied.

    It says nothing. Its derivative reports where what varies would split those that are tied:
    weights that are equal there, whatever the values, do not follow them apart.

    Parameters
    ----------
    even, t, values : array of shape (..., n)
        The weights, what they were before, and what they are of.
    tied : bool array of shape (..., n, n)
        Which pairs of values are equal.

    Raises
    ------
    ValueError
        If there is not one weight a value.
    """
    lengths = [getattr(x, "shape", ())[-1:] for x in (even, tied)]
    if lengths[0] != lengths[1]:
        msg = f"{lengths[0]} weights of {lengths[1]} values"
        raise ValueError(msg)
    return even


def is_strict() -> bool:
    """Tell whether reports are errors."""
    return _strict.get()


def strict(on: bool = True) -> AbstractContextManager[None]:
    """Raise, inside a ``with`` block, where a derivative depends on a choice of the primal.

    Parameters
    ----------
    on : bool
        False restores the warnings, inside a block that is strict.

    Raises
    ------
    NotDifferentiableError
        In the block, in place of each `DegeneracyWarning`.

    Examples
    --------
    >>> with strict():
    ...     report(True, message="singular values 0 and 1 are equal")
    Traceback (most recent call last):
        ...
    chainrules_py.errors.NotDifferentiableError: singular values 0 and 1 are equal
    """
    return _strict.set(on)
