"""The chain of a thousand operations: by the tape, by hand, by peers; what an operation costs."""

from __future__ import annotations

from typing import Any

from benchmarks.chain import PEERS, SHAPES, by_hand, by_tape, inputs, measure_tape, peer
from benchmarks.timing import ratio


class Chain:
    """The tape."""

    params = (tuple(SHAPES),)
    param_names = ("case",)

    def setup(self, case: str) -> None:
        self.xs = inputs(case)
        by_tape(*self.xs)

    def time_tape(self, case: str) -> None:
        by_tape(*self.xs)

    def time_numpy_by_hand(self, case: str) -> None:
        by_hand(*self.xs)

    def track_ratio_to_numpy_by_hand(self, case: str) -> float:
        return ratio(lambda: by_tape(*self.xs), lambda: by_hand(*self.xs), rounds=51)

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]


class PerOperation:
    """Measures per operation that do not depend on the speed of the machine."""

    params = (tuple(SHAPES),)
    param_names = ("case",)

    def setup(self, case: str) -> None:
        self.found = measure_tape(case)

    def track_bytes(self, case: str) -> float:
        return self.found["bytes"]

    def track_allocations(self, case: str) -> float:
        return self.found["blocks"]

    def track_records(self, case: str) -> float:
        return self.found["records"]

    def track_python_calls(self, case: str) -> float:
        return self.found["calls"]

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]
    track_allocations.unit = "blocks"  # type: ignore[attr-defined]
    track_records.unit = "records"  # type: ignore[attr-defined]
    track_python_calls.unit = "calls"  # type: ignore[attr-defined]


class ChainOfPeers:
    """Chain of operations, differentiated by the peers."""

    params = (PEERS, tuple(SHAPES))
    param_names = ("peer", "case")

    def setup(self, name: str, case: str) -> None:
        self.xs = inputs(case)
        try:
            self.run: Any = peer(name, *self.xs)
        except ImportError as error:
            raise NotImplementedError from error  # how asv is told to skip
        self.run()

    def time_peer(self, name: str, case: str) -> None:
        self.run()

    def track_ratio_to_numpy_by_hand(self, name: str, case: str) -> float:
        return ratio(self.run, lambda: by_hand(*self.xs), rounds=9)

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
