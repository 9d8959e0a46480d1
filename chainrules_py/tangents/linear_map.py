"""Linear maps: the derivative of a function at a point, and its adjoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py.values.find_tracers import find_tracers


@final
class LinearMap:
    """The derivative of one result with respect to one operand, at a point.

    Parameters
    ----------
    push : callable or None
        ``push(x_dot, *saved)`` maps a tangent of the operand to a tangent of the result.
    pull : callable or None
        ``pull(y_bar, *saved)``: its real adjoint,
        ``Re<y_bar, push(x_dot)> == Re<pull(y_bar), x_dot>``.
    *saved
        The values that the two halves need from the point. The fast form is to pass all of them
        here, with halves that close over nothing: an engine then keeps the flat record
        ``(pull, *saved)`` and knows which arrays it holds.
    pull_into : callable, optional
        ``pull_into(buffer, y_bar, *saved)`` adds the pulled-back cotangent to a buffer, in place.
        An engine calls it if this operand alone is differentiated, and the engine owns a sum of its
        cotangents.

    Notes
    -----
    A missing half is None: an engine then raises for that mode, and never returns zero.

    Examples
    --------
    >>> triple = LinearMap(lambda x_dot, c: c * x_dot, lambda y_bar, c: c * y_bar, 3.0)
    >>> triple.push(2.0, *triple.saved), triple.pull(1.0, *triple.saved)
    (6.0, 3.0)
    """

    # A frozen dataclass would take four times as long to build, in every call of a rule.
    __slots__ = ("pull", "pull_into", "push", "saved")

    def __init__(
        self,
        push: Callable[..., Any] | None,
        pull: Callable[..., Any] | None,
        *saved: Any,
        pull_into: Callable[..., Any] | None = None,
    ) -> None:
        self.push, self.pull = push, pull
        self.saved, self.pull_into = saved, pull_into

    def __repr__(self) -> str:
        halves = [
            getattr(half, "__qualname__", repr(half)) for half in (self.push, self.pull) if half
        ]
        return f"LinearMap({', '.join(halves)}; {len(self.saved)} saved)"


@final
class PullInto:
    """A pull that can add to a buffer, which an engine keeps for a map with ``pull_into``."""

    __slots__ = ("into", "pull")

    def __init__(self, pull: Callable[..., Any], into: Callable[..., Any]) -> None:
        self.pull, self.into = pull, into

    def __call__(self, y_bar: Any, *saved: Any) -> Any:
        """Pull one cotangent back."""
        return self.pull(y_bar, *saved)

    @staticmethod
    def added(buffer: Any, y_bar: Any, kept: tuple[Any, ...]) -> bool:
        """Add a record's pulled cotangent to a plain buffer, if possible; return whether it did."""
        if not kept or type(kept[0]) is not PullInto:
            return False
        half, onto, *saved = kept
        plain = type(buffer) is type(y_bar) and not find_tracers(tuple(saved))
        if plain and buffer.dtype == onto.dtype and buffer.shape == onto.shape:
            half.into(buffer, y_bar, *saved)
            return True
        return False


def _same(tangent: Any) -> Any:
    return tangent


identity = LinearMap(_same, _same)
"""The identity map, whose push returns the tangent, and whose pull the cotangent."""
