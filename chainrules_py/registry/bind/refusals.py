"""Refusals of what a person's partial derivatives and maps give.

A partial that is larger than the result would make a derivative of another shape, and the imaginary
part of a complex one would be lost. A function whose map gives zero would lose what it captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError, describe
from chainrules_py.primitives.closures.convert import Closure, Operator
from chainrules_py.primitives.closures.effects import HigherOrder
from chainrules_py.tangents.checks import check_is_tangent, shape_of
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractTangent, is_zero

if TYPE_CHECKING:
    from chainrules_py.registry.bind.bind import Request
    from chainrules_py.registry.statement import Statement


def check_product(bar: Any, y_bar: Any, statement: Statement, real: bool) -> Any:
    """Return a cotangent times a partial derivative.

    Raises
    ------
    ProjectionError
        If the partial is no number for each element, or complex where the function is ``real``.
    """
    kinds = kind_of(bar), kind_of(y_bar)
    if isinstance(bar, AbstractTangent):
        return bar  # a derivative that is zero, or that nobody has stated
    if "none" not in kinds and (shape_of(bar) or ()) != (shape_of(y_bar) or ()):
        what = "has a number for more than the elements of the result"
    elif real and kinds[0] == "complex" != kinds[1]:
        what = "is complex, where the function is real"
    else:
        check_is_tangent(bar)
        return bar
    msg = (
        f"a partial derivative of {statement!r} {what}: {describe(y_bar)} times it is "
        f"{describe(bar)}; give a real number, or an array of the result's shape"
    )
    raise ProjectionError(msg)


def functions_in(request: Request) -> frozenset[int]:
    """List the operands that are functions, with values in them that are differentiated.

    Our own operations that are given functions may find that one is never called.
    """
    statement = request.statement
    if isinstance(statement.primal, HigherOrder) and statement.source.is_ours:
        return frozenset()
    known = Closure, Operator
    return frozenset([i for i in request.active if issubclass(request.operands[i], known)])


def refuse_functions(request: Request) -> None:
    """Raise for such an operand of a forward rule that does not ask the engine for derivatives.

    Raises
    ------
    NotDifferentiableError
        It says how to push through a function.
    """
    if functions_in(request):
        msg = (
            f"{request.statement!r} has no derivative in a function that has captured what is "
            f"being differentiated, so that this tangent would be lost; state it with "
            f"requires=ForwardMode, and push by config.frule_via_ad, or pass what the function "
            f"captured as an operand"
        )
        raise NotDifferentiableError(msg)


def checked_map(m: Any, statement: Statement, of_function: bool) -> Any:
    """Return the map of an operand; for a function's, one that raises where it would give zero."""
    if not of_function:
        return m
    if type(m) is not LinearMap:
        return flowing(m, statement)

    def flows(half: Any) -> Any:
        return half and (lambda *xs: flowing(half(*xs), statement))

    return LinearMap(flows(m.push), flows(m.pull), *m.saved)


def flowing(t: Any, statement: Statement) -> Any:
    """Return what a rule gives for a function, which would be lost if it were zero."""
    t = unthunk(t)
    if is_zero(t):
        msg = (
            f"{statement!r} gives zero for a function that has captured what is being "
            f"differentiated, so that this gradient would be lost; give a LinearMap for it, or "
            f"pass what it captured as an operand"
        )
        raise NotDifferentiableError(msg)
    return t
