"""Random programs by number: the same ones whatever else changes.

They are drawn with Python's generator and not with hypothesis, whose draws differ between its
versions. A call is drawn by its name and not by its place in a list, so that a sample that is added
or removed changes only the programs that draw it.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import random
from typing import Any, final

import numpy as np

from chainrules_py.testing.cases.calls_from_samples import Instance
from tests.fuzz.calls import CALLS
from tests.fuzz.lines import Choices
from tests.fuzz.programs import Program, drawn
from tests.fuzz.tables import LINES

FAMILIES = (LINES, (*LINES, CALLS, CALLS))
"""What programs of even and of odd numbers are drawn from."""


def digest(data: bytes) -> int:
    """Return a hash of 32 bits: of two results that differ, one in four billion goes unnoticed."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little")


def _name(call: Any) -> str:
    return call.name if isinstance(call, Instance) else str(call)


@functools.cache
def _ring(calls: tuple[Any, ...]) -> tuple[list[int], list[Any]]:
    """Sort calls by the hashes of their names."""
    found = {digest(_name(call).encode()): call for call in calls}
    keys = sorted(found)
    return keys, [found[key] for key in keys]


@final
class Drawn(Choices):
    """Choices that a generator of Python's makes."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        super().__init__(None)  # type: ignore[arg-type]

    def integer(self, low: int, high: int) -> int:
        """From low to high, both among them."""
        return low + int(self.random.random() * (high - low + 1))

    def flag(self) -> bool:
        """Draw true or false."""
        return self.random.random() < 0.5

    def call(self, among: tuple[Any, ...]) -> Any:
        """Draw the call whose name has the next hash."""
        keys, calls = _ring(among)
        return calls[bisect.bisect(keys, self.integer(0, 2**32 - 1)) % len(keys)]

    def order(self, n: int) -> tuple[int, ...]:
        """Draw a permutation."""
        return tuple(sorted(range(n), key=lambda _: self.random.random()))

    def axis(self, ndim: int, none: bool = True, tuples: bool = True) -> Any:
        """Draw the ``axis=`` of an array with so many axes."""
        kind = self.choice(["one"] + ["none"] * none + ["several"] * tuples)
        if kind == "none":
            return None
        signed = [k - ndim * self.flag() for k in self.order(ndim)]
        return signed[0] if kind == "one" else tuple(signed[: self.integer(1, ndim)])

    def index(self, shape: tuple[int, ...]) -> Any:
        """Draw the subscript of an array of this shape."""
        kind = self.choice(("basic", "mask", "integers"))
        common = self.choice(((2,), (1,), (3,), (2, 2)))
        entries = [self._basic(n) for n in shape[: self.integer(0, len(shape))]]
        if entries and kind == "mask":
            at = self.integer(0, len(entries) - 1)
            entries[at] = self.rng.random(shape[at]) < 0.5
        for at, n in enumerate(shape[: len(entries)]):
            if kind == "integers" and self.flag():
                entries[at] = self.rng.integers(-n, n, common)
        if self.flag():
            entries.append(...)
        if self.flag():
            entries.insert(self.integer(0, len(entries)), None)
        return entries[0] if len(entries) == 1 and self.flag() else tuple(entries)

    def _basic(self, n: int) -> Any:
        if self.flag():
            return self.integer(-n, n - 1)
        start, stop = [self.choice((None, self.integer(-n, n))) for _ in range(2)]
        return slice(start, stop, self.choice((None, -1, 2, -2)))


def program(number: int) -> Program:
    """Return the program of a number."""
    for attempt in range(1000):
        found = drawn(Drawn(f"{number}, {attempt}"), 5, 15, FAMILIES[number % 2])
        if found is not None:
            return found
    msg = f"program {number}: no draw of a thousand made a program"
    raise AssertionError(msg)


def digest_of(program: Program) -> int:
    """Return a hash of what a program is: its numbers, and its lines."""
    arrays = [np.asarray(x) for x in (*program.leaves, *program.constants)]
    arrays += [np.asarray(0 if w is None else w) for w in program.weights]
    texts = [f"{type(x).__name__}" for x in program.leaves]
    texts += [f"{line.template} {line.operands}" for line in program.lines]
    texts += [f"{x.dtype} {x.shape} {x.tobytes()!r}" for x in arrays]
    return digest("\n".join(texts).encode())
