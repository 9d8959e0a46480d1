"""Whole programs with their gradients: ours, by hand, and by the peers; time and memory."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import HAND, differs
from benchmarks.programs import ENGINES, PROGRAMS, engine, leaves
from benchmarks.timing import ratio


class Programs:
    """Value and gradient of each program, by each engine. What differs fails before it is timed."""

    params = (tuple(PROGRAMS), tuple(ENGINES))
    param_names = ("program", "engine")
    timeout = 300.0

    def setup(self, name: str, by: str) -> None:
        program = PROGRAMS[name]
        arguments = program.inputs()
        try:
            self.run: Any = engine(by, program, arguments)
        except ImportError as error:
            raise NotImplementedError from error  # how asv is told to skip
        self.by_hand = engine(HAND, program, arguments)
        try:
            answer = self.run()
        except RecursionError as error:
            raise NotImplementedError from error
        if off := differs(program, leaves(self.by_hand()), answer):
            msg = f"{by} computes another gradient of {name}: {off}"
            raise AssertionError(msg)

    def time_value_and_gradient(self, name: str, by: str) -> None:
        self.run()

    def track_ratio_to_numpy_by_hand(self, name: str, by: str) -> float:
        return ratio(self.run, self.by_hand, rounds=15)

    def peakmem_value_and_gradient(self, name: str, by: str) -> None:
        self.run()

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
