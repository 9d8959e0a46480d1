"""Comparison of a traced call with the plain one: its value, its errors, and its derivatives."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import chainrules_scipy
from chainrules_py import ChainRulesError
from chainrules_tape import grad, jvp


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of what stands under SciPy's names, and the arrays that it is made of."""

    name: str
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    steps: tuple[float, float] = (1e-5, 2e-6)
    tolerance: float = 1e-11

    def __str__(self) -> str:
        return self.name


def _row(y: Any) -> Any:
    """Return all numbers of a result in one row: of arrays, and of lists and tuples of them."""
    if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
        parts = [_row(part) for part in y]
        return np.concatenate(parts) if parts else np.zeros(0)
    row = np.reshape(y, (-1,))
    return np.concatenate([np.real(row), np.imag(row)]) if row.dtype.kind == "c" else row


def _forms(y: Any) -> Any:
    """Return shapes and types; of whole numbers and truths, which are no matter, the shape."""
    if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
        return [_forms(part) for part in y]
    dtype = np.dtype(getattr(y, "dtype", type(y) if isinstance(y, (float, complex)) else int))
    return np.shape(y), dtype.name if dtype.kind in "fc" else ""


def _attempt(f: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f()
        except Exception as error:  # whatever SciPy raises is what is compared
            return error


def _double(call: Call) -> Call:
    """Return a call of the same numbers in double precision, which differences need."""
    xs = [x.astype(np.result_type(x.dtype, float)) for x in map(np.asarray, call.operands)]
    return dataclasses.replace(call, operands=tuple(xs))


def judged(call: Call) -> Iterator[str]:
    """Say what differs from SciPy's: nothing, if nothing does.

    A call that SciPy computes and that is refused in operations of ours is reported as ``refused``.
    """
    truth = _attempt(lambda: call.function(*call.operands))
    for k, x in enumerate(call.operands):
        for found in _in_one(call, k, np.asarray(x), truth):
            yield f"{call.name} [{k}]: {found}"


def _in_one(call: Call, k: int, x: Any, truth: Any) -> Iterator[str]:
    """Compare with what is traced in one operand."""
    forms: list[Any] = []

    def row(z: Any) -> Any:
        xs = [z if i == k else other for i, other in enumerate(call.operands)]
        y = call.function(*xs)
        forms.append(_forms(y))
        return _row(y)

    rng = np.random.default_rng(len(call.name) + k)
    way = rng.standard_normal(np.shape(x))
    is_single, is_complex = x.dtype.char in "fF", x.dtype.kind == "c"
    if is_complex:
        way = way + 1j * rng.standard_normal(np.shape(x))
    way = way.astype(x.dtype)
    with chainrules_scipy.install():
        found = _attempt(lambda: jvp(row, (x,), (way,)))
    if isinstance(truth, Exception):
        if not isinstance(found, Exception):
            yield f"gives {found[0]}, where SciPy has {truth!r}"
        return
    if isinstance(found, ChainRulesError):
        yield f"refused: {found}"
        return
    if isinstance(found, Exception):
        yield f"raises {found!r}"
        return
    (value, slope), known = found, _row(truth)
    if forms[-1] != _forms(truth):
        yield f"form {forms[-1]} for {_forms(truth)}"
        return
    if known.dtype.kind not in "iuf":
        return
    finite = known[np.isfinite(known)]
    scale = 1 + np.max(np.abs(finite), initial=0.0)
    with np.errstate(all="ignore"):
        same = np.isclose(value, known, rtol=0, atol=call.tolerance * scale, equal_nan=True)
    if not same.all():
        yield f"value {value[~same][:6]} for {known[~same][:6]}"
        return
    sides = []
    double = _double(call) if is_single else call

    def row_of_double(z: Any) -> Any:
        xs = [z if i == k else other for i, other in enumerate(double.operands)]
        return _row(double.function(*xs))

    at, along = (z.astype(np.result_type(z, float)) for z in (x, way))
    for step in call.steps:
        up, down = (
            _attempt(functools.partial(row_of_double, at + s * step * along)) for s in (1, -1)
        )
        if any(isinstance(y, Exception) or y.shape != known.shape for y in (up, down)):
            return  # at the edge of where it is defined
        with np.errstate(all="ignore"):
            sides.append([(up - known) / step, (known - down) / step])
    (right, left), (_, _) = sides
    with np.errstate(all="ignore"):
        ends = [np.mean(pair, axis=0) for pair in sides]
    size = 1 + np.maximum(np.abs(left), np.abs(right))
    smooth = np.isfinite(known) & (np.abs(ends[0] - ends[1]) < 1e-4 * size)
    smooth &= np.abs(left - right) < 1e-3 * size  # at a corner any of the slopes is right
    off = smooth & ~(np.abs(slope - ends[1]) < 1e-3 * size + np.abs(left - right))
    if off.any():
        yield f"slope {slope[off][:6]} for {ends[1][off][:6]}"
        return
    weights = np.where(smooth, rng.standard_normal(known.shape), 0.0)
    if not smooth.any():
        return

    def total(z: Any) -> Any:
        y = row(z)
        return sum(w * y[i] for i, w in enumerate(weights) if w)

    with chainrules_scipy.install():
        back = _attempt(lambda: np.sum(np.real(np.conj(grad(total)(x)) * way)))
    if isinstance(back, Exception):
        yield f"backwards raises {back!r}"
        return
    with np.errstate(all="ignore"):
        forth = np.sum(np.where(smooth, weights * slope, 0.0))
    size = 1 + np.sum(np.abs(weights * size)[smooth])
    if not abs(back - forth) <= (1e-3 if is_single else 1e-8) * size:
        yield f"backwards {back} for {forth}"
