"""Calls of every function, differentiated with a tangent or cotangent of a wrong form."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import ProjectionError
from chainrules_tape import hvp, jvp, linearize, vjp
from tests.fuzz.calls import parts_of
from tests.fuzz.smaller import simpler
from tests.fuzz.widths import entered
from tests.surface.point import Point


def wrong_forms(x: Any) -> Iterator[tuple[str, Any]]:
    """A tangent of each wrong form that there is for an array or number."""
    shape = np.shape(x)
    yield "an axis more", np.ones((2, *shape))
    yield "an axis of one more", np.ones((1, *shape))
    if not np.iscomplexobj(x):
        yield "imaginary", 1j * np.ones(shape) if shape else 1j
    yield "a text", "1.0"
    yield "nothing", None
    yield "a list", [1.0]
    yield "a dict", {"x": 1.0}
    yield "objects", np.ones(shape, object)
    if shape:
        yield "an axis less", np.ones(shape[1:])
        yield "one element more", np.ones((shape[0] + 1, *shape[1:]))
        yield "a number", 1.0
        yield "another order of axes", np.ones((*shape, 1))


FORMS = tuple([name for name, _ in wrong_forms(np.ones(3))])


def _by_hvp(f: Any, xs: Any, ts: Any) -> Any:
    loss = lambda *xs: sum([np.sum(np.real(y * np.conj(y))) for y in f(*xs)])
    return hvp(loss, tuple(xs), tuple(ts))


TANGENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jvp": lambda f, xs, ts: jvp(f, tuple(xs), tuple(ts)),
    "linearize": lambda f, xs, ts: linearize(f, *xs)[1](*ts),
    "hvp": _by_hvp,
}
DOORS = ("jvp", "linearize", "hvp", "vjp")


class Seed(NamedTuple):
    """A call, and which of its tangents, or of the cotangents of its results, is wrong, and how."""

    number: int
    door: str
    place: int
    form: str

    def __str__(self) -> str:
        return f"{self!r}  # {entered()[self.number][0]}"


def program(seed: int) -> Seed:
    """Draw a call, and a wrong seed for it."""
    chance = random.Random(seed)
    number = chance.randrange(len(entered()))
    return Seed(number, chance.choice(DOORS), chance.randrange(4), chance.choice(FORMS))


def smaller(s: Seed) -> Iterator[Seed]:
    """List seeds of the same call that are simpler."""
    tables = ([s.number], DOORS, range(4), FORMS)
    yield from (Seed(*simple) for simple in simpler(s, tables))


def verdict(s: Seed) -> str:
    """Tell what a wrong seed gives; nothing, if that is an error of ours, or there is no such."""
    call, function = entered()[s.number]
    point = Point(call, f=function)
    f: Any = lambda *xs: parts_of(point, [*xs])
    if s.door == "vjp":
        y, pull = vjp(f, *point.xs)
        given, run = [np.ones_like(part) for part in y], pull
    else:
        given = point.directions()
        run = lambda ts: TANGENTS[s.door](f, point.xs, ts)
    if not given:
        return ""
    place = s.place % len(given)
    form = dict(wrong_forms(given[place])).get(s.form)
    if form is None and s.form != "nothing":
        return ""  # it has no axes
    given[place] = form
    try:
        found = run(given)
    except ProjectionError:
        return ""
    return f"no error, but {found!r}"[:400]
