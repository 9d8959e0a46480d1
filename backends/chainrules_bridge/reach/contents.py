"""Contents: what a value holds, by its class, and what a function looks up."""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import types
from typing import Any

from chainrules_bridge.reach.names import (
    ANY,
    NO_NAMES,
    Names,
    globals_of,
    names_in,
)
from chainrules_bridge.reach.objects import of_c
from chainrules_py.extend import HEAP_TYPE, attributes, cells, forgets, is_library, slots
from chainrules_py.extend import see as see_class

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def names_of(f: Any) -> Names:
    """Return the names that a function uses; none if it is a library's, or no function."""
    known = type(f) is types.FunctionType and not is_of_library(f)
    return names_in(f.__code__) if known else NO_NAMES


def is_of_library(f: types.FunctionType) -> bool:
    """Tell whether a function is installed, rather than part of somebody's program."""
    return is_library(f.__globals__.get("__name__", "__main__"))


def looked_up(f: types.FunctionType) -> dict[str, Any]:
    """Return what a function has captured, its defaults, and the globals that its code names."""
    code = f.__code__
    found = cells(f)
    given, n = f.__defaults__, code.co_argcount
    if given:
        found |= dict(zip(code.co_varnames[n - len(given) : n], given, strict=True))
    if f.__kwdefaults__:
        found |= f.__kwdefaults__
    return found if is_of_library(f) else found | globals_of(f)


def imported(f: types.FunctionType) -> dict[str, Any]:
    """Return the loaded modules that code of a function may import when it is called."""
    home = f.__globals__.get("__package__") or ""
    found = dict[str, Any]()
    for text in names_of(f).imports:
        name = str(f.__globals__.get("__name__")) if text == "__name__" else text
        for around in ("", *itertools.accumulate(home.split("."), "{}.{}".format)):  # if relative
            module = sys.modules.get(f"{around}.{name}".strip("."))
            if type(module) is types.ModuleType and not is_library(module.__name__):
                found[module.__name__] = module
    return found


def members(cls: type) -> dict[str, Any]:
    """Return what a class defines itself, and its bases, if people have defined some of them."""
    found = dict(vars(cls))
    if not all([is_library(base.__module__) for base in cls.__bases__]):
        found["__bases__"] = cls.__bases__
    found.pop("__eq__" if "__dataclass_fields__" in found else "", None)  # which compares all
    return found


def of_module(x: types.ModuleType) -> dict[str, Any]:
    """Return what a module defines: not what imported it, which under pytest holds the session."""
    return {n: y for n, y in vars(x).items() if n not in ("__loader__", "__spec__")}


def of_object(x: Any) -> dict[str, Any]:
    """Return the attributes of an object, and its class, if it may be given another."""
    return attributes(x) | ({"__class__": type(x)} if type(x).__dictoffset__ else {})


def of_library(x: Any) -> dict[str, Any]:
    """Return the attributes of a library's object, with those that its class has for it."""
    return {**inherited(x.__class__), **of_object(x)}


@functools.cache
def inherited(cls: type) -> dict[str, Any]:
    """Return what libraries' classes say of all their objects: their data, and no code."""
    found = dict[str, Any]()
    for base in reversed(cls.__mro__[:-1]):
        if is_library(base.__module__):
            for name, y in vars(base).items():
                found.pop(name, None)
                code = callable(y) or hasattr(y, "__get__") or name == "_abc_impl"
                if name[:2] != "__" and not code:
                    found[name] = y
    return found


def of_extension(x: Any) -> dict[str, Any]:
    """Return the attributes of an object that are written in C: what it is told to hold."""
    found, cls = dict[str, Any](), type(x)
    for name in told(cls):  # type: ignore[arg-type]  # classes are hashable
        with contextlib.suppress(Exception):  # of a library, for a reason of its own
            y = getattr(x, name)
            if y is getattr(x, name) or issubclass(type(y), PLAIN):
                found[name] = y
    return found


