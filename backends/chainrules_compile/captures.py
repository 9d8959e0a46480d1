"""Captures: what a function sees besides its arguments, and whether it is still the same.

Arrays are seen by reference, and compared as the tape's guard compares them; names, attributes and
items of containers by identity.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrules_compile.entry import Scope
from chainrules_compile.errors import MISS, RecordingError
from chainrules_py import Primitive
from chainrules_py.extend import fields_of, is_structure_type, type_info

_MOST = 10_000
_OURS = ("chainrules_", "numpy", "scipy")
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, np.dtype)


@functools.lru_cache(maxsize=1024)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """List the global names, and the attributes, that a function and those inside it look up."""
    names = dict.fromkeys(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names.update(dict.fromkeys(global_names(inner)))
    return tuple(names)


class Captures:
    """All that can be reached from a function, and what of it may change.

    Attributes
    ----------
    arrays : dict
        From the id of an array to its name.
    """

    def __init__(self, f: Any, args: Any, keywords: Any) -> None:
        self.arrays: dict[int, str] = {}
        self._arrays: list[Any] = []
        self._random: list[Any] = []
        self._cells: list[tuple[Any, Any]] = []
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        self._attributes: list[tuple[dict[str, Any], Any, Any]] = []
        self._lists: list[tuple[list[Any], tuple[Any, ...]]] = []
        self._seen: dict[int, Any] = {}
        self._look(f)
        for x in (*args, *keywords.values()):
            if callable(x):
                self._look(x)

    def has(self, x: Any) -> bool:
        """Tell whether a value was reached."""
        return id(x) in self._seen or isinstance(x, (type, Primitive, np.ufunc))

    def _look(self, f: Any) -> None:
        waiting = [(f, "f")]
        while waiting and len(self._seen) < _MOST:
            x, name = waiting.pop()
            cls = type(x)
            if id(x) in self._seen or cls in _ATOMS or isinstance(x, (type, Primitive, np.ufunc)):
                continue
            self._seen[id(x)] = x
            if isinstance(x, np.ndarray):
                self.arrays[id(x)] = name
                self._arrays.append(x)
            elif isinstance(x, (np.random.Generator, np.random.RandomState)):
                self._random.append(x)
            elif cls is types.FunctionType:
                waiting += self._of_function(x)
            elif cls is types.MethodType:
                waiting += [(x.__func__, name), (x.__self__, name)]
            elif cls in (list, tuple):
                if cls is list:
                    self._lists.append((x, tuple(x)))
                waiting += [(y, f"{name}_{i}") for i, y in enumerate(x)]
            elif cls is dict:
                self._attributes += [(x, k, y) for k, y in x.items()]
                self._lists.append((x, tuple(x)))
                waiting += [(y, f"{name}_{k}") for k, y in x.items()]
            elif hasattr(x, "func") and hasattr(x, "keywords") and hasattr(x, "args"):
                waiting += [(x.func, name), (x.args, name), (x.keywords, name)]
            else:
                waiting += self._of_object(x, name)

    def _of_function(self, f: Any) -> list[tuple[Any, str]]:
        found = [(x, "default") for x in f.__defaults__ or ()]
        found += [(x, k) for k, x in (f.__kwdefaults__ or {}).items()]
        ours = (f.__module__ or "").startswith(_OURS)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # a cell that is still empty
                content = cell.cell_contents
                if not ours and type(content) is not types.ModuleType:
                    self._cells.append((cell, content))
                found.append((content, name))
        if not ours:
            outside = f.__globals__
            for name in global_names(f.__code__):
                if name in outside and type(outside[name]) is not types.ModuleType:
                    self._globals.append((outside, name, outside[name]))
                    found.append((outside[name], name))
        return found

    def _of_object(self, x: Any, name: str) -> list[tuple[Any, str]]:
        fields = getattr(x, "__dict__", None)
        found: list[tuple[Any, str]] = []
        if type(fields) is dict:
            ours = type(x).__module__.startswith(_OURS)
            if not ours:
                self._attributes += [(fields, k, y) for k, y in fields.items()]
            found += [(y, str(k)) for k, y in fields.items()]
        elif is_structure_type(type(x)):
            found += [(y, str(k)) for k, y in fields_of(x)]
        else:
            for cls in type(x).__mro__:
                for slot in getattr(cls, "__slots__", ()):
                    if hasattr(x, slot) and not slot.startswith("__"):
                        found.append((getattr(x, slot), slot))
        wrapped = getattr(x, "__wrapped__", None)
        return [*found, (wrapped, name)] if wrapped is not None else found

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Raise at the end if random numbers were drawn."""
        before = self._state()
        yield
        if self._state() != before:
            msg = (
                "a function that is being compiled draws random numbers, which would be the same "
                "at each call; draw them outside, and pass them as an argument"
            )
            raise RecordingError(msg)

    def _state(self) -> Any:
        state: Any = np.random.get_state()  # noqa: NPY002 (which others may draw from)
        each = [
            str(x.bit_generator.state) if isinstance(x, np.random.Generator) else str(x.get_state())
            for x in self._random
        ]
        return state[1].tobytes(), state[2:], each

    def lines(self, scope: Scope) -> list[str]:
        """Return the statement that returns ``MISS`` where something has changed."""
        changed = self._test()
        if changed is None:
            return []
        name, miss = scope.name(changed, "captured_has_changed"), scope.name(MISS, "MISS")
        return [f"if {name}():\n        return {miss}"]

    def _test(self) -> Any:
        cells, outside = self._cells, self._globals
        attributes, lists = self._attributes, self._lists
        prints = []
        for x in self._arrays:
            memory = type_info(type(x)).memory
            if memory is not None:
                prints.append((x, memory.fingerprint, memory.fingerprint(x, False)))
        if not (cells or outside or attributes or lists or prints):
            return None
        absent = object()

        def changed() -> bool:
            for cell, content in cells:
                if cell.cell_contents is not content:
                    return True
            for names, name, content in outside:
                if names.get(name, absent) is not content:
                    return True
            for names, name, content in attributes:
                if names.get(name, absent) is not content:
                    return True
            for items, before in lists:
                pairs = zip(items, before, strict=False)
                if len(items) != len(before) or any([a is not b for a, b in pairs]):
                    return True
            return any([fingerprint(x, False) != before for x, fingerprint, before in prints])

        return changed
