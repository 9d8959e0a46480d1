"""The two corpora together: wrong rules by their topics, and right ones."""

from __future__ import annotations

from tests.testing.planted import (
    arrangement,
    calls,
    conduct,
    elementwise,
    forward,
    found,
    indexing,
    large,
    linalg,
    memory,
    numbers,
    reductions,
    right_edges,
    right_ordinary,
    right_others,
    right_refusing,
    structures,
    waves,
)
from tests.testing.planted.build import Plant, Right

WRONG_BY_TOPIC: dict[str, dict[str, Plant]] = {
    "numbers": numbers.WRONG,
    "conduct": conduct.WRONG,
    "other calls": calls.WRONG,
    "elementwise": elementwise.WRONG,
    "reductions": reductions.WRONG,
    "indexing": indexing.WRONG,
    "linear algebra": linalg.WRONG,
    "many elements": large.WRONG,
    "waves": waves.WRONG,
    "memory": memory.WRONG,
    "arrangements": arrangement.WRONG,
    "structures": structures.WRONG,
    "found": found.WRONG,
    "forward": forward.WRONG,
}
RIGHT_BY_TOPIC: dict[str, dict[str, Right]] = {
    "ordinary": right_ordinary.RIGHT,
    "edges": right_edges.RIGHT,
    "others": right_others.RIGHT,
    "refusing": right_refusing.RIGHT,
    "forward": forward.RIGHT,
}

WRONG = {name: plant for plants in WRONG_BY_TOPIC.values() for name, plant in plants.items()}
RIGHT = {name: right for rights in RIGHT_BY_TOPIC.values() for name, right in rights.items()}
