"""The form of a plant, arrays to call it with, and functions with halves to fill in."""

from __future__ import annotations

import dataclasses
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
from chainrules_py import vocabulary as v

RNG = np.random.default_rng(11)
X = RNG.standard_normal((2, 3))
Z = RNG.standard_normal((2, 3))
SQUARE = RNG.standard_normal((3, 3))
VECTOR = RNG.standard_normal(3)
LONG = RNG.standard_normal(2000)
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
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    cites: str = ""


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


def sine(partial: Callable[..., Any], **keywords: Any) -> Any:
    """The sine, with this for its derivative."""

    @primitive
    def f(x, /):
        return v.sin(x)

    scalar_rule(f, partial, **keywords)
    return f


def slope(value: Any, partial: Any, **keywords: Any) -> Any:
    """A function of one operand with a derivative of ``(y, x)``."""

    @primitive
    def f(x, /):
        return value(x)

    scalar_rule(f, partial, **keywords)
    return f


def one(x):
    return x * 0.0 + 1.0


def times(push: Any, pull: Any, second: Any = None) -> Any:
    """The product, with these for the halves of the first map, or of the second."""

    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    @rule(f)
    def f_rule(a, b):
        mine = (push, pull), second or (scaled, adjoint_scaled)
        return v.multiply(a, b), (LinearMap(*mine[0], b), LinearMap(*mine[1], a))

    return f


def scaled(t, c):
    return t * c


def adjoint_scaled(t, c):
    return t * v.conj(c)


def halves(value: Callable[..., Any], push: Any, pull: Any) -> Any:
    """A function of one operand, with halves of ``(t, x)``."""

    @primitive
    def f(x, /):
        return value(x)

    @rule(f)
    def f_rule(x):
        return value(x), (LinearMap(push, pull, x),)

    return f


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


def product_of_matrices(pull_a: Any, pull_b: Any) -> Any:
    @primitive
    def f(a, b, /):
        return v.matmul(a, b)

    @rule(f)
    def f_rule(a: Array, b: Array):
        push_a, push_b = lambda t, b: v.matmul(t, b), lambda t, a: v.matmul(a, t)
        return v.matmul(a, b), (LinearMap(push_a, pull_a, b), LinearMap(push_b, pull_b, a))

    return f


def shifted(pull_b: Any) -> Any:
    """x + b with b along the rows."""

    @primitive
    def f(x, b, /):
        return v.add(x, b)

    @rrule.register(f)
    def f_rrule(x: Array, b: Array):
        return v.add(x, b), lambda y_bar: (y_bar, pull_b(y_bar, b))

    return f


def along_columns(pull_b: Any) -> Any:
    """x + b[:, None]: not the way that projection sums by itself."""

    @primitive
    def f(x, b, /):
        return v.add(x, v.expand_dims(b, axis=-1))

    @rule(f)
    def f_rule(x: Array, b: Array):
        push_b = lambda t, n: v.broadcast_to(v.expand_dims(t, axis=-1), shape=(b.shape[0], n))
        maps = (
            LinearMap(lambda t: t, lambda y_bar: y_bar),
            LinearMap(push_b, pull_b, x.shape[-1]),
        )
        return f(x, b), maps

    return f


def gathered(pull: Any) -> Any:
    @primitive
    def f(x, indices, /):
        return v.take(x, indices, axis=0)

    @rule(f)
    def f_rule(x: Array, indices: Array):
        push = lambda t, n, i: v.take(t, i, axis=0)
        return v.take(x, indices, axis=0), (LinearMap(push, pull, x.shape[0], indices), NoTangent())

    return f


def adding(y_bar, n, indices):
    zeros = v.full_like(y_bar, shape=(n, *y_bar.shape[1:]), fill=0.0)
    return v.scatter_add(zeros, y_bar, indices, index=v.Index((v.Index.HOLE,)))


def frozen(x):
    """What is behind all levels of tracing."""
    return frozen(x.value) if hasattr(x, "value") else x


def cube(partial: Any) -> Any:
    @primitive
    def f(x, /):
        return x * x * x

    scalar_rule(f, partial)
    return f


