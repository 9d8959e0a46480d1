"""Private names of NumPy that recording uses: they stand here, and each is tried."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


class PublicState:
    """The same state by public names, at several times the price.

    Examples
    --------
    >>> state = PublicState()
    >>> before = state.get()
    >>> state.get() is before
    True
    >>> with np.errstate(all="raise"):
    ...     state.get() is before
    False
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def get(self) -> Any:
        """Return an object that is the same whenever errors are handled the same."""
        state = *np.geterr().items(), np.geterrcall()
        return self._known.setdefault(state, state)


def _error_state() -> Any:
    try:
        umath = importlib.import_module("numpy._core.umath")
    except ImportError:
        return PublicState()
    return getattr(umath, "_extobj_contextvar", None) or PublicState()


error_state = _error_state()
