"""Pulls through quotients in as few passes as can be, where nothing is singular.

A strong product asks whether the partial is finite. Of 1 / d it is the quotient itself that is
asked, and the partial is not computed; of z / y the partial in y says that of both: it is finite
only where y is not 0. What is not finite is computed again, strongly; so is what is traced, as the
cotangent may be, or the saved values of a tape that is differentiated itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from chainrules_py.ops.elementwise import divide
from chainrules_py.values.type_info import finite_test, finite_tests, hosted

Pull: TypeAlias = Callable[..., Any]
Quotient: TypeAlias = tuple[float, int | None, int]
"""What a partial is: a constant, times a slot or nothing, over a slot."""
_REAL = (int, float)


class Quotients:
    """The short ways for operands of some classes; ``finite`` is None where there are none."""

    def __init__(self, classes: tuple[type, ...]) -> None:
        self.finite = finite_test(classes)
        self.numbers = [cls in _REAL for cls in classes]
        if self.finite is not None:  # the silent division, without being looked up
            cls = hosted([cls for cls in classes if cls in finite_tests])
            self.divide: Any = divide.plain_implementation((cls, cls))

    def part(self, quotient: Quotient | None, saved: tuple[int, ...], strong: Pull) -> Pull:
        """``y_bar p`` for one operand, as ``strong`` computes it as well."""
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
        """Tell whether a quotient's part takes a plan as well, and sums over broadcast axes."""
        if self.finite is None or quotient is None:
            return False
        c, above, below = quotient
        return above is not None and saved == (above, below) and c in (1, -1)

    def _ratio(self, c: float, strong: Pull) -> Pull:
        """``y_bar p`` for c n / d, with a plan the sum of that over broadcast axes."""
        finite: Any = self.finite
        over = self.divide

        def pull_ratio(y_bar: Any, n: Any, d: Any, plan: Any = None) -> Any:
            known = type(n) in finite_tests and type(d) in finite_tests
            if known and type(y_bar) in finite_tests:
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
        """Tell whether partials are 1 / d and -z / d, of the result z: it is a quotient by d."""
        return self.finite is not None and (
            saved == (0, 2) and quotients == [(1, None, 2), (-1, 0, 2)]
        )

    def together(self, strong: Pull) -> Pull:
        """Build the pull of a quotient by d, for both cotangents; ``strong`` computes them too."""
        finite: Any = self.finite

        def pull_both(z_bar: Any, z: Any, d: Any) -> Any:
            if type(z) in finite_tests and type(z_bar) in finite_tests:
                p = z / d  # silent: where d is 0, z is infinite or NaN
                if finite(p):  # and no d is 0
                    return z_bar / d, -(z_bar * p)
            return strong(z_bar, z, d)

        return pull_both
