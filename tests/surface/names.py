"""Names of NumPy's functions, and what the answer of each has to be: ``surface_names.csv``.

The calls that judge them stand in ``tests/surface/calls``; `tests.surface.checks` judges them.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import numpy as np


@final
@dataclasses.dataclass(frozen=True)
class Listed:
    """A name of NumPy's, and what its answer has to be.

    Attributes
    ----------
    kind : {"ufunc", "function", "method"}
        What it is to NumPy.
    name : str
        As users write it behind ``np.``; ``"ndarray.sum"`` for a method.
    answer : {"differentiable", "constant", "none"}
        A derivative; zero tangents; or an error where a derivative would be lost.
    reason : str
        Why it has no derivative: an operation out of few.
    since : str
        The first release of NumPy that has it, where that is not the oldest supported.
    """

    kind: str
    name: str
    answer: str
    reason: str
    since: str

    @property
    def is_there(self) -> bool:
        """Whether the NumPy that is installed has it."""
        return native_named(self.name) is not None


@functools.cache
def listed_names() -> tuple[Listed, ...]:
    """Every name of NumPy's overridable surface, and the members of its arrays."""
    with Path(__file__).with_name("surface_names.csv").open(encoding="utf-8", newline="") as file:
        return tuple([Listed(**row) for row in csv.DictReader(file)])


@functools.cache
def _listed_by_native() -> dict[Any, Listed]:
    # What stands behind several names is listed under the first.
    return {native_named(row.name): row for row in listed_names() if row.is_there}


def listed_as(name: str) -> Listed:
    """Find the row of a name: its own, that of the function's other name, or of the ufunc.

    ``np.pow`` is ``np.power``; ``add.reduce`` is a method of a ufunc, and as differentiable.

    Raises
    ------
    KeyError
        If there is none.
    """
    own = [row for row in listed_names() if row.name == name]
    if own:
        return own[0]
    ufunc, _, method = name.rpartition(".")
    if method in ("reduce", "accumulate", "outer"):
        return dataclasses.replace(listed_as(ufunc), kind="ufunc method", name=name)
    return _listed_by_native()[native_named(name)]


def library_of(name: str) -> str:
    """Which library a name is of: ``"scipy.special.erf"`` says so, and NumPy's do not."""
    return "scipy" if name.partition(".")[0] in ("scipy", "chainrules_scipy") else "numpy"


def native_named(name: str) -> Any:
    """Find what stands behind ``np.``: a function, a method unbound, or None if there is none."""
    path = name.split(".")
    root = path.pop(0) if library_of(name) == "scipy" else "numpy"
    for depth in range(len(path), 0, -1):
        try:
            found: Any = importlib.import_module(".".join((root, *path[: depth - 1])))
        except ImportError:
            continue
        for part in path[depth - 1 :]:
            found = getattr(found, part, None)
        return found
    return None


def function_named(name: str) -> Callable[..., Any]:
    """Return the function behind ``np.``; a method or property as a function of the array."""
    if not name.startswith("ndarray."):
        return native_named(name)  # type: ignore[no-any-return]
    member = name.removeprefix("ndarray.")
    if not callable(getattr(np.ndarray, member)):
        return lambda x: getattr(x, member)
    return lambda x, *operands, **keywords: getattr(x, member)(*operands, **keywords)
