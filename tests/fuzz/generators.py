"""Generators of programs, judged one like another: what each draws, and what is wrong with a draw.

Run one of them for some seconds, for the record in the documentation:

    python -m tests.fuzz.generators aliases 300
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz import (
    aliases,
    callables,
    constants,
    forms,
    gives,
    leftovers,
    objects,
    operations,
    owned,
    places,
    questions,
    results,
    seeds,
    statements,
    views,
    widths,
)
from tests.fuzz.smaller import simpler, smallest

SEED = int(os.environ.get("CHAINRULES_SEED", "0"))
"""Other programs are drawn for another."""
PROGRAMS = int(os.environ.get("CHAINRULES_PROGRAMS", "1000000"))
"""How many of each generator ``make test-nightly`` runs."""


class Generator(NamedTuple):
    """Generator of programs.

    Attributes
    ----------
    draws : str
        What a program is made of.
    draw : callable
        The program of a seed.
    size : callable
        How many programs there are, of which as many seeds in a row draw each once; None if there
        is no end of them.
    verdict : callable
        What is wrong with a program; the empty text if nothing is.
    smaller : callable
        The programs that are a little smaller.
    """

    draws: str
    draw: Callable[[int], Any]
    verdict: Callable[[Any], str]
    smaller: Callable[[Any], Iterable[Any]]
    size: Callable[[], int | None] = lambda: None

    def said(self, program: Any) -> str:
        """Tell what is wrong with a program; an error is wrong that it does not allow for."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return self.verdict(program)
            except Exception as error:
                return f"{type(error).__name__}: {error}"


def _scattered(seed: int, size: int) -> int:
    """Give each of as many seeds in a row another number: neighbours are far from each other."""
    step = int(0.618 * size)
    while math.gcd(step, size) > 1:
        step += 1
    return seed * step % size


def _tables(
    draws: str, verdict: Callable[..., str], tables: Callable[[], tuple[Sequence[Any], ...]]
) -> Generator:
    """Make the generator of programs that are one entry of each of some tables."""

    def size() -> int:
        return math.prod(map(len, tables()))

    def draw(seed: int) -> tuple[Any, ...]:
        place, program = _scattered(seed, size()), []
        for table in tables():
            place, entry = divmod(place, len(table))
            program.append(table[entry])
        return tuple(program)

    return Generator(
        draws,
        draw,
        lambda program: verdict(*program),
        lambda program: simpler(program, tables()),
        size,
    )


GENERATORS: dict[str, Generator] = {
    "widths": Generator(
        "every call of a function of NumPy or SciPy that was entered and every sample of an "
        "operation, "
        "with operands of whole numbers, booleans or narrow ones; both modes against float64",
        lambda seed: widths.program(_scattered(seed, widths.size())),
        widths.verdict,
        widths.smaller,
        widths.size,
    ),
    "seeds": Generator(
        "the same calls with one tangent or cotangent of twelve wrong forms; an error",
        seeds.program,
        seeds.verdict,
        seeds.smaller,
    ),
    "aliases": Generator(
        "two to four names for parts of one array, in the hands of arguments and of all that can "
        "hold a value, written to through any; values against NumPy's",
        aliases.program,
        aliases.verdict,
        aliases.smaller,
    ),
    "views": Generator(
        "views of views, written to through any of them; values against NumPy's, and the "
        "derivative of one of three functions with differences",
        views.program,
        views.verdict,
        views.smaller,
    ),
    "questions": _tables(
        "what a program asks of the type or the text of a value; the answer of the plain program",
        questions.verdict,
        lambda: (list(questions.QUESTIONS), list(questions.VALUES), list(questions.STEPS),
                 list(questions.DOORS)),
    ),
    "forms": _tables(
        "the same calls with an axis, a shape, places, counts or a mask in another form that NumPy "
        "takes; the derivative of the plain form, or an error",
        forms.verdict,
        lambda: (range(len(forms.calls())), forms.PLACES, list(forms.FORMS)),
    ),
    "objects": _tables(
        "programs with an object array beside what is differentiated; the derivative, or an error",
        objects.verdict,
        lambda: (list(objects.OPERATIONS), list(objects.FILLED), (0, 1), list(objects.DOORS)),
    ),
    "results": _tables(
        "functions that put what they compute into what no derivative sees, or what only one "
        "library computes with, their rules stated in every form; the derivative, or an error",
        results.verdict,
        lambda: (list(results.KINDS), list(results.FORMS), list(results.DOORS)),
    ),
    "statements": _tables(
        "rules stated in every partial way, for types that fit and that do not, through every "
        "function of every engine; what is stated, or an error",
        statements.wrong,
        lambda: ([*statements.CONSTRUCTORS, *statements.CUSTOM], list(statements.TYPES),
                 list(statements.POINTS), list(statements.DOORS)),
    ),
    "places": Generator(
        "one write to one element between record and pull, in arrays of 4 to 1e6 elements; seen",
        places.program,
        places.verdict,
        lambda p: (p._replace(door=door) for (door,) in simpler((p.door,), (list(places.DOORS),))),
    ),
    "owned": _tables(
        "a write to what a call of the engine was given or gave, inside of another "
        "differentiation; the value of the plain program, and what differences tell",
        owned.verdict,
        lambda: (list(owned.CALLS), list(owned.SOURCES), range(4), list(owned.WRITES),
                 list(owned.DOORS)),
    ),
    "callables": _tables(
        "functions of every kind that Python has, given to operations that call them, or called by "
        "those; what differences tell, or an error",
        callables.verdict,
        lambda: (list(operations.CALLS), list(callables.CALLABLES), (False, True),
                 list(operations.DOORS)),
    ),
    "leftovers": _tables(
        "values that leave an inner differentiation by another way than its result, and are used "
        "after it; the derivative, or an error",
        leftovers.verdict,
        lambda: (list(leftovers.INNER), leftovers.WAYS, list(leftovers.USES),
                 list(leftovers.OUTER)),
    ),
    "gives": _tables(
        "rules of which a part gives another shape, an imaginary part, texts, nothing at all; an "
        "error",
        gives.verdict,
        lambda: (list(gives.CONSTRUCTORS), list(gives.FORMS), list(gives.DOORS)),
    ),
    "constants": _tables(
        "random programs in which values are taken to be constant, through every function of "
        "every engine; against differences",
        constants.verdict,
        lambda: (range(10**6), constants.EAGER),
    ),
}  # fmt: skip


def judge(name: str, seeds: Iterable[int]) -> None:
    """Judge the programs of some seeds.

    Raises
    ------
    AssertionError
        With the smallest program that is wrong as the first one is.
    """
    generator = GENERATORS[name]
    for seed in seeds:
        program = generator.draw(seed)
        if generator.said(program):
            least = smallest(program, generator.smaller, generator.said)
            msg = f"{name}, seed {seed}:\n{least!r}\n{generator.said(least)}"
            raise AssertionError(msg)


def main() -> None:
    """Judge programs for some seconds, and say how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*GENERATORS])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--start", type=int, default=10**7)
    given = parser.parse_args()
    with contextlib.suppress(ImportError):
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    seed, end = given.start, time.monotonic() + given.seconds
    while time.monotonic() < end:
        judge(given.name, range(seed, seed + 20))
        seed += 20
    print(f"{given.name}: {seed - given.start} programs, none wrong")


if __name__ == "__main__":
    main()
