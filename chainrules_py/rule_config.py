"""Configuration of an engine: its capabilities, and how rules call back into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from chainrules_py.errors import NotDifferentiableError
from chainrules_py.values.pytree import flatten
from chainrules_py.values.type_info import type_info


class Capability(NamedTuple):
    """A capability that a rule requires of an engine, or with ``~``, one that it must lack.

    Users may define further names. Each engine has its own name as a capability: a rule for one
    engine alone states ``requires=Capability("jax")``.

    Examples
    --------
    >>> ~Capability("reverse mode") == NoReverseMode
    True
    """

    name: str
    absent: bool = False

    def __invert__(self) -> Capability:
        return Capability(self.name, not self.absent)

    def __repr__(self) -> str:
        return f"no {self.name}" if self.absent else self.name


ReverseMode = Capability("reverse mode")
ForwardMode = Capability("forward mode")
NoReverseMode = ~ReverseMode
NoForwardMode = ~ForwardMode
Mutation = Capability("mutation")
Always = Capability("pulls of zero cotangents")
"""Required by rules with ``always=True``."""


def meets(can: frozenset[Capability], asked: Iterable[Capability]) -> bool:
    """Return whether capabilities of an engine satisfy the requirements of a rule."""
    return all([((~c if c.absent else c) in can) is not c.absent for c in asked])


class Config:
    """An engine as rules see it; engines derive from it and override what they support.

    Attributes
    ----------
    capabilities : frozenset of Capability
        Rules with ``requires=`` are only found if these include all that they require.
    vjp, jvp : callable or None
        The engine's own ``vjp(f, *xs)`` and ``jvp(f, xs, dots)``, which rules call.

    Examples
    --------
    >>> Config().capabilities
    frozenset()
    """

    capabilities: frozenset[Capability] = frozenset()
    vjp: Any = None
    jvp: Any = None

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Return the value and tangent of any function, by the engine's forward mode."""
        if self.jvp is None:
            raise NotDifferentiableError(
                f"{type(self).__name__} has no forward mode; "
                f"a rule that needs it says requires=ForwardMode"
            )
        return self.jvp(lambda *xs: f(*xs, **options), operands, tangents)  # type: ignore[no-any-return]

    def sees(self, x: Any) -> bool:
        """Return whether a value's numbers can be read: False while it is traced for compilation.

        There a rule skips its checks.
        """
        return not any([type_info(type(leaf)).is_hidden for leaf in flatten(x)[0]])

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return the value and pullback of any function, by the engine's reverse mode."""
        if self.vjp is None:
            raise NotDifferentiableError(
                f"{type(self).__name__} has no reverse mode; "
                f"a rule that needs it says requires=ReverseMode"
            )
        return self.vjp(lambda *xs: f(*xs, **options), *operands)  # type: ignore[no-any-return]
