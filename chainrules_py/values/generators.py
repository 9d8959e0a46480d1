"""Generators of random numbers: what they will draw, so that a function can draw it again."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

_states: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Callable[[], Any]]]] = {}
_shared: list[Any] = []
with_generators: dict[str, str] = {}
"""Modules with generators, and those that are imported to register them, if anybody uses these."""


def register_generator(
    cls: type,
    read: Callable[[Any], Any],
    putting: Callable[[Any, Any], Callable[[], Any]],
    *shared: Any,
) -> None:
    """Say how the state of generators of random numbers is read, and put back.

    Parameters
    ----------
    cls : type
        Their class.
    read : callable
        ``read(x)`` is the state.
    putting : callable
        ``putting(x, state)`` is a call without arguments, in C, that puts it back.
    *shared : object
        Those that functions of a library draw from without being given any.
    """
    _states[cls] = read, putting
    _shared.extend(shared)


def is_generator(cls: type) -> bool:
    """Tell whether values of a class draw random numbers."""
    _meet()
    return cls in _states


def _meet() -> None:
    """Have the generators registered of those modules that are there."""
    for module in tuple(with_generators):
        if module in sys.modules:
            importlib.import_module(with_generators.pop(module))


def states(generators: Iterable[Any], shared: bool) -> list[Callable[[], Any]]:
    """Return calls that have generators, maybe those that all share, draw the same again."""
    _meet()
    known = [(x, *_states[type(x)]) for x in (*(_shared if shared else ()), *generators)]
    return [putting(x, read(x)) for x, read, putting in known]
