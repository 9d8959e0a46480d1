"""NumPy's functions as people call them, each judged through the tape and by direct rules.

`enter_calls` takes calls as data, in the form of samples: operands and keywords may be draws, or
lists and tuples of them. They stand in ``testing/calls/<family>``. Real draws, wherever they are,
are what is differentiated in; the function itself, in differences, is the truth.
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from chainrules_py import frule, loading, rrule
from chainrules_py import vocabulary as v
from chainrules_py.structure import fields_of, is_structure_type
from chainrules_py.tangents import ZeroTangent, is_zero
from chainrules_py.testing.build import draw
from chainrules_py.testing.differences import derivative
from chainrules_py.testing.sample import Draw, Sample

__all__ = [
    "CELLS",
    "SurfaceCall",
    "check_call",
    "enter_calls",
    "function_named",
    "names_with_calls",
    "surface_calls",
]

CELLS = ("value", "forward", "reverse", "frule", "rrule", "second order", "float32")
"""What is checked of a call, in this order."""

_calls: dict[str, tuple[Sample, ...]] = {}


def enter_calls(name: str, *given: Sample) -> None:
    """Enter calls of a function of NumPy.

    Parameters
    ----------
    name : str
        As users write it behind ``np.``: ``"linalg.det"``, or ``"ndarray.sum"`` for a method.
    *given : Sample
        Operands and keywords. A sample of a function that is not smooth is only called; one
        with ``gauge=`` is differentiated through it.
    """
    _calls[name] = (*_calls.get(name, ()), *given)


def names_with_calls() -> tuple[str, ...]:
    """The functions that calls were entered for."""
    importlib.import_module("chainrules_py.testing.calls")
    return tuple(_calls)


@final
@dataclasses.dataclass(frozen=True)
class SurfaceCall:
    """One call of one function, real or complex.

    Attributes
    ----------
    name : str
        The function, as behind ``np.``.
    sample : Sample
        Operands and keywords.
    number : int
        Which of the function's calls it is.
    complex : bool
        Whether real draws are made complex.
    """

    name: str
    sample: Sample
    number: int
    complex: bool = False

    def __str__(self) -> str:
        shown = repr(self.sample).removesuffix(" complex")
        text = f"{self.name}({shown if len(shown) <= 70 else shown[:67] + '...'})"
        return f"{text}{' complex' if self.complex else ''} {self.number}"


def surface_calls(name: str) -> Iterator[SurfaceCall]:
    """The calls of a function, those that say so once more with complex operands."""
    importlib.import_module("chainrules_py.testing.calls")
    for number, sample in enumerate(_calls.get(name, ())):
        yield SurfaceCall(name, sample, number)
        if sample.complex:
            yield SurfaceCall(name, sample, number, complex=True)


def function_named(name: str) -> Callable[..., Any]:
    """The function behind ``np.``; a method or property as a function of the array."""
    if name.startswith("ndarray."):
        member = name.removeprefix("ndarray.")
        if not callable(getattr(np.ndarray, member)):
            return lambda x: getattr(x, member)
        return lambda x, *operands, **keywords: getattr(x, member)(*operands, **keywords)
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _map(change: Callable[[Draw], Any], x: Any) -> Any:
    """A sample's argument with its draws replaced."""
    if isinstance(x, Draw):
        return change(x)
    if type(x) in (list, tuple):
        return type(x)([_map(change, item) for item in x])
    return x


