"""The two corpora together: wrong rules by their topics, and right ones."""

from __future__ import annotations

from tests.testing.planted import (
    arrangement,
    calls,
    conditions,
    conduct,
    elementwise,
    formulas,
    found,
    indexing,
    large,
    linalg,
    matrices,
    memory,
    mistaken,
    named,
    numbers,
    reductions,
    right_arrangement,
    right_edges,
    right_formulas,
    right_kinds,
    right_magnitudes,
    right_ordinary,
    right_others,
    right_refusing,
    right_written,
    stairs,
    structures,
    waves,
    written,
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
    "mistaken": mistaken.WRONG,
    "formulas": formulas.WRONG,
    "arrangements": arrangement.WRONG,
    "structures": structures.WRONG,
    "matrices": matrices.WRONG,
    "written": written.WRONG,
    "conditions": conditions.WRONG,
    "named": named.WRONG,
    "found": found.WRONG,
    "stairs": stairs.WRONG,
}
RIGHT_BY_TOPIC: dict[str, dict[str, Right]] = {
    "ordinary": right_ordinary.RIGHT,
    "magnitudes": right_magnitudes.RIGHT,
    "edges": right_edges.RIGHT,
    "kinds": right_kinds.RIGHT,
    "formulas": right_formulas.RIGHT,
    "arrangements": right_arrangement.RIGHT,
    "others": right_others.RIGHT,
    "written": right_written.RIGHT,
    "refusing": right_refusing.RIGHT,
    "named": named.RIGHT,
    "found": found.RIGHT,
    "stairs": stairs.RIGHT,
}

WRONG = {name: plant for plants in WRONG_BY_TOPIC.values() for name, plant in plants.items()}
RIGHT = {name: right for rights in RIGHT_BY_TOPIC.values() for name, right in rights.items()}
