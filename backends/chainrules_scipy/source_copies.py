"""Functions that SciPy writes in NumPy's operations: copies of their code keep traced values."""

from __future__ import annotations

import builtins
import cmath
import functools
import importlib
import inspect
import math
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py import register_structure
from chainrules_py.extend import Tracer, advise, closed, shortcuts
from chainrules_scipy._private import helper_name, is_numpy
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    plainly,
    readable,
    reject,
    stands_for,
)
from chainrules_scipy.host_computation import in_our_words, run
from chainrules_scipy.installation import (
    HOLDS,
    is_asked_again,
    original,
    place_constructor,
    place_method,
    public_module,
    standing,
    taken_from,
)

_state = threading.local()


@contextmanager
def beside(arguments: Any) -> Iterator[None]:
    """Make new arrays in a call like its traced values, so that these can be written to them."""
    before = getattr(_state, "model", None)
    # An array of the innermost differentiation takes the values of all others.
    _state.model = max(
        traced((before, arguments)), key=lambda x: getattr(x, "level", -1), default=None
    )
    try:
        with in_our_words(arguments):
            yield
    finally:
        _state.model = before


def traced(x: Any) -> Iterator[Any]:
    """Yield the traced values in a tree of arguments; beside them, values that are recorded."""
    if isinstance(x, Tracer) or (getattr(_state, "model", None) is not None and is_asked_again(x)):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from traced(item)
    elif isinstance(x, dict):
        yield from traced(tuple(x.values()))
    elif hasattr(type(x), HOLDS):
        yield from traced(fields(x))
    elif isinstance(x, FunctionType) and not str(x.__module__).startswith("scipy."):
        yield from traced(getattr(closed(x), "captured", ()))


def fields(x: Any) -> dict[str, Any]:
    """Return the attributes of an instance, from its dictionary and its slots."""
    slots = [name for c in type(x).__mro__ for name in vars(c).get("__slots__", ())]
    return getattr(x, "__dict__", {}) | {n: getattr(x, n) for n in slots if hasattr(x, n)}


def _array(x: Any, dtype: Any = None, *_: Any, copy: Any = True, ndmin: int = 0, **__: Any) -> Any:
    """Make an array; traced values remain traced."""
    if next(traced(x), None) is None:
        return np.array(x, dtype, ndmin=ndmin) if copy else np.asarray(x, dtype)
    y = array_of(x, floating=False)
    y = y.copy() if copy else y
    y = y if y.ndim else v.reshape(y[None], shape=())  # an array in place of a number
    if dtype is not None and y.dtype != dtype and np.dtype(dtype).kind in "fc":
        y = v.astype(y, dtype=np.dtype(dtype))
    return y if y.ndim >= ndmin else y.reshape((1,) * (ndmin - y.ndim) + y.shape)


def _asarray(x: Any, dtype: Any = None, *_: Any, copy: Any = None, **__: Any) -> Any:
    return _array(x, dtype, copy=bool(copy))


