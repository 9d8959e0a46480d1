"""Libraries that can be asked whether all elements are finite, and answer at once.

On a device the answer would have to be waited for, and of a graph there is none yet: of these
nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["finite_test", "finite_tests", "register_finite"]

finite_tests: dict[type, Callable[[Any], bool]] = {}
"""What asks, by the class of the array."""


def register_finite(cls: type, test: Callable[[Any], bool]) -> None:
    """Say what asks arrays of exactly this class, and others that the same test takes."""
    finite_tests[cls] = test


def finite_test(classes: tuple[type, ...]) -> Callable[[Any], bool] | None:
    """What asks whether what is computed of such operands is finite, or None."""
    tests = [finite_tests.get(cls) for cls in classes if cls not in (int, float)]
    return tests[0] if tests and None not in tests else None
