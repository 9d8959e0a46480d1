"""Cache of shared libraries by their source; see `chainrules_compile.c.cache_folder`."""

from __future__ import annotations

import contextlib
import ctypes
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


_tested: list[Compiler] = []
"""The compiler that is used, once a library of its has run."""


def library(text: str, *flags: str) -> Path:
    """Return the shared library of a C text, cached or compiled.

    The first compiler of this machine is used whose libraries compute correctly.

    Raises
    ------
    CompilerError
        If it is not in the cache and cannot be compiled.
    """
    if found := cached(text, *flags):
        return found
    FOLDER.misses += 1
    said = []
    for by in _tested or compilers():
        try:
            return _built(by, text, flags)
        except (CompilerError, OSError) as error:
            said.append(str(error))
    known = os.environ.get("CHAINRULES_NATIVE_CC") or f"{', '.join(NAMES)}, or zig of its wheel"
    raise CompilerError(
        "; ".join(said) or f"no C compiler is found: {known}; install one, as gcc or ziglang"
    )


def cached(text: str, *flags: str) -> Path | None:
    """Return the shared library of a C text if it is in the cache."""
    with contextlib.suppress(OSError):
        for by in _tested or compilers():
            for path in FOLDER.found(_key(by, text, flags)):
                FOLDER.hits += 1
                return path
    return None


def _built(by: Compiler, text: str, flags: tuple[str, ...]) -> Path:
    """Compile a text, and what tests the compiler if it has not been tested."""
    with FOLDER.private() as private:
        source, target = private / "program.c", private / "program.so"
        source.write_text(text if by in _tested else text + _PROBE, encoding="utf-8")
        by.build(source, target, *flags)
        if by not in _tested:
            probe = ctypes.CDLL(str(target)).probe
            probe.restype = ctypes.c_double
            if probe((ctypes.c_double * 3)(1.0, 4.0, 9.0), ctypes.c_long(3)) != 12.0:
                raise CompilerError(f"{' '.join(by.command)} makes what computes otherwise")
            _tested.append(by)
        return FOLDER.put(_key(by, text, flags), target)


def _key(by: Compiler, text: str, flags: tuple[str, ...]) -> str:
    python = sysconfig.get_config_var("SOABI") or sys.version
    numpy = getattr(sys.modules.get("numpy"), "__version__", "")
    facts = "\0".join([text, *all_flags(flags), by.identity, processor(), python, numpy])
    return hashlib.sha256(facts.encode()).hexdigest()[:40]
