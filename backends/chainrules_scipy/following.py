"""Functions that SciPy writes in NumPy's words, of traced values: SciPy's own text is followed.

A copy of a function runs SciPy's code, in which NumPy's names keep traced values: `asarray` leaves
them as they are, and arrays that `zeros` makes take them. Whatever it calls of SciPy's is ours
where we have it, and copied so too where not. So there is no second text that could differ from
SciPy's, and the derivative is that of its steps. What SciPy computes in C, or by looking at plain
numbers, refuses traced values as ever.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
from scipy._lib import _array_api, _util, array_api_extra
from scipy._lib.array_api_compat import numpy as compatible
from scipy._lib.array_api_compat.common import _helpers

from chainrules_py import vocabulary as v
from chainrules_py.extend import Tracer, closed
from chainrules_scipy.installing import (
    HOLDS,
    is_traced,
    original,
    place_constructor,
    place_method,
    standing,
)
from chainrules_scipy.rows import array_of, readable, stands_for

_state = threading.local()
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
        with _beside((args, options)):
            copied = followed(inspect.unwrap(native) if instead else native, **instead)
            return copied(*args, **options)

    return stands_for(native)(function)


def follow_all(module: ModuleType, *names: str) -> dict[str, Any]:
    """Follow several functions of a module, those that this version of SciPy has."""
    return {name: follow(getattr(module, name)) for name in names if hasattr(module, name)}


def followed_module(name: str) -> Any:
    """Return a module of SciPy's, of which all functions are followed."""
    return _module(importlib.import_module(name))


def instead_of(native: Any, function: Any) -> None:
    """Have copies call a function of ours, where SciPy calls one that it computes in C."""
    _INSTEAD[native] = function


def follow_class(cls: type, *methods: str, **instead: Any) -> Any:
    """Have a subclass be made of traced values, whose methods are SciPy's own text.

    Parameters
    ----------
    cls : type
        SciPy's class, which is written in Python.
    *methods
        Those that take traced values when what the class was made of is plain.
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
        with _beside((args, options)):
            return (followed_class if is_traced((*args, *options.values())) else _same)(cls)(
                *args, **options
            )

    def of_class(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def function(*args: Any, **options: Any) -> Any:
            with _beside((args, options)):
                return getattr(followed_class(cls), name)(*args, **options)

        return function

    def of_traced(name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(cls, name))
        def method(self: Any, *args: Any, **options: Any) -> Any:
            made = _of_followed(self)
            with _beside((args, options)):
                return getattr(made, name)(*args, **options)

        return method

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
        with _beside((args, options, _fields(self))):
            return copy(self, *args, **options)

    return method


def _of_followed(x: Any) -> Any:
    """Return an instance as one of the subclass that follows SciPy's text, and so what it holds."""
    if isinstance(x, ModuleType):
        return _module(x)
    if type(x) not in _classes:
        return x
    made = object.__new__(followed_class(type(x)))
    for name, item in _fields(x).items():
        setattr(made, name, _of_followed(item))
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
        return (self, other)


def _fields(x: Any) -> dict[str, Any]:
    """Return what an instance holds, in a dictionary or in slots."""
    slots = [name for c in type(x).__mro__ for name in vars(c).get("__slots__", ())]
    return getattr(x, "__dict__", {}) | {n: getattr(x, n) for n in slots if hasattr(x, n)}


@contextmanager
def _beside(arguments: Any) -> Iterator[None]:
    """Have new arrays made like what is traced in a call, so that it may be written there."""
    before = getattr(_state, "model", None)
    _state.model = next(_traced(arguments), before)
    try:
        yield
    finally:
        _state.model = before


def _traced(x: Any) -> Iterator[Any]:
    """Go through what is traced in a tree of arguments."""
    if isinstance(x, Tracer):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _traced(item)
    elif isinstance(x, dict):
        yield from _traced(tuple(x.values()))
    elif isinstance(x, FunctionType) and not x.__module__.startswith("scipy."):
        captured = closed(x)
        yield from _traced(getattr(captured, "captured", ()))


class _Names(dict[str, Any]):
    """The names of a module, as copies see them: each is looked up when it is first used."""

    def __init__(self, theirs: dict[str, Any], instead: dict[str, Any]) -> None:
        super().__init__(instead, __builtins__=_BUILTINS, __name__=theirs["__name__"])
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
            known = _INSTEAD.get(value) or standing(value)
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
        if type(value) in (list, tuple):
            return type(value)(self.kept(item) for item in value)
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


