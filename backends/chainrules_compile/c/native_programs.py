"""Native programs as Python callables, and the addresses of NumPy's loops.

A ufunc is a table of C functions, one for each combination of types. A program calls these where C
has no operator with the same bits, so that results and speed are those of NumPy.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.machinery
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_compile.c.cache import cached, library
from chainrules_compile.c.compilers import CompilerError, headers
from chainrules_compile.c.ctypes_calls import RUN, Spec, call, have
from chainrules_compile.c.expression_text import headed
from chainrules_compile.scope import Form, Scope

_LARGE = 20_000
"""Number of elements in all steps above which the GIL is released."""

_threaded: list[Any] = []
_children: list[int] = []
_compiling: list[threading.Thread] = []
_scopes: list[Scope] = []


@functools.cache
def driver() -> Any:
    """Return the extension module that calls programs, from the cache or compiled.

    Raises
    ------
    CompilerError
        If there is no compiler, or Python's headers are missing.
    """
    path = str(library(*_parts()))
    loader = importlib.machinery.ExtensionFileLoader("chainrules_c_calls", path)
    return loader.create_module(importlib.machinery.ModuleSpec(loader.name, loader, origin=path))


def _parts() -> list[str]:
    """Return the text of the module, and the flags by which it is compiled."""
    # -O1: calls cost the same, and it is there sooner.
    return [headed("native.c"), "-O1", *[f"-I{where}" for where in headers()]]


def load() -> None:
    """Load the module if it is in the cache.

    Raises
    ------
    CompilerError
        If Python's headers are missing.
    """
    if not driver.cache_info().currsize and not _compiling and cached(*_parts()):
        driver()


def follow(scope: Scope) -> None:
    """Replace what stands for the module's objects in a scope as soon as it is compiled.

    Compiling it takes longer than a small program, so that this is left to a thread. A process that
    ends before waits for it: the next one finds the module.
    """
    if driver.cache_info().currsize:
        return
    _scopes.append(scope)
    if not _compiling:
        _compiling.append(threading.Thread(target=_compile))
        _compiling[0].start()


def _compile() -> None:
    with contextlib.suppress(CompilerError, ImportError):  # calls go through ctypes, as before
        driver()


class Waiting:
    """Object of the module that calls programs, and what does the same until that is compiled."""

    def __init__(self, name: str, given: tuple[Any, ...], meanwhile: Any) -> None:
        self.__name__, self.given, self.meanwhile = name, given, meanwhile

    def __call__(self, *xs: Any) -> Any:
        """Call the object if it is there, and let it replace what stands for it."""
        if not driver.cache_info().currsize:
            return self.meanwhile(*xs)
        for scope in _scopes:
            scope.update({name: x.made() for name, x in scope.items() if type(x) is Waiting})
        _scopes.clear()
        return self.made()(*xs)

    def made(self) -> Any:
        """Return the object itself."""
        return getattr(driver(), self.__name__.title())(*self.given)


def _object(name: str, given: tuple[Any, ...], meanwhile: Any) -> Any:
    waiting = Waiting(name, given, meanwhile)
    return waiting.made() if driver.cache_info().currsize else waiting


@functools.cache
def loop_of(ufunc: np.ufunc, types: str) -> tuple[int, int] | None:
    """Return the addresses of a ufunc's loop for types, and of its data; None if it is missing.

    Raises
    ------
    ValueError
        If the ufunc does not have these types.
    """
    i = [str(known) for known in ufunc.types].index(types)
    # PyUFuncObject: the head of all objects, four ints, the addresses of loops, and of their data
    where = id(ufunc) + object.__basicsize__ + 4 * ctypes.sizeof(ctypes.c_int)
    functions, data = (ctypes.POINTER(ctypes.c_void_p) * 2).from_address(where)
    return (functions[i], (data[i] or 0) if data else 0) if functions[i] else None


def fits(forms: Sequence[Form]) -> Any:
    """Return a function that tests whether arrays have these forms."""
    return _object("fits", ([*map(tuple, forms)],), functools.partial(have, forms))


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
    return made


def _alone() -> None:
    """Use one thread in a forked child, which has none of the parent's threads."""
    _children.append(os.getpid())
    _compiling.clear()
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
    elements: int,
) -> Any:
    """Return a function of a library, which computes so many elements, as a callable."""
    run = RUN((name, made))
    table = [address for loop in loops for address in loop]
    places = (ctypes.c_void_p * len(table))(*table)
    meanwhile = functools.partial(call, run, inputs, outputs, places, work, guarded)
    specs = [*map(tuple, inputs)], [*map(tuple, outputs)]
    rest = table, work, guarded, elements > _LARGE, made
    return _object("native", (ctypes.cast(run, ctypes.c_void_p).value, *specs, *rest), meanwhile)
