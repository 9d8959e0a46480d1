"""Cache: shared libraries by their source, in a folder that only the user can write to.

An entry is called by its key and by the hash of what is in it, so one that was cut short or changed
is seen, removed and made again. It is written under a private name and renamed: two processes may
make the same entry. Nothing is loaded from a folder that others can change.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chainrules_native.compilers import FLAGS, SAFE, CompilerError, compiler, more_flags, processor

MOST_ENTRIES = 512
MOST_BYTES = 1 << 28
"""How much is kept on disk; what was not used for longest goes."""

_counts = {"hits": 0, "misses": 0}
_private: list[tempfile.TemporaryDirectory[str]] = []


class CacheInfo(NamedTuple):
    """State of the cache: what this process found and made, and what is on disk."""

    hits: int
    misses: int
    entries: int
    bytes: int
    folder: str


def cache_info() -> CacheInfo:
    """Return what the cache did in this process, and what it holds.

    Examples
    --------
    >>> from chainrules_native import cache_info
    >>> cache_info()  # doctest: +SKIP
    CacheInfo(hits=3, misses=1, entries=17, bytes=412672, folder='/home/me/.cache/...')
    """
    where = folder()
    sizes = [size for _, size, _ in _entries(where)]
    return CacheInfo(_counts["hits"], _counts["misses"], len(sizes), sum(sizes), str(where))


@functools.cache
def folder() -> Path:
    """Return the folder of the cache, or one of this process alone where there can be none."""
    asked = os.environ.get("CHAINRULES_NATIVE_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    where = Path(asked or os.path.join(home, "chainrules_native")).absolute()
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_ours(where) and os.access(where, os.W_OK | os.X_OK):
            return where
    except OSError:
        pass
    return _own()


def _own() -> Path:
    if not _private:
        _private.append(tempfile.TemporaryDirectory(prefix="chainrules_native_"))
    return Path(_private[0].name)


def is_ours(where: Path) -> bool:
    """Tell whether nobody but the user, and the system, can change what is in a folder."""
    if not hasattr(os, "getuid"):
        return True
    user = os.getuid()
    real = Path(os.path.realpath(where))
    for place in (real, *real.parents):
        facts = os.stat(place)
        if facts.st_uid not in (user, 0):
            return False
        others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others and (place == real or not facts.st_mode & stat.S_ISVTX):
            return False
    return os.stat(real).st_uid == user


def library(text: str, *flags: str) -> Path:
    """Return the shared library of a text in C: from the cache, or compiled.

    Raises
    ------
    CompilerError
        If it can neither be found nor made.
    """
    key = _key(text, flags)
    try:
        where = folder()
        found = _found(where, key)
        if found is None:
            _counts["misses"] += 1
            found = _made(where, key, text, flags)
        else:
            _counts["hits"] += 1
        return found
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


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


def _found(where: Path, key: str) -> Path | None:
    for path in where.glob(f"{key}-*.so"):
        if not path.is_symlink() and path.stem == f"{key}-{_hash(path)}":
            with contextlib.suppress(OSError):
                os.utime(path)
            return path
        with contextlib.suppress(OSError):
            path.unlink()
    return None


def _made(where: Path, key: str, text: str, flags: tuple[str, ...]) -> Path:
    with tempfile.TemporaryDirectory(prefix="building_", dir=where) as private:
        source, target = Path(private, "program.c"), Path(private, "program.so")
        source.write_text(text, encoding="utf-8")
        compiler().build(source, target, *flags)
        path = _found(where, key) or where / f"{key}-{_hash(target)}.so"
        if not path.exists():
            os.replace(target, path)
    _bound(where, path)
    return path


def _entries(where: Path) -> Iterator[tuple[float, int, Path]]:
    for path in where.glob("*.so"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            yield facts.st_mtime, facts.st_size, path


def _bound(where: Path, newest: Path) -> None:
    """Remove what was not used for longest, where there is too much."""
    found = sorted(_entries(where), reverse=True)
    total = 0
    for i, (_, size, path) in enumerate(found):
        total += size
        if path != newest and (i >= MOST_ENTRIES or total > MOST_BYTES):
            with contextlib.suppress(OSError):
                path.unlink()