@functools.cache
def _module(module: ModuleType) -> Any:
    if module is math or module.__name__.split(".")[0] in ("numpy", "scipy"):
        return _Module(module)
    return module


# --------------------------------------------------------------------- NumPy's names in the copies


def _array(x: Any, dtype: Any = None, *_: Any, copy: Any = True, ndmin: int = 0, **__: Any) -> Any:
    """Make an array, and leave what is traced so."""
    if next(_traced(x), None) is None:
        return np.array(x, dtype, ndmin=ndmin) if copy else np.asarray(x, dtype)
    y = array_of(x, floating=False)
    y = y.copy() if copy else y
    y = y if y.ndim else v.reshape(y[None], shape=())  # an array, and no number any more
    y = y if dtype is None or y.dtype == dtype or np.dtype(dtype).kind not in "fc" else v.astype(y, dtype=np.dtype(dtype))
    return y if y.ndim >= ndmin else y.reshape((1,) * (ndmin - y.ndim) + y.shape)


def _asarray(x: Any, dtype: Any = None, *_: Any, copy: Any = None, **__: Any) -> Any:
    return _array(x, dtype, copy=bool(copy))


def _either(of_numbers: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: (of_numbers if next(_traced(xs), None) is None else function)(*xs)


def _made(native: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that makes arrays, in which what is traced can be written."""

    @functools.wraps(native)
    def made(*args: Any, **options: Any) -> Any:
        y = native(*map(_static, args), **{k: _static(x) for k, x in options.items() if k != "device"})
        model = getattr(_state, "model", None)
        return y if model is None or y.dtype.kind not in "fc" else np.zeros(y.shape, y.dtype, like=model) + y

    return made


def _like(native: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that makes an array like another one, in which what is traced can be written."""

    @functools.wraps(native)
    def made(x: Any, *args: Any, **options: Any) -> Any:
        return _made(native)(_static(x), *args, **options)

    return made


def _static(x: Any) -> Any:
    return readable(x) if isinstance(x, Tracer) else x


def _full(shape: Any, fill: Any, dtype: Any = None, **_: Any) -> Any:
    y = _made(np.zeros)(shape, dtype or np.result_type(getattr(fill, "dtype", type(fill))))
    return y + fill if y.dtype.kind in "fc" else np.full(shape, fill, dtype)


def _arange(*ends: Any, **options: Any) -> Any:
    if next(_traced(ends), None) is None:
        return np.arange(*ends, **options)
    start, step = (0.0 if len(ends) == 1 else ends[0]), (ends[2] if len(ends) == 3 else 1.0)
    return start + step * np.arange(len(np.arange(*map(_static, ends))))


def _asfarray_checked(x: Any, *args: Any, **options: Any) -> Any:
    return x if isinstance(x, Tracer) else np.asarray_chkfinite(x, *args, **options)


def _apply_where(where: Any, args: Any, f1: Any, f2: Any = None, /, *, fill_value: Any = None, **_: Any) -> Any:
    """Compute what holds at each element, of elements of ones where that is not defined."""
    args = [array_of(x) for x in (args if isinstance(args, (tuple, list)) else (args,))]
    where = np.asarray(where)
    if where.all():
        return f1(*args)
    if not where.any() and f2 is not None:
        return f2(*args)
    inside = f1(*[v.where(where, x, _inside(x, where)) for x in args])
    if f2 is None:
        return v.where(where, inside, fill_value)
    return v.where(where, inside, f2(*[v.where(where, _inside(x, ~where), x) for x in args]))


def _inside(x: Any, where: Any) -> Any:
    """Return a value of x where it is inside, for all that are not; or 1."""
    known = np.broadcast_to(readable(x), np.broadcast_shapes(x.shape, where.shape))[np.broadcast_to(where, np.broadcast_shapes(x.shape, where.shape))]
    return known[0] if known.size else np.ones((), x.dtype)


class _Joined:
    """``np.r_`` and ``np.c_`` of arrays and ranges."""

    def __init__(self, native: Any, columns: bool) -> None:
        self.native, self.columns = native, columns

    def __getitem__(self, parts: Any) -> Any:
        parts = parts if isinstance(parts, tuple) else (parts,)
        if next(_traced(parts), None) is None:
            return self.native[parts]
        found = [self.native[x] if isinstance(x, slice) else np.atleast_1d(_asarray(x)) for x in parts]
        if self.columns:
            found = [x if x.ndim > 1 else x[:, None] for x in found]
        return np.concatenate(found, axis=-1 if self.columns else 0)


def _namespace(*_: Any, **__: Any) -> Any:
    return _module(compatible)


def _promoted(*xs: Any, broadcast: bool = False, force_floating: bool = False, xp: Any = None) -> Any:
    """Convert to a common type, as SciPy's ``xp_promote`` does."""
    found = [None if x is None else array_of(x, floating=force_floating) for x in xs]
    dtype = np.result_type(*[x.dtype for x in found if x is not None])
    found = [x if x is None or x.dtype == dtype else v.astype(x, dtype=dtype) for x in found]
    if broadcast:
        shape = np.broadcast_shapes(*[x.shape for x in found if x is not None])
        found = [x if x is None else v.broadcast_to(x, shape=shape) for x in found]
    return found[0] if len(found) == 1 else tuple(found)


class _At:
    """Where an array is written, as array_api_extra has it."""

    def __init__(self, x: Any, where: Any = None) -> None:
        self.x, self.where = x, where

    def __getitem__(self, where: Any) -> _At:
        return _At(self.x, where)

    def _written(self, y: Any, *_: Any, **__: Any) -> Any:
        x = self.x.copy() if not isinstance(y, Tracer) else np.zeros(self.x.shape, np.result_type(self.x.dtype, y.dtype), like=y) + self.x
        if not x.ndim:
            return v.where(self.where, y, x)
        x[self.where] = y
        return x

    set = _written

    def add(self, y: Any, **_: Any) -> Any:
        return self._written(self.x[self.where] + y)

    def multiply(self, y: Any, **_: Any) -> Any:
        return self._written(self.x[self.where] * y)

    def divide(self, y: Any, **_: Any) -> Any:
        return self._written(self.x[self.where] / y)

    def subtract(self, y: Any, **_: Any) -> Any:
        return self._written(self.x[self.where] - y)


class _Number:
    """A class of numbers, which leaves what is traced as it is."""

    def __init__(self, cls: type) -> None:
        self.cls, self.dtype = cls, np.dtype(cls)

    def __call__(self, x: Any = 0) -> Any:
        return v.reshape(x, shape=()) if isinstance(x, Tracer) else self.cls(x)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.cls)

    def __eq__(self, other: Any) -> bool:
        return other is self or other is self.cls

    def __or__(self, other: Any) -> Any:
        return self.cls | other

    __ror__ = __or__

    def __hash__(self) -> int:
        return hash(self.cls)


def _windows(x: Any, *args: Any, writeable: bool = False, **options: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, *args, **options)


_BUILTINS = dict(vars(builtins)) | {"float": _Number(float), "complex": _Number(complex)}

_INSTEAD: dict[Any, Any] = {
    np.array: _array,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.ascontiguousarray: _asarray,
    np.asfortranarray: _asarray,
    np.asarray_chkfinite: _asfarray_checked,
    np.require: _asarray,
    np.zeros: _made(np.zeros),
    np.empty: _made(np.zeros),
    np.ones: _made(np.ones),
    np.eye: _made(np.eye),
    np.zeros_like: _like(np.zeros_like),
    np.empty_like: _like(np.zeros_like),
    np.ones_like: _like(np.ones_like),
    np.lib.stride_tricks.sliding_window_view: _windows,
    np.real: lambda x: x.real + 0.0 if isinstance(x, Tracer) else np.real(x),
    np.full: _full,
    np.arange: _arange,
    compatible.asarray: _asarray,
    compatible.clip: lambda x, min=None, max=None, **_: np.clip(x, min, max),
    compatible.arange: _arange,
    compatible.zeros: _made(np.zeros),
    compatible.empty: _made(np.zeros),
    compatible.ones: _made(np.ones),
    compatible.eye: _made(np.eye),
    compatible.full: _full,
    compatible.astype: lambda x, dtype, **_: x.astype(dtype),
    compatible.linalg: _module(np.linalg),
    _array_api.array_namespace: _namespace,
    _helpers.array_namespace: _namespace,
    _array_api.xp_promote: _promoted,
    _array_api._asarray: lambda x, dtype=None, *_, **__: _asarray(x, dtype),
    _array_api.is_numpy: lambda _: True,
    _util._asarray_validated: lambda x, *_, **__: array_of(x, floating=False),
    array_api_extra.at: _At,
    array_api_extra.apply_where: _apply_where,
    np.r_: _Joined(np.r_, columns=False),
    np.c_: _Joined(np.c_, columns=True),
} | {
    f: _either(f, getattr(np, name))
    for name, f in vars(math).items()
    if callable(f) and hasattr(np, name) and name not in ("gcd", "lcm", "prod")
}
"""What copies use in place of NumPy's and SciPy's functions."""
