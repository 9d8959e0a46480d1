"""Names that the source of a program sees, each with its object."""

from __future__ import annotations

import functools
import keyword
import re
import unicodedata
from collections import UserDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

SMALL = 1000
"""Arguments of at most so many elements are static by value, where they have to be static."""


class Form(NamedTuple):
    """What a program assumes of an array: where strides are None, that it is in C order.

    Of a list or a tuple of so many of Python's numbers the dtype is their class.
    """

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


class Scope(UserDict[str, Any]):
    """Names that a source sees, each with an object; what a name was asked for is remembered.

    Attributes
    ----------
    data : dict
        The names themselves, a plain dict: of another Python looks up names slowly.
    recipes : dict
        By a name how its object is made, where that was said.
    threads : int
        How many threads a program may run on.
    fits : callable or None
        Makes a function of arrays, and lists of numbers, of their forms, which tells whether they
        have these; a writer may know a faster one than the expressions of Python.
    save : callable or None
        Writes the program under a name to a folder, where the target has a form of its own.
    locals : set of str
        Names of values in the source so far, which no object gets.
    """

    def __init__(self) -> None:
        super().__init__()
        self["__name__"] = __name__  # values that are traced show libraries their own class
        self._names: dict[Any, str] = {}
        self._kept: list[Any] = []
        self._counts: dict[str, int] = {}
        self.recipes: dict[str, tuple[Any, tuple[Any, ...]]] = {}
        self.threads = 1
        self.fits: Callable[[list[Form]], Callable[..., bool]] | None = None
        self.save: Callable[[str, Path], None] | None = None
        self.locals: set[str] = set()

    def made(self, factory: Any, args: tuple[Any, ...], hint: str) -> str:
        """Return the name of what a factory makes, which is remembered by how it is made."""
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
            base = found = identifier(hint)
            n = self._counts.get(base, 1)
            known = self.data
            while found in known or found in self.locals:
                n += 1
                found = f"{base}_{n}"
            self._counts[base] = n
            self._names[key] = found
            self._kept.append(x)
            known[found] = x
        return found


def count_in(name: str) -> int:
    """Return the number of a result that a name is as of, from which on others are counted."""
    found = re.fullmatch("v([0-9]{1,12})", name)
    return int(found[1]) if found else 0


def constant_name(of: str | None, n: int, values: Iterable[Any]) -> str:
    """Return the name of the nth array that nobody noted, which none of some values has."""
    name = f"c{n}" if of is None else f"{of}_c{n}"
    while any([x.name == name for x in values]):
        name = f"{name}_"
    return name


@functools.lru_cache(maxsize=256)
def name_of_dtype(dtype: Any) -> str:
    """Return the name of a dtype, which NumPy takes 5 us to put together."""
    return str(dtype.name)


@functools.lru_cache(maxsize=1024)
def identifier(text: str) -> str:
    """Return a text as a name of Python's, which may be given a value.

    A name that differs from what it is made of cannot stand in a source as it is: Python reads one
    in its normal form, and has keywords, and names that a module has of itself.
    """
    name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", text))
    if not name.isidentifier():
        name = f"_{name}"
    if not name.isidentifier():  # of letters that operations have, and names have not
        name = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"{name}_" if keyword.iskeyword(name) or name in _OF_MODULES else name


_OF_MODULES = ("__builtins__", "__debug__", "__name__")
