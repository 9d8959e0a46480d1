"""Configuration of an engine: its capabilities, and how a rule calls back into it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NotDifferentiableError
from chainrules_py.values.pytree import flatten
from chainrules_py.values.type_info import type_info


class Capability(enum.Enum):
    """Something that a rule may ask of an engine."""

    REVERSE = "reverse"
    FORWARD = "forward"
    MUTATION = "mutation"

    def __repr__(self) -> str:
        return f"{self.value} mode" if self is not Capability.MUTATION else "mutation"


ReverseMode = Capability.REVERSE
ForwardMode = Capability.FORWARD
Mutation = Capability.MUTATION


class Config:
    """An engine, as rules see it. Engines derive from it and override what they can do.

    Attributes
    ----------
    capabilities : frozenset of Capability
        Rules with ``requires=`` are only found if all they ask is in here.

    Examples
    --------
    >>> Config().capabilities
    frozenset()
    """

    capabilities: frozenset[Capability] = frozenset()

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent of any function, by the engine's forward mode."""
        msg = (
            f"{type(self).__name__} has no forward mode; "
            f"a rule that needs it says requires=ForwardMode"
        )
        raise NotDifferentiableError(msg)

    def sees(self, x: Any) -> bool:
        """Tell whether a value's numbers can be looked at: not if it is traced to be compiled.

        There a rule leaves out what it would only check.
        """
        return not any([type_info(type(leaf)).is_hidden for leaf in flatten(x)[0]])

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Value and pullback of any function, by the engine's reverse mode."""
        msg = (
            f"{type(self).__name__} has no reverse mode; "
            f"a rule that needs it says requires=ReverseMode"
        )
        raise NotDifferentiableError(msg)
