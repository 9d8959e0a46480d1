"""Functions that SciPy writes in NumPy's words, of traced values: SciPy's own text is followed.

A copy of a function runs SciPy's code, in which NumPy's names keep traced values: `asarray` leaves
them as they are, and arrays that `zeros` makes take them. Whatever it calls of SciPy's is ours
where we have it, and copied so too where not. So there is no second text that could differ from
SciPy's, and the derivative is that of its steps. What SciPy computes in C, or by looking at plain
numbers, refuses traced values as ever.
"""

from __future__ import annotations

import cmath
import functools
import importlib
import inspect
import math
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from chainrules_py.extend import shortcuts
from chainrules_scipy._private import is_numpy
from chainrules_scipy.installing import (
    is_traced,
    original,
    place_constructor,
    place_method,
    standing,
)
from chainrules_scipy.keeping import BUILTINS, HELPERS, INSTEAD, Either, beside, fields, ours_for
from chainrules_scipy.recorded import HOLDS
from chainrules_scipy.rows import stands_for

_classes: dict[type, dict[str, Any]] = {}


def follow(native: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """Have SciPy's own text stand for a function of SciPy's, of traced values.

    Parameters
    ----------
    native : callable
        The function, which SciPy writes in Python.
    **instead
        By their names there, what its module uses in place of SciPy's.

    Returns
    -------
    callable
        The function, of traced values too.

    Examples
    --------
    >>> import scipy.linalg
    >>> from chainrules_tape import grad
    >>> helmert = follow(scipy.linalg.fiedler)
    >>> print(grad(lambda x: helmert(x)[0, 1])(np.array([3.0, 1.0])))
    [ 1. -1.]
    """

    @functools.wraps(native)
    def function(*args: Any, **options: Any) -> Any:
        with beside((args, options)):
            copied = followed(inspect.unwrap(native) if instead else native, **instead)
            return copied(*args, **options)

    function.__doc__ = f"Compute SciPy's `{native.__name__}`, of traced values too."
    return stands_for(native)(function)


def follow_all(module: ModuleType, *names: str) -> dict[str, Any]:
    """Follow several functions of a module, those that this version of SciPy has."""
    return {name: follow(getattr(module, name)) for name in names if hasattr(module, name)}


def followed_module(name: str) -> Any:
    """Return a module of SciPy's, of which all functions are followed."""
    return _module(importlib.import_module(name))


def instead_of(native: Any, function: Any) -> None:
    """Have copies call a function of ours, where SciPy calls one that it computes in C, if any."""
    if native is not None:
        INSTEAD[native] = function


def with_shortcuts(owner: Any, *names: str) -> None:
    """State functions whose text takes another formula where a parameter is one number."""
    for name in names:
        with_shortcut(f"{owner.__name__}.{name}", getattr(owner, name))


def with_shortcut(name: str, function: Any) -> None:
    """State one such function, if SciPy has it."""
    if function is not None:
        shortcuts[inspect.unwrap(function).__code__] = name


def follow_class(cls: type, *methods: str, constructs: bool = True, **instead: Any) -> Any:
    """Have a subclass be made of traced values, whose methods are SciPy's own text.

    Parameters
    ----------
    cls : type
        SciPy's class, which is written in Python.
    *methods
        Those that take traced values when what the class was made of is plain.
    constructs : bool
        Whether the class is made of traced values; else SciPy alone makes instances.
    **instead
        As in `follow`.

    Returns
    -------
    callable
        Makes an instance of the class, or of the subclass.
    """
    _classes[cls] = instead

    @functools.wraps(cls, updated=())
    def make(*args: Any, **options: Any) -> Any:
        with beside((args, options)):
            return (followed_class if is_traced((*args, *options.values())) else _same)(cls)(
                *args, **options
            )

    make.__doc__ = f"Make SciPy's `{cls.__name__}`, of traced values too."

    def of_class(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def function(*args: Any, **options: Any) -> Any:
            with beside((args, options)):
                return getattr(followed_class(cls), name)(*args, **options)

        return function

    def of_traced(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def method(self: Any, *args: Any, **options: Any) -> Any:
            made = of_followed(self)
            with beside((args, options)):
                return getattr(made, name)(*args, **options)

        return method

    if constructs:
        place_constructor(cls, make)
    for name in methods:
        is_static = isinstance(vars(cls).get(name), staticmethod)
        place_method(cls, (of_class if is_static else of_traced)(name), name)
        if is_static:
            setattr(make, name, of_class(name))
    return make


_ENTRIES = ("__init__", "__call__")


def _entry(copy: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method begin a call: new arrays are made beside what it was given, and has."""

    @functools.wraps(copy)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        with beside((args, options, fields(self))):
            return copy(self, *args, **options)

    return method


def of_followed(x: Any) -> Any:
    """Return an instance as one of the subclass that follows SciPy's text, and so what it holds."""
    if isinstance(x, ModuleType):
        return _module(x)
    if type(x) is list:
        return list(map(of_followed, x))
    kind: Any = type(x)
    if kind not in _classes:
        return x
    made = object.__new__(followed_class(kind))
    for name, item in fields(x).items():
        setattr(made, name, of_followed(item))
    return made


def _same(cls: type) -> type:
    return cls


def followed(function: Any, **instead: Any) -> Any:
    """Return the copy of a Python function in which names keep traced values."""
    return _names(function.__globals__, **instead).copied(function)


@functools.cache
def followed_class(cls: type) -> Any:
    """Return a subclass, whose methods are copies that keep traced values, and so its bases'."""
    instead = _classes.get(cls, {})
    body: dict[str, Any] = {"__module__": cls.__module__, "__new__": _plainly, HOLDS: True}
    if not cls.__dictoffset__:
        body["__slots__"] = ()
    for name, theirs in vars(cls).items():
        if isinstance(theirs, FunctionType) and name != "__new__":
            copy = followed(original(theirs), **instead)
            body[name] = copy if name[0] == "_" and name not in _ENTRIES else _entry(copy)
        elif isinstance(theirs, property) and theirs.fget is not None:
            body[name] = property(followed(theirs.fget, **instead), theirs.fset)
        elif isinstance(theirs, staticmethod) and name != "__new__":
            body[name] = staticmethod(followed(original(theirs.__func__), **instead))
    body |= {name: f for name, f in instead.items() if name in body}
    # So that ``super()`` of SciPy's class, which its methods ask, finds the copies of its base.
    bases = [followed_class(b) for b in cls.__bases__ if b.__module__.startswith("scipy.")]
    return type(cls.__name__, (cls, *bases), body)


def _plainly(made: Any, /, *_: Any, **__: Any) -> Any:
    return object.__new__(made.followed if isinstance(made, _Class) else made)


class _Class:
    """A class of SciPy's, as copies see it: they make instances that keep traced values."""

    def __init__(self, theirs: type) -> None:
        self.theirs, self.followed = theirs, followed_class(theirs)
        vars(self)["__new__"] = _plainly

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.followed(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.followed, name)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.theirs)

    def __or__(self, other: Any) -> Any:
        return Either((self, other))


class _Names(dict[str, Any]):
    """The names of a module, as copies see them: each is looked up when it is first used."""

    def __init__(self, theirs: dict[str, Any], instead: dict[str, Any]) -> None:
        super().__init__(instead, __builtins__=BUILTINS, __name__=theirs["__name__"])
        self.theirs = theirs
        self.copies: dict[FunctionType, FunctionType] = {}

    def __missing__(self, name: str) -> Any:
        self[name] = found = self.kept(self.theirs[name])
        return found

    def kept(self, value: Any) -> Any:
        """Return what stands for something of SciPy's or NumPy's in a copy."""
        if type(value) is tuple:
            return self._kept_items(value)
        try:
            known = ours_for(value) or standing(value)
        except TypeError:  # of what has no hash
            return self._kept_items(value)
        if known is not None:
            return known
        if isinstance(value, ModuleType):
            return _module(value)
        if value in _classes:
            return _Class(value)
        if isinstance(value, FunctionType) and value.__globals__["__name__"].startswith("scipy."):
            names = self if value.__globals__ is self.theirs else _names(value.__globals__)
            return names.copied(value)
        return value

    def _kept_items(self, value: Any) -> Any:
        """Return a table of functions with their copies; other things as they are."""
        if type(value) is dict and value and not isinstance(value, _Names):
            return {key: self.kept(item) for key, item in value.items()}
        if type(value) is list:
            return [self.kept(item) for item in value]
        if type(value) is tuple:
            return tuple([self.kept(item) for item in value])
        return value

    def copied(self, function: FunctionType) -> FunctionType:
        """Copy a function, and what it is made of."""
        if function not in self.copies:
            cells = tuple(CellType() for _ in function.__closure__ or ())
            copy = FunctionType(
                function.__code__, self, function.__name__, function.__defaults__, cells
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            copy.__dict__.update(vars(function))
            self.copies[function] = copy
            free = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            for cell, (name, theirs) in zip(cells, free, strict=True):
                known = theirs.cell_contents
                cell.cell_contents = known if name == "__class__" else self.kept(known)
        return self.copies[function]


_known: dict[tuple[int, tuple[tuple[str, Any], ...]], _Names] = {}


def _names(theirs: dict[str, Any], **instead: Any) -> _Names:
    key = id(theirs), tuple(sorted(instead.items(), key=lambda item: item[0]))
    return _known.setdefault(key, _Names(theirs, instead)) if key not in _known else _known[key]


class _Module:
    """A module of SciPy's or NumPy's, as copies see it."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.__name__ = module, module.__name__
        self.names = _names(vars(module))

    def __getattr__(self, name: str) -> Any:
        found = self.names.kept(getattr(self.module, name))
        setattr(self, name, found)
        return found


def numpy_with(**instead: Any) -> Any:
    """Return NumPy as copies see it, with other functions under some names."""
    made = _Module(np)
    vars(made).update(instead)
    return made


_numpy: Any = np


@functools.cache
def _module(module: Any) -> Any:
    if is_numpy(module):
        return _module(_numpy)
    if module in (cmath, math) or module.__name__.split(".")[0] in ("numpy", "scipy"):
        return _Module(module)
    return module


HELPERS["array_namespace"] = lambda *_, **__: _module(_numpy)
