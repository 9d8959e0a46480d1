"""Compilers: the system's, found once, and asked to make a shared library of a text."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NamedTuple

NAMES = ("cc", "gcc", "clang")
"""Where to look, in this order; `CHAINRULES_NATIVE_CC` comes before."""

FLAGS = (
    "-O2",
    "-ftree-vectorize",
    "-fopenmp-simd",
    "-march=native",
    "-fPIC",
    "-shared",
    "-w",
    "-pipe",
)
SAFE = (
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
)
"""What changes no number: no product is merged with a sum, and no sum is added in another order.

Loops are vectorised all the same. Integers overflow as NumPy's do. Elements are moved as whole
numbers of their size, whatever they are: a compiler that takes these for other memory than floating
numbers leaves out what is written.
"""


def more_flags() -> tuple[str, ...]:
    """Return what the user adds, as ``-fsanitize=address``."""
    return tuple(os.environ.get("CHAINRULES_NATIVE_CFLAGS", "").split())


_LONGEST = 120.0
"""Seconds until a compiler is given up."""


class CompilerError(Exception):
    """The compiler is missing, was killed, had no room, or did not understand."""


class Compiler(NamedTuple):
    """Compiler of this machine.

    Attributes
    ----------
    path : str
        The program.
    identity : str
        Which it is: another one, or a newer one in the same place, has another.
    """

    path: str
    identity: str

    def build(self, source: Path, target: Path, *flags: str) -> None:
        """Compile a file to a shared library.

        Raises
        ------
        CompilerError
            With what the compiler said.
        """
        given = (*FLAGS, *SAFE, *more_flags(), *flags)
        command = [self.path, *given, str(source), "-o", str(target), "-lm"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_LONGEST, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompilerError(str(error)) from error
        if done.returncode or not target.exists():
            said = (done.stderr or done.stdout).strip().splitlines()
            said = [line for line in said if "error" in line or "fatal" in line] or said
            how = f"{self.path} gave {done.returncode}: {' '.join(said[:2])}"
            raise CompilerError(how)


@functools.cache
def processor() -> str:
    """Return what this processor is, and what it can do."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    marks = ("flags", "Features", "model name", "CPU part")
    found = [next((line for line in lines if line.startswith(mark)), "") for mark in marks]
    return " ".join([platform.machine(), *found])


@functools.cache
def headers() -> tuple[str, ...]:
    """Return where the headers of Python and NumPy are.

    Raises
    ------
    CompilerError
        If Python's are not installed.
    """
    import numpy as np

    python = sysconfig.get_path("include")
    if not (Path(python) / "Python.h").exists():
        msg = f"the headers of Python are not in {python}"
        raise CompilerError(msg)
    return python, np.get_include()


@functools.cache
def compiler() -> Compiler:
    """Return the compiler of this machine.

    Raises
    ------
    CompilerError
        If none is found.
    """
    asked = os.environ.get("CHAINRULES_NATIVE_CC")
    for name in (asked,) if asked else NAMES:
        path = shutil.which(name)
        if path is not None:
            file = os.path.realpath(path)
            facts = os.stat(file)
            return Compiler(path, f"{file} {facts.st_size} {facts.st_mtime_ns}")
    msg = f"no C compiler is found: {asked or ', '.join(NAMES)}; install one, as gcc"
    raise CompilerError(msg)
