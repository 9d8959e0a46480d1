"""Derivatives in operands without a formula: orders, degrees, parameters of special functions."""

import math
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.ops import abs, astype, conj, minimum, real, round, strong_multiply, where
from chainrules_py.registry.constructors import rule
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import NoTangent

WIDTH = 0.02
FORMS = ((4 / 5, -1 / 5, 4 / 105, -1 / 280), (3 / 4, -3 / 20, 1 / 60))
"""Weights of the differences: B. Fornberg, Mathematics of Computation 51 (1988) 699."""


def unstated(operation, place, *xs):
    """Make the map of an operand without a derivative here; `NoTangent` for integers."""
    if kind_of(xs[place]) in ("int", "bool"):
        return NoTangent()
    return LinearMap(refuse, refuse, operation, place, xs[place])


def refuse(t, operation, place, x):
    name = operation.operands[place]
    raise NotDifferentiableError(
        f"{operation.__name__} has no derivative in its operand {name} here, which is "
        f"{describe(x)}; "
        f"hold it fixed with ignore_derivatives({name}), or say with wanted= that its cotangent "
        f"is not"
    )


def around(operation: Any, place: int, *xs: Any, width: Any = WIDTH) -> Any:
    """Differentiate by central differences of eighth and sixth order; NaN where these differ."""
    at = lambda d: operation(*xs[:place], xs[place] + d, *xs[place + 1 :])
    sides = [(at(k * width), at(-k * width)) for k in (1, 2, 3, 4)]
    steps = [up - down for up, down in sides]
    terms = [[c / width * d for c, d in zip(form, steps, strict=False)] for form in FORMS]
    eighth, sixth = [sum(rest, first) for first, *rest in terms]
    size = abs(eighth) + 1e-2 * (abs(sides[0][0]) + abs(sides[0][1]))
    # A factor, so that further derivatives are NaN as well.
    return eighth * where(abs(eighth - sixth) <= 1e-6 * size, 1.0, math.nan)


def between_poles(operation, place, *xs):
    """Differentiate in a parameter with poles at 0, -1, -2, ..., by closer differences near one."""
    to_pole = abs(xs[place] - minimum(round(xs[place]), 0.0))
    # Around a pole the two formulas differ; where a series ends before its pole, they agree.
    step = where(to_pole < 1e-12, 1e-6, minimum(WIDTH, to_pole / 40))
    width = xs[place] + step - xs[place]  # the step that is taken in floating point
    is_finite = abs(operation(*xs)) < math.inf
    return around(operation, place, *xs, width=width) * where(is_finite, 1.0, math.nan)


def varied(operation, place, *xs, slope=around):
    """Make the map of a parameter without a formula, by differences; `NoTangent` for integers."""
    if kind_of(xs[place]) in ("int", "bool"):
        return NoTangent()
    return LinearMap(times, times_conj, slope, operation, place, *xs)


def lower_varied(operation, place, *xs):
    """Make the map of a parameter of a hypergeometric function; the last one is a lower one."""
    return varied(operation, place, *xs, slope=between_poles if place == len(xs) - 2 else around)


def of_order(operation, slope, fixed=varied):
    """State dy = slope(y, *orders, x) dx, and the derivatives in the orders by differences."""

    def of_order_rule(*operands):
        y, (*orders, x) = operation(*operands), operands
        in_orders = [fixed(operation, place, *operands) for place in range(len(orders))]
        at = y, *[floating(n, x) for n in orders], x
        return y, (*in_orders, LinearMap(times, times_conj, slope, *at))

    of_order_rule.__signature__ = operation.signature  # type: ignore[attr-defined]
    rule(operation, batched="broadcast")(of_order_rule)


def floating(n, x):
    """Convert integers to real numbers, in the precision of x if it has one: n + 1 may overflow."""
    if kind_of(n) != "int":
        return n
    alike = hasattr(n, "dtype") and hasattr(x, "dtype") and kind_of(x) in ("real", "complex")
    return astype(n, dtype=real(x).dtype) if alike else 1.0 * n


def times(t, slope, *at):
    return strong_multiply(t, slope(*at))


def times_conj(t, slope, *at):
    return strong_multiply(t, conj(slope(*at)))
