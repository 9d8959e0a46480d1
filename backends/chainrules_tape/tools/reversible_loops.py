"""Loops whose steps are inverted in the backward pass, which keep the final state alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from math import inf
from numbers import Integral
from typing import Any

import chainrules_py.ops as v
from chainrules_py import Config, ReverseMode, RuleError, ZeroTangent, add_tangents, rrule
from chainrules_py.extend import HigherOrder, Made, Tree, kind_of, name_of, settled, untraced
from chainrules_py.ops.linalg import resolution


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
    ValueError
        If n is no integer >= 0.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> import numpy as np
    >>> march = reversible(lambda x, k: 2.0 * x + k, lambda y, k: (y - k) / 2.0, 10)
    >>> grad(lambda x: np.sum(march(x)))(np.ones(2))
    array([1024., 1024.])
    """
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n={n!r}; a loop has a whole number of steps, 0 or more")
    whole = Made(lambda x: march(step, inverse, x, n=n))
    whole.recipe = reversible, (step, inverse, n), {}
    return whole


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
        z, step_bar, sizes = y, ZeroTangent(), _sizes(y)
        for k in reversed(range(n)):
            z = inverse(z, k)  # type: ignore[operator]
            sizes = [*map(max, zip_longest(sizes, _sizes(z), fillvalue=0.0))]
            _, pull = config.rrule_via_ad(lambda f, t, k=k: f(t, k), step, z)
            of_step, y_bar = pull(y_bar)
            step_bar = add_tangents(step_bar, of_step)
        _compare(inverse, z, x, sizes)
        return step_bar, ZeroTangent(), y_bar

    return y, pullback


def _sizes(x: Any) -> list[float]:
    """Return the largest absolute value in each array of a state."""
    return [float(_largest(leaf)) for leaf in _numbers(x)]


def _numbers(x: Any) -> list[Any]:
    return [untraced(leaf) for leaf in Tree(x).leaves if kind_of(leaf) in _COMPARED]


def _largest(x: Any) -> Any:
    shape = getattr(x, "shape", ())
    return 0 if 0 in shape else v.max(v.abs(x)) if shape else abs(x)


_COMPARED = ("real", "complex", "int")


def _compare(inverse: Any, z: Any, x: Any, sizes: list[float]) -> None:
    """Raise if the inverses do not end at the first state, up to rounding in arrays of a size."""
    ends = zip(_numbers(z), _numbers(x), strict=True)
    for (found, wanted), size in zip(ends, sizes, strict=False):
        away = _largest(found - wanted)
        exact = kind_of(found) == "int"
        eps = 0.0 if exact else resolution(found) if hasattr(found, "dtype") else 2.0**-52
        if not away <= eps**0.5 * size < inf:
            raise RuleError(
                f"{name_of(inverse)} does not invert the steps: going back does not end where it "
                "began; mend it, or write checkpoint_chain(step, n, slots=...)"
            )
