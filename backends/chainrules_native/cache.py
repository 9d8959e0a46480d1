"""Cache: shared libraries by their source; see `chainrules_compile.folder`."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from pathlib import Path

from chainrules_compile.folder import CacheInfo, Folder
from chainrules_native.compilers import FLAGS, SAFE, CompilerError, compiler, more_flags, processor

FOLDER = Folder("chainrules_native", "CHAINRULES_NATIVE_CACHE", ".so")
"""Where shared libraries are kept."""


def cache_info() -> CacheInfo:
    """Return what the cache did in this process, and what it holds.

    Examples
    --------
    >>> from chainrules_native import cache_info
    >>> cache_info()  # doctest: +SKIP
    CacheInfo(hits=3, misses=1, entries=17, bytes=412672, folder='/home/me/.cache/...')
    """
    return FOLDER.info()


def library(text: str, *flags: str) -> Path:
    """Return the shared library of a text in C: from the cache, or compiled.

    Raises
    ------
    CompilerError
        If it can neither be found nor made.
    """
    key = _key(text, flags)
    try:
        for path in FOLDER.found(key):
            FOLDER.hits += 1
            return path
        FOLDER.misses += 1
        with FOLDER.private() as private:
            source, target = private / "program.c", private / "program.so"
            source.write_text(text, encoding="utf-8")
            compiler().build(source, target, *flags)
            return FOLDER.put(key, target)
    except OSError as error:
        raise CompilerError(str(error)) from error


def _key(text: str, flags: tuple[str, ...]) -> str:
    python = sysconfig.get_config_var("SOABI") or sys.version
    numpy = getattr(sys.modules.get("numpy"), "__version__", "")
    facts = (
        text,
        *FLAGS,
        *SAFE,
        *more_flags(),
        *flags,
        compiler().identity,
        processor(),
        python,
        numpy,
    )
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:40]
