"""C compilers of the system: search for them, and compilation of shared libraries."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NAMES = ("cc", "gcc", "clang")
"""Commands to try, in this order; `CHAINRULES_NATIVE_CC` replaces them."""

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
"""Flags that keep results: no product is fused with a sum, and no sum is reordered.

Loops are still vectorised. Integers wrap on overflow, as NumPy's do. Elements are copied as
integers of their size, so strict aliasing, by which a compiler may drop these writes, is off.
"""

ALONE = ("-nostdlib",) if platform.system() == "Linux" else ()
"""Flags where no others are asked for: the process has the C library already, and linking without
it takes half the time."""


def all_flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags of a call, with those of all and those that the user adds.

    The user's are, for example, ``-fsanitize=address``.
    """
    added = (*os.environ.get("CHAINRULES_NATIVE_CFLAGS", "").split(), *flags)
    return (*FLAGS, *SAFE, *(added or ALONE))


class CompilerError(Exception):
    """No compiler is found, or it fails, is killed, or times out."""


class Compiler(NamedTuple):
    """Compiler of this machine.

    Attributes
    ----------
    command : tuple of str
        The executable, and its first arguments.
    identity : str
        Text that differs for another compiler, and for another version at the same path.
    """

    command: tuple[str, ...]
    identity: str

    def build(self, source: Path, target: Path, *flags: str) -> None:
        """Compile a file to a shared library.

        Raises
        ------
        CompilerError
            With the message of the compiler.
        """
        command = [*self.command, *all_flags(flags), str(source), "-o", str(target), "-lm"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=120.0, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompilerError(str(error)) from error
        if done.returncode or not target.exists():
            said = (done.stderr or done.stdout).strip().splitlines()
            said = [line for line in said if "error" in line or "fatal" in line] or said
            how = f"{' '.join(self.command)} gave {done.returncode}: {' '.join(said[:2])}"
            raise CompilerError(how)


@functools.cache
def processor() -> str:
    """Return the model and the features of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    marks = ("flags", "Features", "model name", "CPU part")
    found = [next((line for line in lines if line.startswith(mark)), "") for mark in marks]
    return " ".join([platform.machine(), *found])


@functools.cache
def headers() -> tuple[str, ...]:
    """Return the include folders of Python and NumPy.

    Raises
    ------
    CompilerError
        If Python's headers are missing.
    """
    import numpy as np

    python = sysconfig.get_path("include")
    if not (Path(python) / "Python.h").exists():
        raise CompilerError("the headers of Python are missing; install them, as python3-dev")
    return python, np.get_include()


def compilers() -> Iterator[Compiler]:
    """Yield the compilers of this machine: the system's first, then that of the package ziglang."""
    asked = os.environ.get("CHAINRULES_NATIVE_CC")
    for operations in map(shlex.split, (asked,) if asked else NAMES):
        path = shutil.which(operations[0]) if operations else None
        if path is not None:
            yield _identified((path, *operations[1:]))
    wheel = None if asked else importlib.util.find_spec("ziglang")
    if wheel is not None and wheel.origin is not None:
        path = shutil.which("zig", path=str(Path(wheel.origin).parent))
        if path is not None:
            yield _identified((path, "cc"))


def _identified(command: tuple[str, ...]) -> Compiler:
    file = os.path.realpath(command[0])
    facts = os.stat(file)
    given = " ".join([file, *command[1:]])
    return Compiler(command, f"{given} {facts.st_size} {facts.st_mtime_ns}")
