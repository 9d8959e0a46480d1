"""Traced values, and their payloads."""

from __future__ import annotations

from typing import Any

from chainrules_py.extend import find_tracers
from chainrules_tape import Variable

Box = Variable
"""The class of values that are differentiated in reverse mode."""


def isbox(x: Any) -> bool:
    """Return whether a value is being differentiated.

    Examples
    --------
    >>> isbox(1.0)
    False
    """
    return not isinstance(x, (tuple, list, dict)) and bool(find_tracers(x))


def getval(x: Any) -> Any:
    """Return the plain value of a traced one, as a constant without a derivative."""
    while isbox(x):
        x = x.payload
    return x
