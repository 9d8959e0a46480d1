"""`install`: put functions for traced values under SciPy's own names, and remove them again.

A function under SciPy's name inspects its arguments: if none may be differentiated, it calls
SciPy's unchanged. A class remains the same class, and only its constructor inspects arguments.
SciPy's modules keep the names that they imported from each other.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import importlib.abc
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import (
    Lock,
    Tracer,
    alias,
    aliases,
    closed,
    flatten,
    joined,
    type_info,
)
from chainrules_scipy import host_computation

F = TypeVar("F", bound=Callable[..., Any])

# The public modules of SciPy, and the modules of this package with functions for them.
OURS = {
    f"scipy.{name}": f"chainrules_scipy.{name}"
    for name in (
        "special",
        "linalg",
        "fft",
        "stats",
        "integrate",
        "interpolate",
        "signal",
        "ndimage",
        "optimize",
    )
} | {
    "scipy.sparse": "chainrules_scipy.sparse",
    "scipy.spatial": "chainrules_scipy.spatial",
    "scipy.spatial.distance": "chainrules_scipy.distance",
    "scipy.spatial.transform": "chainrules_scipy.rotation",
}


class _Place(NamedTuple):
    """An attribute to replace while installed: its owner, name, replacement, and value before."""

    owner: Any
    name: str
    put: Any
    before: Any


_ABSENT = object()
_places: dict[tuple[Any, str], _Place] = {}
_lock = Lock()
_standing: set[Installed] = set()
_standing_for: dict[Callable[..., Any], Callable[..., Any]] = {}
_originals: dict[int, tuple[Any, Any]] = {}
"""SciPy's function, and its replacement, by the id of the latter, which may have no hash."""

# The attribute of a class whose instances hold traced values, as followed classes have.
HOLDS = "_holds_traced"
DATA = (np.ndarray, np.generic, np.dtype, type, int, float, complex, str, slice, range)
_PLAIN = frozenset({np.ndarray, float, int, complex, bool, str, type(None), np.float64, slice})


def is_traced(arguments: Any) -> bool:
    """Return whether any argument of a call may be differentiated, by any engine.

    A function that captured a value that may be differentiated counts too, and so do the bounds
    and constraints of SciPy that hold one.
    """
    return any(
        is_traced(x)
        if type(x) in (list, tuple)
        else type(x) not in _PLAIN
        and not type(x).__module__.startswith("scipy.sparse._")  # holds plain numbers
        and (hasattr(type(x), HOLDS) or any(map(_varies, _leaves(x))))
        for x in arguments
    )


_HOLDERS = ("Bounds", "LinearConstraint", "NonlinearConstraint")


def _leaves(x: Any) -> Iterator[Any]:
    """Yield the leaves of a value, and of what a function or a constraint of SciPy holds."""
    known = type(x).__module__.startswith("scipy.optimize.") and type(x).__name__ in _HOLDERS
    x = vars(x) if known else x
    for leaf in flatten(x)[0]:
        if leaf is x:
            yield from flatten(closed(x))[0] if callable(x) else [x]
        else:
            yield from _leaves(leaf)


def _varies(leaf: Any) -> bool:
    """Return whether a leaf is differentiated.

    An engine that does not report which of its values vary is taken to follow all of them. A tensor
    that requires a gradient elsewhere counts too: NumPy may not read it.
    """
    known = type_info(type(leaf))
    return isinstance(leaf, Tracer) or (
        known.host is not None
        if known.varies is None
        else known.varies(leaf) or getattr(leaf, "requires_grad", False)
    )


def choose(
    native: Callable[..., Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    bound: int = 0,
) -> Callable[..., Any]:
    """Return what a call of SciPy's function runs: ours if something is differentiated.

    The first ``bound`` arguments are what a method is bound to.
    """
    if not (is_traced(args[bound:]) or (options and is_traced(options.values()))):
        return native
    return as_recorded(native, args, options, bound) or function


def is_asked_again(x: Any) -> bool:
    """Return whether a test of a value is repeated at each call of a program."""
    return getattr(type(x), "__asked_again__", False) is True


def as_recorded(
    native: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], bound: int = 0
) -> Callable[..., Any] | None:
    """Return a callable for SciPy's own function if nothing is differentiated; else None.

    With data only, it is one call of the program. With other arguments, as functions, it is not
    recorded: SciPy reads the numbers that a function returns.

    Parameters
    ----------
    native : callable
        SciPy's function, or method.
    args, options
        The arguments of the call.
    bound : int
        How many of the arguments a method is bound to.
    """
    noted, is_data = None, True
    leaves = flatten((args[bound:], options))[0]
    others = [x for x in leaves if not (x is None or x is ... or issubclass(type(x), DATA))]
    for x in others:
        if hasattr(type(x), HOLDS):
            return None
        for y in _leaves(x):
            if is_asked_again(y):
                noted = y
            elif isinstance(y, Tracer) or type_info(type(y)).host is not None:
                return None
        is_data = is_data and is_asked_again(x)
    if noted is None:
        return native
    return functools.partial(_called if is_data else _asked, noted, native)


