"""Versions of Python, the system and the packages, for bug reports."""

from __future__ import annotations

import importlib.metadata
import platform
import sys

PACKAGES = (
    "chainrules-py",
    "numpy",
    "plum-dispatch",
    "array-api-compat",
    "scipy",
    "torch",
    "jax",
    "autograd",
    "dask",
    "mlx",
    "mygrad",
    "pytensor",
    "tinygrad",
    "pandas",
)


def versions() -> dict[str, str]:
    """Return the versions of Python, the system, and the installed packages.

    Examples
    --------
    >>> "numpy" in versions()
    True
    """
    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if name.startswith("cupy"):
            found[name] = distribution.version
    return found


def show_versions() -> None:
    """Print the versions of Python, the system and the packages, for a bug report."""
    found = versions()
    width = max(map(len, found))
    for name, version in found.items():
        sys.stdout.write(f"{name:{width}}  {version}\n")
