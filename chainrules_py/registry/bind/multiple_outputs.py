"""Elementwise statements with several outputs, or with values that partials share.

They are bound as functions that return linear maps: shared values are computed once, at the call,
and saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NoRuleError, RuleError, describe
from chainrules_py.ops.elementwise import conj, multiply, real, strong_multiply
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import AbstractTangent, ZeroTangent, is_zero
from chainrules_py.values.pytree import flatten

Partial = Callable[..., Any]


def maps_of_partials(
    primal: Primitive[..., Any],
    partials: tuple[Partial | None, ...],
    setup: Callable[..., Any] | None,
    singular: bool,
    complex: str | None,
    outputs: int,
) -> Callable[..., Any]:
    """Return a function for `rule` from the partials passed to `scalar_rule`."""
    product = strong_multiply if singular else multiply
    several = outputs > 1

    def several_rule(*xs: Any) -> Any:
        y = primal(*xs)
        if outputs != (len(y) if type(y) is tuple else 1):
            raise RuleError(
                f"{primal.__name__} gave {describe(y)}, and its scalar_rule says that it has "
                f"outputs={outputs}; give a tuple of so many"
            )
        if complex is None and "complex" in map(kind_of, flatten((y, *xs))[0]):
            raise NoRuleError(
                f"{primal.__name__} has no rule for complex numbers; its scalar_rule does not say "
                f"complex='holomorphic' or complex='real'"
            )
        saved = (*(() if setup is None else (setup(y, *xs),)), y, *xs)
        # The map of an operand that is not wanted is ignored.
        maps = [p and LinearMap(*halves(p), *saved) for p in partials]
        return y, tuple([m or ZeroTangent() for m in maps])

    def halves(partial: Partial) -> tuple[Callable[..., Any], Callable[..., Any]]:
        def each(*given: Any) -> tuple[Any, ...]:
            found = partial(*given)
            if not several:
                return (found,)
            if type(found) is not tuple or len(found) != outputs:
                raise RuleError(
                    f"a partial of scalar_rule({primal.__name__}) gave {describe(found)}; it has "
                    f"to give a tuple of {outputs}, one for each output"
                )
            return tuple([ZeroTangent() if p is None else p for p in found])

        def times(t: Any, p: Any) -> Any:
            return p if isinstance(p, AbstractTangent) else product(t, p)

        def push(t: Any, *given: Any) -> Any:
            dots = [times(t, p) for p in each(*given)]
            if complex == "real":
                dots = [d if isinstance(d, AbstractTangent) else real(d) for d in dots]
            return tuple(dots) if several else dots[0]

        def pull(y_bar: Any, *given: Any) -> Any:
            bars = [y_bar[k] for k in range(outputs)] if several else [y_bar]
            total: Any = ZeroTangent()
            for bar, p in zip(bars, each(*given), strict=True):
                if not is_zero(bar):
                    bar = times(bar, p if isinstance(p, AbstractTangent) else conj(p))
                    total = add_tangents(total, bar)
            return total

        return push, pull

    return several_rule
