"""Copies of functions, in which something of what they know is another."""

from __future__ import annotations

import contextlib
import copy
import types
from collections.abc import Callable, MutableMapping
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.closures.contents import is_of_library
from chainrules_py.primitives.closures.freeze import globals_of, names_in
from chainrules_py.primitives.closures.search import is_container, kind_of
from chainrules_py.values.holding import attributes, content, pairs

LASTING = (types.ModuleType, type, types.BuiltinFunctionType)
"""Globals that programs do not rebind."""


class Copy:
    """A copy in which some values are exchanged; what holds none of them is shared.

    Parameters
    ----------
    leaf : callable
        From a value to what stands in its place, most often itself.
    is_tainted : callable
        Whether a value holds one to be exchanged, or is to be copied for another reason.
    settle : bool
        Whether the functions that are copied see the names from outside as they are now.
    """

    def __init__(
        self,
        leaf: Callable[[Any], Any],
        is_tainted: Callable[[Any], bool],
        *,
        settle: bool = False,
    ) -> None:
        self.leaf = leaf
        self.is_tainted = is_tainted
        self.settle = settle
        self.made: list[Any] = []
        self.fresh: list[Any] = []
        self._known: dict[int, Any] = {}

    def __call__(self, x: Any) -> Any:
        """Copy a value; return the value itself if there is no need of a copy."""
        if not self.is_tainted(x):
            return self.leaf(x)
        if id(x) not in self._known:
            self._make(x)
        return self._known[id(x)]

    def _keep(self, x: Any, new: Any) -> Any:
        self._known[id(x)] = new
        self.made.append(new)
        return new

    def _make(self, x: Any) -> None:
        if type(x) is types.FunctionType:
            self._make_function(x)
            return
        kind, has_attributes = kind_of(type(x))  # type: ignore[arg-type]  # as there
        parts = pairs(kind.read(x))
        if kind.made is not None:
            new = self._keep(x, kind.made(x, [self(y) for _, y in parts]))
        else:
            new = self._keep(x, _bare(x))  # before it is filled, for it may hold itself
        if kind.fill is not None:
            kind.fill(new, [(key, self(y)) for key, y in parts])
        if has_attributes:
            self._put_attributes(x, new)

    def _make_function(self, f: types.FunctionType) -> None:
        shared = names_in(f.__code__).assigned if self.settle else frozenset()
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        keeps = {name for name, cell in cells.items() if _is_memory(content(cell), f)}
        fresh = {
            name: types.CellType()
            for name, cell in cells.items()
            if (self.settle and name not in shared) or name in keeps or self._changes(content(cell))
        }
        scope, named = f.__globals__, globals_of(f)
        if self.settle and ("global" in shared or is_of_library(f)):
            named = {}
        elif self.settle:
            if any(not isinstance(x, LASTING) for x in named.values()):
                scope = {n: x for n, x in scope.items() if n in ("__builtins__", "__name__")}
            else:
                named = {}
        else:
            named = {name: x for name, x in named.items() if self._changes(x)}
            scope = {**scope} if named else scope
        new = types.FunctionType(
            f.__code__, scope, f.__name__, None, tuple((cells | fresh).values())
        )
        self._keep(f, new)  # before it is filled, for it may hold itself
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
        new.__dict__.update([(name, self(y)) for name, y in f.__dict__.items()])
        self.fresh += fresh.values()
        if scope is not f.__globals__:
            self.fresh.append(scope)
            scope.update({name: self._named(x) for name, x in named.items()})
        for name, cell in fresh.items():
            with contextlib.suppress(ValueError):  # what is not assigned yet stays so
                held = cells[name].cell_contents
                cell.cell_contents = self._memory(held) if name in keeps else self(held)
        new.__defaults__ = None if f.__defaults__ is None else tuple(map(self, f.__defaults__))
        if f.__kwdefaults__:
            new.__kwdefaults__ = {name: self(x) for name, x in f.__kwdefaults__.items()}

    def _memory(self, x: Any) -> Any:
        """Copy what a library's function has found so far: what a copy finds is its own."""
        if id(x) not in self._known:
            new = self._known[id(x)] = copy.copy(x)
            new.update([(key, self(y)) for key, y in x.items()])
        return self._known[id(x)]

    def _named(self, x: Any) -> Any:
        """Copy a global of a function; leave functions of libraries, which need no settling."""
        lasting = self.settle and type(x) is types.FunctionType and is_of_library(x)
        return x if lasting else self(x)

    def _put_attributes(self, x: Any, new: Any) -> None:
        own, held = getattr(new, "__dict__", {}), getattr(x, "__dict__", {})
        known = attributes(x)
        for name in attributes(new) if is_container(type(x)) else known:
            if name in held:
                own[name] = self(known[name])
            else:
                object.__setattr__(new, name, self(known[name]))

    def _changes(self, x: Any) -> bool:
        return self.is_tainted(x) or self.leaf(x) is not x


def _is_memory(x: Any, f: types.FunctionType) -> bool:
    """Tell whether a function of a library, as `functools.singledispatch` makes, finds things by x.

    What code of somebody's own writes to is that program's, and is not copied.
    """
    return isinstance(x, MutableMapping) and is_of_library(f)


def _bare(x: Any) -> Any:
    """Return another object like x, whose contents are put in by whoever asked.

    Raises
    ------
    NotDifferentiableError
        If its class makes no copies.
    """
    with contextlib.suppress(TypeError):  # it is said not to be safe, of classes written in C
        return object.__new__(type(x))
    try:
        new = copy.copy(x)
    except Exception:
        new = x
    if new is x:
        msg = (
            f"a function holds {describe(x)}, in which there is a value that is being "
            f"differentiated, and that makes no copies of itself: pass the value as an operand"
        )
        raise NotDifferentiableError(msg)
    return new
