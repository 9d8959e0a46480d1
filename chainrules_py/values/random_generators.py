"""Random number generators: read and restore their state, so that a function can draw again."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

_states: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Callable[[], Any]]]] = {}
_shared: list[Any] = []
with_generators = dict.fromkeys(("numpy.random", "random"), "chainrules_numpy.random_draw_advice")
"""Modules with generators, each with the module that registers them, once the first is imported."""


def register_generator(
    cls: type,
    read: Callable[[Any], Any],
    putting: Callable[[Any, Any], Callable[[], Any]],
    *shared: Any,
) -> None:
    """Register how the state of random number generators is read and restored.

    Parameters
    ----------
    cls : type
        Their class.
    read : callable
        ``read(x)`` is the state.
    putting : callable
        ``putting(x, state)`` returns a callable without arguments, in C, that restores the state.
    *shared : object
        Generators that a library's functions draw from by default.
    """
    _states[cls] = read, putting
    _shared.extend(shared)


def is_generator(cls: type) -> bool:
    """Return whether instances of a class are registered generators."""
    _meet()
    return cls in _states


def _meet() -> None:
    """Register the generators of the modules that are imported."""
    for module, registers in tuple(with_generators.items()):
        if module in sys.modules:
            importlib.import_module(registers)  # another thread may do so, and both wait for it
            with_generators.pop(module, None)


def states(generators: Iterable[Any], shared: bool) -> list[Callable[[], Any]]:
    """Return calls that restore the current state of generators, and of all ``shared`` ones."""
    _meet()
    known = [(x, *_states[type(x)]) for x in (*(_shared if shared else ()), *generators)]
    return [putting(x, read(x)) for x, read, putting in known]
