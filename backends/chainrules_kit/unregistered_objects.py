"""What operands hide from the rules of a function, in objects of classes that nobody registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import flatten, hidden, is_opaque, is_structure_type, knows


def check_hidden(
    operation: Primitive[..., Any], operands: tuple[Any, ...], is_traced: Callable[[Any], bool]
) -> None:
    """Raise for operands of a function that directly hold what another engine differentiates.

    Parameters
    ----------
    operation : Primitive
        The function.
    operands : tuple
        What it is called with.
    is_traced : callable
        Tells whether a value is differentiated.

    Raises
    ------
    TracerError
        It names the operand: no rule sees what it holds.
    """
    structures = [x for x in operands if is_structure_type(type(x))]
    functions = [x for x in flatten(structures)[0] if callable(x)]
    held = [x for x in operands if is_opaque(type(x)) and not callable(x)] + functions
    if held := [x for x in held if knows(x, is_traced)]:
        raise hidden(held, operation.__qualname__)
