"""The project as it was at a commit, beside what it is now: measured by the benchmarks of now."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

from benchmarks.machine import ROOT

FOLDERS = ("chainrules_py", "backends")
TREES = ROOT / ".asv" / "trees"


def _git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    except OSError as error:
        msg = f"git {' '.join(arguments)}: {error}"
        raise ValueError(msg) from error
    if done.returncode:
        msg = f"git {' '.join(arguments)}: {done.stderr.decode().strip()}"
        raise ValueError(msg)
    return done.stdout


def resolved(name: str) -> str:
    """Return the full name of a commit; raise ValueError where there is none."""
    return _git("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()


def log(name: str, form: str) -> str:
    """Return what git's log says about a commit; raise ValueError where there is none."""
    return _git("log", "-1", f"--format={form}", name).decode().strip()


def commits(given: str, most: int) -> list[str]:
    """List the commits of a range, oldest first; evenly chosen ones if more than ``most``."""
    if ".." not in given:
        return [resolved(given)]
    names = _git("rev-list", "--reverse", "--first-parent", given).decode().split()
    if len(names) <= most:
        return names
    return [names[round(i * (len(names) - 1) / max(1, most - 1))] for i in range(most)]


def tree(name: str, into: Path = TREES) -> Path:
    """Return a folder with the packages of a commit; ``.`` is the working tree."""
    if name == ".":
        return ROOT
    full = resolved(name)
    folder = into / full[:12]
    if not folder.exists():
        part = folder.with_suffix(".part")
        with tarfile.open(fileobj=io.BytesIO(_git("archive", full, *FOLDERS))) as archive:
            archive.extractall(part, filter="data")
        part.rename(folder)
    return folder


def paths(folder: Path) -> str:
    """Return the PYTHONPATH by which the packages of a folder are found first."""
    return os.pathsep.join([str(folder), str(folder / "backends"), str(ROOT)])
