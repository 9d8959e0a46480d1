"""Traced values that operands hide from rules, in objects of unregistered classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import flatten, hidden, is_opaque, is_structure_type, knows


def check_hidden(
    operation: Primitive[..., Any], operands: tuple[Any, ...], is_traced: Callable[[Any], bool]
) -> None:
    """Raise for operands of a function that directly hold values another engine differentiates.

    Parameters
    ----------
    operation : Primitive
        The function.
    operands : tuple
        The operands of the call.
    is_traced : callable
        Returns whether a value is being differentiated.

    Raises
    ------
    TracerError
        If one is found; the message names it, because no rule sees what it holds.
    """
    structures = [x for x in operands if is_structure_type(type(x))]
    held = [x for x in operands if is_opaque(type(x)) and not callable(x)]
    held += [x for x in flatten(structures)[0] if callable(x)]
    if held := [x for x in held if knows(x, is_traced)]:
        raise hidden(held, operation.__qualname__)
