"""Fixed points, differentiated by their equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.ops import root

Function = Callable[..., Any]


def fixed_point(f: Function, a: Any, x0: Any, distance: Function, tol: float) -> Any:
    """Find the x with f(a)(x) = x by iteration.

    Examples
    --------
    >>> from chainrules_autograd import grad
    >>> def newton(a):
    ...     return lambda x: 0.5 * (x + a / x)
    >>> x = grad(lambda a: fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-9))(4.0)
    >>> print(round(x, 9))
    0.25
    """

    def solver(residual: Function, x: Any) -> Any:
        while True:
            before, x = x, x - residual(x)
            if not distance(x, before) > tol:
                return x

    return root(lambda x, a: x - f(a)(x), x0, a, solver=solver, tol=tol)