def _asked(noted: Any, *_: Any, **__: Any) -> Any:
    """Require a number, so that the function that is being recorded runs without a program."""
    return float(noted)


def _called(noted: Any, native: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call SciPy's function as a program does, where an argument is a recorded value."""
    signature = _parameters(native)
    if signature is not None:
        bound = signature.bind(*args, **options)  # raises as SciPy does
        given = bound.arguments
        if any([isinstance(given.get(name), np.ndarray) for name in ("output", "out")]):
            return _asked(noted)  # a program would not write there
        for name in [n for n in given if n.startswith("overwrite_") and given[n]]:
            given[name] = False  # overwriting is optional, and other calls may read the value
            args, options = bound.args, bound.kwargs
    return noted.__array_function__(native, (), args, options)


@functools.cache
def _parameters(native: Callable[..., Any]) -> inspect.Signature | None:
    """Return the parameters of a function, if they are known."""
    try:
        return inspect.signature(native)
    except ValueError:  # functions written in C
        return None


def _dispatching(
    native: Callable[..., Any], function: Callable[..., Any], bound: int = 0, always: bool = False
) -> Callable[..., Any]:
    """Return a function that calls ours for differentiated values, and SciPy's for all others."""

    @functools.wraps(native)
    def dispatching(*args: Any, **options: Any) -> Any:
        args, options = joined_call(args, options)
        run = function if always else choose(native, function, args, options, bound)
        if run is function:
            return _ended(host_computation.run, native, (function, args, options), {})
        return run(*args, **options)

    _originals[id(dispatching)] = native, dispatching
    return dispatching


def joined_call(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return arguments with one traced array for each array of traced objects."""
    return joined(args), dict(zip(options, joined([*options.values()]), strict=True))


def _ended(function: Callable[..., Any], of: Any, args: Any, options: Any) -> Any:
    """Call ours; raise if a differentiated option makes SciPy call ours again endlessly.

    The calls are counted, since LAPACK in too deep a stack ends the process.
    """
    began = _calls.set(_calls.get() + 1)
    try:
        if _calls.get() > 30:
            raise RecursionError
        return function(*args, **options)
    except RecursionError as error:
        raise NotDifferentiableError(
            f"{of.__name__} has no derivative in one of its options that is being differentiated "
            "(use ignore_derivatives(x) for it), or calls a function that calls itself"
        ) from error
    finally:
        _calls.reset(began)


_calls = contextvars.ContextVar("calls", default=0)
"""How many calls of ours are inside of each other."""


def place(native: Callable[..., Any], function: F, always: bool = False, home: str = "") -> F:
    """Replace a function under SciPy's name, for traced values, while it is installed.

    With ``always`` it is replaced for all values, because its result for plain ones takes traced
    values later. ``home`` is the module in which users find the function. Ours is returned.
    """
    native = original(native)  # which may be replaced already: see `stands_for`
    home = home or public_module(native)
    dispatching = _dispatching(native, function, always=always)
    dispatching.__module__ = home  # where pickles find it
    alias(dispatching, to=function, late=True)
    if native not in aliases:  # for lookups by name, with nothing installed
        alias(native, to=function, late=True)
    _standing_for[native] = _standing_for[dispatching] = dispatching
    while home.startswith("scipy"):  # also in parent packages that export it
        module = sys.modules[home]
        for name in [
            name
            for name, f in vars(module).items()
            if name[0] != "_" and callable(f) and original(f) is native
        ]:
            _enter(_Place(module, name, dispatching, native))
        home = home.rpartition(".")[0]
    return function


def standing(native: Any) -> Callable[..., Any] | None:
    """Return the replacement of an object of SciPy while it is installed, if there is one."""
    home = getattr(native, "__module__", None)
    if native not in _standing_for and type(home) is str and home.startswith("scipy."):
        ours = OURS.get(public_module(native))
        if ours is not None:
            importlib.import_module(ours)
    return _standing_for.get(native)


def original(function: Any) -> Any:
    """Return SciPy's function for its replacement; others are returned unchanged."""
    return _originals.get(id(function), (function,))[0]


def place_method(cls: type, function: Callable[..., Any], name: str = "") -> None:
    """Replace a method of a class by a function, for traced arguments."""
    name = name or function.__name__
    native: Any = getattr(cls, name)
    before: Any = vars(cls).get(name, _ABSENT)
    is_static = isinstance(before, staticmethod)
    dispatching = _dispatching(native, function, bound=not is_static)
    if name in vars(cls) and not name.startswith("__"):
        alias(native, to=functools.wraps(native)(functools.partial(function)), late=True)
    put: Any = staticmethod(dispatching) if is_static else dispatching
    _enter(_Place(cls, name, put, before))


def place_constructor(cls: type, function: F) -> F:
    """Replace what a class makes by what a function, or class, makes of traced arguments.

    This holds for all names of the class. Its instances, and its subclasses, do not change: the
    function's result is no instance, and so is not initialised.
    """
    before = vars(cls).get("__new__", _ABSENT)
    make: Any = cls.__new__

    def dispatching(made: type, /, *args: Any, **options: Any) -> Any:
        args, options = joined_call(args, options)
        if made is not cls or choose(plainly, function, args, options) is not function:
            return plainly(made, *args, **options)
        with host_computation.in_our_words((args, options)):
            return _ended(function, cls, args, options)

    def plainly(made: type, /, *args: Any, **options: Any) -> Any:
        return object.__new__(made) if make is object.__new__ else make(made, *args, **options)

    # A class whose ``__new__`` was deleted takes no arguments any more: CPython issue 49572.
    before = staticmethod(plainly) if before is _ABSENT else before
    _enter(_Place(cls, "__new__", staticmethod(dispatching), before))
    return function


def public_module(native: Callable[..., Any]) -> str:
    """Return the module in which users find an object of SciPy.

    Examples
    --------
    >>> import scipy.linalg
    >>> scipy.linalg.expm.__module__, public_module(scipy.linalg.expm)
    ('scipy.linalg._matfuncs', 'scipy.linalg')
    """
    return native.__module__.partition("._")[0]


def taken_from(native: Any) -> str:
    """Return the advice to import ours in place of an object of SciPy."""
    name, home = native.__name__.removesuffix("_frozen"), public_module(native)
    ours = OURS.get(home) or OURS.get(home.rpartition(".")[0])
    return f"use {name}, which takes the same, after 'from {ours} import {name}'"


def _enter(new: _Place) -> None:
    with _lock:
        _places[id(new.owner), new.name] = new
        if _standing:
            setattr(new.owner, new.name, new.put)


class Installed:
    """Handle of an installation, which ``with`` removes at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self.remove()
        finally:
            self.remove()  # again, if an interrupt stopped the first

    @_lock
    def remove(self) -> None:
        """Restore SciPy's functions, unless another installation still needs ours."""
        if _standing != {self}:
            _standing.discard(self)
            return
        while _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        for at in _places.values():
            if vars(at.owner).get(at.name) is not at.put:  # replaced by other code
                continue
            if at.before is _ABSENT:
                delattr(at.owner, at.name)
            else:
                setattr(at.owner, at.name, at.before)
        _standing.discard(self)  # last, so that an interrupted call can be repeated


def install() -> Installed:
    """Make functions of SciPy take differentiated values, under SciPy's own names.

    Calls with other values run SciPy's functions unchanged. Names that were imported before, as by
    ``from scipy.linalg import expm``, are not replaced; classes take traced values under all names.

    Returns
    -------
    Installed
        A handle with a method ``remove``, and a context manager that removes the functions at its
        end. SciPy's own functions are restored when all installations are removed.

    Examples
    --------
    >>> import numpy as np, scipy.linalg
    >>> from chainrules_tape import grad
    >>> with install():
    ...     print(grad(lambda x: scipy.linalg.expm(x)[0, 0])(np.zeros((2, 2))))
    [[1. 0.]
     [0. 0.]]
    """
    # First, because it imports scipy.special, after which ours is imported, which needs all of it.
    importlib.import_module("chainrules_scipy.implementations")
    # Again for the modules of SciPy that ours import.
    while missing := [
        ours for theirs, ours in OURS.items() if theirs in sys.modules and ours not in sys.modules
    ]:
        for ours in missing:
            importlib.import_module(ours)
    installed = Installed()
    with _lock:
        alone = not _standing
        _standing.add(installed)
        try:
            if alone:
                sys.meta_path.insert(0, _finder)
                for at in _places.values():
                    if vars(at.owner).get(at.name, at.before) is at.before:  # not a mock
                        setattr(at.owner, at.name, at.put)
        except BaseException:
            installed.remove()  # the caller has no handle to do it
            raise
    return installed


class _Finder(importlib.abc.MetaPathFinder):
    """Import our modules after the modules of SciPy that are imported later.

    Modules of SciPy import each other, and ours import several of them: ours wait until no module
    of SciPy is partially imported.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> Any:
        if name.partition(".")[0] != "scipy":
            return None
        for finder in sys.meta_path:
            found: Any = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                if found.loader is not None:  # a folder without a file has none
                    found.loader.exec_module = functools.partial(_run, found.loader.exec_module)
                return found
        return None


class _Waiting(threading.local):
    """Modules of ours to import when a thread's import of SciPy is complete."""

    is_importing = False

    def __init__(self) -> None:
        self.modules: list[str] = []


def _run(theirs: Callable[[ModuleType], None], module: ModuleType) -> None:
    is_outermost, _waiting.is_importing = not _waiting.is_importing, True
    try:
        theirs(module)
        if module.__name__ in OURS:
            _waiting.modules.append(OURS[module.__name__])
        while is_outermost and _waiting.modules:
            importlib.import_module(_waiting.modules.pop(0))
    finally:
        if is_outermost:
            _waiting.is_importing = False


_finder = _Finder()
_waiting = _Waiting()
