"""Dtypes of tangents of integers and of Python's numbers."""

from functools import cache
from typing import Any

from chainrules_py.ops.manipulation import astype
from chainrules_py.values.type_info import type_info


def default_dtype(xp: Any, kind: str = "real") -> Any:
    """Return a library's dtype for tangents of integers and Python's numbers, or None.

    It is float64 or complex128; a library whose ``dtypes`` does not list it, as JAX's may not, uses
    its default dtype.
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
    """Convert an array for Python's numbers to float64 or complex128, if its library has that.

    Whether the dtype is enabled is not checked: a library may silently convert to a narrower one.
    """
    wide = _widest(type_info(type(t)).namespace, kind)
    return t if wide is None or t.dtype == wide else astype(t, dtype=wide)
