"""Hooks that engines call while `chainrules_py.testing.debug` is on.

``debugging.checks`` is None otherwise, and nothing else is tested. It is read where a rule
is bound, where a function was traced, where a compiled program returned a result, and where a
registered structure was rebuilt.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Checks(Protocol):
    """Checks of functions and rules by running them again."""

    def bound(self, bound: Any, mode: str, primal: Callable[..., Any]) -> Any:
        """Return a bound rule with checks at each call."""

    def function(self, f: Callable[..., Any], primals: tuple[Any, ...]) -> Callable[[Any], None]:
        """Return a function to call with the value of a traced function; it may raise."""
        ...

    def rebuilt(self, x: Any, new: Any, values: Sequence[Any]) -> None:
        """Raise if a registered structure was rebuilt around values other than those passed."""

    def compiled(self, name: str, y: Any, expected: Any, same: bool) -> None:
        """Raise if the results of a compiled program and of its function differ."""


checks: Checks | None = None
"""The active checks, in all threads, or None."""
