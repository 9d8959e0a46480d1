"""What the functions of this package have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.agreeing import Beside, of_both, plainly
from chainrules_scipy.installing import place_constructor, place_method
from chainrules_scipy.rows import array_of, described, stands_for


class Calling(Beside):
    """A function of places, which stands for an object of SciPy's that is called."""

    def __init__(
        self, function: Callable[..., Any], theirs: Callable[..., Any], tolerance: float = 1e-6
    ) -> None:
        self.function, self.theirs, self.tolerance = function, theirs, tolerance

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call both."""
        return of_both(self.function, self.theirs, args, options, self.tolerance)


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a method look at that of SciPy's object beside it (a decorator)."""

    @functools.wraps(function)
    def both(self: Any, *args: Any, **options: Any) -> Any:
        if self.theirs is None:
            return function(self, *args, **options)
        theirs = getattr(self.theirs, function.__name__)
        return of_both(functools.partial(function, self), theirs, args, options)

    return both


def constructs(
    cls: Any, tolerance: float = 1e-6
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function makes what a class of SciPy's makes (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def made(*args: Any, **options: Any) -> Any:
            theirs = cls(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
            found = function(*args, **options)
            if not isinstance(found, Beside):
                return Calling(found, theirs, tolerance)
            found.theirs = theirs
            return found

        place_constructor(cls, made)
        advise(
            cls.__init__,
            f"scipy.interpolate.{cls.__name__} makes plain arrays of its arguments: write "
            f"'from chainrules_scipy.interpolate import {cls.__name__}', which takes the same, or "
            "call chainrules_scipy.install() before",
        )
        return described(made, cls)

    return enter


def computes(native: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function computes what one of SciPy's does (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def both(*args: Any, **options: Any) -> Any:
            return of_both(function, native, args, options)

        return stands_for(native)(both)

    return enter


def has_method(cls: Any, name: str = "__call__") -> Callable[..., Any]:
    """Say that a function is a method of a class of SciPy's, at traced places (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        theirs = getattr(cls, name)

        @functools.wraps(function)
        def both(self: Any, *args: Any, **options: Any) -> Any:
            @functools.wraps(theirs)
            def known(*args: Any, **options: Any) -> Any:
                return theirs(self, *args, **options)

            return of_both(functools.partial(function, self), known, args, options)

        place_method(cls, both, name)
        return function

    return enter


def refuse(*xs: Any) -> None:
    """Refuse places, knots and weights that are differentiated."""
    if varies(xs):
        msg = "this spline has derivatives in values, coefficients and the places where it is taken"
        raise NotDifferentiableError(f"{msg}; CubicSpline has them in its knots as well")


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
