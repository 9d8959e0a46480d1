"""What the functions of this package have in common: the value is SciPy's, or there is none.

Whatever is made here of traced values has SciPy's own object of the plain ones beside it. That says
what options and arguments mean, and raises where SciPy does; and a result whose value is not
SciPy's is refused, so that no derivative is that of something else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise
from chainrules_scipy.installing import place_constructor, place_method
from chainrules_scipy.rows import array_of, readable, stands_for


class Beside:
    """What stands for an object of SciPy's, which is beside it.

    Attributes
    ----------
    theirs
        SciPy's object of the plain values; None of what is a step of something else alone.
    """

    theirs: Any = None


class Calling(Beside):
    """A function of places, which stands for an object of SciPy's that is called.

    Parameters
    ----------
    function : callable
        Of traced values too.
    theirs : callable
        SciPy's, of plain ones.
    tolerance : float
        Up to which their values are the same.

    Examples
    --------
    >>> print(Calling(lambda x: 2 * x, lambda x: x + x)(1.5))
    3.0
    """

    def __init__(
        self, function: Callable[..., Any], theirs: Callable[..., Any], tolerance: float = 1e-6
    ) -> None:
        self.function, self.theirs, self.tolerance = function, theirs, tolerance

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call both."""
        return _of_both(self.function, self.theirs, args, options, self.tolerance)


def plainly(x: Any) -> Any:
    """Return an argument with the plain numbers of what is traced, and SciPy's objects of ours."""
    if isinstance(x, Beside):
        return x.theirs
    if type(x) in (list, tuple):
        return type(x)(map(plainly, x))
    return readable(x)


def _of_both(
    function: Callable[..., Any],
    theirs: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    tolerance: float = 1e-6,
) -> Any:
    """Compute what ours gives, of SciPy's value."""
    known = theirs(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
    return _alike(function(*args, **options), known, theirs, tolerance)


def _alike(found: Any, known: Any, theirs: Any, tolerance: float) -> Any:
    """Return what was found, in the shape of SciPy's and of its values, if that is what they are.

    Raises
    ------
    NotDifferentiableError
        If it has others.
    """
    if isinstance(found, Beside):
        found.theirs = known
        return found
    if isinstance(known, (list, tuple)):
        return type(known)(
            _alike(f, k, theirs, tolerance) for f, k in zip(found, known, strict=True)
        )
    if not isinstance(known, (np.ndarray, np.number, float)):
        return found
    value = np.asarray(readable(found))
    if np.shape(value) != np.shape(known) and np.size(value) == np.size(known):
        found = v.reshape(array_of(found), shape=np.shape(known))
        value = value.reshape(np.shape(known))
    finite = np.isfinite(known)
    size = np.max(np.abs(known), initial=0.0, where=finite)
    if np.shape(value) == np.shape(known) and np.allclose(
        value, known, rtol=tolerance, atol=0.1 * tolerance * size, equal_nan=True
    ):
        gap = np.subtract(known, value, out=np.zeros(np.shape(known), value.dtype), where=finite)
        return found + gap if np.max(np.abs(gap), initial=0.0) > 1e-13 * size else found
    name = getattr(theirs, "__qualname__", type(theirs).__name__)
    msg = f"{name} has another value here than SciPy's ({value} for {known}): so it has no "
    raise NotDifferentiableError(msg + "derivative that could be trusted; use another option")


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a method look at that of SciPy's object beside it (a decorator)."""

    @functools.wraps(function)
    def both(self: Any, *args: Any, **options: Any) -> Any:
        if self.theirs is None:
            return function(self, *args, **options)
        theirs = getattr(self.theirs, function.__name__)
        return _of_both(functools.partial(function, self), theirs, args, options)

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
        return made

    return enter


def computes(native: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function computes what one of SciPy's does (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def both(*args: Any, **options: Any) -> Any:
            return _of_both(function, native, args, options)

        return stands_for(native)(both)

    return enter


def has_method(cls: Any, name: str = "__call__") -> Callable[..., Any]:
    """Say that a function is a method of a class of SciPy's, at traced places (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        theirs = getattr(cls, name)

        @functools.wraps(function)
        def both(self: Any, *args: Any, **options: Any) -> Any:
            bound = functools.partial(theirs, self)
            bound.__qualname__ = theirs.__qualname__
            return _of_both(functools.partial(function, self), bound, args, options)

        place_method(cls, both, name)
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
