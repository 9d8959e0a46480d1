"""Attributes that are asked for while an exception is under way, as careless libraries in C do.

CPython, up to 3.12, takes the exception for the answer that a class has no ``__getattr__``, and the
class never calls it again.
"""

from __future__ import annotations

import ctypes
from typing import Any

_API = ctypes.pythonapi
_later, _clear = _API.Py_AddPendingCall, _API.PyErr_Clear
_later.argtypes = ctypes.c_void_p, ctypes.c_void_p
_RAISES = ctypes.cast(_API.PyErr_BadArgument, ctypes.c_void_p)  # and says that all is well


def ask(x: Any) -> None:
    """Ask a value for an attribute while an exception is under way."""
    cls = type(x)
    type.__setattr__(cls, "_news", None)  # what Python knew by heart of the class it forgets
    type.__delattr__(cls, "_news")
    _later(_RAISES, None)  # which is done before the next line
    try:
        x.nothing
    except Exception:
        _clear()
    _clear()