def mean_rule(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sum(x) / (x.size or 1)

    @rule(f)
    def f_rule(x: Array):
        return f(x), (LinearMap(lambda t, like: v.sum(t) / (like.size or 1), pull, x),)

    return f


def flipped(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.flip(x)

    @rule(f)
    def f_rule(x: Array):
        return v.flip(x), (LinearMap(v.flip, pull),)

    return f


def with_pull_into(pull_into: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x: Array):
        return v.sin(x), (LinearMap(scaled, scaled, v.cos(x), pull_into=pull_into),)

    return f


def adding_into(buffer, y_bar, slope):
    buffer += y_bar * slope


def two_outputs(pull: Any) -> Any:
    @primitive
    def f(x, /):
        return v.sin(x), v.cos(x)

    @rule(f)
    def f_rule(x):
        y = v.sin(x), v.cos(x)
        return y, (LinearMap(lambda t, s, c: (c * t, -s * t), pull, *y),)

    return f


def numpy_rule(f: Any, pull: Any) -> Any:
    """A function of NumPy's, with a reverse rule alone, as one writes it for NumPy."""
    g = primitive(lambda x, /: f(x))

    @rrule.register(g)
    def g_rrule(x: np.ndarray):
        return f(x), lambda y_bar: (pull(y_bar, x),)

    return g


def wrong_for(test: Any, factor: float = 2.0) -> Any:
    """The sine, with a derivative that is off by a factor for some operands."""
    slope = lambda x: v.cos(x) * (factor if test(x) else 1.0)
    return halves(v.sin, lambda t, x: t * slope(x), lambda t, x: t * slope(x))


def pair(value: Callable[..., Any], *partials: Callable[..., Any]) -> Any:
    """A function of two operands that acts element by element, with these for its partials."""

    @primitive
    def f(a, b, /):
        return value(a, b)

    scalar_rule(f, *partials)
    return f


def binary(value: Callable[..., Any], first: tuple[Any, Any], second: tuple[Any, Any]) -> Any:
    """A function of two operands, with pairs of halves of ``(t, a, b)``."""

    @primitive
    def f(a, b, /):
        return value(a, b)

    @rule(f)
    def f_rule(a, b):
        return value(a, b), (LinearMap(*first, a, b), LinearMap(*second, a, b))

    return f


def along(value: Callable[..., Any], push: Any, pull: Any) -> Any:
    """A function of one operand with an axis, with halves of ``(t, x, axis)``."""

    @primitive
    def f(x, /, *, axis=-1):
        return value(x, axis)

    @rule(f)
    def f_rule(x: Array, *, axis):
        return value(x, axis), (LinearMap(push, pull, x, axis),)

    return f


def numpy_pair(value: Callable[..., Any], first: Any, second: Any) -> Any:
    """A function of NumPy's of two operands, with a reverse rule alone: pulls of ``(t, a, b)``."""

    @primitive
    def f(a, b, /):
        return value(a, b)

    @rrule.register(f)
    def f_rrule(a: np.ndarray, b: np.ndarray):
        pulls = [p if p is None else (lambda t, p=p: p(t, a, b)) for p in (first, second)]
        return value(a, b), lambda t: tuple([NoTangent() if p is None else p(t) for p in pulls])

    return f


def chosen(pull: Any) -> Any:
    """One of two arrays where a condition holds, with this pull to the first, of ``(t, c)``."""

    @primitive
    def f(c, x, y, /):
        return v.where(c, x, y)

    @rule(f)
    def f_rule(c: Array, x: Array, y: Array):
        rest = lambda t, c: v.where(c, 0.0, t)
        return v.where(c, x, y), (NoTangent(), LinearMap(kept, pull, c), LinearMap(rest, rest, c))

    return f


def kept(t, c):
    return v.where(c, t, 0.0)


def alone(*xs: Any, axes: int = 2) -> None:
    """Refuse more axes than those of a matrix: what a rule of one matrix does not say of stacks."""
    if any(np.ndim(x) > axes for x in xs):
        msg = f"at most {axes} axes each"
        raise ValueError(msg)