class _Point:
    """Where a call is judged: what was drawn, and the call as a function of it."""

    def __init__(self, call: SurfaceCall) -> None:
        rng = np.random.default_rng([zlib.crc32(call.name.encode()), call.number])
        self.rng, self.call, self.f = rng, call, function_named(call.name)
        sample = call.sample
        self.xs: list[Any] = []
        taken: list[tuple[Any, int | None]] = []

        def take(d: Draw) -> Any:
            value = draw(d, rng, call.complex)
            moves = d.kind in ("real", "complex")
            taken.append((value, len(self.xs) if moves else None))
            if moves:
                self.xs.append(value)
            return _Place(len(taken) - 1)

        self.operands = [_map(take, x) for x in sample.operands]
        self.keywords = {name: _map(take, x) for name, x in sample.options.items()}
        self.taken = taken

    def arguments(self, xs: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the call, at other points than the one that was drawn."""
        values = [xs[at] if at is not None else value for value, at in self.taken]
        keywords = {name: _fill(x, values) for name, x in self.keywords.items()}
        return [_fill(x, values) for x in self.operands], keywords

    def __call__(self, *xs: Any) -> Any:
        """The parts of the result in which it can be differentiated, a list."""
        operands, keywords = self.arguments(xs)
        y = self.f(*operands, **keywords)
        return list(_parts(self.call.sample.gauge(y) if self.call.sample.gauge else y))

    def direction(self, x: Any) -> Any:
        """A random tangent."""
        t = self.rng.standard_normal(np.shape(x))
        if np.iscomplexobj(x):
            t = t + 1j * self.rng.standard_normal(np.shape(x))
        return t if isinstance(x, np.ndarray) else np.asarray(t).item()


@dataclasses.dataclass(frozen=True)
class _Place:
    index: int


def _fill(x: Any, values: list[Any]) -> Any:
    if type(x) is _Place:
        return values[x.index]
    if type(x) in (list, tuple):
        return type(x)([_fill(item, values) for item in x])
    return x


def _parts(y: Any) -> Iterator[Any]:
    """The floating parts of a result, in order."""
    if is_structure_type(type(y)):
        for _, field in fields_of(y):
            yield from _parts(field)
    elif not isinstance(y, type):
        kind = np.dtype(getattr(y, "dtype", type(y))).kind
        if kind in "fc":
            yield y


def _vector(parts: Any) -> Any:
    """Real coordinates of a list of parts."""
    flat = [np.ravel(np.asarray(p)) for p in parts]
    real = [np.concatenate([p.real, p.imag]) if np.iscomplexobj(p) else p for p in flat]
    return np.concatenate([np.zeros(0), *real])


def _dense(t: Any, like: Any) -> Any:
    return np.zeros_like(np.asarray(like)) if is_zero(t) else t


def _close(found: Any, truth: Any, error: Any, what: str, rtol: float = 1e-6) -> None:
    allowed = np.maximum(rtol * np.maximum(1.0, np.abs(truth)), 50 * error)
    if np.max(np.asarray(error), initial=0.0) > 1e-3 * max(1.0, np.max(np.abs(truth), initial=0.0)):
        msg = f"{what}: differences are no truth here (they disagree by {np.max(error):.1e})"
        raise AssertionError(msg)
    if not np.all(np.abs(found - truth) <= allowed):
        msg = f"{what}: {found} where differences give {truth}"
        raise AssertionError(msg)


def check_call(call: SurfaceCall, cells: tuple[str, ...] = CELLS) -> tuple[str, ...]:
    """Check a call of a function of NumPy, and say which cells were checked.

    Parameters
    ----------
    call : SurfaceCall
        What to call.
    cells : tuple of str
        Out of `CELLS`.

    Returns
    -------
    tuple of str
        The cells that had something to check.

    Raises
    ------
    AssertionError
        If something is wrong; the text says which cell, and what differences gave.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return tuple(cell for cell in cells if _CHECKS[cell](_Point(call)))


def _engine() -> Any:
    return loading.default_engine()


def _check_value(point: _Point) -> bool:
    operands, keywords = point.arguments(point.xs)
    plain = point.f(*operands, **keywords)

    def traced(*xs: Any) -> Any:
        operands, keywords = point.arguments(xs)
        return point.f(*operands, **keywords)

    y, _ = _engine().vjp(traced, *point.xs)
    for a, b in zip(_leaves(y), _leaves(plain), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            msg = f"value: {a.dtype}{a.shape} under tracing, {b.dtype}{b.shape} without"
            raise AssertionError(msg)
        # A keyword that is written in words may be rounded in another order.
        exact = b.dtype.kind not in "fc"
        rtol = 0.0 if exact else 32 * np.finfo(b.dtype).eps
        same = np.array_equal(a, b) if exact else np.allclose(a, b, rtol, rtol, equal_nan=True)
        if not same:
            msg = f"value: {a} under tracing, {b} without"
            raise AssertionError(msg)
    return True


def _leaves(y: Any) -> Iterator[Any]:
    if is_structure_type(type(y)):
        for _, field in fields_of(y):
            yield from _leaves(field)
    else:
        yield y


def _slope(point: _Point, ts: Any) -> tuple[Any, Any]:
    return derivative(
        lambda h: _vector(point(*[x + h * t for x, t in zip(point.xs, ts, strict=True)]))
    )


def _smooth(point: _Point) -> bool:
    return point.call.sample.smooth and bool(point.xs) and bool(point(*point.xs))


def _check_forward(point: _Point) -> bool:
    if not _smooth(point):
        return False
    ts = [point.direction(x) for x in point.xs]
    y, y_dot = _engine().jvp(point, tuple(point.xs), tuple(ts))
    found = _vector([_dense(t, p) for t, p in zip(y_dot, y, strict=True)])
    _close(found, *_slope(point, ts), "forward")
    return True


def _inner(a: Any, b: Any) -> Any:
    return np.sum(np.real(np.conj(np.asarray(a)) * np.asarray(b)))


def _check_reverse(point: _Point) -> bool:
    if not _smooth(point):
        return False
    y, pullback = _engine().vjp(point, *point.xs)
    y_bar = [point.direction(p) for p in y]
    for x, x_bar in zip(point.xs, pullback(y_bar), strict=True):
        if np.shape(x_bar) != np.shape(x) or np.iscomplexobj(x_bar) != np.iscomplexobj(x):
            msg = f"reverse: a cotangent {x_bar!r} for {x!r}"
            raise AssertionError(msg)
    ts = [point.direction(x) for x in point.xs]
    truth, error = _slope(point, ts)
    weights = _vector(y_bar)
    found = sum(_inner(b, t) for b, t in zip(pullback(y_bar), ts, strict=True))
    _close(found, weights @ truth, np.abs(weights) @ error, "reverse")
    return True


def _direct(point: _Point) -> tuple[Any, list[int]] | None:
    """The call for a direct rule, if each operand is an array or number, and no keyword moves."""
    sample = point.call.sample
    operands, _ = point.arguments(point.xs)
    if sample.gauge or point.call.name.startswith("ndarray.") or not _smooth(point):
        return None
    if any(isinstance(x, Draw) or type(x) in (list, tuple) for x in sample.options.values()):
        return None
    # To NumPy a list of numbers is an array; to a rule it is a structure.
    if any(type(x) is list and not any(isinstance(i, Draw) for i in x) for x in sample.operands):
        return None
    places = [
        i
        for i, x in enumerate(sample.operands)
        if isinstance(x, Draw) and x.kind in ("real", "complex")
    ]
    return (operands, places) if len(places) == len(point.xs) else None


def _check_frule(point: _Point) -> bool:
    direct = _direct(point)
    if direct is None:
        return False
    operands, places = direct
    ts = [point.direction(x) for x in point.xs]
    given: list[Any] = [ZeroTangent()] * len(operands)
    for place, t in zip(places, ts, strict=True):
        given[place] = t
    _, keywords = point.arguments(point.xs)
    y, y_dot = frule(tuple(given), point.f, *operands, **keywords)
    found = _vector([_dense(t, p) for p, t in _tangent_parts(y, y_dot)])
    _close(found, *_slope(point, ts), "frule")
    return True


def _tangent_parts(y: Any, t: Any) -> Iterator[tuple[Any, Any]]:
    if is_structure_type(type(y)):
        for place, (key, field) in enumerate(fields_of(y)):
            at = place if isinstance(t, tuple) else key
            yield from _tangent_parts(field, t if is_zero(t) else t[at])
    else:
        for part in _parts(y):
            yield part, t


def _check_rrule(point: _Point) -> bool:
    direct = _direct(point)
    if direct is None:
        return False
    operands, places = direct
    _, keywords = point.arguments(point.xs)
    y, pullback = rrule(point.f, *operands, **keywords)
    y_bar = _cotangent(point, y)
    weights = _vector([b for _, b in _tangent_parts(y, y_bar)])
    bars = pullback(y_bar)
    if len(bars) != len(operands):
        msg = f"rrule: {len(bars)} cotangents for {len(operands)} operands"
        raise AssertionError(msg)
    ts = [point.direction(x) for x in point.xs]
    truth, error = _slope(point, ts)
    found = sum(_inner(_dense(bars[p], t), t) for p, t in zip(places, ts, strict=True))
    _close(found, weights @ truth, np.abs(weights) @ error, "rrule")
    return True


def _cotangent(point: _Point, y: Any) -> Any:
    if is_structure_type(type(y)):
        parts = [_cotangent(point, field) for _, field in fields_of(y)]
        return parts if type(y) is list else tuple(parts)
    for part in _parts(y):
        return point.direction(part)
    return ZeroTangent()


def _check_second(point: _Point) -> bool:
    """The derivative of a gradient along a direction, against differences of the gradient."""
    if not _smooth(point):
        return False
    engine = _engine()
    weights = [point.direction(p) for p in point(*point.xs)]

    def loss(*xs: Any) -> Any:
        total: Any = 0.0
        for w, y in zip(weights, point(*xs), strict=True):
            term = v.real(np.conj(w) * y) if np.iscomplexobj(w) else w * y
            square = v.real(v.conj(y) * y) if np.iscomplexobj(w) else y * y
            total = total + np.sum(term + 0.5 * square)
        return total

    gradient = engine.grad(loss, argnums=tuple(range(len(point.xs))))
    ts = [point.direction(x) for x in point.xs]
    truth, error = derivative(
        lambda h: _vector(gradient(*[x + h * t for x, t in zip(point.xs, ts, strict=True)]))
    )
    _, found = engine.jvp(gradient, tuple(point.xs), tuple(ts))
    _close(_vector([_dense(t, x) for t, x in zip(found, point.xs, strict=True)]), truth, error,
           "second order, forward over reverse", rtol=1e-5)  # fmt: skip
    us = [point.direction(x) for x in point.xs]

    def along(*xs: Any) -> Any:
        return engine.jvp(loss, xs, tuple(us))[1]

    bars = engine.grad(along, argnums=tuple(range(len(point.xs))))(*point.xs)
    found = sum(_inner(b, t) for b, t in zip(bars, ts, strict=True))
    w = _vector(us)
    _close(found, w @ truth, np.abs(w) @ error, "second order, reverse over forward", rtol=1e-5)
    return True


_NARROW = {np.dtype("float64"): np.float32, np.dtype("complex128"): np.complex64}


def _check_float32(point: _Point) -> bool:
    """Cotangents of float32 arrays are float32, and what they are in float64 up to rounding."""
    if not _smooth(point) or any(not isinstance(x, np.ndarray) for x in point.xs):
        return False
    engine = _engine()
    wide, pull_wide = engine.vjp(point, *point.xs)
    narrow, pull = engine.vjp(point, *[x.astype(_NARROW[x.dtype]) for x in point.xs])
    y_bar = [np.asarray(point.direction(p)) for p in wide]
    bars = pull([b.astype(np.asarray(p).dtype) for b, p in zip(y_bar, narrow, strict=True)])
    for x, bar, truth in zip(point.xs, bars, pull_wide(y_bar), strict=True):
        if np.asarray(bar).dtype != _NARROW[x.dtype]:
            msg = f"float32: a cotangent of {np.asarray(bar).dtype} for {_NARROW[x.dtype]}"
            raise AssertionError(msg)
        scale = max(1.0, np.max(np.abs(truth), initial=0.0))
        if not np.all(np.abs(bar - truth) <= 2e-2 * scale):
            msg = f"float32: {bar}, and {truth} in float64"
            raise AssertionError(msg)
    return True


_CHECKS: dict[str, Callable[[_Point], bool]] = {
    "value": _check_value,
    "forward": _check_forward,
    "reverse": _check_reverse,
    "frule": _check_frule,
    "rrule": _check_rrule,
    "second order": _check_second,
    "float32": _check_float32,
}
