"""Lookup of a rule by function and types: a hit, a miss, the first time; and registration."""

from __future__ import annotations

import numpy as np
import plum  # noqa: F401  (its import, 60 ms, is no part of a first call)

from benchmarks.registries import Own, many_operations, operation, state
from chainrules_py import ops as v
from chainrules_py.extend import find_rule


class Lookup:
    """A lookup that was made before."""

    def setup(self) -> None:
        self.array = (np.ndarray,)
        self.text = (str,)
        self.unknown = lambda x: x
        find_rule(np.sin, self.array)
        find_rule(v.sum, self.text)
        find_rule(self.unknown, self.text)

    def time_hot(self) -> None:
        find_rule(np.sin, self.array)

    def time_miss(self) -> None:
        find_rule(v.sum, self.text)

    def time_unknown_callable(self) -> None:
        find_rule(self.unknown, self.text)


class FirstCall:
    """The first lookup after 600 rules were registered."""

    number = 1
    repeat = 20
    warmup_time = 0

    def setup(self) -> None:
        self.operations = many_operations()
        self.one = operation()
        self.classes = [type(f"Own{i}", (), {}) for i in range(600)]
        for cls in self.classes:
            state(self.one, cls)

    def time_600_operations(self) -> None:
        find_rule(self.operations[300], (Own, Own))

    def time_600_types_of_one_operation(self) -> None:
        find_rule(self.one, (self.classes[300], self.classes[300]))


class Registration:
    """Entering one rule into a registry that has 600."""

    number = 100
    repeat = 20
    warmup_time = 0

    def setup(self) -> None:
        many_operations()
        self.fresh = iter([operation() for _ in range(self.number)])

    def time_rule(self) -> None:
        state(next(self.fresh))
