"""Compilers: the system's, found once, and asked to make a shared library of a text."""

from __future__ import annotations

import atexit
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
"""Where to look, in this order; `CHAINRULES_NATIVE_CC` stands for them all."""

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


_running: set[subprocess.Popen[str]] = set()


@atexit.register
def _stop() -> None:
    """End what still compiles: nobody waits for it."""
    for process in tuple(_running):
        process.kill()


class Compiler(NamedTuple):
    """Compiler of this machine.

    Attributes
    ----------
    command : tuple of str
        The program, and what it is given first.
    identity : str
        Which it is: another one, or a newer one in the same place, has another.
    """

    command: tuple[str, ...]
    identity: str

    def build(self, source: Path, target: Path, *flags: str) -> None:
        """Compile a file to a shared library.

        Raises
        ------
        CompilerError
            With what the compiler said.
        """
        given = (*FLAGS, *SAFE, *more_flags(), *flags)
        command = [*self.command, *given, str(source), "-o", str(target), "-lm"]
        pipe = subprocess.PIPE
        try:
            with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
                _running.add(process)
                try:
                    out, err = process.communicate(timeout=_LONGEST)
                finally:
                    process.kill()
                    _running.discard(process)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompilerError(str(error)) from error
        if process.returncode or not target.exists():
            said = (err or out).strip().splitlines()
            said = [line for line in said if "error" in line or "fatal" in line] or said
            how = f"{' '.join(self.command)} gave {process.returncode}: {' '.join(said[:2])}"
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
    """Return where the headers of Python and NumPy are; nothing if Python's are not installed."""
    import numpy as np

    python = sysconfig.get_path("include")
    if not (Path(python) / "Python.h").exists():
        return ()
    return python, np.get_include()


def compilers() -> Iterator[Compiler]:
    """Yield the compilers of this machine, the system's first; zig's wheel has one as well."""
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
