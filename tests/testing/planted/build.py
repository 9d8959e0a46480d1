"""The form of a plant, arrays to call it with, and functions with halves to fill in."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import (
    Array,
    LinearMap,
    NoTangent,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v

RNG = np.random.default_rng(11)
X = RNG.standard_normal((2, 3))
Z = RNG.standard_normal((2, 3))
SQUARE = RNG.standard_normal((3, 3))
REGULAR = SQUARE + 3.0 * np.eye(3)
VECTOR = RNG.standard_normal(3)
FIVE = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4])
LONG = RNG.standard_normal(2000)
MANY = RNG.standard_normal(50_000)
POSITIVE = X * X + 0.5
COMPLEX = X + 1j * Z


@dataclasses.dataclass(frozen=True)
class Plant:
    """Function with a wrong rule, a call of it, and what is to be said about it.

    Attributes
    ----------
    f, operands, options
        The call.
    says : str
        What the report has to say first; ``|`` stands between names that are as good.
    cites : str
        The issue, ``owner/name#number``, of which it restates the mistake.
    """

    f: Callable[..., Any]
    operands: tuple[Any, ...]
    says: str
    cites: str = ""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Right:
    """Function with a right rule, and what draws operands for it.

    Attributes
    ----------
    f : callable
        The function.
    make : callable
        Draws the operands from a generator; one that takes none of it gives the same ones.
    options : dict
        Options of f.
    """

    f: Callable[..., Any]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def declared(value: Callable[..., Any], count: int) -> Any:
    """A function with so many positional operands; one with options is declared as it is."""
    if inspect.isfunction(value) and value.__code__.co_kwonlyargcount:
        return primitive(value)
    forms: Any = (
        lambda x, /: value(x),
        lambda a, b, /: value(a, b),
        lambda a, b, c, /: value(a, b, c),
    )
    f = forms[count - 1]
    f.__name__ = f.__qualname__ = "f"
    return primitive(f)


def both(value: Callable[..., Any], *halves: Any) -> Any:
    """A function, with pairs of halves of ``(t, *operands, **options)``; None for no derivative."""
    f = declared(value, len(halves))

    def f_rule(*xs, **options):
        given = lambda half: lambda t, *xs: half(t, *xs, **options)
        maps = [NoTangent() if h is None else LinearMap(*map(given, h), *xs) for h in halves]
        return value(*xs, **options), tuple(maps)

    f_rule.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
    rule(f)(f_rule)
    return f


def back(value: Callable[..., Any], *pulls: Any) -> Any:
    """A function of NumPy's arrays with a reverse rule alone: pulls as the second of `both`."""
    f = declared(value, len(pulls))

    def f_rrule(*xs, **options):
        pull = lambda t: [NoTangent() if p is None else p(t, *xs, **options) for p in pulls]
        return value(*xs, **options), lambda t: tuple(pull(t))

    f_rrule.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
    rrule.register(f, types=(np.ndarray,) * len(pulls))(f_rrule)
    return f


def slope(value: Callable[..., Any], *partials: Any, **keywords: Any) -> Any:
    """A function that acts element by element, with these partials of ``(y, *operands)``."""
    f = declared(value, len(partials))
    scalar_rule(f, *partials, **keywords)
    return f


def sine(partial: Callable[..., Any], **keywords: Any) -> Any:
    """The sine, with this for its derivative."""
    return slope(v.sin, partial, **keywords)


def halves(value: Callable[..., Any], push: Any, pull: Any) -> Any:
    """A function of one operand, with halves of ``(t, x)``."""
    return both(value, (push, pull))


def wrong_for(test: Any, factor: float = 2.0) -> Any:
    """The sine, with a derivative that is off by a factor for some operands."""
    half = lambda t, x: t * v.cos(x) * (factor if test(x) else 1.0)
    return halves(v.sin, half, half)


def times(push: Any, pull: Any, second: Any = None) -> Any:
    """The product, with these for the halves of the first map, or of the second, of ``(t, c)``."""
    of_b = second or (scaled, adjoint_scaled)
    first = [lambda t, a, b, h=h: h(t, b) for h in (push, pull)]
    return both(v.multiply, first, [lambda t, a, b, h=h: h(t, a) for h in of_b])


def acting(*partials: Any) -> list[Any]:
    """The halves of a function that acts element by element, of its partial derivatives."""
    return [
        (lambda t, *xs, p=p: t * p(*xs), lambda t, *xs, p=p: t * v.conj(p(*xs))) for p in partials
    ]


def of_gradients(*gradients: Any) -> list[Any]:
    """The halves of a function with one number for its result, of its gradients."""
    return [
        (lambda t, *xs, g=g: v.sum(t * g(*xs)), lambda t, *xs, g=g: t * g(*xs)) for g in gradients
    ]


def scaled(t, c):
    return t * c


def adjoint_scaled(t, c):
    return t * v.conj(c)


def one(x):
    return x * 0.0 + 1.0


def mt(x):
    return v.matrix_transpose(x)


def summed(transpose: Any) -> Any:
    """The sum along an axis, with this for its transpose."""

    @primitive
    def f(x, /, *, axis=None, keepdims=False):
        return v.sum(x, axis=axis, keepdims=keepdims)

    linear_rule(f, transpose)
    return f


def spread(y_bar, x, axis, keepdims):
    if axis is not None and not keepdims:
        y_bar = v.expand_dims(y_bar, axis=axis)
    return v.broadcast_to(y_bar, shape=x.shape)


def right_sum(y_bar, x, *, axis, keepdims):
    if isinstance(axis, tuple):
        axis = tuple(a % x.ndim for a in axis)
        shape = tuple(1 if i in axis else n for i, n in enumerate(x.shape))
        return v.broadcast_to(v.reshape(y_bar, shape=shape), shape=x.shape)
    return spread(y_bar, x, axis, keepdims)


def frozen(x):
    """What is behind all levels of tracing."""
    return frozen(x.__payload__) if hasattr(x, "__payload__") else x


def mean_rule(pull: Any) -> Any:
    """The mean, which is zero of nothing, with a pull of ``(t, x)``."""
    return halves(lambda x: v.sum(x) / (x.size or 1), lambda t, x: v.sum(t) / (x.size or 1), pull)


def with_pull_into(pull_into: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x: Array):
        return v.sin(x), (LinearMap(scaled, scaled, v.cos(x), pull_into=pull_into),)

    return f


def two_outputs(pull: Any) -> Any:
    """Sine and cosine, with a pull of ``(t, s, c)``."""
    value = lambda x: (v.sin(x), v.cos(x))
    push = lambda t, x: (v.cos(x) * t, -v.sin(x) * t)
    return halves(value, push, lambda t, x: pull(t, *value(x)))


def alone(*xs: Any, axes: int = 2) -> None:
    """Refuse more axes than those of a matrix: what a rule of one matrix does not say of stacks."""
    if any(np.ndim(x) > axes for x in xs):
        msg = f"at most {axes} axes each"
        raise ValueError(msg)
