"""Folders of files that are kept between processes, and to which only the user can write.

The name of an entry contains its key and the hash of its contents, so a truncated or changed entry
is detected, removed and made again. Entries are written under a private name and renamed, as two
processes may make the same entry. Nothing is read from a folder that others can change.
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
"""Maximum size of a folder; the least recently used entries are removed."""

_MAKING = "making_"
_LONGEST = 3600.0
"""Age in seconds after which a private folder is removed."""


class CacheInfo(NamedTuple):
    """State of a cache: hits and misses of this process, and the contents on disk."""

    hits: int
    misses: int
    entries: int
    bytes: int
    folder: str


@final
class Folder:
    """Entries on disk, by key.

    Parameters
    ----------
    name : str
        The name of the folder among the user's caches.
    variable : str
        The environment variable that overrides the path.
    suffix : str
        The suffix of the names of entries.
    """

    def __init__(self, name: str, variable: str, suffix: str) -> None:
        self.name = name
        self.variable = variable
        self.suffix = suffix
        self.hits = self.misses = 0
        self._private: tempfile.TemporaryDirectory[str] | None = None

    @functools.cached_property
    def path(self) -> Path:
        """The path of the folder, made if it is missing, or of a temporary one if it cannot be."""
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
        """Yield the intact entries of a key, and remove damaged ones."""
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
        """Make a temporary folder beside the entries, to write an entry in."""
        with tempfile.TemporaryDirectory(prefix=_MAKING, dir=self.path) as private:
            yield Path(private)

    def put(self, key: str, made: Path) -> Path:
        """Move a file to the entry of a key, atomically."""
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
        """Remove the least recently used entries above the limits, and stale private folders."""
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
        """Return the hits and misses of this process, and the size of the contents."""
        sizes = [size for _, size, _ in self._entries()]
        return CacheInfo(self.hits, self.misses, len(sizes), sum(sizes), str(self.path))


def is_ours(where: Path) -> bool:
    """Return whether only the user and the system can change the contents of a folder."""
    if not hasattr(os, "getuid"):
        return True
    user, real = os.getuid(), Path(os.path.realpath(where))
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
