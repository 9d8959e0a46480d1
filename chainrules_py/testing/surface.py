"""NumPy's functions as people call them: the list of names, and the calls that judge them.

`enter_calls` takes calls as data, in the form of samples: operands and keywords may be draws, or
lists and tuples of them. They stand in ``testing/calls/<family>``; `surface_checks` judges them.
The names, and what their answer has to be, stand in ``surface_names.csv``.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, final

import numpy as np

from chainrules_py.testing.sample import Sample

__all__ = [
    "Listed",
    "SurfaceCall",
    "enter_calls",
    "function_named",
    "listed_as",
    "listed_names",
    "names_with_calls",
    "native_named",
    "surface_calls",
]

_calls: dict[str, tuple[Sample, ...]] = {}


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
        Why it has no derivative: a word out of few.
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


def enter_calls(name: str, *given: Sample) -> None:
    """Enter calls of a function of NumPy.

    Parameters
    ----------
    name : str
        As users write it behind ``np.``: ``"linalg.det"``, or ``"ndarray.sum"`` for a method. A
        function of SciPy by its whole name, ``"scipy.special.erf"``.
    *given : Sample
        Operands and keywords. A sample of a function that is not smooth is only called; one
        with ``gauge=`` is differentiated through it.
    """
    _calls[name] = (*_calls.get(name, ()), *given)


def names_with_calls(library: str = "numpy") -> tuple[str, ...]:
    """Return the functions of NumPy, or of SciPy, that calls were entered for."""
    importlib.import_module("chainrules_py.testing.calls")
    return tuple([name for name in _calls if library_of(name) == library])


def library_of(name: str) -> str:
    """Which library a name is of: ``"scipy.special.erf"`` says so, and NumPy's do not."""
    return "scipy" if name.partition(".")[0] in ("scipy", "chainrules_scipy") else "numpy"


@final
@dataclasses.dataclass(frozen=True)
class SurfaceCall:
    """Call of one function, real or complex.

    Attributes
    ----------
    name : str
        The function, as behind ``np.``.
    sample : Sample
        Operands and keywords.
    number : int
        Which of the function's calls it is.
    complex : bool
        Whether real draws are made complex.
    """

    name: str
    sample: Sample
    number: int
    complex: bool = False

    def __str__(self) -> str:
        shown = re.sub(r" at 0x[0-9a-f]+|<function |>", "", repr(self.sample))
        shown = shown.removesuffix(" complex")  # the same name in every process
        text = f"{self.name}({shown if len(shown) <= 70 else shown[:67] + '...'})"
        return f"{text}{' complex' if self.complex else ''} {self.number}"


def surface_calls(name: str) -> Iterator[SurfaceCall]:
    """Yield the calls of a function, those that say so once more with complex operands."""
    importlib.import_module("chainrules_py.testing.calls")
    for number, sample in enumerate(_calls.get(name, ())):
        yield SurfaceCall(name, sample, number)
        if sample.complex:
            yield SurfaceCall(name, sample, number, complex=True)


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
