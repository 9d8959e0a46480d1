"""What a person's partial derivatives and maps give: what fits, or it is refused.

A partial gives a number for each element. Of one element of the result it is one, real where the
function is: what is larger would make a derivative of another shape, and the imaginary part of a
complex one would be lost. The map of a function gives no zero: what it captured would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chainrules_py.errors import NotDifferentiableError, ProjectionError, describe
from chainrules_py.primitives.closures.convert import Closure, Operator
from chainrules_py.primitives.closures.effects import HigherOrder
from chainrules_py.tangents.checks import check_is_tangent, shape_of
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import AbstractZero, NotImplementedTangent, is_zero

if TYPE_CHECKING:
    from chainrules_py.registry.bind.bind import Request
    from chainrules_py.registry.statement import Statement


def checked_partial(partial: Callable[..., Any], statement: Statement, real: bool) -> Any:
    """Wrap a partial derivative, which is given the result as well."""
    return lambda y, *xs: check_partial(partial(y, *xs), y, statement, real)


def check_partial(
    p: Any, like: Any, statement: Statement, real: bool, kept: tuple[Any, ...] = ()
) -> Any:
    """Return what a partial derivative gave, beside the result or its cotangent.

    A batch of cotangents has one axis more than the values that were ``kept``.

    Raises
    ------
    ProjectionError
        If it is no number for each element, or complex where the function is ``real``.
    """
    cls, dtype = type(p), getattr(p, "dtype", None)
    same = cls is type(like) and (dtype is None or (dtype is like.dtype and p.shape == like.shape))
    if not (same or cls is float):
        widest = max(kept, key=_axes, default=like)
        _check(p, widest if _axes(p) > _axes(widest) else like, statement, real)
    return p


def _check(p: Any, like: Any, statement: Statement, real: bool) -> None:
    """Refuse what is no number for each element, or a complex one of a real function."""
    if isinstance(p, (AbstractZero, NotImplementedTangent)):
        return  # nothing, or a derivative that nobody has stated
    kind, known = kind_of(p), kind_of(like)
    check_is_tangent(p)
    lengths, given = shape_of(like), shape_of(p)
    if kind not in ("real", "complex", "int", "bool"):
        what = "is no number or array"
    elif lengths is not None and given is not None and not _broadcasts(given, lengths):
        what = f"has a number for more than the elements of {describe(like)}"
    elif real and kind == "complex" and known != "complex":
        what = "is complex, where the function is real"
    else:
        return
    msg = (
        f"a partial derivative of {statement!r} gave {describe(p)}, which {what}; "
        f"give a real number, or an array of the result's shape"
    )
    raise ProjectionError(msg)


def _axes(x: Any) -> int:
    return len(getattr(x, "shape", ()))


def _broadcasts(shape: tuple[int, ...], onto: tuple[int, ...]) -> bool:
    n = len(shape)
    return n <= len(onto) and all(
        [a in (1, b) for a, b in zip(shape, onto[len(onto) - n :], strict=True)]
    )


def functions_in(request: Request) -> frozenset[int]:
    """List the operands that are functions, with values in them that are differentiated.

    Our own words that are given functions may find that one is never called.
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
