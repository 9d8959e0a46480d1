"""Writers of runnable programs, by the name of a target."""

from __future__ import annotations

from importlib.metadata import entry_points

from chainrules_compile.writers.interface import Writer
from chainrules_compile.writers.numpy_source import write
from chainrules_py import RuleError


def writer_of(target: str) -> Writer:
    """Return the writer of a target; raise if no package provides one."""
    if target == "numpy":
        return write
    for point in entry_points(group="chainrules_py.writers"):
        if point.name == target:
            found: Writer = point.load()
            return found
    known = sorted({"numpy", *[p.name for p in entry_points(group="chainrules_py.writers")]})
    raise RuleError(f"no writer is known for the target {target!r}; known are {', '.join(known)}")
