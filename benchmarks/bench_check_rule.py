"""Cost of one full check of one rule, over samples of all operations."""

from __future__ import annotations

import statistics
import time

from chainrules_py import Primitive, ops
from chainrules_py.testing import backend, check_rule
from chainrules_py.testing.cases.calls_from_samples import Instance, instances

EVERY = 20
"""Of so many samples one is checked."""


class CheckRule:
    """Checks on NumPy with one seed, as `make test` runs them."""

    def setup(self) -> None:
        operations = [w for w in vars(ops).values() if isinstance(w, Primitive)]
        every = [
            i
            for operation in sorted(operations, key=lambda w: w.__name__)
            for i in instances(operation)
        ]
        self.samples = every[::EVERY]
        self.spent()  # what is found for types is found now

    def spent(self) -> list[float]:
        return [self.check(instance) for instance in self.samples]

    @staticmethod
    def check(instance: Instance) -> float:
        operands, options = instance.build(backend("numpy"))
        sample = instance.sample
        start = time.process_time()
        check_rule(
            instance.operation, *operands, gauge=sample.gauge, smooth=sample.smooth, **options
        )
        return time.process_time() - start

    def track_median_check(self) -> float:
        return 1000 * statistics.median(self.spent())

    track_median_check.unit = "ms"  # type: ignore[attr-defined]

    def track_ninth_decile_check(self) -> float:
        return 1000 * statistics.quantiles(self.spent(), n=10)[8]

    track_ninth_decile_check.unit = "ms"  # type: ignore[attr-defined]

    def track_slowest_check(self) -> float:
        return 1000 * max(self.spent())

    track_slowest_check.unit = "ms"  # type: ignore[attr-defined]
