"""Counts that fail without a clock: calls, records and memory of an operation and an argument."""

from __future__ import annotations

import numpy as np

from benchmarks.counts import OPERATIONS, of_argument, of_operation, of_product
from benchmarks.derivatives import X, rosenbrock


class Operation:
    """Calls and blocks of memory that one operation on small arrays costs."""

    params = (tuple(OPERATIONS),)
    param_names = ("operation",)

    def setup(self, name: str) -> None:
        self.paid = of_operation(name)

    def track_calls_forward(self, name: str) -> int:
        return self.paid["forward"]

    def track_calls_backward(self, name: str) -> int:
        return self.paid["backward"]

    def track_calls_of_rules(self, name: str) -> int:
        return self.paid["rules"]

    def track_blocks(self, name: str) -> int:
        return self.paid["blocks"]

    track_calls_forward.unit = "calls"  # type: ignore[attr-defined]
    track_calls_backward.unit = "calls"  # type: ignore[attr-defined]
    track_calls_of_rules.unit = "calls"  # type: ignore[attr-defined]
    track_blocks.unit = "blocks"  # type: ignore[attr-defined]


class Boundary:
    """Calls that an additional argument costs, and those of a product with a Hessian."""

    def track_calls_of_argument(self) -> int:
        return of_argument()

    def track_calls_of_product(self) -> int:
        return of_product(lambda x: rosenbrock(np, x), X)

    track_calls_of_argument.unit = "calls"  # type: ignore[attr-defined]
    track_calls_of_product.unit = "calls"  # type: ignore[attr-defined]
