"""Names in the source of a program, and the objects that they refer to."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
import unicodedata
from collections import UserDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

SMALL = 1000
"""Maximum number of elements of an array that is static by value."""


class Form(NamedTuple):
    """Form of an array that a program assumes; strides of None mean C order.

    For a list or a tuple of Python numbers, the dtype is their class.
    """

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


class Scope(UserDict[str, Any]):
    """Names in a source, each with its object; an object keeps the name that it got first.

    Attributes
    ----------
    data : dict
        The names themselves, a plain dict: name lookup in other mappings is slow.
    recipes : dict
        For a name, the factory and the arguments that made its object, if known.
    threads : int
        How many threads a program may run on.
    fits : callable or None
        Takes a list of forms; returns a function that takes arrays and lists of numbers, and
        returns whether they have these forms. It is faster than the checks in Python.
    save : callable or None
        Writes the program under a name to a folder, for targets with their own file format.
    locals : set of str
        Names of values in the source so far, which no object may get.
    """

    def __init__(self) -> None:
        super().__init__()
        self["__name__"] = __name__  # `shown_class` reads the module of the caller
        self._names: dict[Any, str] = {}
        self._kept: list[Any] = []
        self._counts: dict[str, int] = {}
        self.recipes: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self.threads = 1
        self.fits: Callable[[list[Form]], Callable[..., bool]] | None = None
        self.save: Callable[[str, Path], None] | None = None
        self.locals: set[str] = set()

    def made(self, factory: Any, args: tuple[Any, ...], hint: str) -> str:
        """Return the name of the result of a factory, cached by factory and arguments."""
        key = factory, args
        found = self._names.get(key)
        if found is None:
            found = self.name(factory(*args), hint, key)
            self.recipes[found] = key
        return found

    def name(self, x: Any, hint: str, key: Any = None) -> str:
        """Return the name of an object, by default by its identity."""
        key = ("id", id(x)) if key is None else key
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = self.unused(identifier(hint), x)
            self._kept.append(x)
            self.data[found] = x
        return found

    def named(self, x: Any) -> str:
        """Return the name of a function or a class, which is its own unless that is taken."""
        return self.name(x, x.__name__)

    def unused(self, hint: str, x: Any = None) -> str:
        """Return a name for x that no other object, no value and no other builtin has.

        Functions that a saved module contains beside the program call builtins by their names.
        """
        name, n = hint, self._counts.get(hint, 1)
        while name in self.data or name in self.locals or getattr(builtins, name, x) is not x:
            n += 1
            name = f"{hint}_{n}"
        self._counts[hint] = n
        return name


def count_in(name: str) -> int:
    """Return the number in a name like ``v7``, or 0; new names are numbered after it."""
    found = re.fullmatch("v([0-9]{1,12})", name)
    return int(found[1]) if found else 0


def constant_name(of: str | None, n: int, values: Iterable[Any]) -> str:
    """Return a name for the nth constant array that differs from the names of all values."""
    name = f"c{n}" if of is None else f"{of}_c{n}"
    while any([x.name == name for x in values]):
        name = f"{name}_"
    return name


@functools.lru_cache(maxsize=256)
def name_of_dtype(dtype: Any) -> str:
    """Return the name of a dtype, cached: NumPy takes 5 us to compute it."""
    return str(dtype.name)


@functools.lru_cache(maxsize=1024)
def identifier(text: str) -> str:
    """Return a text as a Python identifier that can be assigned to.

    The text is normalised as Python normalises identifiers; keywords and names that every module
    has get an underscore.
    """
    name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text))
    if not name.isidentifier():
        name = f"_{name}"
    taken = keyword.iskeyword(name) or name in ("__builtins__", "__debug__", "__name__")
    return f"{name}_" if taken else name
