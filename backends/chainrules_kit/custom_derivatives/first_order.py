"""Halves of rules that cannot be differentiated again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import NotImplementedTangent, primitive, rule
from chainrules_py.extend import name_of


def once_differentiable(half: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a push, a pull or a backward function as correct to first order only.

    This is for functions that call foreign code, or whose own derivative is untested.

    Parameters
    ----------
    half : callable
        A function of positional arguments: the values that a rule saves, and a tangent or
        cotangent.

    Returns
    -------
    callable
        A function with the same results that raises when it is differentiated, in every engine.

    Examples
    --------
    >>> from chainrules_py import primitive
    >>> from chainrules_kit.custom_derivatives import augmented_rule
    >>> from chainrules_tape import grad
    >>> @primitive
    ... def cube(x):
    ...     return x * x * x
    >>> backward = once_differentiable(lambda x, y_bar: (3.0 * x * x * y_bar,))
    >>> augmented_rule(cube, lambda x: (cube(x), (x,)), backward)
    >>> grad(cube)(2.0)
    12.0
    >>> grad(grad(cube))(2.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    chainrules_py.errors.NotDifferentiableError: ... is differentiable once: ...
    """

    @primitive
    def once(*given: object) -> Any:
        return half(*given)

    reason = NotImplementedTangent(
        f"{name_of(half)} is differentiable once: its author says so by once_differentiable"
    )

    @rule(once)
    def once_rule(*given: object) -> Any:
        return once(*given), (reason,) * len(given)

    return once
