"""Native programs as Python callables, and the addresses of NumPy's loops.

A ufunc is a table of C functions, one for each combination of types. A program calls these where C
has no operator with the same bits, so that results and speed are those of NumPy.
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
from chainrules_compile.c.expression_text import headed

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
"""Kinds of operands: an array, a NumPy number, a Python float, a Python bool."""


@functools.cache
def driver() -> Any:
    """Return the extension module that calls programs, which is compiled at its first use.

    Raises
    ------
    CompilerError
        If there is no compiler, or Python's headers are missing.
    """
    found = headers()
    if not found:
        raise CompilerError("the headers of Python are missing; install them, as python3-dev")
    # -O1: calls cost the same, and the first one of a machine does not wait as long.
    path = library(headed("native.c"), "-O1", *[f"-I{where}" for where in found])
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
    """Return a function from forms to a test whether arrays have them; None if there is none."""
    known = driver().Fits
    return known and (lambda forms: known([tuple(form) for form in forms]))


def loaded(text: str, threads: int = 1) -> ctypes.CDLL:
    """Compile a text, and load the library for the lifetime of the process.

    Threads are those of OpenMP; without OpenMP there is one thread.

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
    """Load the library at a path, and set its number of threads."""
    made = ctypes.CDLL(str(path))
    if threads > 1:
        ctypes.c_int.in_dll(made, "threads").value = 1 if _children else threads
        _threaded.append(made)
    _loaded.append(made)
    return made


def _alone() -> None:
    """Use one thread in a forked child, which has none of the parent's threads."""
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
    """Return a function of a library as a callable."""
    address = ctypes.cast(getattr(made, name), ctypes.c_void_p).value
    table = [address for loop in loops for address in loop]
    given = [tuple(spec) for spec in inputs], [tuple(spec) for spec in outputs]
    return driver().Native(address, *given, table, work, guarded, large, made)
