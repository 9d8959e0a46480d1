"""One write to one element of an array, between the record of a derivative and its pull."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import MutationError
from chainrules_tape import Tape, grad, linearize, vjp

Write = Callable[[], None]


def _by_grad(x: Any, c: Any, write: Write) -> Any:
    def f(x: Any) -> Any:
        y = np.sum(x * c)
        write()
        return y

    return grad(f)(x)


def _by_vjp(x: Any, c: Any, write: Write) -> Any:
    _, pull = vjp(lambda x: x * c, x, guard="full")
    write()
    return pull(x)


def _by_linearize(x: Any, c: Any, write: Write) -> Any:
    _, push = linearize(lambda x: x * c, x, guard="full")
    write()
    return push(x)


def _by_a_tape(x: Any, c: Any, write: Write) -> Any:
    with Tape() as tape:
        a = tape.variable(x)
        loss = np.sum(a * c)
        write()
    return tape.grad(loss, a)


DOORS: dict[str, Callable[[Any, Any, Write], Any]] = {
    "vjp": _by_vjp, "grad": _by_grad, "linearize": _by_linearize, "Tape": _by_a_tape,
}  # fmt: skip
SIZES: dict[str, tuple[int, ...]] = {
    "4": (4,),
    "4,096": (64, 64),
    "just above": (4097,),
    "rows": (10_000, 64),
    "thin": (300_000, 1),
    "1e6": (100, 100, 100),
}
NAMES = ("the argument", "what is captured")


class Place(NamedTuple):
    """A place that is written to: in which array, and through which function this is seen."""

    size: str
    door: str
    name: str
    place: int


def program(seed: int) -> Place:
    """Draw a place."""
    rng = np.random.default_rng(seed)
    size = str(rng.choice([*SIZES]))
    place = int(rng.integers(math.prod(SIZES[size])))
    return Place(size, str(rng.choice([*DOORS])), NAMES[seed % 2], place)


def verdict(p: Place) -> str:
    """Tell that a write is not seen; nothing, if it is."""
    x, c = np.ones(SIZES[p.size]), np.ones(SIZES[p.size])
    written = x if p.name == NAMES[0] else c

    def write() -> None:
        written[np.unravel_index(p.place, written.shape)] = np.nextafter(1.0, 2.0)

    try:
        DOORS[p.door](x, c, write)
    except MutationError:
        return ""
    return "not seen"


def unseen(size: str, door: str, n: int, rng: Any) -> list[Place]:
    """Judge n places of each array of a size; list those that are not seen."""
    places = rng.integers(math.prod(SIZES[size]), size=n)
    drawn = [Place(size, door, NAMES[k % 2], int(place)) for k, place in enumerate(places)]
    return [p for p in drawn if verdict(p)]
