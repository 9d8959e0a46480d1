"""Roots that are traced twice, and even functions of them.

``cos(sqrt(s))`` is a smooth function of s, but where s is 0 the rules of cosine and root do not
give its second derivative. So a root that has a 0 keeps its square, and an even function of it
takes the derivative of a smooth function of that.

The tables are filled by `chainrules_py.rules.even_functions_of_roots`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.primitives.plugins import see_about
from chainrules_py.primitives.primitive import Primitive, primitive
from chainrules_py.tangents.space import kind_of
from chainrules_py.tracing.array_like import innermost
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import differentiates
from chainrules_py.values.type_info import namespace_of, type_info

squares: dict[Primitive[..., Any], Callable[..., Any]] = {}
"""Functions that return the square of an operation's result, smooth in its operands, or None."""
multiples: dict[Primitive[..., Any], Callable[..., Any]] = {}
"""The same, for results that are roots where an operand is one."""
even_functions: dict[Primitive[..., Any], Callable[..., Any]] = {}
"""Functions that compute an operation from the square of its operand, or return None."""


@primitive
def valued(z: Any, y: Any, /) -> Any:
    """Return y, with the derivative of z, which is y by another formula."""
    return y


def square_of_root(x: Any) -> Any:
    """Return the square of a root that was not written to since; None of another value."""
    kept = getattr(x, "as_root", None)
    return kept[1] if kept is not None and kept[0] is x.payload else None


def with_roots(
    f: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    classes: tuple[type, ...],
    step: Callable[..., Any] | None,
) -> Callable[..., Any] | None:
    """Return the step of an operation for operands that are traced twice; others' as it is.

    A class of tracers that may be recorded again counts as traced twice: it states ``orders``.
    """
    twice = [
        differentiates(getattr(c, "payload_type", object))
        or isinstance(getattr(c, "orders", None), int)
        for c in classes
    ]
    if step is None or not any(twice):
        return step
    see_about(__name__)
    even, compute = even_functions.get(f), primal or f
    squared = {False: squares.get(f), True: multiples.get(f)}  # by whether an operand is a root
    if even is None and not any(squared.values()):
        return step

    def step_with_roots(*operands: Any, **options: Any) -> Any:
        reads = any([getattr(x, "as_root", None) is not None for x in operands])
        smooth = even(*operands, **options) if even and reads else None
        if smooth is not None:
            return valued(smooth, compute(*map(innermost, operands), **options))
        y = step(*operands, **options)
        square_of = squared[reads]
        if square_of and kind_of(value := innermost(y)) == "real" and _has_zero(value):
            y.as_root = y.payload, square_of(*map(_kept, operands), **options)
        return y

    return step_with_roots


def _has_zero(x: Any) -> bool:
    """Return whether a value has an element of 0, or may have one that is not computed yet."""
    info = type_info(type(x))
    if info.is_hidden or info.library.by_operations:
        return True
    zeros = x == 0
    return zeros if type(zeros) is bool else bool(namespace_of(type(x)).any(zeros))


def _kept(x: Any) -> Any:
    """Return a value as it is now, unaffected by later writes; a root has kept its square."""
    return x.frozen() if isinstance(x, Tracer) and square_of_root(x) is None else x
