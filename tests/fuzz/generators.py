"""Generators of programs, judged one like another: what each draws, and what is wrong with a draw.

Run one of them for some seconds, for the record in the documentation:

    python -m tests.fuzz.generators aliases 300
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz import aliases
from tests.fuzz.smaller import smallest

SEED = int(os.environ.get("CHAINRULES_SEED", "0"))
"""Other programs are drawn for another."""
PROGRAMS = int(os.environ.get("CHAINRULES_PROGRAMS", "20000"))
"""How many of each generator ``make test-nightly`` runs."""


class Generator(NamedTuple):
    """Generator of programs.

    Attributes
    ----------
    draws : str
        What a program is made of.
    draw : callable
        The program of a seed.
    verdict : callable
        What is wrong with a program; the empty text if nothing is.
    smaller : callable
        The programs that are a little smaller.
    """

    draws: str
    draw: Callable[[int], Any]
    verdict: Callable[[Any], str]
    smaller: Callable[[Any], Iterable[Any]]

    def said(self, program: Any) -> str:
        """Tell what is wrong with a program; an error is wrong that it does not allow for."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return self.verdict(program)
            except Exception as error:
                return f"{type(error).__name__}: {error}"


GENERATORS: dict[str, Generator] = {
    "aliases": Generator(
        "two to four names for parts of one array, in the hands of arguments and of all that can "
        "hold a value, written to through any; five functions of the tape; values against NumPy's",
        aliases.program,
        aliases.verdict,
        aliases.smaller,
    ),
}


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
    seed, end = given.start, time.monotonic() + given.seconds
    while time.monotonic() < end:
        judge(given.name, range(seed, seed + 20))
        seed += 20
    print(f"{given.name}: {seed - given.start} programs, none wrong")


if __name__ == "__main__":
    main()
