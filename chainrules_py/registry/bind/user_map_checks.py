"""Checks of the results of users' partial derivatives and maps.

A partial that is larger than the result would give a derivative of another shape, and the imaginary
part of a complex one would be lost. If the map of a function is zero, the derivative in what the
function captured would be lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError, describe
from chainrules_py.primitives.closures.convert import Closure, Operator
from chainrules_py.primitives.closures.higher_order_primitive import HigherOrder
from chainrules_py.tangents.checks import check_is_tangent, shape_of
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractTangent, is_zero

if TYPE_CHECKING:
    from chainrules_py.registry.bind.bind import Request
    from chainrules_py.registry.statement_and_rule import Statement


def check_product(bar: Any, y_bar: Any, statement: Statement, real: bool) -> Any:
    """Return the product of a cotangent and a partial derivative, after checking it.

    Raises
    ------
    ProjectionError
        If the partial is not one number per element, or is complex for a ``real`` function.
    """
    kinds = kind_of(bar), kind_of(y_bar)
    if isinstance(bar, AbstractTangent):
        return bar  # a derivative that is zero, or not stated
    same_shape = "none" in kinds or (shape_of(bar) or ()) == (shape_of(y_bar) or ())
    other_kind = kinds[0] != kinds[1] and kinds[0] in (real and "complex", "other")
    if same_shape and not other_kind:
        check_is_tangent(bar)
        return bar
    raise ProjectionError(
        f"a partial derivative of {statement!r} has not the shape or kind of the result: "
        f"{describe(y_bar)} times it is {describe(bar)}; give a real number, or an array of the "
        f"result's shape"
    )


def functions_in(request: Request) -> frozenset[int]:
    """Return the indices of operands that are functions with differentiated values in them.

    These packages' own operations on functions are excluded, as they may never call one.
    """
    statement = request.statement
    if isinstance(statement.primal, HigherOrder) and statement.source.is_ours:
        return frozenset()
    known = Closure, Operator
    return frozenset([i for i in request.active if issubclass(request.operands[i], known)])


def refuse_functions(request: Request) -> None:
    """Raise for such an operand of a forward rule that does not require an engine.

    Raises
    ------
    NotDifferentiableError
        The message says how to push through a function.
    """
    if functions_in(request):
        raise NotDifferentiableError(
            f"{request.statement!r} has no derivative in a function that has captured what is "
            f"being differentiated, so that this tangent would be lost; state it with "
            f"requires=ForwardMode, and push by config.frule_via_ad, or pass what the function "
            f"captured as an operand"
        )


def checked_map(m: Any, statement: Statement, of_function: bool) -> Any:
    """Return the map of an operand; if that is a function, raise where the map gives zero."""
    if not of_function:
        return m
    if type(m) is not LinearMap:
        return flowing(m, statement)

    def flows(half: Any) -> Any:
        return half and (lambda *xs: flowing(half(*xs), statement))

    return LinearMap(flows(m.push), flows(m.pull), *m.saved)


def flowing(t: Any, statement: Statement) -> Any:
    """Return a rule's derivative in a function; raise if it is zero, as it would be lost."""
    t = unthunk(t)
    if is_zero(t):
        raise NotDifferentiableError(
            f"{statement!r} gives zero for a function that has captured what is being "
            f"differentiated, so that this gradient would be lost; give a LinearMap for it, or "
            f"pass what it captured as an operand"
        )
    return t
