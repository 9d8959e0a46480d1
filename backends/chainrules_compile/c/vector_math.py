"""Vector functions of libmvec, for programs that do not need NumPy's bits.

They are accurate to 4 units in the last place, NumPy's to one or four, and a sine takes a sixth of
the time. The tests compare them with NumPy's at numbers of all kinds.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Collection, Sequence

import numpy as np

from chainrules_compile.c.compilers import processor
from chainrules_compile.c.expression_text import headed

C_NAMES: dict[np.ufunc, str] = {
    np.sin: "sin",
    np.cos: "cos",
    np.exp: "exp",
    np.log: "log",
    np.power: "pow",
    np.tan: "tan",
    np.arcsin: "asin",
    np.arccos: "acos",
    np.arctan: "atan",
    np.sinh: "sinh",
    np.cosh: "cosh",
    np.tanh: "tanh",
    np.arcsinh: "asinh",
    np.arccosh: "acosh",
    np.arctanh: "atanh",
    np.exp2: "exp2",
    np.expm1: "expm1",
    np.log2: "log2",
    np.log10: "log10",
    np.log1p: "log1p",
    np.cbrt: "cbrt",
    np.arctan2: "atan2",
    np.hypot: "hypot",
}
_UFUNCS = {name: ufunc for ufunc, name in C_NAMES.items()}

_ALWAYS = {np.sin, np.cos, np.hypot}
"""Ufuncs that NumPy computes one by one, in double precision, on every processor."""


@functools.cache
def is_wide() -> bool:
    """Return whether NumPy's other loops use vectors of 64 bytes, which are faster than these."""
    return {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"} <= {*processor().split()}


def name_of(ufunc: np.ufunc, dtypes: Sequence[np.dtype]) -> str | None:
    """Return the C name of a ufunc for operands of one floating dtype; None if it has none."""
    name = C_NAMES.get(ufunc)
    one = all([d == dtypes[0] for d in dtypes]) and dtypes[0].char in "fd"
    return name if one else None


def is_there(name: str, size: int) -> bool:
    """Return whether a vector function for elements of this size exists, and is faster."""
    always = size == 8 and _UFUNCS[name] in _ALWAYS
    return (always or not is_wide()) and (name, size) in known()


def text_of(functions: Collection[tuple[str, int]]) -> str:
    """Return the text of functions, by name and element size."""
    lines = [headed("vectors.h")] if functions else []
    for name, size in sorted(functions):
        sizes = f"{'double' if size == 8 else 'float'}, {size}, {32 // size}"
        lines += [
            f"#ifndef HAS_{name}{size}\n#define HAS_{name}{size}",
            f"VECTOR{_UFUNCS[name].nin}({sizes}, vec_{name}, {_symbol(name, size)})\n#endif",
        ]
    return "\n".join(lines)


def _symbol(name: str, size: int) -> str:
    """Return the name of a function in libmvec, for vectors of 32 bytes."""
    return f"_ZGVdN{32 // size}{'v' * _UFUNCS[name].nin}_{name}{'f' if size == 4 else ''}"


@functools.cache
def known() -> frozenset[tuple[str, int]]:
    """Return the functions of libmvec for vectors of 32 bytes.

    The library is loaded for all, so that programs find its functions however they are linked.
    """
    try:
        libmvec = ctypes.CDLL("libmvec.so.1", ctypes.RTLD_GLOBAL)
    except OSError:
        return frozenset()
    functions = [(name, size) for name in _UFUNCS for size in (4, 8)]
    there = [each for each in functions if hasattr(libmvec, _symbol(*each))]
    return frozenset(there if "avx2" in processor().split() else ())
