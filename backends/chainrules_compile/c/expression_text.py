"""C text of types, numbers, and operators with the same bits as NumPy's ufuncs."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError

_FLOATS = {4: "float", 8: "double"}


RUNTIME = Path(__file__).parent / "runtime"


@functools.cache
def headed(*names: str) -> str:
    """Return the text of files of the runtime, which programs begin with."""
    return "".join([(RUNTIME / name).read_text(encoding="utf-8") for name in names])


@functools.lru_cache(maxsize=256)
def c_type(dtype: np.dtype[Any]) -> str:
    """Return the C type of a dtype.

    Raises
    ------
    UnwritableError
        If there is none with operators: complex numbers, halves, long doubles, other byte orders.
    """
    size = dtype.itemsize
    if not dtype.isnative or dtype.kind not in "fiub" or (dtype.kind == "f" and size not in (4, 8)):
        raise UnwritableError
    if dtype.kind == "f":
        return _FLOATS[size]
    return f"{'int' if dtype.kind == 'i' else 'uint'}{8 * size}_t"


@functools.lru_cache(maxsize=256)
def raw_type(dtype: np.dtype[Any]) -> str:
    """Return the C type by which elements are copied.

    Raises
    ------
    UnwritableError
        If there is none of their size.
    """
    size = dtype.itemsize
    if dtype.kind not in "fiubc" or size not in (1, 2, 4, 8, 16) or not dtype.isnative:
        raise UnwritableError
    return "two_words" if size == 16 else f"uint{8 * size}_t"


def literal(x: Any, dtype: np.dtype[Any]) -> str:
    """Return a number in C.

    Raises
    ------
    UnwritableError
        If the number does not fit the dtype.
    """
    kind = c_type(dtype)
    if dtype.kind == "f":
        number = float(dtype.type(x))
        if math.isnan(number):
            return "NAN" if kind == "double" else "(float)NAN"
        if math.isinf(number):
            return ("-" if number < 0 else "") + f"({kind})INFINITY"
        return f"({number.hex()}{'f' if kind == 'float' else ''})"
    if dtype.kind == "b":
        return str(int(bool(x)))
    whole = int(x)
    info = np.iinfo(dtype)
    if whole != x or not info.min <= whole <= info.max:
        raise UnwritableError
    if whole == np.iinfo(np.int64).min:
        return "(-9223372036854775807L - 1)"
    return f"(({kind}){whole}{'UL' if whole > np.iinfo(np.int64).max else 'L'})"


_COMPARISONS: dict[np.ufunc, str] = {
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
}
_FLOAT: dict[np.ufunc, str] = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.divide: "{0} / {1}",
    np.negative: "-{0}",
    np.positive: "{0}",
    np.conjugate: "{0}",
    np.square: "{0} * {0}",
    np.reciprocal: "1 / {0}",
    np.absolute: "FABS({0})",
    np.fabs: "FABS({0})",
    np.sqrt: "SQRT({0})",
    np.maximum: "({0} > {1} || {0} != {0}) ? {0} : {1}",
    np.minimum: "({0} < {1} || {0} != {0}) ? {0} : {1}",
    np.sign: "{0} > 0 ? 1 : ({0} < 0 ? -1 : ({0} == 0 ? 0 : {0}))",
    np.isnan: "{0} != {0}",
    np.isinf: "FABS({0}) == INFINITY",
    np.isfinite: "FABS({0}) < INFINITY",
    np.logical_not: "{0} == 0",
    np.logical_and: "{0} != 0 && {1} != 0",
    np.logical_or: "{0} != 0 || {1} != 0",
    **_COMPARISONS,
}
_INTEGER: dict[np.ufunc, str] = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.negative: "-{0}",
    np.positive: "{0}",
    np.conjugate: "{0}",
    np.square: "{0} * {0}",
    np.maximum: "{0} >= {1} ? {0} : {1}",
    np.minimum: "{0} <= {1} ? {0} : {1}",
    np.bitwise_and: "{0} & {1}",
    np.bitwise_or: "{0} | {1}",
    np.bitwise_xor: "{0} ^ {1}",
    np.invert: "~{0}",
    np.logical_not: "{0} == 0",
    np.logical_and: "{0} != 0 && {1} != 0",
    np.logical_or: "{0} != 0 || {1} != 0",
    **_COMPARISONS,
}
_BOOL: dict[np.ufunc, str] = {
    np.logical_and: "{0} & {1}",
    np.logical_or: "{0} | {1}",
    np.logical_xor: "{0} ^ {1}",
    np.logical_not: "!{0}",
    np.bitwise_and: "{0} & {1}",
    np.bitwise_or: "{0} | {1}",
    np.bitwise_xor: "{0} ^ {1}",
    np.invert: "!{0}",
    np.maximum: "{0} | {1}",
    np.minimum: "{0} & {1}",
    np.multiply: "{0} & {1}",
    np.add: "{0} | {1}",
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
}
_OPERATORS: dict[str, dict[np.ufunc, str]] = {"f": _FLOAT, "i": _INTEGER, "u": _INTEGER, "b": _BOOL}


@functools.lru_cache(maxsize=4096)
def expression(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> str | None:
    """Return the C expression of a ufunc for operands of one dtype, with placeholders.

    It is None if C has no operator with the same bits.
    """
    (first, *rest) = dtypes
    if first.kind not in _OPERATORS or any([d != first for d in rest]) or not first.isnative:
        return None
    if first.kind == "f" and first.itemsize not in (4, 8):
        return None
    text = _OPERATORS[first.kind].get(ufunc)
    if text is not None and first.kind == "f":
        end = "f" if first.itemsize == 4 else ""
        text = text.replace("FABS", f"fabs{end}").replace("SQRT", f"sqrt{end}")
    return text
