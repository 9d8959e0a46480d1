"""Addresses of functions that NumPy sorts with, and of SciPy's LAPACK: by tables that are public.

A dtype carries its sorts in a table that the C interface of NumPy gives, and that has been the same
since its second version. SciPy gives LAPACK in capsules, whose names are their signatures.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

import numpy as np

from chainrules_native._private import INTERFACE

_VERSION = 0x02000000
_TABLE_OF = 365
"""The place of what gives a dtype's table, in the C interface."""

_SORTS = {"sort": 33, "stable sort": 35, "argsort": 36, "stable argsort": 38}
"""Their places in the table, after 21 casts and 12 other functions."""

_POINTER = ctypes.c_void_p
_LAPACK = {
    "dtrtrs": "void (char *, char *, char *, int *, int *, d *, int *, d *, int *, int *)",
    "dgetrf": "void (int *, int *, d *, int *, int *, int *)",
    "dgetri": "void (int *, d *, int *, int *, d *, int *, int *)",
    "dgetrs": "void (char *, int *, int *, d *, int *, int *, d *, int *, int *)",
    "dtrtri": "void (char *, char *, int *, d *, int *, int *)",
}

_inside: Any = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_signature_of: Any = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)


@functools.cache
def address_of(name: str, types: str) -> tuple[int, int] | None:
    """Return where a sort, or a function of LAPACK's, is; None where it is not found."""
    found = _sort(_SORTS[name], types) if name in _SORTS else _lapack(name)
    return (found, 0) if found else None


def _sort(place: int, char: str) -> int | None:
    if INTERFACE is None:
        return None
    functions: Any = (_POINTER * (_TABLE_OF + 1)).from_address(_inside(INTERFACE, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(functions[0])()
    if version != _VERSION:
        return None
    table_of = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object)(functions[_TABLE_OF])
    table = (_POINTER * (place + 1)).from_address(table_of(np.dtype(char)))
    found: int | None = table[place]
    return found


def _lapack(name: str) -> int | None:
    try:
        capsules = importlib.import_module("scipy.linalg.cython_lapack").__pyx_capi__
    except ImportError:
        return None
    capsule = capsules.get(name)
    if capsule is None:
        return None
    signature = _signature_of(capsule)
    if _plain(signature.decode()) != _LAPACK[name]:
        return None  # of integers of another size, say
    found: int | None = _inside(capsule, signature)
    return found


def _plain(signature: str) -> str:
    return signature.replace("__pyx_t_5scipy_6linalg_13cython_lapack_", "")
