"""Calls: programs of C as Python calls them, and the addresses of NumPy's own loops.

A ufunc is a table of functions in C, one for each combination of types. A program calls these
where C has no operator of the same bits; so they are NumPy's by construction, at NumPy's speed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile.c.cache import library
from chainrules_compile.c.compilers import CompilerError, headers
from chainrules_compile.c.text import headed

_loaded: list[Any] = []
_threaded: list[Any] = []
_children: list[int] = []


class Spec(NamedTuple):
    """Input or output of a native program, as `native.c` reads it."""

    kind: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    low: int
    span: int


ARRAY, SCALAR, FLOAT, BOOL = range(4)
"""Kinds of operands: an array, a number of NumPy's, a float and a bool of Python's."""


@functools.cache
def driver() -> Any:
    """Return the module that calls programs; it is compiled when it is first needed.

    Raises
    ------
    CompilerError
        If no compiler is there.
    """
    found = headers()
    if not found:
        msg = "the headers of Python are missing; install them, as python3-dev"
        raise CompilerError(msg)
    path = library(headed("native.c"), *[f"-I{where}" for where in found])
    name = "chainrules_c_calls"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader, origin=str(path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@functools.cache
def loop_of(ufunc: np.ufunc, types: str) -> tuple[int, int] | None:
    """Return the addresses of a ufunc's loop for types, and of its data; None if it has none."""
    try:
        i = [str(known) for known in ufunc.types].index(types)
    except ValueError:
        return None
    found: tuple[int, int] | None = driver().loop_of(ufunc, i)
    return found


def fits() -> Any:
    """Return what makes, of forms, a function that tells whether arrays have them; or None."""
    known = driver().Fits
    return known and (lambda forms: known([tuple(form) for form in forms]))


def loaded(text: str, threads: int = 1) -> ctypes.CDLL:
    """Compile a text, and return the library; it stays as long as the process.

    Its threads are those of OpenMP; where a compiler has none, there is one.

    Raises
    ------
    CompilerError
        If it cannot be compiled.
    """
    if threads > 1:
        with contextlib.suppress(CompilerError, OSError):
            return at(library(text, "-fopenmp"), threads)
    return at(library(text), threads)


def at(path: Path, threads: int = 1) -> ctypes.CDLL:
    """Return the library at a place, which runs on so many threads."""
    made = ctypes.CDLL(str(path))
    if threads > 1:
        ctypes.c_int.in_dll(made, "threads").value = 1 if _children else threads
        _threaded.append(made)
    _loaded.append(made)
    return made


def _alone() -> None:
    """Have one thread in a child of a fork: those of its parent's are not there."""
    _children.append(os.getpid())
    for made in _threaded:
        ctypes.c_int.in_dll(made, "threads").value = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)


def program(
    made: ctypes.CDLL,
    name: str,
    inputs: Sequence[Spec],
    outputs: Sequence[Spec],
    loops: Sequence[tuple[int, int]],
    work: int,
    guarded: bool,
    large: bool,
) -> Any:
    """Return one of the functions of a library as a callable."""
    address = ctypes.cast(getattr(made, name), ctypes.c_void_p).value
    table = [address for loop in loops for address in loop]
    given = [tuple(spec) for spec in inputs], [tuple(spec) for spec in outputs]
    return driver().Native(address, *given, table, work, guarded, large, made)
