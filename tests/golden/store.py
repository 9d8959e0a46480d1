"""The file of golden numbers: 12 bytes a result, and an index of names.

A part of it is written anew by each update, so the numbers are not compressed: what Git keeps of an
update is the difference.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from pathlib import Path
from typing import Any, final

import numpy as np

from tests.golden.numbers import Number, Refusal, Result

PATH = Path(__file__).with_name("golden.npy")
"""The file that is kept: three arrays of NumPy's, one after the other."""

Fingerprint = dict[str, str]
"""What bits depend on: versions, and what NumPy itself computes here."""


@final
@dataclasses.dataclass
class Entry:
    """Results of one entry.

    Attributes
    ----------
    parts : dict
        By name.
    made : Fingerprint
        Where they were computed.
    """

    parts: dict[str, Result]
    made: Fingerprint


Entries = dict[str, Entry]


def write(path: Path, entries: Entries) -> None:
    """Write entries, sorted as they are given."""
    places: list[Fingerprint] = []
    lines, bits, totals = [], [], []
    for name, entry in entries.items():
        if entry.made not in places:
            places.append(entry.made)
        shown = []
        for part, result in entry.parts.items():
            kept = result if isinstance(result, Number) else Number(0, 0.0)
            shown.append(part if kept is result else f"{part}={result}")
            bits.append(kept.bits)
            totals.append(kept.total)
        lines.append(f"{name}\t{places.index(entry.made)}\t{'|'.join(shown)}")
    index = zlib.compress("\n".join([json.dumps(places), *lines]).encode(), 9)
    with path.open("wb") as file:
        np.save(file, np.frombuffer(index, np.uint8))
        np.save(file, np.array(bits, "<u4"))
        np.save(file, np.array(totals, "<f8"))


def read(path: Path) -> Entries:
    """Read the entries of a file; none if there is no file."""
    if not path.exists():
        return {}
    with path.open("rb") as file:
        index, bits, totals = [np.load(file) for _ in range(3)]
    first, *lines = zlib.decompress(index.tobytes()).decode().split("\n")
    places: list[Any] = json.loads(first)
    numbers = zip(bits.tolist(), totals.tolist(), strict=True)
    entries: Entries = {}
    for line in lines:
        name, place, shown = line.split("\t")
        parts: dict[str, Result] = {}
        for part in shown.split("|"):
            kept, is_refusal, error = part.partition("=")
            here = Number(*next(numbers))
            parts[kept] = Refusal(error) if is_refusal else here
        entries[name] = Entry(parts, places[int(place)])
    return entries
