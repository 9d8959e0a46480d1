"""What engines call while `chainrules_py.testing.debug` is on.

``debugging.checks`` is None otherwise, and nothing else is asked. An engine reads it where a rule
is bound, where a function was traced, and where a compiled program gave a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Checks(Protocol):
    """Checks of functions and rules by running them again."""

    def bound(self, bound: Any, mode: str, primal: Callable[..., Any]) -> Any:
        """Return a bound rule that is checked at each call."""

    def function(self, f: Callable[..., Any], primals: tuple[Any, ...]) -> Callable[[Any], None]:
        """Return what is called with its value, once a function was traced; it may raise."""
        raise NotImplementedError

    def compiled(self, name: str, y: Any, expected: Any, same: bool) -> None:
        """Raise if a compiled program gave another result than its function."""


checks: Checks | None = None
"""The checks that are on, in all threads."""
