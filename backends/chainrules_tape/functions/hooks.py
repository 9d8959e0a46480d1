"""Hooks: functions that receive, and may replace, cotangents of values or of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_kit.custom_derivatives import Hook, Passing, differentiated, hang_on_rules
from chainrules_py import TracerError, space
from chainrules_py.extend import Tracer, describe, type_info
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.forward.dual import Dual
from chainrules_tape.forward.linear_tape import LinearVariable


def hook(x: Any, f: Callable[[Any], Any], *, linear: bool = False) -> Hook:
    """Pass the cotangent of a value, or of every result of a function, to a function.

    Parameters
    ----------
    x : Variable or callable
        A value on a tape, input or intermediate: f is called when the backward pass reaches it. A
        value on no tape is ignored; a tracer of another engine, as in an exported function, is
        refused. Or a function with a rule: its results have the hook wherever its rule is used,
        in other engines as well, until the hook is removed.
    f : callable
        ``f(x_bar)`` returns the cotangent that continues, with the shape of x, and real if x is:
        for example a clipped one, or ``ZeroTangent()`` to stop. None leaves it unchanged. An array
        passed to f cannot be written to. Hooks run in the order in which they were registered.
    linear : bool
        Whether f is linear. Then forward mode applies its transpose, for values from the call of
        `hook` on, and derivatives of gradients pass through it. Otherwise both are errors, because
        a changed cotangent is not a derivative.

    Returns
    -------
    Hook
        Its ``remove()`` removes the hook.

    Raises
    ------
    TracerError
        If x is a tracer of another engine, or in forward mode and the hook is not linear.
    NotDifferentiableError
        In a backward pass that is itself differentiated, if f changes the cotangent and is not
        linear; and in forward mode through a function with a hook that is not linear.
    ProjectionError
        In the backward pass, if what f returned does not belong to x.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> def f(x):
    ...     y = x * x
    ...     hook(y, lambda y_bar: print("passing", y_bar))
    ...     return 3.0 * y
    >>> grad(f)(2.0)
    passing 3.0
    12.0

    For all calls of a function, in a block:

    >>> import numpy as np
    >>> with hook(np.exp, lambda y_bar: np.clip(y_bar, -1.0, 1.0)):
    ...     slope = grad(lambda x: 5.0 * np.exp(x))(0.0)
    >>> print(slope, grad(lambda x: 5.0 * np.exp(x))(0.0))
    1.0 5.0
    """
    if not callable(f):
        raise TypeError(f"hook() takes a function of the cotangent, and got {describe(f)}")
    passing = Passing(f, linear)
    if isinstance(x, BareVariable):
        of, outer = space(x.payload), differentiated(x.payload)
        hooks = x.tape.note().hooks.setdefault(x.place, [])

        def replaced(bar: Any) -> Any:
            return passing(bar, of, outer)

        hooks.append(replaced)
        return Hook(lambda: hooks.remove(replaced))
    if isinstance(x, (Dual, LinearVariable)) and linear:
        _push_from_here(x, passing)
        return Hook(_refuse_removal)
    if isinstance(x, Tracer) or type_info(type(x)).constant is not None:
        what = "in forward mode; say linear=True if it is linear"
        if not isinstance(x, (Dual, LinearVariable)):
            what = (
                "another engine's: hang it on a function with a rule, or state the identity under "
                "custom_vjp, with the hook for its backward function"
            )
        raise TracerError(
            f"hook takes values of a tape, in reverse mode, and {describe(x)} is {what}"
        )
    return hang_on_rules(x, passing) if callable(x) else Hook(None)


def _push_from_here(x: Any, passing: Passing) -> None:
    """Apply the transpose of a hook to the tangent of a value from now on."""
    if isinstance(x, Dual):
        x.tangent = passing.transposed(x.tangent)
        return
    x.tape.append((lambda ts: passing.transposed(ts[0]), (x.place,)))
    x.place = len(x.tape) - 1


def _refuse_removal() -> None:
    raise TracerError(
        "a hook on a value in forward mode has acted already; hang it on where it is wanted"
    )
