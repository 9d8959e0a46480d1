"""Calls of NumPy's functions with other data: narrow, laid out otherwise, integers, empty.

What is true of a call has to be true of these as well.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import TracerError, frule, rrule
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import SurfaceCall
from tests.surface.derivatives import (
    NoTruthError,
    check_forward,
    check_frule,
    check_reverse,
    check_rrule,
    check_value,
    cotangent,
    engine,
    loss_of,
    tangent_parts,
)
from tests.surface.point import Point, dense, direct, parts

# ------------------------------------------------------------------------ in single precision

_NARROW = {np.dtype("float64"): np.float32, np.dtype("complex128"): np.complex64}
# NumPy computes these in a lower precision than the dtype of the result says.
_CRUDE = {"nanvar", "nanstd", "histogram"}


def _narrow(x: Any) -> Any:
    return x.astype(_NARROW[x.dtype]) if x.dtype in _NARROW else x


def _near(found: Any, dtype: Any, truth: Any, what: str) -> None:
    """Check that a tangent has the dtype of its value, and agrees with double precision."""
    if is_zero(found):
        found = dense(found, truth)
    elif found.dtype != dtype:
        msg = f"{what}: a tangent of {found.dtype} for {dtype}"
        raise AssertionError(msg)
    scale = max(1.0, np.max(np.abs(truth), initial=0.0))
    if not np.all(np.abs(found - truth) <= 2e-2 * scale):
        msg = f"{what}: {found}, and {truth} in float64"
        raise AssertionError(msg)


def _narrowed(call: SurfaceCall) -> tuple[Point, Point] | None:
    """Return the point in double and single precision, or None unless all that moves are arrays."""
    point = Point(call)
    if not point.xs or any(not isinstance(x, np.ndarray) for x in point.xs):
        return None
    return point, Point(call, _narrow)


def check_float32(call: SurfaceCall) -> bool:
    """Values have the dtype that NumPy gives them, tangents that of what they belong to."""
    found = _narrowed(call)
    if found is None:
        return False
    point, narrow = found
    check_value(narrow, 1e-7 if call.name in _CRUDE else 0.0)
    if not point.is_smooth:
        return False
    tape = engine()
    wide, pull_wide = tape.vjp(point, *point.xs)
    y, pull = tape.vjp(narrow, *narrow.xs)
    y_bar = [np.asarray(point.direction(p)) for p in wide]
    bars = pull([b.astype(np.asarray(p).dtype) for b, p in zip(y_bar, y, strict=True)])
    for x, bar, truth in zip(narrow.xs, bars, pull_wide(y_bar), strict=True):
        _near(bar, x.dtype, truth, "float32, reverse")
    ts = point.directions()
    _, wide_dot = tape.jvp(point, tuple(point.xs), tuple(ts))
    _, y_dot = tape.jvp(narrow, tuple(narrow.xs), tuple(map(_narrow, ts)))
    for part, t, truth in zip(y, y_dot, wide_dot, strict=True):
        _near(t, np.asarray(part).dtype, dense(truth, part), "float32, forward")
    return True


def check_float32_frule(call: SurfaceCall) -> bool:
    """Check the direct forward rule in single precision, as `check_float32` does."""
    found = _narrowed(call)
    if found is None or not found[0].is_smooth or direct(found[0]) is None:
        return False
    ts = found[0].directions()
    results = []
    for point, dots in zip(found, (ts, [*map(_narrow, ts)]), strict=True):
        operands, keywords = point.arguments(point.xs)
        y, y_dot = frule(tuple(point.tangents(dots)), point.f, *operands, **keywords)
        results.append([*tangent_parts(y, y_dot)])
    for (wide, truth), (part, t) in zip(*results, strict=True):
        _near(t, np.asarray(part).dtype, dense(truth, wide), "float32, frule")
    return True


def check_float32_rrule(call: SurfaceCall) -> bool:
    """Check the direct reverse rule in single precision, as `check_float32` does."""
    found = _narrowed(call)
    if found is None or not found[0].is_smooth or direct(found[0]) is None:
        return False
    results, y_bar = [], None
    for point in found:
        operands, keywords = point.arguments(point.xs)
        y, pullback = rrule(point.f, *operands, **keywords)
        y_bar = cotangent(point, y) if y_bar is None else y_bar
        bars = pullback(y_bar)
        results.append([b for bar, t in zip(bars, point.tangents(point.xs), strict=True)
                        for b in _entries(bar, t)])  # fmt: skip
    for x, truth, bar in zip(found[1].xs, *results, strict=True):
        _near(bar, x.dtype, dense(truth, x), "float32, rrule")
    return True


def _entries(bar: Any, t: Any) -> Iterator[Any]:
    """Yield the cotangents of what moves, in order."""
    if type(t) in (list, tuple):
        for i, entry in enumerate(t):
            yield from _entries(bar if is_zero(bar) else bar[i], entry)
    elif not is_zero(t):
        yield bar


def check_float32_second(call: SurfaceCall) -> bool:
    """Second derivatives are in single precision as well, and finite."""
    found = _narrowed(call)
    if found is None or not found[0].is_smooth:
        return False
    tape, results = engine(), []
    ts = found[0].directions()
    weights = [found[0].direction(p) for p in found[0](*found[0].xs)]
    for point, dots in zip(found, (ts, [*map(_narrow, ts)]), strict=True):
        gradient = tape.grad(loss_of(point, weights), argnums=tuple(range(len(point.xs))))
        results.append(tape.jvp(gradient, tuple(point.xs), tuple(dots))[1])
    for x, truth, t in zip(found[1].xs, *results, strict=True):
        _near(t, x.dtype, dense(truth, x), "float32, second order")
    return True


# ------------------------------------------------------------------------ in memory, and integers


def _fortran(x: Any) -> Any:
    return np.array(x, order="F")


def _strided(x: Any) -> Any:
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    room[..., ::2] = x
    return room[..., ::2]


def _backwards(x: Any) -> Any:
    return np.flip(np.flip(x).copy())


_LAYOUTS = (_fortran, _strided, _backwards)


def check_layout(call: SurfaceCall) -> bool:
    """Arrays in another order of memory, with gaps, read-only."""
    lay_out = _LAYOUTS[call.number % len(_LAYOUTS)]

    def lay(x: Any) -> Any:
        x = lay_out(x) if x.ndim else x.copy()
        x.setflags(write=False)
        return x

    point = Point(call, lay)
    if not any(isinstance(x, np.ndarray) for x, _ in point.taken):
        return False
    check_value(point)
    for check in (check_forward, check_reverse, check_frule, check_rrule):
        check(point)
    return True


def _whole(x: Any) -> Any:
    return np.round(x).astype(int) if x.dtype.kind == "f" else x


def _rounded(x: Any) -> Any:
    return np.round(x) + 0.0 if x.dtype.kind == "f" else x  # no -0.0, which no integer is


def check_integers(call: SurfaceCall) -> bool:
    """Where NumPy takes integers, they stand for the numbers that they are."""
    rounded = Point(call, _rounded)
    of_arrays = all(isinstance(x, np.ndarray) and np.all(np.isfinite(x)) for x in rounded.xs)
    if call.complex or not of_arrays or not call.sample.smooth:
        return False
    whole = Point(call, _whole)
    checked = False
    for places in {tuple(range(len(whole.xs))), *[(i,) for i in range(len(whole.xs))]}:
        mixed = [whole.xs[i] if i in places else x for i, x in enumerate(rounded.xs)]
        try:
            y = whole(*mixed)
        except (TypeError, ValueError, np.linalg.LinAlgError):
            continue  # NumPy takes none here
        try:
            if len(places) < len(mixed):
                checked |= _same_through_tape(rounded, mixed, y)
            elif y:
                checked |= _same_direct(whole, rounded)
        except TracerError:
            pass  # NumPy asks that argument alone whether it is an array of its own
    return checked


def _same_through_tape(point: Point, mixed: list[Any], plain: list[Any]) -> bool:
    """Integers beside what is differentiated in."""
    tape = engine()
    moving = [i for i, x in enumerate(mixed) if x.dtype.kind == "f"]
    y_bar = [point.direction(p) for p in plain]
    results = []
    for xs in (mixed, point.xs):

        def f(*moved: Any, xs: Any = xs) -> Any:
            full = [*xs]
            for i, x in zip(moving, moved, strict=True):
                full[i] = x
            return point(*full)

        y, pullback = tape.vjp(f, *[xs[i] for i in moving])
        if [np.shape(p) for p in y] != [np.shape(p) for p in plain]:
            return False  # of integers NumPy gives another kind of result
        results.append((y, pullback(y_bar)))
    for a, b in zip(results[0][0], plain, strict=True):
        _equal(a, b, "integers, value")
    for a, b in zip(results[0][1], results[1][1], strict=True):
        _equal(a, b, "integers, reverse")
    return True


def _same_direct(whole: Point, rounded: Point) -> bool:
    """All operands integers: their cotangents are those of the floats that they are."""
    if direct(whole) is None:
        return False
    results = []
    for point in (whole, rounded):
        operands, keywords = point.arguments(point.xs)
        results.append(rrule(point.f, *operands, **keywords))
    (y, pull), (truth, pull_truth) = results
    if [np.shape(p) for p in parts(y)] != [np.shape(p) for p in parts(truth)]:
        return False  # of integers NumPy gives other integers, or another number of them
    y_bar = cotangent(whole, y)
    for bar, other, t in zip(pull(y_bar), pull_truth(y_bar), whole.tangents(whole.xs), strict=True):
        for a, b in zip(_entries(bar, t), _entries(other, t), strict=True):
            if not (is_zero(a) and is_zero(b)):
                _equal(dense(a, b), dense(b, a), "integers, rrule")
    return True


def _equal(found: Any, truth: Any, what: str) -> None:
    found, truth = np.asarray(found), np.asarray(truth)
    same = found.dtype == truth.dtype and found.shape == truth.shape
    if not (same and np.allclose(found, truth, rtol=1e-12, atol=1e-12, equal_nan=True)):
        msg = f"{what}: {found!r}, and {truth!r} of the same numbers as floats"
        raise AssertionError(msg)


# --------------------------------------------------------------------------- of other lengths


def check_shapes(call: SurfaceCall) -> bool:
    """Without axes, empty and of length one: where NumPy gives a value, there are derivatives."""
    lengths = {n for shape in _shapes(call.sample) for n in shape} - {0, 1}
    changes: list[Any] = [lambda shape: ()] if lengths else []
    for n in sorted(lengths):
        changes += [_replaced(n, 0), _replaced(n, 1)]
    checked = False
    for change in changes:
        other = dataclasses.replace(call, sample=_resized(call.sample, change))
        try:
            point = Point(other)
            point.value(*point.xs)
        except Exception:
            continue
        check_value(point)
        checked = True
        for check in (check_forward, check_reverse, check_frule, check_rrule):
            try:
                check(Point(other))
            except NoTruthError:  # at a kink, or where the value is not finite
                break
    return checked


def _replaced(n: int, to: int) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    return lambda shape: tuple([to if length == n else length for length in shape])


def _over_draws(change: Callable[[Draw], Any], x: Any) -> Any:
    if isinstance(x, Draw):
        return change(x)
    return type(x)([_over_draws(change, i) for i in x]) if type(x) in (list, tuple) else x


def _shapes(sample: Sample) -> list[tuple[int, ...]]:
    found: list[Any] = []
    for x in (*sample.operands, *sample.options.values()):
        _over_draws(lambda draw: found.append(draw.shape), x)
    return [shape for shape in found if shape is not None]


def _resized(sample: Sample, change: Callable[[Any], Any]) -> Sample:
    """Return the sample with draws of other shapes."""

    def resized(draw: Draw) -> Draw:
        return draw if draw.shape is None else dataclasses.replace(draw, shape=change(draw.shape))

    other = copy.copy(sample)
    other.operands = tuple([_over_draws(resized, x) for x in sample.operands])
    other.options = {name: _over_draws(resized, x) for name, x in sample.options.items()}
    return other
