"""Track the random generators a function uses: whether they advanced, and from which state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, final

from chainrules_py.extend import (
    attributes,
    closed_and_generators,
    flatten,
    is_generator,
    states,
)


@final
class Draws:
    """States of the generators that a function, its module or its operands hold, and of the global.

    In an object among the operands they are its attributes.
    """

    __slots__ = ("_before", "_generators")

    def __init__(self, f: Callable[..., Any], operands: tuple[Any, ...]) -> None:
        held = [y for x in flatten(operands)[0] for y in (x, *attributes(x).values())]
        found = [*closed_and_generators(f)[1], *held]
        self._generators = [x for x in found if is_generator(type(x))]
        self._before: Any = states(self._generators, shared=True)

    def went_on(self) -> bool:
        """Return whether a generator has advanced."""
        now: Any = states(self._generators, shared=True)
        pairs = zip(now, self._before, strict=True)  # partials: the last argument is a state
        return any([pickle.dumps(x.args[-1]) != pickle.dumps(y.args[-1]) for x, y in pairs])

    def put_back(self) -> None:
        """Restore the states of the generators."""
        for put in self._before:
            put()