def _made(native: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that creates arrays to which traced values can be written."""

    @functools.wraps(native)
    def made(*args: Any, **options: Any) -> Any:
        y = native(
            *map(readable, args), **{k: readable(x) for k, x in options.items() if k != "device"}
        )
        model = getattr(_state, "model", None)
        if model is None or y.dtype.kind not in "fc":
            return y
        # A sum without axes would be a number.
        like = np.zeros(y.shape or 1, y.dtype, like=model) + y
        return like if y.ndim else v.reshape(like, shape=())

    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> Any:
    fill_value = (
        array_of(fill_value, floating=False) if isinstance(fill_value, Tracer) else fill_value
    )
    y = _made(np.zeros)(
        shape, dtype or np.result_type(getattr(fill_value, "dtype", type(fill_value)))
    )
    written = y.dtype.kind in "fc" and next(traced((y, fill_value)), None) is not None
    return y + fill_value if written else np.full(shape, fill_value, dtype)


def _masked(x: Any) -> Any:
    """Mask NaN, by which some functions leave them out; a masked array holds plain numbers."""
    if next(traced(x), None) is not None:
        reject("nan_policy='omit' has no derivative here: leave it out, and write x[~np.isnan(x)]")
    return np.ma.masked_invalid(x)


class _At:
    """The index at which an array is written to, as in array_api_extra."""

    def __init__(self, x: Any, where: Any = None) -> None:
        self.x, self.where = x, where

    def __getitem__(self, where: Any) -> _At:
        return _At(self.x, where)

    def _written(self, y: Any, copy: Any = None, **_: Any) -> Any:
        """Write in place, as SciPy does, where the array takes y: some callers drop the result."""
        takes = issubclass(type(self.x), Tracer) or (
            not issubclass(type(y), Tracer) and self.x.flags.writeable
        )
        x = self.x if takes and self.x.ndim and not copy else self.x.copy()
        if not x.ndim:
            return v.where(self.where, v.reshape(array_of(y), shape=()), x) if np.size(y) else x
        if issubclass(type(y), Tracer) and x is not self.x:
            pattern, arrays = v.Index.split(self.where)
            return v.put_at(x.astype(np.result_type(x, y.dtype)), y, *arrays, index=pattern)
        x[self.where] = y
        return x

    set = _written

    def __getattr__(self, name: str) -> Any:
        # Add, subtract, multiply or divide.
        return lambda y, **how: self._written(getattr(np, name)(self.x[self.where], y), **how)


class _Class:
    """A class as copies see it: it makes instances that keep traced values, and recognises them.

    Parameters
    ----------
    has : callable
        Returns whether something is an instance.
    make : callable, optional
        Makes an instance.
    **names
        Attributes; others are those of ``make``.
    """

    def __init__(self, has: Callable[[Any], Any], make: Any = None, **names: Any) -> None:
        vars(self).update(names, has=has, make=make)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.make(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.make, name)

    def __instancecheck__(self, x: Any) -> bool:
        return bool(self.has(x))

    def __or__(self, other: Any) -> _Class:
        either: Any = self, other
        return _Class(lambda x: isinstance(x, either))

    __ror__ = __or__


class _Joined:
    """``np.r_``, which makes an array of objects of traced values."""

    def __getitem__(self, key: Any) -> Any:
        if next(traced(key), None) is None:
            return np.r_[key]
        return np.concatenate(
            [
                np.atleast_1d(array_of(np.r_[x] if isinstance(x, slice) else x, floating=False))
                for x in (key if isinstance(key, tuple) else (key,))
            ]
        )


def _number(cls: Any, read: Callable[[Any], Any]) -> _Class:
    """Return a class of numbers that reads traced values instead of making plain ones."""
    make = lambda x=0: read(x) if isinstance(x, Tracer) else cls(x)
    return _Class(
        lambda x: isinstance(x, cls) and not isinstance(x, Tracer), make, dtype=np.dtype(cls)
    )


# NumPy's class of floats, which converts arrays to arrays.
FLOAT64 = _number(np.float64, array_of)


_PYTHONS = {
    cls.__name__: _number(cls, lambda x: v.reshape(array_of(x), shape=()))
    for cls in (float, complex)
}

_WINDOWS: Any = np.lib.stride_tricks.sliding_window_view

# Replacements in copies for functions of NumPy, and for public ones of SciPy.
INSTEAD: dict[Any, Any] = {
    np.ndarray: _Class(
        lambda x: isinstance(x, np.ndarray) or (isinstance(x, Tracer) and not np.isscalar(x))
    ),
    np.lexsort: lambda keys, axis=-1: np.lexsort(plainly(keys), axis),
    np.repeat: lambda x, counts, axis=None: np.repeat(x, plainly(counts), axis),
    np.array: _array,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.ascontiguousarray: _asarray,
    np.asfortranarray: _asarray,
    np.asarray_chkfinite: lambda x, *args, **options: (
        x if isinstance(x, Tracer) else np.asarray_chkfinite(x, *args, **options)
    ),
    np.require: _asarray,
    np.r_: _Joined(),
    np.zeros: _made(np.zeros),
    np.empty: _made(np.zeros),
    np.ones: _made(np.ones),
    np.eye: _made(np.eye),
    np.zeros_like: _made(np.zeros_like),
    np.empty_like: _made(np.zeros_like),
    np.ones_like: _made(np.ones_like),
    _WINDOWS: lambda x, *args, writeable=False, **options: (
        _WINDOWS if isinstance(x, Tracer) else _made(_WINDOWS)
    )(x, *args, **options),
    np.real: lambda x: array_of(x).real + 0.0 if isinstance(x, Tracer) else np.real(x),
    np.pad: lambda x, *widths, **how: np.pad(  # a plain image takes a traced value around it
        x if next(traced(how), None) is None else x + _made(np.zeros)((), x.dtype), *widths, **how
    ),
    np.ma.masked_invalid: _masked,
    np.full: _full,
    np.clip: lambda x, /, min=None, max=None, **_: np.clip(x, min, max),  # noqa: A006 - their names
    np.broadcast_to: lambda x, shape, **_: np.broadcast_to(x, shape),
    np.extract: lambda where, x: x[np.asarray(where, bool)],
    np.place: lambda x, where, y: x.__setitem__(np.asarray(where, bool), y),
    np.astype: lambda x, dtype, **_: x.astype(dtype),
} | {
    f: lambda *xs, f=f, g=g: (f if next(traced(xs), None) is None else g)(*xs)
    for name, f in (*vars(cmath).items(), *vars(math).items())
    if callable(f) and hasattr(np, name) and name not in ("gcd", "lcm", "prod")
    for g in [getattr(np, name)]
}
# Replacements in copies for functions in SciPy's private packages, by their names.
HELPERS: dict[str | None, Any] = {
    "at": _At,
    "is_array_api_obj": lambda x: isinstance(x, (Tracer, np.ndarray, np.generic)),
    "is_numpy": lambda _: True,
    "is_numpy_namespace": lambda _: True,
    "array_namespace": lambda *_, **__: followed_module("numpy"),
}


_classes: dict[type, tuple[dict[str, Any], tuple[str, ...]]] = {}


def follow(native: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """Replace a SciPy function, for traced values, by a copy of SciPy's own code.

    Parameters
    ----------
    native : callable
        The function, which SciPy writes in Python.
    **instead
        Replacements for SciPy's objects, by their names in its module.

    Returns
    -------
    callable
        The function, for traced values too.

    Examples
    --------
    >>> import scipy.linalg
    >>> from chainrules_tape import grad
    >>> helmert = follow(scipy.linalg.fiedler)
    >>> print(grad(lambda x: helmert(x)[0, 1])(np.array([3.0, 1.0])))
    [ 1. -1.]
    """
    native = original(native)

    def copied(*args: Any, **options: Any) -> Any:
        with beside((args, options)):
            return followed(inspect.unwrap(native) if instead else native, **instead)(
                *args, **options
            )

    @functools.wraps(native)
    def function(*args: Any, **options: Any) -> Any:
        return run(copied, args, options)

    return stands_for(native, says=f"Compute SciPy's `{native.__name__}`, of traced values too.")(
        function
    )


def follow_all(module: ModuleType, *names: str) -> dict[str, Any]:
    """Follow several functions of a module, as far as this version of SciPy has them."""
    return {name: follow(getattr(module, name)) for name in names if hasattr(module, name)}


def followed_module(name: str) -> Any:
    """Return a module of SciPy in which all functions are followed."""
    return _module(importlib.import_module(name))


def instead_of(native: Any, function: Any) -> None:
    """Make copies call our function in place of one that SciPy computes in C, if there is one."""
    if native is not None:
        INSTEAD[native] = function


def with_shortcuts(*functions: Any) -> None:
    """Register functions whose code uses another formula if a parameter has a certain value."""
    for function in map(inspect.unwrap, functions):
        name = function.__qualname__.removeprefix("_")
        shortcuts[function.__code__] = f"{public_module(function)}.{name}"


def follow_class(cls: type, *methods: str, constructs: bool = True, **instead: Any) -> Any:
    """Make a class construct a subclass from traced values, whose methods copy SciPy's code.

    Parameters
    ----------
    cls : type
        SciPy's class, which is written in Python.
    *methods
        Methods that take traced values on an instance that was made of plain ones.
    constructs : bool
        Whether traced values construct the class; otherwise only SciPy makes instances.
    **instead
        As in `follow`.

    Returns
    -------
    callable
        A function that makes an instance of the class, or of the subclass.
    """
    _classes[cls] = instead, methods

    @functools.wraps(cls, updated=())
    def make(*args: Any, **options: Any) -> Any:
        with beside((args, options)):  # of plain values too: methods may be given traced ones
            return followed_class(cls)(*args, **options)

    make.__doc__ = f"Make SciPy's `{cls.__name__}`, of traced values too."

    def by_text(name: str, is_static: bool) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def function(*args: Any, **options: Any) -> Any:
            with beside((args, options)):
                return getattr(followed_class(cls) if is_static else of_followed(args[0]), name)(
                    *args[not is_static :], **options
                )

        return function

    if constructs:
        place_constructor(cls, make)
    vars(make).update(
        {name: by_text(name, True) for name, x in vars(cls).items() if isinstance(x, classmethod)}
    )
    for name in methods:
        is_static = isinstance(vars(cls).get(name), staticmethod)
        place_method(cls, by_text(name, is_static), name)
        if name in vars(cls):  # not of a base class, which others have too
            advise(getattr(cls, name), taken_from(cls))
        if is_static:
            setattr(make, name, by_text(name, True))
    return make


_ENTRIES = ("__init__", "__call__")


def _entry(copy: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method begin a call, with new arrays like its arguments and its attributes."""

    @functools.wraps(copy)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        with beside((args, options, fields(self))):
            return copy(self, *args, **options)

    return method


def of_followed(x: Any) -> Any:
    """Return an instance as one of the subclass that follows SciPy, with attributes likewise."""
    if isinstance(x, ModuleType):  # what a rotation computes with, which may be in Cython
        return followed_module(x.__name__.replace("_cy", "_xp"))
    if type(x) is list:
        return list(map(of_followed, x))
    kind: Any = type(x)
    if kind not in _classes:
        return x
    made = object.__new__(followed_class(kind))
    for name, item in fields(x).items():
        setattr(made, name, of_followed(item))
    return made


def followed(function: Any, **instead: Any) -> Any:
    """Return the copy of a Python function whose names keep traced values."""
    return _names(function.__globals__, **instead).copied(function)


@functools.cache
def followed_class(cls: type) -> Any:
    """Return a subclass whose methods, and those of its bases, are copies for traced values."""
    instead, methods = _classes.get(cls, ({}, ()))
    body: dict[str, Any] = {"__module__": cls.__module__, "__new__": _plainly, HOLDS: True}
    if not cls.__dictoffset__:
        body["__slots__"] = ()
    # Inherited methods too, as the class has others under their names while installed.
    for name, theirs in ({m: getattr(cls, m) for m in methods} | dict(vars(cls))).items():
        if isinstance(theirs, FunctionType) and name != "__new__":
            copy = followed(original(theirs), **instead)
            body[name] = copy if name[0] == "_" and name not in _ENTRIES else _entry(copy)
        elif isinstance(theirs, property) and theirs.fget is not None:
            body[name] = property(followed(theirs.fget, **instead), theirs.fset)
        elif isinstance(theirs, staticmethod) and name != "__new__":
            body[name] = staticmethod(followed(original(theirs.__func__), **instead))
    body |= {name: f for name, f in instead.items() if name in body}
    # So that ``super()`` in SciPy's methods finds the copies of the base class.
    bases = [followed_class(b) for b in cls.__bases__ if b.__module__.startswith("scipy.")]
    return type(cls.__name__, (cls, *bases), body)


def _plainly(made: Any, /, *_: Any, **__: Any) -> Any:
    return object.__new__(made.make if isinstance(made, _Class) else made)


def register_result(cls: Any, to: Any = None) -> None:
    """Register a class of named tuples with further attributes, rebuilt as its own or another."""

    def rebuilt(x: Any, values: Any) -> Any:
        new: Any = tuple.__new__(to or type(x), values[: len(x)])
        vars(new).update(zip(vars(x), values[len(x) :], strict=True))
        return new

    register_structure(cls, lambda x: [*enumerate(x), *vars(x).items()], rebuilt, hollow=True)


@functools.cache
def _result(cls: Any) -> _Class:
    """Return a class of results that compute an interval later, from traced values too.

    The copies make instances of a subclass; those that leave the differentiation are SciPy's own.
    """
    methods: dict[str, Any] = {
        name: _entry(followed(original(getattr(cls, name))))
        for name in ("__init__", "confidence_interval")
    }
    made = type(cls.__name__, (cls,), methods | {"__module__": cls.__module__})
    register_result(made, cls)
    return _Class(
        lambda x: isinstance(x, cls),
        lambda *xs, **how: (cls if next(traced((xs, how)), None) is None else made)(*xs, **how),
    )


class _Names(dict[str, Any]):
    """The names of a module as copies see them; each is looked up when it is first used."""

    def __init__(self, theirs: dict[str, Any], instead: dict[str, Any]) -> None:
        super().__init__(instead, __builtins__=BUILTINS, __name__=theirs["__name__"])
        self.theirs = theirs
        self.copies: dict[FunctionType, FunctionType] = {}

    def __missing__(self, name: str) -> Any:
        self[name] = found = self.kept(self.theirs[name])
        return found

    def kept(self, value: Any) -> Any:
        """Return the replacement of an object of SciPy or NumPy in a copy."""
        cls: Any = type(value)
        if cls in (list, tuple):
            return cls([self.kept(item) for item in value])
        if cls is dict and value:
            return {key: self.kept(item) for key, item in value.items()}
        if not isinstance(value, Hashable):
            return value
        known = INSTEAD.get(value) or HELPERS.get(helper_name(value)) or standing(value)
        if known is not None:
            return known
        if isinstance(value, ModuleType):
            return value if cls is _Module else _module(value)
        if value in _classes:  # pyright: ignore[reportUnnecessaryContains]
            return _Class(lambda x: isinstance(x, value), followed_class(value), __new__=_plainly)
        if (
            isinstance(value, type)
            and issubclass(value, tuple)
            and hasattr(value, "confidence_interval")
        ):
            return _result(value)
        if isinstance(value, FunctionType) and value.__globals__["__name__"].startswith("scipy."):
            own = value.__globals__ is self.theirs
            return (self if own else _names(value.__globals__)).copied(value)
        return value

    def copied(self, function: FunctionType) -> FunctionType:
        """Copy a function, with the contents of its closure."""
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


_known: dict[tuple[int, tuple[tuple[str, int], ...]], _Names] = {}


def _names(theirs: dict[str, Any], **instead: Any) -> _Names:
    key = id(theirs), tuple(sorted([(name, id(x)) for name, x in instead.items()]))
    return _known.setdefault(key, _Names(theirs, instead)) if key not in _known else _known[key]


class _Module(ModuleType):
    """A module of SciPy or NumPy as copies see it."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.module = module
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


@functools.cache
def _module(module: Any) -> Any:
    if is_numpy(module):
        return _module(np)  # pyright: ignore[reportArgumentType]
    is_copied = module in (cmath, math) or module.__name__.split(".")[0] in ("numpy", "scipy")
    return _Module(module) if is_copied else module


BUILTINS = (
    dict(vars(builtins))
    | _PYTHONS
    # Some of SciPy's functions import others where they call them.
    | {"__import__": lambda name, *how: _module(__import__(name, *how))}
)
