"""Memory of arrays: which values share it, and which library functions return views or new arrays.

Arrays of a library that stated no `Memory` cannot be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.values.type_info import type_info

makers: set[Any] = set()
"""Library functions that make arrays for a program to write to, such as ``np.zeros_like(x)``."""
viewers: set[Any] = set()
"""Library functions whose results may be views. Any other returns a new array, even if it is
computed by an operation that returns views."""
writers: set[Any] = set()
"""Library functions that write to an argument, and get an array of traced objects as it is."""
undecided: dict[Any, Callable[[tuple[Any, ...], Any], bool]] = {}
"""Library functions that return a view or a copy depending on their arguments, each with a test of
arguments and keywords whether it may be a view. If so, a call on plain arrays decides."""
wrapping: set[Callable[..., Any]] = set()
"""Functions, beside elementwise ones, that return an array of an operand's class on its request."""


def share_memory(x: Any, y: Any) -> bool:
    """Return whether two values are known to share memory: they have the same owner."""
    if x is y:
        return True
    memory = type_info(type(x)).memory
    return memory is not None and type(y) is type(x) and memory.owner(x) is memory.owner(y)


def overlap(x: Any, y: Any) -> bool:
    """Return whether two values are known to have an element in common."""
    memory = type_info(type(x)).memory
    if memory is None or memory.overlap is None or type_info(type(y)).memory is not memory:
        return share_memory(x, y)
    return memory.overlap(x, y)


def has_known_layout(x: Any) -> bool:
    """Return whether a tracer's value has the memory layout that the untraced array would have.

    If not, it is unknown whether a library would return a view of it or a copy.
    """
    return bool(getattr(x, "has_known_layout", True))
