"""Cache of shared libraries by their source; see `chainrules_compile.c.cache_folder`."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
import sysconfig
from pathlib import Path

from chainrules_compile.c.cache_folder import CacheInfo, Folder
from chainrules_compile.c.compilers import (
    NAMES,
    Compiler,
    CompilerError,
    all_flags,
    compilers,
    processor,
)

FOLDER = Folder("chainrules_compile", "CHAINRULES_C_CACHE", ".so")
"""The folder of the shared libraries."""


def cache_info() -> CacheInfo:
    """Return the hits and misses of the cache in this process, and its contents.

    Examples
    --------
    >>> from chainrules_compile.c import cache_info
    >>> cache_info()  # doctest: +SKIP
    CacheInfo(hits=3, misses=1, entries=17, bytes=412672, folder='/home/me/.cache/...')
    """
    return FOLDER.info()


_PROBE = """
double sqrt(double);
double probe(const double* x, long n) {
    double r = 0; long k = 9223372036854775807L - n;
    for (long i = 0; i < n; i++) r += sqrt(x[i]) * 2;
    for (long i = 0; i <= n; i++) k++;
    return k < 0 ? r : -1;
}
"""


def library(text: str, *flags: str) -> Path:
    """Return the shared library of a C text, cached or compiled.

    Raises
    ------
    CompilerError
        If it is not in the cache and cannot be compiled.
    """
    return _library(compiler(), text, flags)


def _library(by: Compiler, text: str, flags: tuple[str, ...]) -> Path:
    key = _key(by, text, flags)
    try:
        for path in FOLDER.found(key):
            FOLDER.hits += 1
            return path
        FOLDER.misses += 1
        with FOLDER.private() as private:
            source, target = private / "program.c", private / "program.so"
            source.write_text(text, encoding="utf-8")
            by.build(source, target, *flags)
            return FOLDER.put(key, target)
    except OSError as error:
        raise CompilerError(str(error)) from error


@functools.cache
def compiler() -> Compiler:
    """Return the first compiler of this machine whose output runs correctly.

    Raises
    ------
    CompilerError
        If there is none.
    """
    said = []
    for found in compilers():
        try:
            probe = ctypes.CDLL(str(_library(found, _PROBE, ()))).probe
        except (CompilerError, OSError) as error:
            said.append(str(error))
            continue
        probe.restype = ctypes.c_double
        if probe((ctypes.c_double * 3)(1.0, 4.0, 9.0), ctypes.c_long(3)) == 12.0:
            return found
        said.append(f"{' '.join(found.command)} makes what computes otherwise")
    known = os.environ.get("CHAINRULES_NATIVE_CC") or f"{', '.join(NAMES)}, or zig of its wheel"
    raise CompilerError(
        "; ".join(said) or f"no C compiler is found: {known}; install one, as gcc or ziglang"
    )


def _key(by: Compiler, text: str, flags: tuple[str, ...]) -> str:
    python = sysconfig.get_config_var("SOABI") or sys.version
    numpy = getattr(sys.modules.get("numpy"), "__version__", "")
    facts = "\0".join([text, *all_flags(flags), by.identity, processor(), python, numpy])
    return hashlib.sha256(facts.encode()).hexdigest()[:40]
