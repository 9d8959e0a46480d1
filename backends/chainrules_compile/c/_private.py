"""NumPy's private names that programs in C use: they all stand here, and each is tried.

They are NumPy's own loops. What a version of NumPy does not
have is not written in C: NumPy computes it where the program calls it.
"""

from __future__ import annotations

import importlib
from typing import Any

from chainrules_compile.c.memory import UnwritableError


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


UMATH = _module("numpy._core.umath")


def loop_named(module: Any, name: str) -> Any:
    """Return one of NumPy's loops.

    Raises
    ------
    UnwritableError
        If this NumPy does not have it.
    """
    found = getattr(module, name, None)
    if found is None:
        raise UnwritableError
    return found
