"""What the functions of this package have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.extend import advise
from chainrules_scipy.installing import place_constructor
from chainrules_scipy.rows import array_of


def constructs(cls: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function makes what a class of SciPy's makes (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        place_constructor(cls, function)
        advise(
            cls.__init__,
            f"scipy.interpolate.{cls.__name__} makes plain arrays of its arguments: write "
            f"'from chainrules_scipy.interpolate import {cls.__name__}', which takes the same, or "
            "call chainrules_scipy.install() before",
        )
        return function

    return enter


def first(y: Any, axis: int) -> tuple[Any, int]:
    """Return the values with the axis of the knots first, and which one that was."""
    y = array_of(y)
    axis = range(y.ndim)[axis]
    return v.permute_dims(y, axes=(axis, *(i for i in range(y.ndim) if i != axis))), axis


def times(matrices: Any, y: Any) -> Any:
    """Return ``Σ_j T[..., j] y[j]``."""
    return v.tensordot(matrices, y, axes=((matrices.ndim - 1,), (0,)))


def steps(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the distances of the knots, and the slopes between them."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    return h, (y[1:] - y[:-1]) / h


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Name a function that stands as a method of a class (a decorator)."""
    function.__name__ = "__call__"
    return function
