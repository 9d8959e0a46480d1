"""Bytes: what a program holds at its peak, and what an operation keeps for the way back."""

from __future__ import annotations

from benchmarks.programs import OURS, engine
from benchmarks.scaling import HAND, MEASURES, TRACED, peak

CASES = tuple((name, size) for name, m in MEASURES.items() for size in m.sizes if size >= 100)


class Peak:
    """The most that a gradient holds at once, as Python's allocator sees it."""

    params = (tuple(f"{size} {name}" for name, size in CASES), TRACED)
    param_names = ("case", "engine")
    timeout = 300.0

    def setup(self, case: str, by: str) -> None:
        size, _, name = case.partition(" ")
        program = MEASURES[name].program(int(size))
        arguments = program.inputs()
        try:
            self.run = engine(by, program, arguments)
        except ImportError as error:
            raise NotImplementedError from error  # how asv is told to skip
        self.by_hand = engine(HAND, program, arguments)
        self.run()

    def track_peak(self, case: str, by: str) -> float:
        return peak(self.run)

    def track_peak_over_that_by_hand(self, case: str, by: str) -> float:
        return peak(self.run) / peak(self.by_hand)

    track_peak.unit = "bytes"  # type: ignore[attr-defined]
    track_peak_over_that_by_hand.unit = "times"  # type: ignore[attr-defined]


class PerOperation:
    """Growth of the peak memory of a deep program with each additional operation."""

    params = ((OURS, "autograd", "MyGrad"),)
    param_names = ("engine",)

    def track_bytes(self, by: str) -> float:
        few, many = 300, 3000
        program = MEASURES["operations"].program
        peaks = []
        for count in (few, many):
            of = program(count)
            try:
                run = engine(by, of, of.inputs())
            except ImportError as error:
                raise NotImplementedError from error
            run()
            peaks.append(peak(run))
        return (peaks[1] - peaks[0]) / (many - few)

    track_bytes.unit = "bytes"  # type: ignore[attr-defined]
