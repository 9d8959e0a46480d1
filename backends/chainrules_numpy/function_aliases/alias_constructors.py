"""Constructors of aliases that all families use, and checks of ignored keywords."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.late_alias import alias
from chainrules_py import non_differentiable, primitive
from chainrules_py.extend import AsArgument, Call, Lowering


def row(
    native: Callable[..., Any],
    operation: Callable[..., Any],
    first: str | None = "a",
    /,
    refuse: tuple[str, ...] = (),
    gather: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **lower: Lowering,
) -> None:
    """Register one alias; ``first`` is NumPy's name of the operand x."""
    rename = {} if first is None else {first: "x"}
    alias(
        native,
        to=operation,
        rename=rename,
        lower=lower,
        refuse=refuse,
        parameters=parameters,
        gather=gather,
    )


def constants(*functions: Any, refuse: tuple[str, ...] = ("out",)) -> None:
    """Register functions whose result is read off values, and is not differentiable."""
    for f in functions:
        operation: Any = primitive(f)
        non_differentiable(operation)
        alias(f, to=operation, refuse=tuple([n for n in refuse if n in operation.operands]))


axis = low.as_option("axis")
axes = AsArgument("axis", low.axes_of)
"""The axes of a reduction."""
one_axis = AsArgument("axis", low.axis_of)
counted_axis = AsArgument("axis", lambda value: int(operator.index(value)))
"""An axis for which booleans count as numbers."""
shape = low.as_option("shape", sequence=True)


def ignored(call: Call, value: Any) -> None:
    """Ignore a keyword that affects how the result is computed or stored, but not its value."""
