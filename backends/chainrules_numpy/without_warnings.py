"""Calls of NumPy without its warnings."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.extend import in_own_context


def quietly(f: Any, *xs: Any, **options: Any) -> Any:
    """Call a function without warnings of divisions by zero and invalid values."""
    return in_own_context(_in_silence, f, *xs, **options)


def _in_silence(f: Any, *xs: Any, **options: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return f(*xs, **options)
