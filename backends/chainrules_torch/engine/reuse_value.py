"""The value of a call that is being differentiated: known, where its rule is run again.

An engine that keeps inputs and outputs runs a rule again to differentiate it, or for the half that
it did not run before. A rule computes the value of its own call; here it gets the one there is. So
running it again costs what its halves cost, and derivatives of any order flow through the output of
the call.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, final


@final
class ReusedValue:
    """Value of a call, which `known_value` finds in calls that are made `within` it.

    Parameters
    ----------
    primal : Primitive
        What was called.
    operands, options
        The call, in the one form.
    y
        Its value.

    Examples
    --------
    >>> from chainrules_py.vocabulary import sin
    >>> x = 0.5
    >>> value = ReusedValue(sin, (x,), {}, "its value")
    >>> value.within(lambda: (known_value(sin, (x,), {}).y, known_value(sin, (0.25,), {})))
    ('its value', None)
    """

    __slots__ = ("_before", "operands", "options", "primal", "y")

    def __init__(
        self, primal: Any, operands: tuple[Any, ...], options: dict[str, Any], y: Any
    ) -> None:
        self.primal = primal
        self.operands = operands
        self.options = options
        self.y = y

    def within(self, call: Callable[..., Any], *operands: Any) -> Any:
        """Make a call in which the value is known."""
        before = self._before = known_values.get()
        try:
            known_values.set(self)
            return call(*operands)
        finally:
            known_values.set(before)

    def is_of(self, primal: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Tell whether a call is the one with this value: the same function of the same objects."""
        return (
            self.primal is primal
            and len(operands) == len(self.operands)
            and all([x is y for x, y in zip(operands, self.operands, strict=True)])
            and options == self.options
        )


known_values: contextvars.ContextVar[ReusedValue | None] = contextvars.ContextVar(
    "known_values", default=None
)
"""The value that is known here, which leads to those that are known outside."""


def known_value(
    primal: Any, operands: tuple[Any, ...], options: dict[str, Any]
) -> ReusedValue | None:
    """Find the `ReusedValue` that knows the value of a call, or None."""
    known = known_values.get()
    while known is not None and not known.is_of(primal, operands, options):
        known = known._before
    return known
