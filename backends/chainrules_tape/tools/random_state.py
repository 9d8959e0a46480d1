"""Track the random generators a function uses: whether they advanced, and from which state."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py.extend import attributes, closed_and_generators, flatten, is_generator


@final
class Draws:
    """States of the generators that a function, its module or its operands hold, and of the global.

    In an object among the operands they are its attributes.
    """

    __slots__ = ("_before",)

    def __init__(self, f: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        held = [y for x in flatten(operands)[0] for y in (x, *attributes(x).values())]
        found = [*closed_and_generators(f)[1], *[x for x in held if is_generator(type(x))]]
        ways = map(_access, (np.random, random, *found))
        self._before = [(get, put, get()) for get, put in filter(None, ways)]

    def went_on(self) -> bool:
        """Return whether a generator has advanced."""
        return any([pickle.dumps(get()) != pickle.dumps(s) for get, _, s in self._before])

    def put_back(self) -> None:
        """Restore the states of the generators."""
        for _, put, state in self._before:
            put(state)


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
