"""Derivatives of a call of one of NumPy's functions, against differences of the function itself.

Through the tape, first and second order, and by direct rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import frule, rrule
from chainrules_py import ops as v
from chainrules_py.primitives import plugins
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.values.structure import fields_of, is_structure_type
from tests.surface.names import library_of, listed_as
from tests.surface.point import Point, dense, direct, leaves, parts, slope, vector


def engine() -> Any:
    """Return the engine that is installed."""
    return plugins.default_engine()


class NoTruthError(AssertionError):
    """Differences do not agree with each other, so there is nothing to compare with."""


def _close(found: Any, truth: Any, error: Any, what: str, rtol: float = 1e-6) -> None:
    error = np.asarray(error)  # of the largest numbers the last digit is no error of a difference
    error = np.where((error > 1e200) & np.isfinite(error), 0.0, error)
    allowed = np.maximum(rtol * np.maximum(1.0, np.abs(truth)), 50 * error)
    if np.max(np.asarray(error), initial=0.0) > 1e-3 * max(1.0, np.max(np.abs(truth), initial=0.0)):
        msg = f"{what}: differences are no truth here (they disagree by {np.max(error):.1e})"
        raise NoTruthError(msg)
    if not np.all(np.abs(found - truth) <= allowed):
        msg = f"{what}: {found} where differences give {truth}"
        raise AssertionError(msg)


def _inner(a: Any, b: Any) -> Any:
    return np.sum(np.real(np.conj(np.asarray(a)) * np.asarray(b)))


# ------------------------------------------------------------------------------- through the tape


def check_value(point: Point, eps: float = 0.0) -> bool:
    """Check that the value under tracing equals the one without."""
    plain = point.value(*point.xs)
    y, _ = engine().vjp(point.value, *point.xs)
    for a, b in zip(leaves(y), leaves(plain), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            msg = f"value: {a.dtype}{a.shape} under tracing, {b.dtype}{b.shape} without"
            raise AssertionError(msg)
        # A keyword that is written in words may be rounded in another order.
        exact = b.dtype.kind not in "fc"
        rtol = 0.0 if exact else 32 * max(eps, np.finfo(b.dtype).eps)
        same = np.array_equal(a, b) if exact else np.allclose(a, b, rtol, rtol, equal_nan=True)
        if not same:
            msg = f"value: {a} under tracing, {b} without"
            raise AssertionError(msg)
    return True


def check_forward(point: Point) -> bool:
    """Forward mode of the tape."""
    if not point.is_smooth:
        return False
    ts = point.directions()
    y, y_dot = engine().jvp(point, tuple(point.xs), tuple(ts))
    found = vector([dense(t, p) for t, p in zip(y_dot, y, strict=True)])
    _close(found, *slope(point, ts), "forward")
    return True


def check_reverse(point: Point) -> bool:
    """Reverse mode of the tape."""
    if not point.is_smooth:
        return False
    ts = point.directions()
    y, pullback = engine().vjp(point, *point.xs)
    y_bar = [point.direction(p) for p in y]
    for x, x_bar in zip(point.xs, pullback(y_bar), strict=True):
        if np.shape(x_bar) != np.shape(x) or np.iscomplexobj(x_bar) != np.iscomplexobj(x):
            msg = f"reverse: a cotangent {x_bar!r} for {x!r}"
            raise AssertionError(msg)
    truth, error = slope(point, ts)
    weights = vector(y_bar)
    found = sum(_inner(b, t) for b, t in zip(pullback(y_bar), ts, strict=True))
    _close(found, weights @ truth, np.abs(weights) @ error, "reverse")
    return True


def loss_of(point: Point, weights: list[Any]) -> Callable[..., Any]:
    """Make a loss: a real number that has two derivatives in everything that a call gives."""

    def loss(*xs: Any) -> Any:
        total: Any = 0.0
        for w, y in zip(weights, point(*xs), strict=True):
            w = np.asarray(w).astype(y.dtype) if isinstance(w, np.ndarray) else w
            term = v.real(np.conj(w) * y) if np.iscomplexobj(w) else w * y
            square = v.real(v.conj(y) * y) if np.iscomplexobj(w) else y * y
            total = total + np.sum(term + 0.5 * square)
        return total

    return loss


def check_second(point: Point) -> bool:
    """Check the derivative of a gradient along a direction against differences of the gradient."""
    if not point.is_smooth:
        return False
    tape = engine()
    loss = loss_of(point, [point.direction(p) for p in point(*point.xs)])
    gradient = tape.grad(loss, argnums=tuple(range(len(point.xs))))
    ts = point.directions()
    truth, error = derivative(lambda h: vector(gradient(*point.moved(ts, h))))
    _, found = tape.jvp(gradient, tuple(point.xs), tuple(ts))
    _close(vector([dense(t, x) for t, x in zip(found, point.xs, strict=True)]), truth, error,
           "second order, forward over reverse", rtol=1e-5)  # fmt: skip
    us = point.directions()

    def along(*xs: Any) -> Any:
        return tape.jvp(loss, xs, tuple(us))[1]

    bars = tape.grad(along, argnums=tuple(range(len(point.xs))))(*point.xs)
    found = sum(_inner(b, t) for b, t in zip(bars, ts, strict=True))
    w = vector(us)
    _close(found, w @ truth, np.abs(w) @ error, "second order, reverse over forward", rtol=1e-5)
    return True


# ------------------------------------------------------------------------------- by direct rules


def check_frule(point: Point) -> bool:
    """Check the direct forward rule."""
    operands = direct(point) if point.is_smooth else None
    if operands is None:
        return False
    ts = point.directions()
    _, keywords = point.arguments(point.xs)
    y, y_dot = frule(tuple(point.tangents(ts)), point.f, *operands, **keywords)
    found = vector([dense(t, p) for p, t in tangent_parts(y, y_dot)])
    _close(found, *slope(point, ts), "frule")
    return True


def tangent_parts(y: Any, t: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the floating parts of a result, each with its tangent."""
    if is_structure_type(type(y)):
        for place, (key, field) in enumerate(fields_of(y)):
            at = place if isinstance(t, tuple) else key
            yield from tangent_parts(field, t if is_zero(t) else t[at])
    else:
        for part in parts(y):
            yield part, t


