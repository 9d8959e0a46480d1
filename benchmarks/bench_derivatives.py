"""Hessians, Jacobians and products with them, by the tape, by hand and by peers; checkpoints."""

from __future__ import annotations

from typing import Any

from benchmarks.derivatives import CASES, CHAINS, PEERS, by_hand, by_tape, chain, peak, peer
from benchmarks.timing import ratio


class Derivatives:
    """The tape."""

    params = (CASES,)
    param_names = ("case",)

    def setup(self, case: str) -> None:
        self.run, self.by_hand = by_tape(case), by_hand(case)
        self.run()

    def time_tape(self, case: str) -> None:
        self.run()

    def time_numpy_by_hand(self, case: str) -> None:
        self.by_hand()

    def track_ratio_to_numpy_by_hand(self, case: str) -> float:
        return ratio(self.run, self.by_hand, rounds=51)

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]


class DerivativesOfPeers:
    """Derivatives of the same functions, computed by the peers."""

    params = (PEERS, CASES)
    param_names = ("peer", "case")

    def setup(self, name: str, case: str) -> None:
        try:
            self.run: Any = peer(name, case)
        except ImportError as error:
            raise NotImplementedError from error  # how asv is told to skip
        self.by_hand = by_hand(case)
        self.run()

    def time_peer(self, name: str, case: str) -> None:
        self.run()

    def track_ratio_to_numpy_by_hand(self, name: str, case: str) -> float:
        return ratio(self.run, self.by_hand, rounds=9)

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]


class Checkpoints:
    """A chain of a thousand steps in about thirty checkpointed parts."""

    params = (tuple(CHAINS),)
    param_names = ("case",)

    def setup(self, case: str) -> None:
        self.plain = chain(case, checkpointed=False)
        self.run = chain(case, checkpointed=True)

    def time_checkpointed(self, case: str) -> None:
        self.run()

    def track_time_over_that_without(self, case: str) -> float:
        return ratio(self.run, self.plain, rounds=5)

    def track_peak_in_arrays(self, case: str) -> float:
        return peak(self.run, case)

    def track_peak_in_arrays_without(self, case: str) -> float:
        return peak(self.plain, case)

    track_time_over_that_without.unit = "times"  # type: ignore[attr-defined]
    track_peak_in_arrays.unit = "arrays"  # type: ignore[attr-defined]
    track_peak_in_arrays_without.unit = "arrays"  # type: ignore[attr-defined]
