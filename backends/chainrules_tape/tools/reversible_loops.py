"""Loops whose steps are inverted in the backward pass, which keep the final state alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import chainrules_py.ops as v
from chainrules_py import Config, ReverseMode, RuleError, ZeroTangent, add_tangents, rrule
from chainrules_py.extend import HigherOrder, Tree, kind_of, name_of, settled


def reversible(
    step: Callable[[Any, int], Any], inverse: Callable[[Any, int], Any], n: int
) -> Callable[[Any], Any]:
    """Build a loop of n steps whose gradient keeps the final state alone and goes back by inverses.

    The memory of a gradient does not grow with n; it costs n calls of the inverse more. The
    inverses do not recover what the steps lose to rounding, so the recovered start is compared with
    the real one.

    Parameters
    ----------
    step : callable
        ``step(x, k)`` is the state after step k, an array or a structure of arrays.
    inverse : callable
        ``inverse(step(x, k), k)`` is x.
    n : int
        The number of steps.

    Returns
    -------
    callable
        Takes the state before all steps. Values that step and inverse capture have gradients.

    Raises
    ------
    RuleError
        In the gradient, if the inverses do not end at the first state.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> import numpy as np
    >>> march = reversible(lambda x, k: 2.0 * x + k, lambda y, k: (y - k) / 2.0, 10)
    >>> grad(lambda x: np.sum(march(x)))(np.ones(2))
    array([1024., 1024.])
    """

    def marched(x: Any) -> Any:
        return march(step, inverse, x, n=n)

    return marched


@HigherOrder
def march(step: Any, inverse: Any, x: Any, *, n: int) -> Any:
    """Run n steps."""
    for k in range(n):
        x = step(x, k)
    return x


@rrule.register(march, requires=ReverseMode)
def _march_rrule(config: Config, step: object, inverse: object, x: object, *, n: int) -> Any:
    y: Any = march(step, inverse, x, n=n)
    step, inverse = settled(step), settled(inverse)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        z, step_bar = y, ZeroTangent()
        for k in reversed(range(n)):
            z = inverse(z, k)  # type: ignore[operator]
            _, pull = config.rrule_via_ad(lambda f, t, k=k: f(t, k), step, z)
            of_step, y_bar = pull(y_bar)
            step_bar = add_tangents(step_bar, of_step)
        _compare(inverse, z, x)
        return step_bar, ZeroTangent(), y_bar

    return y, pullback


def _compare(inverse: Any, z: Any, x: Any) -> None:
    """Raise if the inverses do not end at the first state."""
    for found, wanted in zip(Tree(z).leaves, Tree(x).leaves, strict=True):
        if kind_of(wanted) not in ("real", "complex") or 0 in getattr(wanted, "shape", ()):
            continue
        away, size = [
            v.max(t) if getattr(t, "shape", ()) else t
            for t in (v.abs(found - wanted), v.abs(wanted))
        ]
        if not away <= 1e-5 * (1.0 + size):
            raise RuleError(
                f"{name_of(inverse)} does not invert the steps: going back does not end where it "
                "began; mend it, or write checkpoint_chain(step, n, slots=...)"
            )