@functools.cache
def told(cls: type) -> frozenset[str]:
    """Return the names of a class's attributes that are written in C, and are no slots."""
    slotted = {member.__name__ for member in slots(cls)}
    return of_c(cls) - slotted - {"__class__", "__dict__", "__weakref__"}


@functools.cache
def is_of_c(cls: type) -> bool:
    """Tell whether objects of a class hold what changes, and that somewhere in C.

    Not if they are equal by value, for then they do not change; nor if they are code, or wait.
    """
    hashed: Any = cls.__hash__
    by_value = hashed not in (None, object.__hash__)
    calls = any(["__call__" in vars(base) for base in cls.__mro__])
    if by_value or calls or cls is object:
        return False
    in_c = [not vars(base).keys() & {"__dict__", "__slots__"} for base in cls.__mro__[:-1]]
    return any(in_c) and not hasattr(cls, "__next__") and cls.__module__ != "_thread"


@functools.cache
def counts_whole(cls: type) -> bool:
    """Tell whether all attributes of a class's objects count, whatever code names.

    Libraries may look up any of their own objects': in functions of their own, and in C. So they
    may of objects of people's classes, where these inherit what compares, shows or lists them.
    """
    if is_library(cls.__module__):
        return bool(cls.__flags__ & HEAP_TYPE) or "__call__" not in vars(cls)  # a ufunc is code
    for base in cls.__mro__[:-1]:
        if is_library(base.__module__) and not issubclass(base, BaseException):
            named = "__dict__" in vars(base) and not base.__flags__ & HEAP_TYPE
            members = vars(base).items()
            in_c = [type(f).__name__ == "cython_function_or_method" for _, f in members]
            if named or any(in_c):
                return True
            codes = [code_of(f) for n, f in members if n in _WHOLLY]
            if any([ANY in names_in(code).attributes for code in codes if code is not None]):
                return True
    return False


_WHOLLY = {"__eq__", "__ne__", "__lt__", "__hash__", "__repr__", "__str__", "__iter__", "__len__"}
"""Methods that may look at all that an object holds."""
_ASKED = {"__del__", "__setattr__", "__delattr__", "__setitem__", "__delitem__"}
_ASKED |= {"__set__", "__delete__"}
"""Methods that Python calls by itself, but for no value: they count where they are named."""


def called_by_python(cls: type) -> frozenset[str]:
    """Return the methods of a class that run without being named, less those `dataclass` wrote.

    Libraries call those that stand in place of their own.
    """
    found, theirs = vars(cls), [b for b in cls.__mro__[1:-1] if is_library(b.__module__)]
    names = [n for n in found if n[:2] == n[-2:] == "__" and n not in _ASKED]
    names += [n for n in found if n[:2] != "__" and any([n in vars(base) for base in theirs])]
    names = [n for n in names if callable(found[n]) or isinstance(found[n], classmethod)]
    if "__dataclass_fields__" in found:
        codes = {n: getattr(code_of(found[n]), "co_filename", "") for n in names}
        names = [n for n in names if codes[n] != "<string>"]
    return frozenset(names)


def code_of(f: Any) -> types.CodeType | None:
    """Return the code of a function, behind `reprlib.recursive_repr` and its like."""
    return getattr(getattr(f, "__wrapped__", f), "__code__", None)


@functools.cache
def library_names(cls: type) -> frozenset[str]:
    """Return the names that libraries' own methods of a class use."""
    found = {"__wrapped__", "__bases__"}
    for base in cls.__mro__[:-1]:
        if is_library(base.__module__):
            for member in vars(base).values():
                f = getattr(member, "fget", None) or getattr(member, "__func__", member)
                found.update(getattr(getattr(f, "__code__", None), "co_names", ()))
    return frozenset(found)


@functools.cache
def see(cls: type) -> None:
    """Have the library of a class say whose memory its arrays are."""
    see_class(None, (cls,))


forgets(lambda: (counts_whole, inherited, is_of_c, library_names, see, told))
