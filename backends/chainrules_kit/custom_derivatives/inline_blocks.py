"""Regions: code that runs once, in place, with a user-defined derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from chainrules_kit.custom_derivatives.custom_jvp_vjp import custom_vjp
from chainrules_py import RuleError, TracerError
from chainrules_py.extend import describe, name_of, settled, where_defined

S = TypeVar("S")


def user_grad(*inputs: Any) -> Callable[[Callable[..., tuple[S, Callable[..., Any]]]], S]:
    """Run a region of code in place, with a user-defined derivative (a decorator).

    Parameters
    ----------
    *inputs : array, number, or structure of them
        All values that the region is differentiated with respect to.

    Returns
    -------
    decorator
        It calls the decorated function with the inputs and binds its name to the value. The
        function returns ``(y, pullback)``; ``pullback(y_bar)`` returns a tuple with one cotangent
        per input, also for one input. ``y_bar`` has the tuple, list or dict structure of y, with
        zeros filled in.

    Raises
    ------
    TracerError
        If the value depends on a traced value that is no input.

    Notes
    -----
    The pullback sees the names it uses as they were when the region ran: each iteration of a loop
    has its own version, of names inside the region and outside. Writes to an array, however, are
    seen: save a copy of an array that is written to afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> def total(x):
    ...     y = 0.0
    ...     for i in range(3):
    ...
    ...         @user_grad(x[i])
    ...         def square(x_i):
    ...             return x_i * x_i, lambda y_bar: (2.0 * x_i * y_bar,)
    ...
    ...         y = y + i * square
    ...     return y
    >>> grad(total)(np.array([1.0, 2.0, 3.0]))
    array([ 0.,  4., 12.])
    """

    def run(code: Callable[..., tuple[S, Callable[..., Any]]]) -> S:
        # An engine that the code is exported to calls it again, when the loop has changed names.
        try:
            y: S = region(settled(code), *inputs)
        except TracerError as error:
            error.args = (str(error).replace(_shown(region), _shown(code)),)
            raise
        return y

    return run


@custom_vjp(nondiff_argnums=0)
def region(function: Any, *inputs: Any) -> Any:
    """Call a function that returns a value and its pullback."""
    return function(*inputs)[0]


def _forward(function: Any, *inputs: Any) -> Any:
    answer = function(*inputs)
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        raise RuleError(
            f"{_shown(function)}, a region with a derivative of its own, has to return "
            f"(y, pullback), and returned {describe(answer)}"
        )
    return answer[0], (answer[1], len(inputs))


def _backward(function: Any, saved: Any, y_bar: Any) -> Any:
    pullback, n = saved
    bars = pullback(y_bar)
    if not isinstance(bars, tuple) or len(bars) != n:
        raise RuleError(
            f"the pullback of {name_of(function)} has to return a tuple of {n}, one cotangent for "
            f"each input of user_grad, and returned {describe(bars)}\n  {where_defined(function)}"
        )
    return bars


def _shown(function: Any) -> str:
    return f"{name_of(function)} ({where_defined(function)})"


region.defvjp(_forward, _backward, complex="adjoint")
