"""One frule and one rrule with its pullback per family, on small arrays, beside NumPy."""

from __future__ import annotations

from benchmarks.families import FAMILIES
from benchmarks.timing import ratio
from chainrules_py import NoRuleError


class Rules:
    """Through `frule` and `rrule`, checks of what people pass included."""

    params = (tuple(FAMILIES),)
    param_names = ("family",)

    def setup(self, name: str) -> None:
        self.family = FAMILIES[name]
        try:
            self.family.frule()
            self.family.rrule()
        except NoRuleError as error:
            raise NotImplementedError from error

    def time_frule(self, name: str) -> None:
        self.family.frule()

    def time_rrule(self, name: str) -> None:
        self.family.rrule()

    def track_frule_to_numpy(self, name: str) -> float:
        return ratio(self.family.frule, self.family.push)

    def track_rrule_to_numpy(self, name: str) -> float:
        return ratio(self.family.rrule, self.family.pull)

    track_frule_to_numpy.unit = "times"  # type: ignore[attr-defined]
    track_rrule_to_numpy.unit = "times"  # type: ignore[attr-defined]
