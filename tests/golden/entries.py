"""The entries: random programs, samples of operations, calls of NumPy's and SciPy's functions."""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import frule, rrule
from chainrules_py.testing.cases.backends import backend
from chainrules_py.testing.cases.calls_from_samples import Instance, instances
from chainrules_py.testing.cases.coordinates import random_tangent
from chainrules_py.testing.sample_runs import operations_of
from chainrules_tape import hvp, jvp, value_and_grad, vjp
from tests.golden.draws import digest_of, program
from tests.golden.numbers import Number, Result, number, refusal
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.calls.call import SurfaceCall
from tests.surface.derivatives import loss_of
from tests.surface.point import Point, direct

PROGRAMS = 20_000
"""How many random programs there are."""

Parts = dict[str, Result]
"""The results of an entry by name: its value, gradient, push, ..."""

_NARROW = {np.dtype("float64"): np.float32, np.dtype("complex128"): np.complex64}


def _part(parts: Parts, name: str, compute: Callable[[], Any]) -> Any:
    """Enter a result, or the error that there is instead; return the result."""
    try:
        found = compute()
        parts[name] = number(found)
    except Exception as error:
        parts[name] = refusal(error)
        return None
    return found


def _narrow(x: Any) -> Any:
    return x.astype(_NARROW[x.dtype]) if getattr(x, "dtype", None) in _NARROW else x


# ---------------------------------------------------------------------------------- the programs


def _direction(x: Any, rng: Any) -> Any:
    t = rng.uniform(-1, 1, np.shape(x))
    if np.iscomplexobj(x):
        t = t + 1j * rng.uniform(-1, 1, np.shape(x))
    return t if isinstance(x, np.ndarray) else t + x * 0


def of_program(n: int) -> Parts:
    """Compute the value of a random program, its gradient, a push, and a Hessian's product."""
    f = program(n)
    xs, rng = f.leaves, np.random.default_rng(n)
    ts = tuple([_direction(x, rng) for x in xs])
    parts: Parts = {"program": Number(digest_of(f), 0.0)}
    try:
        value, gradient = value_and_grad(f, tuple(range(len(xs))))(*xs)
    except Exception as error:
        parts["value"] = parts["gradient"] = refusal(error)
    else:
        parts["value"], parts["gradient"] = number(value), number(gradient)
    _part(parts, "push", lambda: jvp(f, xs, ts)[1])
    _part(parts, "second order", lambda: hvp(f, xs, ts))
    return parts


# ----------------------------------------------------------------------------------- the samples


def of_sample(instance: Instance) -> Parts:
    """Compute the value of an operation at a sample, what its rule pushes, and what it pulls."""
    f, sample = instance.operation, instance.sample
    operands, options = instance.build(backend("numpy"))
    parts = _of_operands(instance, operands, options)
    narrow = tuple(map(_narrow, operands))
    if any(x is not y for x, y in zip(operands, narrow, strict=True)):
        single = _of_operands(instance, narrow, options)
        parts |= {f"{name}, float32": result for name, result in single.items()}
    if sample.smooth and sample.raises is None:
        call = SurfaceCall(f.__name__, sample, instance.number, instance.complex)

        def at(*xs: Any, **_: Any) -> Any:
            return f(*[np.asarray(x) if type(x) is list else x for x in xs], **options)

        _second_order(parts, Point(call, f=at))
    return parts


def _of_operands(instance: Instance, operands: tuple[Any, ...], options: dict[str, Any]) -> Parts:
    f, gauge = instance.operation, instance.sample.gauge
    parts: Parts = {}
    rng = np.random.default_rng(zlib.crc32(instance.name.encode()))
    ts = tuple([random_tangent(x, rng) for x in operands])

    def determined(*xs: Any) -> Any:
        y = f(*xs, **options)
        return y if gauge is None else gauge(y)

    y = _part(parts, "value", lambda: determined(*operands))
    if isinstance(parts["value"], Number):
        y_bar = random_tangent(y, rng)
        if gauge is None:
            _part(parts, "push", lambda: frule(ts, f, *operands, **options)[1])
            _part(parts, "pull", lambda: rrule(f, *operands, **options)[1](y_bar))
        else:  # what the rule alone gives depends on which singular vectors LAPACK finds
            _part(parts, "push", lambda: jvp(determined, operands, ts)[1])
            _part(parts, "pull", lambda: vjp(determined, *operands)[1](y_bar))
    return parts


def _second_order(parts: Parts, point: Point) -> None:
    if point.is_smooth:
        loss = loss_of(point, [point.direction(p) for p in point(*point.xs)])
        us = tuple(point.directions())
        _part(parts, "second order", lambda: hvp(loss, tuple(point.xs), us))


# ----------------------------------------------------------------------------------- the surface


def of_call(call: SurfaceCall) -> Parts:
    """Compute the value of a call, and its derivatives through the tape and by the rule alone."""
    point, parts = Point(call), _at(Point(call))
    _second_order(parts, point)
    if any(_narrow(x) is not x for x in point.xs):
        single = _at(Point(call, _narrow))
        parts |= {f"{name}, float32": result for name, result in single.items()}
    return parts


def _at(point: Point) -> Parts:
    parts: Parts = {}
    _part(parts, "value", lambda: point.gauged(*point.xs))
    if isinstance(parts["value"], Number) and point.is_smooth:
        xs, ts = tuple(point.xs), tuple(point.directions())
        ts = tuple([_like(t, x) for t, x in zip(ts, xs, strict=True)])
        y_bar = [_like(point.direction(p), p) for p in point(*xs)]
        _part(parts, "forward", lambda: jvp(point, xs, ts)[1])
        _part(parts, "reverse", lambda: vjp(point, *xs)[1](y_bar))
        operands = direct(point)
        if operands is not None:
            _, keywords = point.arguments(xs)
            dots = tuple(point.tangents(ts))
            _part(parts, "push", lambda: frule(dots, point.f, *operands, **keywords)[1])
            _part(parts, "pull", lambda: _pulled(point, operands, keywords))
    return parts


def _like(t: Any, x: Any) -> Any:
    """Return a tangent in the precision of its value."""
    return t.astype(x.dtype) if isinstance(t, np.ndarray) else t


def _pulled(point: Point, operands: list[Any], keywords: dict[str, Any]) -> Any:
    y, pull = rrule(point.f, *operands, **keywords)
    return pull(random_tangent(y, 0))


# ------------------------------------------------------------------------------------ all of them


@functools.cache
def entries() -> dict[str, Callable[[], Parts]]:
    """Return what computes each entry by its name, in an order that is always the same."""
    found: dict[str, Callable[[], Parts]] = {}

    def enter(name: str, compute: Callable[[], Parts]) -> None:
        name = " ".join(name.split())  # arrays among options are shown in several lines
        if name in found:
            msg = f"two entries are called {name}"
            raise ValueError(msg)
        found[name] = compute

    for n in range(PROGRAMS):
        enter(f"program {n}", functools.partial(of_program, n))
    for operation in operations_of():
        for raising in (False, True):
            for instance in instances(operation, raising=raising):  # type: ignore[arg-type]
                enter(f"sample {instance.name}", functools.partial(of_sample, instance))
    for library in ("numpy", "scipy"):
        for name in names_with_calls(library):
            for call in surface_calls(name):
                enter(f"call {call}", functools.partial(of_call, call))
    return found


def compute(name: str) -> Parts:
    """Compute the results of an entry."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return entries()[name]()
        except Exception as error:  # before there is anything to differentiate
            return {"value": refusal(error)}
