"""Memory behind an array, as an engine may ask: whose it is, and who made it for writing.

Arrays of a library that stated no `Memory` cannot be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.values.type_info import type_info

makers: set[Any] = set()
"""Functions of libraries that make arrays for a program to write to, as ``np.zeros_like(x)``."""
viewers: set[Any] = set()
"""Functions of libraries whose results may be views; what another one gives is an array of its own,
even if it is computed by an operation that gives views."""
undecided: dict[Any, Callable[[tuple[Any, ...], Any], bool]] = {}
"""Functions of libraries that give a view or a copy as their arguments have it: from the arguments
and the keywords whether it may be a view. Then the library is asked, by a call on plain arrays."""
wrapping: set[Callable[..., Any]] = set()
"""Functions, beside those of elements, that give an array of an operand's class, if that asks."""


def share_memory(x: Any, y: Any) -> bool:
    """Tell whether two values live in the same memory, as far as anybody can tell."""
    if x is y:
        return True
    memory = type_info(type(x)).memory
    return memory is not None and type(y) is type(x) and memory.owner(x) is memory.owner(y)


def overlap(x: Any, y: Any) -> bool:
    """Tell whether two values have an element in common, as far as anybody can tell."""
    memory = type_info(type(x)).memory
    if memory is None or memory.overlap is None or type_info(type(y)).memory is not memory:
        return share_memory(x, y)
    return memory.overlap(x, y)


def has_known_layout(x: Any) -> bool:
    """Tell whether a tracer's value lies in memory as the program's own array would.

    If not, nobody knows whether a library would give a view of it or a copy.
    """
    return bool(getattr(x, "has_known_layout", True))
