"""Roots and lengths that are 0, in derivatives of second and higher order.

A root √s has no slope at s = 0, and a length no second derivative; but functions that are even in
one, as its square or its cosine, are smooth in s. A root that is 0 somewhere is therefore not
recorded at once: its tracer is a `Root`, which even functions compute from s, and which any other
use replaces by the ordinary result of its call. First derivatives and other roots are unaffected.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    Recorder,
    Settled,
    Trace,
    Tracer,
    finite_tests,
    highest_tracer,
    innermost,
    kind_of,
    moves,
    set_class,
    type_info,
)
from chainrules_tape.memory.write import LIKE, Outdated, View, outdate


def order(x: Any) -> int:
    """Return the order of the derivatives that are taken of a value; 4 by another engine."""
    if not isinstance(x, Tracer):
        return 4 * moves(x)
    return len(getattr(x, "terms", "1")) + order(x.__payload__)


def even_of_root(phi: Callable[[Any], Any], s: Any, terms: Sequence[Any]) -> Any:
    """Compute φ(√s) for an even φ; where s is 0, by the Taylor coefficients of φ in s."""
    zero = v.equal(s, 0)
    near, far = v.where(zero, s, 0.0), v.sqrt(v.where(zero, 1.0, s))
    return v.where(zero, functools.reduce(lambda y, c: y * near + c, terms[::-1]), phi(far))


def _wave(phi: Callable[[Any], Any], sign: float, shift: int) -> Callable[[Any, Any], Any]:
    """Return φ(√s) for φ(√s) = Σₖ (sign s)ᵏ / (2k + shift)!."""
    term: Any = lambda k: sign**k / math.factorial(2 * k + shift)
    return lambda s, y: even_of_root(phi, s, list(map(term, range(order(s) + 1))))


def _scaled(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the product or quotient of a root and a number, as a root."""

    def scaled(s: Any, y: Any, c: Any) -> Any:
        if c is y and f is v.multiply:
            return v.copy(s)
        if not _is_number(c):
            return None
        _, call = y.as_view.how
        return Root.of(y.tracing, f(y.payload, c), y, f(f(s, c), c), lambda: f(call(), c))

    return scaled


def _is_number(x: Any) -> bool:
    return issubclass(type(x), (int, float))  # isinstance is true of traced numbers as well


_COMPARISONS = {v.equal, v.not_equal, v.less, v.less_equal, v.greater, v.greater_equal}
EVEN: dict[Primitive[..., Any], Callable[..., Any]] = {
    v.square: lambda s, y: v.copy(s),
    v.pow: lambda s, y, n: s ** (n // 2) if _is_number(n) and n in (2, 4, 6, 8) else None,
    v.multiply: _scaled(v.multiply),
    v.divide: _scaled(v.divide),
    v.cos: _wave(v.cos, -1, 0),
    v.cosh: _wave(v.cosh, 1, 0),
    v.sinc: _wave(v.sinc, -(math.pi**2), 1),
}
"""By operation: its result for a root y of s, computed from s; None if it is not even in y."""

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


class Root(Outdated):
    """First base of the classes of roots that are 0 somewhere."""

    __slots__ = ()
    payload: Any
    _read_first = None

    @classmethod
    def of(cls, tracing: Trace, y: Any, like: Any, s: Any, call: Callable[[], Any]) -> Any:
        """Return y = √s as a tracer of the level of another; ``call`` gives its ordinary one."""
        made = tracing.wrap(y, tracing.at(like), None)
        made.as_view = View.of(None, (s, call), LIKE)
        outdate(made, cls, ("place", "tangent"))
        return made

    def forget_view(self) -> None:
        """Do nothing: it is no view."""

    def _read_again(self) -> None:
        _, call = self.as_view.how
        del self.as_view
        set_class(self, type(self).fresh)
        self._become(call())  # type: ignore[attr-defined]

    def __trace__(
        self, f: Any, operands: tuple[Any, ...], options: dict[str, Any], primal: Any = None
    ) -> Any:
        if f in _COMPARISONS:
            return f(*[x.payload if x is self else x for x in operands])
        y, *rest = operands[::-1] if f is v.multiply and operands[1] is self else operands
        if f in EVEN and y is self:
            made = EVEN[f](self.as_view.how[0], y, *rest)
            if made is not None:
                return made
        self._read_again()
        return self.__trace__(f, operands, options, primal)


class Rooting(Trace):
    """Tracing in which roots of values that are traced outside as well may become a `Root`."""

    def settle(
        self, primitive: Any, primal: Any, classes: tuple[Any, ...], scalar: Any = None
    ) -> Settled | None:
        """Return None for such roots."""
        nested = any([issubclass(getattr(cls, "payload_type", cls), Tracer) for cls in classes])
        if nested and primitive in SQUARES and (primitive is not v.pow or classes[1] is float):
            return None
        return super().settle(primitive, primal, classes, scalar)

    def recorder(
        self, primitive: Any, primal: Any, classes: tuple[type, ...], settled: Settled | None
    ) -> Recorder:
        """Return the function that traces calls with operands of these classes."""
        if settled is not None or primitive not in SQUARES:
            return super().recorder(primitive, primal, classes, settled)
        settled = super().settle(primitive, primal, classes)
        record, square = super().recorder(primitive, primal, classes, settled), SQUARES[primitive]

        def rooting(operands: tuple[Any, ...], options: dict[str, Any], at: Any = None) -> Any:
            if primitive is v.std or _has_zero(operands[0]):
                xs = [x.frozen() if isinstance(x, Tracer) else x for x in operands]
                s = square(*xs, **options)
                if s is not None and _has_zero(s):
                    top: Any = highest_tracer(operands)
                    y = primitive(*[self.open(x, self.at(top))[0] for x in xs], **options)
                    return Root.of(self, y, top, s, lambda: record(xs, options))
            return record(operands, options, at)

        return rooting


def _has_zero(x: Any) -> bool:
    """Return whether an element is 0; False for arrays of which this is not known at once."""
    x = innermost(x)
    info = type_info(type(x))
    known = info.host is None and (info.is_number or type(x) in finite_tests)
    return known and bool(x == 0 if info.is_number else v.any(v.equal(x, 0)))
