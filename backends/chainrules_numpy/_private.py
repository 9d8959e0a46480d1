"""The private names of NumPy; no other module of this package uses one."""

from __future__ import annotations

import importlib
from typing import Any


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_UMATH = _module("numpy._core.umath")
_LAPACK = _module("numpy.linalg._umath_linalg")
_LOOPS = ("solve", "solve1", "inv", "det", "slogdet", "cholesky_lo", "cholesky_up")


def lapack() -> tuple[Any, Any, Any] | None:
    """Return NumPy's LAPACK loops, and how to set and make error states, or None."""
    state = getattr(_UMATH, "_extobj_contextvar", None)
    make = getattr(_UMATH, "_make_extobj", None)
    known = all([hasattr(_LAPACK, name) for name in _LOOPS])
    return None if state is None or make is None or not known else (_LAPACK, state, make)


def hidden_ufuncs() -> dict[str, Any]:
    """Return the ufuncs without a public name that NumPy's functions and methods call.

    If one is missing, a call of the function with a traced argument raises an error.
    """
    names = ("clip", "_ones_like", "real", "imag")  # the latter two since NumPy 2.5
    return {name: getattr(_UMATH, name) for name in names if hasattr(_UMATH, name)}
