"""The two corpora together: wrong rules by their topics, and right ones."""

from __future__ import annotations

import importlib
from types import ModuleType

from tests.testing.planted.build import Plant, Right


def topics(*names: str) -> dict[str, ModuleType]:
    return {name: importlib.import_module(f"tests.testing.planted.{name}") for name in names}


WRONG_BY_TOPIC: dict[str, dict[str, Plant]] = {
    name: module.WRONG
    for name, module in topics(
        *("mutated", "calls", "conduct", "elementwise", "reductions", "indexing", "linalg"),
        *("arrangement", "waves", "structures", "forward"),
    ).items()
}
RIGHT_BY_TOPIC: dict[str, dict[str, Right]] = {
    name: module.RIGHT
    for name, module in topics(
        "mutated", "right_edges", "right_others", "right_refusing", "forward"
    ).items()
}

WRONG = {name: plant for plants in WRONG_BY_TOPIC.values() for name, plant in plants.items()}
RIGHT = {name: right for rights in RIGHT_BY_TOPIC.values() for name, right in rights.items()}
