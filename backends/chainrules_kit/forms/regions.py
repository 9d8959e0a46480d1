"""Regions: code that runs once, where it stands, with a derivative of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from chainrules_kit.forms.functions import custom_vjp
from chainrules_py import RuleError
from chainrules_py.extend import describe, settled, where_defined

S = TypeVar("S")


def user_grad(*inputs: Any) -> Callable[[Callable[..., tuple[S, Callable[..., Any]]]], S]:
    """Run a region of code with a derivative of its own, where it stands (a decorator).

    Parameters
    ----------
    *inputs : array, number, or structure of them
        All that the region is differentiated in.

    Returns
    -------
    decorator
        It calls the function below it with the inputs, and puts the value in the place of the
        function. The function returns ``(y, pullback)``; ``pullback(y_bar)`` is a tuple with one
        cotangent per input, also for one. For a y that is a tuple, list or dict ``y_bar`` is one
        too, with zeros filled in.

    Raises
    ------
    TracerError
        If the value depends on something that is being differentiated and is no input.

    Notes
    -----
    What the pullback uses, it sees as it was when the region ran: each iteration of a loop has
    its own version, of what is computed in the region and of the names outside. An array that is
    written to afterwards is another matter: save a copy of it.

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
        # An engine that is exported to calls it again, with the names that a loop has by then.
        y: S = region(settled(code), *inputs)
        return y

    return run


@custom_vjp(nondiff_argnums=0)
def region(function: Any, *inputs: Any) -> Any:
    """Call a function that gives a value and its pullback."""
    return function(*inputs)[0]


def _forward(function: Any, *inputs: Any) -> Any:
    answer = function(*inputs)
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[1])):
        msg = (
            f"{function.__qualname__} ({where_defined(function)}), a region with a derivative of "
            f"its own, has to return (y, pullback), and returned {describe(answer)}"
        )
        raise RuleError(msg)
    return answer


def _backward(function: Any, pullback: Any, y_bar: Any) -> Any:
    return pullback(y_bar)


region.defvjp(_forward, _backward, complex="adjoint")
