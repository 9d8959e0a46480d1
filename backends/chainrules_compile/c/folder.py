"""Folders: what is kept on disk between processes, where only the user can write.

An entry is called by its key and by the hash of what is in it, so one that was cut short or changed
is seen, removed and made again. It is written under a private name and renamed: two processes may
make the same entry. Nothing is read from a folder that others can change.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, final

MOST_ENTRIES = 512
MOST_BYTES = 1 << 28
"""How much is kept in a folder; what was not used for longest goes."""

_MAKING = "making_"
_LONGEST = 3600.0
"""Seconds after which nobody makes an entry any more."""


class CacheInfo(NamedTuple):
    """State of a cache: what this process found and made, and what is on disk."""

    hits: int
    misses: int
    entries: int
    bytes: int
    folder: str


@final
class Folder:
    """Entries on disk, by their keys.

    Parameters
    ----------
    name : str
        What the folder is called among the user's caches.
    variable : str
        The variable of the environment that names another.
    suffix : str
        What the names of entries end in.
    """

    def __init__(self, name: str, variable: str, suffix: str) -> None:
        self.name = name
        self.variable = variable
        self.suffix = suffix
        self.hits = self.misses = 0
        self._private: tempfile.TemporaryDirectory[str] | None = None

    @functools.cached_property
    def path(self) -> Path:
        """The folder, or one of this process alone where there can be none."""
        return self.look()

    def look(self) -> Path:
        """Look for the folder, or make one."""
        asked = os.environ.get(self.variable)
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        where = Path(asked or os.path.join(home, self.name)).absolute()
        try:
            where.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_ours(where) and os.access(where, os.W_OK | os.X_OK):
                return where
        except OSError:
            pass
        if self._private is None:
            self._private = tempfile.TemporaryDirectory(prefix=f"{self.name}_")
        return Path(self._private.name)

    def found(self, key: str) -> Iterator[Path]:
        """Yield the entries of a key that are whole; remove the others."""
        for path in self.path.glob(f"{key}-*{self.suffix}"):
            if not path.is_symlink() and path.stem == f"{key}-{_hash(path)}":
                with contextlib.suppress(OSError):
                    os.utime(path)
                yield path
            else:
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextlib.contextmanager
    def private(self) -> Iterator[Path]:
        """Give a folder beside the entries, to make one in."""
        with tempfile.TemporaryDirectory(prefix=_MAKING, dir=self.path) as private:
            yield Path(private)

    def put(self, key: str, made: Path) -> Path:
        """Make a file the entry of a key, at once for everybody."""
        path = self.path / f"{key}-{_hash(made)}{self.suffix}"
        if not path.exists():
            os.replace(made, path)
        self._bound(path)
        return path

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        for path in self.path.glob(f"*{self.suffix}"):
            with contextlib.suppress(OSError):
                facts = path.stat()
                yield facts.st_mtime, facts.st_size, path

    def _bound(self, newest: Path) -> None:
        """Remove what was not used for longest, where there is too much."""
        found = sorted(self._entries(), reverse=True)
        total = 0
        for i, (_, size, path) in enumerate(found):
            total += size
            if path != newest and (i >= MOST_ENTRIES or total > MOST_BYTES):
                with contextlib.suppress(OSError):
                    path.unlink()
        for path in self.path.glob(f"{_MAKING}*"):  # of processes that were killed
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _LONGEST:
                    shutil.rmtree(path, ignore_errors=True)

    def info(self) -> CacheInfo:
        """Return what the cache did in this process, and what it holds."""
        sizes = [size for _, size, _ in self._entries()]
        return CacheInfo(self.hits, self.misses, len(sizes), sum(sizes), str(self.path))


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


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]
