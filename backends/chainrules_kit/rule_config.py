"""Configurations of engines that differentiate functions of their arrays, for rules and solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_kit.tangent_conversions import dense
from chainrules_py import Config, ForwardMode, ReverseMode, space


class EngineConfig(Config):
    """An engine with both modes, stated as `frule_via_ad` and `rrule_via_ad`.

    Attributes
    ----------
    name : str
        The name of the engine.
    """

    capabilities = frozenset((ReverseMode, ForwardMode))
    name: str

    def vjp(self, f: Callable[..., Any], /, *operands: Any) -> tuple[Any, Callable[..., Any]]:
        """Return the value and pullback of f in the form that `plugins.hosted` expects."""
        y, pullback = self.rrule_via_ad(f, *operands)
        spaces = list(map(space, operands))
        return y, lambda y_bar: tuple(map(dense, pullback(y_bar), spaces))

    def jvp(
        self, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """Return the value and tangent of f in the form that `plugins.hosted` expects."""
        y, y_dot = self.frule_via_ad(tuple(tangents), f, *primals)
        return y, dense(y_dot, space(y))

    def __repr__(self) -> str:
        return f"<{self.name}>"
