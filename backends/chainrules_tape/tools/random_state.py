"""Track the random generators a function uses: whether they advanced, and from which state."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any, final

from chainrules_py.extend import closed_and_generators


@final
class Draws:
    """States of the generators that a function or its module names, and of the global ones."""

    __slots__ = ("_before",)

    def __init__(self, f: Callable[..., Any]) -> None:
        found = [_access(g) for g in (*_shared(), *closed_and_generators(f)[1])]
        self._before = [(get, put, get()) for get, put in filter(None, found)]

    def went_on(self) -> bool:
        """Return whether a generator has advanced."""
        return any([pickle.dumps(get()) != pickle.dumps(s) for get, _, s in self._before])

    def put_back(self) -> None:
        """Restore the states of the generators."""
        for _, put, state in self._before:
            put(state)


def _shared() -> list[Any]:
    import numpy as np

    return [np.random, random]


def _access(g: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    """Return the functions that get and set a generator's state; None for other classes."""
    if hasattr(g, "get_state") and hasattr(g, "set_state"):
        return g.get_state, g.set_state
    if g is random or isinstance(g, random.Random):
        return g.getstate, g.setstate
    bits = getattr(g, "bit_generator", None)
    if bits is not None:
        return (lambda: bits.state), (lambda state: setattr(bits, "state", state))
    return None
