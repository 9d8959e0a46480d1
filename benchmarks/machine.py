"""Circumstances of a measurement: the date, the commit, the versions and the machine."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "numpy": "NumPy",
    "scipy": "SciPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "autograd": "autograd",
    "mygrad": "MyGrad",
    "plum-dispatch": "plum-dispatch",
}


QUIET = 0.5
"""The load up to which what is measured may be kept."""


def noise() -> str:
    """Say why no numbers are written now; nothing where the machine does nothing else."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load <= QUIET:
        return ""
    return (
        f"the load of this machine is {load:.1f}, and numbers are written at {QUIET} or less: "
        f"nothing is written; measure again when it does nothing else"
    )


def describe() -> dict[str, Any]:
    """All of it, ready to be kept as JSON."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": commit(),
        "versions": {"CPython": platform.python_version(), **dict(versions())},
        "machine": {
            "processor": processor(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "memory, GiB": memory(),
            "system": platform.system(),
        },
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def versions() -> list[tuple[str, str]]:
    """List the versions of installed packages, without the suffix that names a build."""
    found = []
    for package, name in PACKAGES.items():
        try:
            found.append((name, importlib.metadata.version(package).partition("+")[0]))
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Return the commit, with a plus where files differ from it; empty outside of a repository."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--", "chainrules_py", "backends")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return name + ("+" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def processor() -> str:
    """Return the name that the processor gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")


def memory() -> int | None:
    """Return the size of the memory in GiB, or None if it is not known."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        return None


def sentence(found: dict[str, Any]) -> str:
    """Describe the circumstances of a measurement in a line for people."""
    machine, versions = found["machine"], found["versions"]
    names = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{found['date']}, commit {found['commit'] or 'unknown'}: {machine['cores']} cores, "
        f"{machine['architecture']} ({machine['processor']}), {names}"
    )
