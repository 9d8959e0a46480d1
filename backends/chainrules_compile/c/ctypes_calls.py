"""Calls of native programs through ctypes, as long as the module that calls them is compiled.

A call takes some 10 us more. It does what `native_call` of `native.c` does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile.scope import Form

RUN = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
"""Type of a program: inputs, outputs, memory to work in, loops. NumPy's loops may raise."""

LINE = 64


class Spec(NamedTuple):
    """Input or output of a native program, as `native.c` reads it."""

    kind: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    low: int
    span: int


ARRAY, SCALAR, FLOAT, BOOL = range(4)
"""Kinds of operands: an array, a NumPy number, a Python float, a Python bool."""


def call(
    run: Callable[..., int],
    inputs: Sequence[Spec],
    outputs: Sequence[Spec],
    loops: ctypes.Array[ctypes.c_void_p],
    work: int,
    guarded: bool,
    *xs: Any,
) -> Any:
    """Call a program."""
    given = [_aligned(spec, x) for spec, x in zip(inputs, xs, strict=True)]
    results = [np.ndarray(y.shape, y.dtype, strides=y.strides) for y in outputs]
    memory = np.empty(work + LINE, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % LINE
    missed = run(_addresses(given), _addresses(results), start, loops)
    if missed and not guarded:
        return None
    found = [
        y if spec.kind == ARRAY else y[()] if spec.kind == SCALAR else y.item()
        for spec, y in zip(outputs, results, strict=True)
    ]
    found += [not missed] * guarded
    return found[0] if len(found) == 1 else tuple(found)


def _addresses(arrays: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])


def _aligned(spec: Spec, x: Any) -> Any:
    """Return an operand as an array whose elements C can read, laid out as it was recorded."""
    x = np.asarray(x, spec.dtype)
    if not spec.span or (x.flags.aligned and x.strides == spec.strides):
        return x
    copy: Any = np.ndarray(spec.shape, x.dtype, bytearray(spec.span), -spec.low, spec.strides)
    copy[...] = x
    return copy


def have(forms: Sequence[Form], *xs: Any) -> bool:
    """Return whether arrays, and lists of numbers, have known forms."""
    return all(map(_has, forms, xs))


def _has(form: Form, x: Any) -> bool:
    if form.dtype is float:
        return type(x) in (list, tuple) and [*map(type, x)] == [float] * form.shape[0]
    alike = type(x) is np.ndarray and (x.shape, x.dtype) == (form.shape, form.dtype)
    return alike and (x.flags.c_contiguous if form.strides is None else x.strides == form.strides)
