"""Whole programs with their gradients: ours, by hand, and by the peers."""

from __future__ import annotations

from typing import Any

from benchmarks.programs import ENGINES, PROGRAMS, engine
from benchmarks.timing import ratio


class Programs:
    """Value and gradient of each program, by each engine."""

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
        self.by_hand = engine("NumPy by hand", program, arguments)
        self.run()

    def time_value_and_gradient(self, name: str, by: str) -> None:
        self.run()

    def track_ratio_to_numpy_by_hand(self, name: str, by: str) -> float:
        return ratio(self.run, self.by_hand, rounds=15)

    def peakmem_value_and_gradient(self, name: str, by: str) -> None:
        self.run()

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
