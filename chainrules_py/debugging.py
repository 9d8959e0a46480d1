"""What engines call while `chainrules_py.testing.debug` is on.

``debugging.checks`` is None otherwise, and nothing else is asked. It is read where a rule
is bound, where a function was traced, where a compiled program gave a result, and where a
registered structure was rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Checks(Protocol):
    """Checks of functions and rules by running them again."""

    def bound(self, bound: Any, mode: str, primal: Callable[..., Any]) -> Any:
        """Return a bound rule that is checked at each call."""

    def function(self, f: Callable[..., Any], primals: tuple[Any, ...]) -> Callable[[Any], None]:
        """Return what is called with its value, once a function was traced; it may raise."""
        raise NotImplementedError

    def rebuilt(self, x: Any, new: Any, values: Sequence[Any]) -> None:
        """Raise if a registered structure was rebuilt around other values than were given."""

    def compiled(self, name: str, y: Any, expected: Any, same: bool) -> None:
        """Raise if a compiled program gave another result than its function."""


checks: Checks | None = None
"""The checks that are on, in all threads."""