def check_rrule(point: Point) -> bool:
    """Check the direct reverse rule."""
    operands = direct(point) if point.is_smooth else None
    if operands is None:
        return False
    ts = point.directions()
    _, keywords = point.arguments(point.xs)
    y, pullback = rrule(point.f, *operands, **keywords)
    y_bar = cotangent(point, y)
    weights = vector([b for _, b in tangent_parts(y, y_bar)])
    bars = pullback(y_bar)
    if len(bars) != len(operands):
        msg = f"rrule: {len(bars)} cotangents for {len(operands)} operands"
        raise AssertionError(msg)
    truth, error = slope(point, ts)
    found = sum(map(_paired, bars, point.tangents(ts)))
    _close(found, weights @ truth, np.abs(weights) @ error, "rrule")
    return True


def cotangent(point: Point, y: Any) -> Any:
    """Draw a random cotangent of a result."""
    if is_structure_type(type(y)):
        fields = [cotangent(point, field) for _, field in fields_of(y)]
        return fields if type(y) is list else tuple(fields)
    for part in parts(y):
        return point.direction(part)
    return ZeroTangent()


def _paired(bar: Any, t: Any) -> Any:
    """Compute the inner product of a cotangent and a tangent."""
    if is_zero(t) or is_zero(bar):
        return 0.0
    if type(t) in (list, tuple):
        return sum(_paired(bar[i], entry) for i, entry in enumerate(t))
    return _inner(bar, t)


# ------------------------------------------------------------------------ where nothing moves


def check_constant(point: Point) -> bool:
    """Zero tangents, by direct rules and through the tape, of what is locally constant."""
    call = point.call
    # The sign of a complex number moves. SciPy's names are not listed.
    if not point.xs or library_of(call.name) != "numpy" or (call.complex and call.sample.smooth):
        return False
    if listed_as(call.name).answer != "constant":
        return False
    operands = direct(point)
    if operands is not None:
        _, keywords = point.arguments(point.xs)
        y, pullback = rrule(point.f, *operands, **keywords)
        for bar in pullback(cotangent(point, y)):
            _zero(bar, "rrule")
        _, y_dot = frule(tuple(point.tangents(point.directions())), point.f, *operands, **keywords)
        _zero(y_dot, "frule")

    def identity(*xs: Any) -> Any:
        # Added to something that moves, it is used as a number and changes no gradient.
        total: Any = sum(np.sum(v.real(x) * 1.0) for x in xs)
        for leaf in leaves(point.value(*xs)):
            if (
                not isinstance(leaf, type)
                and np.dtype(getattr(leaf, "dtype", type(leaf))).kind in "biufc"
            ):
                total = total + v.real(np.sum(leaf * 1.0))
        return total

    for bar in engine().grad(identity, argnums=tuple(range(len(point.xs))))(*point.xs):
        _zero(bar - 1, "reverse")
    return True


def _zero(t: Any, what: str) -> None:
    fields = [field for _, field in t.fields()] if isinstance(t, Tangent) else t
    if isinstance(fields, (list, tuple)):
        for field in fields:
            _zero(field, what)
    elif not is_zero(t) and np.any(np.asarray(t) != 0):
        msg = f"{what}: {t!r} where nothing moves"
        raise AssertionError(msg)
