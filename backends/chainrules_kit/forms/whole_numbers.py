"""Integer operands of imported functions, differentiated as real numbers.

Other engines differentiate with respect to floating-point numbers only. The value, and the
derivatives in all other operands, are computed with the integers; the derivatives in the integers
are computed with real numbers in their place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

from chainrules_py import (
    NotDifferentiableError,
    NotImplementedTangent,
    ZeroTangent,
    add_tangents,
    is_zero,
)
from chainrules_py.extend import (
    Thunk,
    canonicalize,
    describe,
    flatten_tangent,
    kind_of,
    name_of,
    partition,
    real_numbers,
    unflatten,
    unflatten_tangent,
)

Function = Callable[..., Any]


@final
class InWholeNumbers:
    """Both modes of an imported function, also in integer operands.

    Parameters
    ----------
    f : callable
        The other engine's function.
    frule, rrule : callable
        As in `state_imported`; they have no derivatives in integers.
    """

    def __init__(
        self,
        f: Function,
        frule: Callable[..., tuple[Any, Any]],
        rrule: Callable[..., tuple[Any, Callable[[Any], tuple[Any, ...]]]],
    ) -> None:
        self.f = f
        self._frule = frule
        self._rrule = rrule

    def frule(self, tangents: tuple[Any, ...], *xs: Any, **options: Any) -> tuple[Any, Any]:
        """Return the value and the tangent."""
        leaves, layout = partition(xs, _is_number)
        if not (whole := _whole(leaves)):
            return self._frule(tangents, *xs, **options)
        ts = flatten_tangent(layout, canonicalize(xs, tangents))
        rest = [ZeroTangent() if i in whole else t for i, t in enumerate(ts)]
        y, y_dot = self._frule(_of_each(layout, rest, xs), *xs, **options)
        if not (moved := [i for i in whole if not _is_nothing(ts[i])]):
            return y, y_dot
        only = [t if i in moved else ZeroTangent() for i, t in enumerate(ts)]
        given = _of_each(layout, only, xs)
        try:
            reals = unflatten(layout, _reals(leaves, whole, y))
            y_dot = add_tangents(y_dot, self._frule(given, *reals, **options)[1])
        except Exception as error:
            raise NotDifferentiableError(self._reason(leaves[moved[0]], error)) from error
        return y, y_dot

    def rrule(self, *xs: Any, **options: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Return the value and the pullback, which computes cotangents of integers lazily."""
        leaves, layout = partition(xs, _is_number)
        if not (whole := _whole(leaves)):
            return self._rrule(*xs, **options)
        y, pullback = self._rrule(*xs, **options)

        def pulled(y_bar: Any) -> tuple[Any, ...]:
            def compute() -> list[Any]:
                try:
                    reals = unflatten(layout, _reals(leaves, whole, y))
                    bars = self._rrule(*reals, **options)[1](y_bar)
                    return flatten_tangent(layout, canonicalize(xs, bars))
                except Exception as error:
                    reason = self._reason(leaves[whole[0]], error)
                    return [NotImplementedTangent(reason)] * len(leaves)

            found = functools.cache(compute)
            bars = flatten_tangent(layout, canonicalize(xs, pullback(y_bar)))
            for i in whole:
                bars[i] = Thunk(functools.partial(_entry, found, i))
            return _of_each(layout, bars, xs)

        return y, pulled

    def _reason(self, x: Any, error: Exception) -> str:
        return (
            f"{name_of(self.f)}, which is imported, is differentiated in {describe(x)}, a whole "
            f"number, and does not take the real number that it is "
            f"({type(error).__name__}: {error})"
        )


def _entry(found: Callable[[], list[Any]], i: int) -> Any:
    return found()[i]


def _is_number(x: Any) -> bool:
    return kind_of(x) != "none"


def _whole(leaves: list[Any]) -> list[int]:
    return [i for i, x in enumerate(leaves) if kind_of(x) == "int"]


def _is_nothing(t: Any) -> bool:
    """Return whether a tangent is zero, as far as a cheap test shows."""
    if type(t) in (int, float):
        return bool(t == 0)
    return is_zero(t) or (hasattr(type(t), "__array_interface__") and bool((t == 0).all()))


def _reals(leaves: list[Any], whole: list[int], y: Any) -> list[Any]:
    """Return operands with real numbers instead of integers, in the precision of the result."""
    found = [*leaves]
    for i in whole:
        x = found[i]
        found[i] = real_numbers(x, y) if hasattr(x, "dtype") else 1.0 * x
    return found


def _of_each(layout: Any, ts: list[Any], xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tangent of each operand."""
    t = unflatten_tangent(layout, ts)
    return tuple([t[i] for i in range(len(xs))])
