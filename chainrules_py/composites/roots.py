"""Squares of roots, and even functions of a root, computed from its square.

A root √s has no slope at s = 0, and a length no second derivative there; but what is even in one,
as its square or its cosine, is smooth in s.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py import ops as v
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.tangents.space import kind_of
from chainrules_py.tracing.array_like import innermost
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.tracers import moves
from chainrules_py.values.type_info import finite_tests, type_info

SQUARES: dict[Primitive[..., Any], Callable[..., Any]] = {
    v.sqrt: lambda x: x,
    v.pow: lambda x, p: x if p == 0.5 else None,
    v.hypot: lambda x, y: x * x + y * y,
    v.abs: lambda x: v.real(v.conj(x) * x) if kind_of(x) == "complex" else None,
    v.vector_norm: lambda x, *, axis, keepdims, ord: (  # noqa: A006
        v.sum(v.real(v.conj(x) * x), axis=axis, keepdims=keepdims) if ord == 2 else None
    ),
    v.std: v.var,
}
"""By operation: the square of its result; None if the result is no root."""


def may_be_root(operation: Primitive[..., Any], classes: tuple[Any, ...]) -> bool:
    """Return whether a call on these classes gives a root of a value that is traced twice."""
    nested = any([issubclass(getattr(cls, "payload_type", cls), Tracer) for cls in classes])
    return nested and operation in SQUARES and (operation is not v.pow or classes[1] is float)


def root_of_zero(
    operation: Primitive[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return snapshots of the operands of a root and its square, if that is 0 somewhere."""
    if operation is not v.std and not _has_zero(operands[0]):
        return None
    xs = [x.frozen() if isinstance(x, Tracer) else x for x in operands]
    s = SQUARES[operation](*xs, **options)
    return (xs, s) if s is not None and _has_zero(s) else None


def _has_zero(x: Any) -> bool:
    """Return whether an element is 0; False for arrays of which this is not known at once."""
    x = innermost(x)
    info = type_info(type(x))
    known = info.host is None and (info.is_number or type(x) in finite_tests)
    return known and bool(x == 0 if info.is_number else v.any(v.equal(x, 0)))


def derivative_order(x: Any) -> int:
    """Return the order of the derivatives that are taken of a value; 4 by another engine."""
    if not isinstance(x, Tracer):
        return 4 * moves(x)
    return len(getattr(x, "terms", "1")) + derivative_order(x.__payload__)


def even_of_root(phi: Callable[[Any], Any], s: Any, terms: Sequence[Any]) -> Any:
    """Compute φ(√s) for an even φ; where s is 0, by the Taylor coefficients of φ in s."""
    zero = v.equal(s, 0)
    near, far = v.where(zero, s, 0.0), v.sqrt(v.where(zero, 1.0, s))
    return v.where(zero, functools.reduce(lambda y, c: y * near + c, terms[::-1]), phi(far))


def _wave(phi: Callable[[Any], Any], sign: float, shift: int) -> Callable[[Any], Any]:
    """Return φ(√s) for φ(√s) = Σₖ (sign s)ᵏ / (2k + shift)!."""
    term: Any = lambda k: sign**k / math.factorial(2 * k + shift)
    return lambda s: even_of_root(phi, s, list(map(term, range(derivative_order(s) + 1))))


def _is_number(x: Any) -> bool:
    return issubclass(type(x), (int, float))  # isinstance is true of traced numbers as well


_EVEN: dict[Primitive[..., Any], Callable[..., Any]] = {
    v.square: v.copy,
    v.pow: lambda s, n: s ** (n // 2) if _is_number(n) and n in (2, 4, 6, 8) else None,
    v.cos: _wave(v.cos, -1, 0),
    v.cosh: _wave(v.cosh, 1, 0),
    v.sinc: _wave(v.sinc, -(math.pi**2), 1),
}
_COMPARISONS = {v.equal, v.not_equal, v.less, v.less_equal, v.greater, v.greater_equal}


def from_square(
    f: Primitive[..., Any],
    operands: tuple[Any, ...],
    y: Any,
    s: Any,
    root: Callable[[Callable[[Any], Any], Any], Any],
) -> Any:
    """Compute a call on a root y from its square s; return None if that is not possible.

    Parameters
    ----------
    root : callable
        ``root(g, t)`` makes a root ``g(y)`` with the square t.
    """
    if f in _COMPARISONS:
        return f(*[x.payload if x is y else x for x in operands])
    first, *rest = operands[::-1] if f is v.multiply and operands[1] is y else operands
    if first is not y:
        return None
    if f in (v.multiply, v.divide):
        if rest[0] is y and f is v.multiply:
            return v.copy(s)
        c = rest[0]
        return root(lambda y: f(y, c), f(f(s, c), c)) if _is_number(c) else None
    return _EVEN[f](s, *rest) if f in _EVEN else None
