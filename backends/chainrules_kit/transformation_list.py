"""Transformations of an engine as data, for code that runs each of them, such as checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from chainrules_py import ops as v


class Transformation(NamedTuple):
    """Transformation: how an engine applies it, and the derivative that it computes.

    Attributes
    ----------
    gives : {"value", "gradient", "slope", "curvature", "third"}
        What it computes for a real function f of a vector at z: its value, its gradient, its
        derivative along u, its Hessian times u, or its third derivative along u three times.
    run : callable
        ``run(f, z, u)``, with arrays of the engine. For a compiler that needs all constants as
        arguments, f takes ``f.constants`` after z.
    within : str
        The transformation of the value alone that this one uses: if f contains something that no
        tracer passes through, that one fails too, and a derivative is not expected.
    """

    gives: str
    run: Callable[[Callable[..., Any], Any, Any], Any]
    within: str = "value"


class Transformations(NamedTuple):
    """The transformations of an engine, which its package has as ``transformations``.

    Attributes
    ----------
    table : mapping
        From the name of each to the `Transformation`.
    asarray : callable, optional
        Converts a NumPy array to one of the engine's; None for an engine for all libraries.
    context : callable
        Returns a context in which the engine computes in double precision.
    takes_complex : bool
        Whether the engine has derivatives of complex numbers.
    digits : float
        The tolerance for its results, relative to the largest number.
    """

    table: Mapping[str, Transformation]
    asarray: Callable[[Any], Any] | None = None
    context: Callable[[], AbstractContextManager[Any]] = nullcontext
    takes_complex: bool = True
    digits: float = 2e-5


def total_of(x: Any) -> Any:
    """Return the sum of an array of an engine."""
    return x.sum() if hasattr(x, "sum") else v.sum(x)  # arrays of the strict library lack it


def nestings(
    grad: Callable[..., Any], push: Callable[..., Any] | None = None
) -> dict[str, Transformation]:
    """Return nestings of the modes to order three, from ``grad(f)(z)`` and ``push(f, z, u)``.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> list(nestings(grad))
    ['value', 'grad', 'grad of grad', 'grad of grad of grad']
    """

    def pulled(f: Callable[..., Any], u: Any) -> Callable[..., Any]:
        return lambda z: total_of(grad(f)(z) * u)

    def pushed(f: Callable[..., Any], u: Any) -> Callable[..., Any]:
        return lambda z: push(f, z, u)  # type: ignore[misc]

    reverse = {
        "value": Transformation("value", lambda f, z, u: f(z)),
        "grad": Transformation("gradient", lambda f, z, u: grad(f)(z)),
        "grad of grad": Transformation("curvature", lambda f, z, u: grad(pulled(f, u))(z)),
        "grad of grad of grad": Transformation(
            "third", lambda f, z, u: pulled(pulled(pulled(f, u), u), u)(z)
        ),
    }
    if push is None:
        return reverse
    return reverse | {
        "jvp": Transformation("slope", push),
        "jvp of grad": Transformation("curvature", lambda f, z, u: push(grad(f), z, u)),
        "grad of jvp": Transformation("curvature", lambda f, z, u: grad(pushed(f, u))(z)),
        "third order": Transformation("third", lambda f, z, u: push(pushed(pushed(f, u), u), z, u)),
    }
