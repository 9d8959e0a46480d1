"""Precision of tangents of what has none of its own: whole numbers, and Python's."""

from __future__ import annotations

from functools import cache
from typing import Any

from chainrules_py.ops.manipulation import astype
from chainrules_py.values.type_info import type_info


def default_dtype(xp: Any, kind: str = "real") -> Any:
    """Return the dtype of tangents of whole numbers and of Python's in a library, if it has it.

    A library that says that it has none as wide now, as JAX may, is asked for its own.
    """
    widest, asked = _widest(xp, kind), getattr(xp, "__array_namespace_info__", None)
    if widest is None or asked is None:
        return widest
    info, floating = asked(), "complex floating" if kind == "complex" else "real floating"
    return widest if _name(kind) in info.dtypes(kind=floating) else info.default_dtypes()[floating]


def _name(kind: str) -> str:
    return "complex128" if kind == "complex" else "float64"


@cache
def _widest(xp: Any, kind: str) -> Any:
    return getattr(xp, _name(kind), None)


def widened_to(t: Any, kind: str) -> Any:
    """Return an array that belongs to Python's numbers as wide as these are, if its library can.

    It is not asked what it has now: it says nothing where it converts to less.
    """
    wide = _widest(type_info(type(t)).namespace, kind)
    return t if wide is None or t.dtype == wide else astype(t, dtype=wide)
