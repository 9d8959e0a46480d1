"""Calls of programs where the headers of Python are missing: by `ctypes`, some microseconds slower.

It has the names of the extension that `native.c` is. A ufunc's table is read where NumPy keeps it,
which is checked against what the ufunc says of itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from chainrules_native.compilers import CompilerError

_ARRAY, _SCALAR, _FLOAT, _BOOL = range(4)
_POINTERS = ctypes.POINTER(ctypes.c_void_p)
_KEPT = 1 << 26


class _Ufunc(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_ssize_t),
        ("cls", ctypes.c_void_p),
        *[(name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")],
        ("functions", _POINTERS),
        ("data", _POINTERS),
        ("ntypes", ctypes.c_int),
    )


def loop_of(ufunc: np.ufunc, i: int) -> tuple[int, int] | None:
    """Return the addresses of a loop of a ufunc, and of its data.

    Raises
    ------
    CompilerError
        If this Python keeps them elsewhere.
    """
    table = _Ufunc.from_address(id(ufunc))
    known = (table.cls, table.nin, table.nout, table.nargs, table.ntypes)
    if known != (id(np.ufunc), ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        msg = "the headers of Python are missing, and ufuncs are not where they are expected"
        raise CompilerError(msg)
    if not table.functions or not table.functions[i]:
        return None
    data = table.data[i] if table.data else None
    return table.functions[i], data or 0


Fits = None
"""Forms of arrays are compared in Python here."""


@final
class Native:
    """Program in C: its address, inputs, outputs, loops, bytes of work, guarded, large, owner."""

    def __init__(
        self,
        address: int,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        table: Sequence[int],
        work: int,
        guarded: bool,
        large: bool,
        owner: Any,
    ) -> None:
        kind = ctypes.CFUNCTYPE if large else ctypes.PYFUNCTYPE
        self._run = kind(ctypes.c_int, *[ctypes.c_void_p] * 4)(address)
        self._inputs, self._outputs = inputs, [(_empty_of(spec), spec) for spec in outputs]
        self._loops = (ctypes.c_void_p * (len(table) + 1))(*table)
        self._places = ctypes.c_void_p * (len(inputs) + 1), ctypes.c_void_p * (len(outputs) + 1)
        self._work, self._guarded, self._owner = work, guarded, owner
        self._kept: list[Any] = []
        self.__name__ = "native"

    def __call__(self, *operands: Any) -> Any:
        """Run the program."""
        kept: list[Any] = []
        taken = zip(self._inputs, operands, strict=True)
        given = self._places[0](*[_taken(spec, x, kept) for spec, x in taken])
        results = [make() for make, _ in self._outputs]
        into = self._places[1](*[x.__array_interface__["data"][0] for x in results])
        try:
            work = self._kept.pop()
        except IndexError:
            work = np.empty(self._work + 64, np.uint8)
        begin = -(-work.__array_interface__["data"][0] // 64) * 64
        missed = self._run(given, into, begin, self._loops)
        ctypes.pythonapi.PyErr_Occurred()  # raises what a loop of NumPy's has set
        if self._work <= _KEPT and not self._kept:
            self._kept.append(work)
        if missed and not self._guarded:
            return None
        pairs = zip(results, self._outputs, strict=True)
        found = [_given(spec[0], x) for x, (_, spec) in pairs]
        if self._guarded:
            found.append(not missed)
        return found[0] if len(found) == 1 else tuple(found)


def _empty_of(spec: Any) -> Any:
    """Return what makes an array for a result, which has the layout that NumPy gave it."""
    _, dtype, shape, strides, *_ = spec
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    if order == sorted(order):
        return lambda: np.empty(shape, dtype)
    dims, inverse = [shape[d] for d in order], sorted(order, key=order.__getitem__)
    return lambda: np.empty(dims, dtype).transpose(inverse)


def _taken(spec: Any, x: Any, kept: list[Any]) -> int:
    """Return the address of an argument; what is not aligned is copied, gaps and all."""
    kind, dtype, _, _, low, span = spec
    if kind != _ARRAY:
        x = np.array(x, dtype)
        kept.append(x)
    place: int = x.__array_interface__["data"][0]
    if kind == _ARRAY and span and not x.flags.aligned:
        own = np.empty(span, np.uint8)
        kept.append(own)
        begin: int = own.__array_interface__["data"][0]
        ctypes.memmove(begin, place + low, span)
        return int(begin - low)
    return place


def _given(kind: int, x: Any) -> Any:
    if kind == _ARRAY:
        return x
    return x[()] if kind == _SCALAR else x.item()
