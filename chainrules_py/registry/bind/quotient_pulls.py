"""Pulls through quotients in as few passes as possible, where nothing is singular.

A strong product tests whether the partial is finite. For 1 / d the quotient itself is tested, and
the partial is not computed. For z / y the partial in y is tested for both, as it is finite only
where y is not 0. Non-finite results are computed again, by the strong product; so are traced
values, such as the cotangent, or the saved values of a tape that is itself differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from chainrules_py.ops.elementwise import divide
from chainrules_py.values.type_info import finite_test, finite_tests, hosted

Pull: TypeAlias = Callable[..., Any]
Quotient: TypeAlias = tuple[float, int | None, int]
"""A partial: a constant, times a slot or nothing, over a slot."""
_REAL = (int, float)


class Quotients:
    """Short paths for operands of given classes; ``finite`` is None if there are none."""

    def __init__(self, classes: tuple[type, ...]) -> None:
        self.finite = finite_test(classes)
        self.numbers = [cls in _REAL for cls in classes]
        if self.finite is not None:  # the silent division, looked up once
            cls = hosted([cls for cls in classes if cls in finite_tests])
            self.divide: Any = divide.plain_implementation((cls, cls))

    def part(self, quotient: Quotient | None, saved: tuple[int, ...], strong: Pull) -> Pull:
        """Return a pull of ``y_bar p`` for one operand, with the same result as ``strong``."""
        finite = self.finite
        if finite is None or quotient is None:
            return strong
        over = self.divide
        c, above, below = quotient
        if above is None and saved == (below,) and self.numbers[below - 1]:

            def pull_by_number(y_bar: Any, d: Any) -> Any:
                if type(d) in _REAL and d and type(y_bar) in finite_tests:
                    p = c / d
                    if math.isfinite(p):
                        return y_bar * p
                return strong(y_bar, d)

            return pull_by_number
        if above is None and saved == (below,):

            def pull_over(y_bar: Any, d: Any) -> Any:
                if type(d) in finite_tests and type(y_bar) in finite_tests:
                    bar = over(y_bar, d)
                    if finite(bar):
                        return bar if c == 1 else bar * c
                return strong(y_bar, d)

            return pull_over
        return self._ratio(c, strong) if self.sums(quotient, saved) else strong

    def sums(self, quotient: Quotient | None, saved: tuple[int, ...]) -> bool:
        """Return whether the part of a quotient takes a plan, and sums over broadcast axes."""
        if self.finite is None or quotient is None:
            return False
        c, above, below = quotient
        return above is not None and saved == (above, below) and c in (1, -1)

    def _ratio(self, c: float, strong: Pull) -> Pull:
        """Return a pull of ``y_bar p`` for c n / d, summed over broadcast axes if given a plan."""
        finite: Any = self.finite
        over = self.divide

        def pull_ratio(y_bar: Any, n: Any, d: Any, plan: Any = None) -> Any:
            if type(n) in finite_tests and type(d) in finite_tests and type(y_bar) in finite_tests:
                if plan is not None and d.size == 1 and d.shape == plan.shape:
                    bar = over(plan.of_product(y_bar, n), d)  # one division
                    if finite(bar):
                        return bar if c == 1 else -bar
                p = over(n, d)
                if finite(p):
                    bar = y_bar * p if plan is None else plan.of_product(y_bar, p)
                    return bar if c == 1 else -bar
            bar = strong(y_bar, n, d)
            return bar if plan is None else plan(bar)

        return pull_ratio

    def both(self, quotients: list[Quotient | None], saved: tuple[int, ...]) -> bool:
        """Return whether partials are 1 / d and -z / d, with the result z: a quotient by d."""
        return self.finite is not None and (
            saved == (0, 2) and quotients == [(1, None, 2), (-1, 0, 2)]
        )

    def together(self, strong: Pull) -> Pull:
        """Return a pull of both cotangents of a quotient by d; ``strong`` has the same results."""
        finite: Any = self.finite

        def pull_both(z_bar: Any, z: Any, d: Any) -> Any:
            if type(z) in finite_tests and type(z_bar) in finite_tests:
                p = z / d  # silent: where d is 0, z is infinite or NaN
                if finite(p):  # and no d is 0
                    return z_bar / d, -(z_bar * p)
            return strong(z_bar, z, d)

        return pull_both
