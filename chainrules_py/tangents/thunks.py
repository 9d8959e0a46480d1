"""Thunks: tangents that are computed once, when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py.tangents.checks import check_is_tangent
from chainrules_py.tangents.zeros import AbstractTangent


@final
class Thunk(AbstractTangent):
    """A tangent that is computed once, when it is needed.

    Parameters
    ----------
    compute : callable
        Called without arguments; released once it has returned. An exception is not cached: the
        next call tries again.

    Examples
    --------
    >>> from chainrules_py import ZeroTangent
    >>> t = Thunk(lambda: print("computing") or 2.0)
    >>> t + ZeroTangent() is t  # a zero does not ask
    True
    >>> t(), t()
    computing
    (2.0, 2.0)
    """

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute: Callable[[], Any] | None = compute

    def __call__(self) -> Any:
        """Return the tangent, which is computed on the first call and is never another thunk."""
        compute = self._compute
        if compute is not None:
            value = unthunk(compute())
            check_is_tangent(value)
            self._value = value
            self._compute = None  # last: once it is None, other threads read the value
        return self._value

    def _added_in_place(self, x: Any, ufunc: Any) -> Any:
        return ufunc(x, self(), out=x)

    def __repr__(self) -> str:
        return "Thunk(...)" if self._compute is not None else f"Thunk({self._value!r})"


def unthunk(t: Any) -> Any:
    """Compute a thunk; return any other tangent unchanged.

    Thunks in the fields of a `Tangent` stay; `deliver` computes them too.

    Examples
    --------
    >>> unthunk(Thunk(lambda: 2.0)), unthunk(3.0)
    (2.0, 3.0)
    """
    while issubclass(type(t), Thunk):
        t = t()
    return t
