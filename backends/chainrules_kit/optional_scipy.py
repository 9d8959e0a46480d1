"""SciPy, an optional dependency: it is imported on first use, and takes NumPy arrays."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from chainrules_py.extend import type_info, untraced


def scipy_part(name: str) -> Any:
    """Import a module of SciPy.

    Raises
    ------
    ImportError
        If SciPy is missing; the message says what to install.
    """
    try:
        return importlib.import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(
            f"this needs scipy.{name} ({error}): pip install 'chainrules-py[scipy]'"
        ) from error


def bare(x: Any) -> Any:
    """Return the array or number behind the tracers of engines and of the compiler."""
    x = untraced(x)
    return x if type_info(type(x)).host is None else getattr(x, "payload", x)


def on_host(x: Any) -> Any:
    """Return the NumPy array with the elements of an array."""
    x = bare(x)
    if hasattr(x, "get"):
        return x.get()
    try:
        return np.asarray(x)
    except (RuntimeError, TypeError):  # of an array on another device
        return np.from_dlpack(x, device="cpu")
