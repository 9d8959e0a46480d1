"""Registries of many rules, made for measuring."""

from __future__ import annotations

from typing import Any

from chainrules_py import LinearMap, Primitive, primitive, rule


class Own:
    """A class of operands that only these rules are for."""


def operation() -> Primitive[..., Any]:
    """Make a primitive that nobody has a rule for yet."""

    def f(x: Any, y: Any) -> Any:
        return x

    return primitive(f)


def state(f: Primitive[..., Any], cls: type = Own) -> None:
    """Register a rule of a primitive for operands of a class."""
    identity = LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar)

    def f_rule(x: Any, y: Any) -> Any:
        return x, (identity, identity)

    rule(f, types=(cls, cls))(f_rule)


def many_operations(count: int = 600) -> list[Primitive[..., Any]]:
    """Primitives with a rule each."""
    operations = [operation() for _ in range(count)]
    for f in operations:
        state(f)
    return operations
