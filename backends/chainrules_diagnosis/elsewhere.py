"""Other calls at which the two Jacobians say what was mistaken for what.

A rule that is right where an operand is replaced used the one for the other; one that gives what is
right there used the other for the one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from chainrules_diagnosis.block import Axes, Block, Evidence, close


def find_mistaken(b: Block) -> Iterator[str]:
    """Find an operand, or the result, or an option, that stands where another was meant."""
    if b.evidence.elsewhere is None:
        return
    place = b.evidence.place
    result = "y" if "y" not in place.names else "the result"
    for number, of in enumerate(place.operands):
        if not _is_array(of):
            continue
        name, values = place.names[number], np.asarray(of.x)
        others = [(result, place.result), *zip(place.names, place.operands, strict=True)]
        for other, by in others:
            if other != name and _is_array(by) and by.shape == of.shape:
                yield from _compare(b, {number: np.asarray(by.x)}, {}, name, other)
        for text, change in _CHANGES:
            with np.errstate(all="ignore"):
                changed = change(values)
            if changed is None or not np.all(np.isfinite(changed)):
                continue
            if not np.array_equal(changed, values):
                yield from _compare(b, {number: changed}, {}, name, text.format(name))


def find_switch(b: Block) -> Iterator[str]:
    """Find what is right for another value of an option of few values."""
    return _find_option(b, (bool, int))


def find_option(b: Block) -> Iterator[str]:
    """Find what is right for another value of an option."""
    return _find_option(b, (float,))


def _find_option(b: Block, kinds: tuple[type, ...]) -> Iterator[str]:
    for option, value in b.evidence.place.options.items():
        for other in _other_values(value) if type(value) in kinds else ():
            yield from _compare(b, {}, {option: other}, option, f"{option} = {other!r}")


def find_product(b: Block) -> Iterator[str]:
    """Find that of the derivative of x g(x), with g given, the other half x g'(x) is missing."""
    x = b.evidence.place.operands[b.number]
    n = len(b.want)
    if b.evidence.elsewhere is None or not _is_array(x) or x.kind != "real" or x.size != n:
        return
    if b.have.shape != (n, n) or np.any(b.have - np.diag(np.diag(b.have))):
        return
    if close(np.diag(b.want), np.full(n, b.want[0, 0]), 1e-3):
        return  # terms that are next to nothing fit by chance
    values, h = np.asarray(x.x, dtype=float), 2.0**-12
    there = [_at(b, {b.number: values * (1.0 + s * h)}, {}) for s in (1.0, -1.0, 2.0, -2.0)]
    if None in there:
        return
    a, c, d, e = (np.diag(t.have) for t in there if t is not None)
    slope = (8.0 * (a - c) - (d - e)) / (12.0 * h)  # x times that of what is given
    if close(np.diag(b.have) + slope, np.diag(b.want), 1e2 * b.digits) and np.any(slope):
        name = b.evidence.place.names[b.number]
        yield f"half of the product rule is missing: {name} times the slope of what is given"


def find_quadratic(b: Block) -> Iterator[str]:
    """Find 2 A x where (A + A.T) x belongs, of a form x.T A x."""
    x = b.evidence.place.operands[b.number]
    n = b.want.shape[1]
    if b.evidence.elsewhere is None or not _is_array(x) or len(b.want) != 1 or not 1 < n <= _FEW:
        return
    if x.kind != "real" or x.size != n:
        return
    values = np.asarray(x.x, dtype=float)
    steps = [e.reshape(values.shape) for e in np.eye(n)]
    there = [_at(b, {b.number: values + e}, {}) for e in steps]
    if None in there:
        return
    matrix = np.concatenate([t.have - b.have for t in there if t is not None])
    even, flat = (matrix + matrix.T) / 2, values.reshape(-1)
    is_linear = close(flat @ matrix, b.have[0], 1e2 * b.digits)
    if is_linear and close(flat @ even, b.want[0], 1e2 * b.digits):
        yield "2 A x where (A + A.T) x belongs (right only for a symmetric matrix)"


_FEW = 8


def find_special(b: Block) -> Iterator[str]:
    """Find what an operand has to be for the derivative to be right."""
    if b.evidence.elsewhere is None:
        return
    for number, of in enumerate(b.evidence.place.operands):
        if not _is_array(of):
            continue
        name, values = b.evidence.place.names[number], np.asarray(of.x)
        for text, change, is_point in _SPECIAL:
            changed = change(values)
            if changed is None or np.array_equal(changed, values):
                continue
            if _is_right(b, number, changed) and not (
                is_point and _is_right(b, number, 1.25 * changed)
            ):
                yield f"right only {text.format(name)}"


def _is_right(b: Block, number: int, values: Any) -> bool:
    there = _at(b, {number: values}, {})
    if there is None or np.any(there.is_wrong):
        return False
    return bool(np.any(np.abs(there.want) > there.allowed))


def find_ignored(b: Block) -> Iterator[str]:
    """Find an operand, or an option, with which what is given should change, or should not."""
    place = b.evidence.place
    for number, of in enumerate(place.operands):
        if _is_array(of):
            values = np.asarray(of.x)
            wave = _wave(values.size).reshape(values.shape)
            yield from _unchanged(b, {number: values * (1.0 + wave)}, {}, place.names[number])
    for option, value in place.options.items():
        if type(value) is float:
            yield from _unchanged(b, {}, {option: 1.25 * value + 0.25}, option)


def _unchanged(
    b: Block, operands: Mapping[int, Any], options: Mapping[str, Any], name: str
) -> Iterator[str]:
    there = _at(b, operands, options)
    if there is None or not np.any(b.have):
        return
    is_same = close(there.want, b.want, 1e2 * b.digits)
    if not is_same and np.array_equal(there.have, b.have):
        yield f"does not change with {name}"
    if is_same and not close(there.have, b.have, 1e2 * b.digits):
        yield f"changes with {name}, and should not"


def find_dependence(b: Block) -> Iterator[str]:
    """Find of what alone a factor, or a term, depends."""
    with np.errstate(all="ignore"):
        support = np.abs(b.want) > 1e-6 * np.max(np.abs(b.want), initial=0.0)
        ratio = lambda c: np.where(support, c.have / c.want, 1.0)
        yield from _depending(b, "factor", ratio)
        yield from _depending(b, "term", lambda c: c.have - c.want)


def _depending(b: Block, what: str, measure: Callable[[Block], Any]) -> Iterator[str]:
    names, here = b.evidence.place.names, measure(b)
    arrays = [i for i, of in enumerate(b.evidence.place.operands) if _is_array(of)]
    if b.evidence.elsewhere is None or len(arrays) < 2 or not np.all(np.isfinite(here)):
        return
    moved = {}
    for i in arrays:
        values = np.asarray(b.evidence.place.operands[i].x)
        there = _at(b, {i: values * (1.0 + _wave(values.size).reshape(values.shape))}, {})
        if there is None:
            return
        moved[i] = close(measure(there), here, 1e2 * b.digits)
    on = [names[i] for i, same in moved.items() if not same]
    if len(on) == 1:
        yield f"off by a {what} that depends on {on[0]} alone"
    if len(on) == 2 == len(arrays):
        i, k = arrays
        x, z = (np.asarray(b.evidence.place.operands[j].x) for j in (i, k))
        for sign, step in (("+", -1.0), ("-", 1.0)):
            delta = 0.125
            there = _at(b, {i: x + delta, k: z + step * delta}, {})
            if there is not None and close(measure(there), here, 1e2 * b.digits):
                yield f"off by a {what} that depends on {names[i]} {sign} {names[k]} alone"


def _wave(n: int) -> Any:
    return 0.125 * np.cos(np.arange(1.0, n + 1))


def _at(b: Block, operands: Mapping[int, Any], options: Mapping[str, Any]) -> Block | None:
    elsewhere = b.evidence.elsewhere
    there: Evidence | None = None if elsewhere is None else elsewhere(operands, options)
    block = None if there is None else there.blocks().get(b.number)
    return block if block is not None and block.want.shape == b.want.shape else None


def _compare(
    b: Block, operands: Mapping[int, Any], options: Mapping[str, Any], name: str, other: str
) -> Iterator[str]:
    there = _at(b, operands, options)
    if there is None or close(there.want, b.want, 1e2 * b.digits):
        return
    if close(there.have, b.want, b.digits) and not close(there.have, b.have, b.digits):
        yield f"{name} where {other} was meant" if not options else ""
    if b.equals(there.want):
        yield f"{other} where {name} was meant" if not options else f"as for {other}"


def _is_array(of: Axes) -> bool:
    return of.is_leaf and of.size > 0 and of.kind in ("real", "complex")


def _transposed(a: Any) -> Any:
    square = a.ndim >= 2 and a.shape[-1] == a.shape[-2]
    return np.swapaxes(a, -1, -2) if square else None


def _flipped(a: Any) -> Any:
    return np.flip(a) if a.ndim else None


_CHANGES: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("-{}", np.negative),
    ("{}.T", _transposed),
    ("|{}|", np.abs),
    ("1/{}", lambda a: 1.0 / a),
    ("{}**2", np.square),
    ("sqrt({})", lambda a: np.sqrt(a) if np.all(np.real(a) > 0) else None),
    ("{} reversed", _flipped),
    ("{} - 1", lambda a: a - 1.0),
    ("{} + 1", lambda a: a + 1.0),
    ("the centred {}", lambda a: a - a.mean() if a.ndim else None),
    ("conj({})", lambda a: np.conj(a) if np.iscomplexobj(a) else None),
)


def _symmetric(a: Any) -> Any:
    swapped = _transposed(a)
    return None if swapped is None else (a + swapped) / 2


def _identity(a: Any) -> Any:
    return None if _transposed(a) is None else 0.75 * np.broadcast_to(np.eye(a.shape[-1]), a.shape)


_SPECIAL: tuple[tuple[str, Callable[[Any], Any], bool], ...] = (
    ("for a symmetric {}", _symmetric, False),
    ("where {} is a multiple of the identity", _identity, False),
    ("for a real {}", lambda a: a.real + 0j if np.iscomplexobj(a) else None, False),
    ("where {} = 1", np.ones_like, True),
    ("where {} sums to 1", lambda a: a / a.sum() if a.ndim and a.sum() > 0 else None, True),
    ("where {} > 0", lambda a: np.abs(a) if not np.iscomplexobj(a) else None, False),
    (
        "for whole numbers {}",
        lambda a: 2.0 * np.round(a) + 2.0 if a.dtype.kind == "f" else None,
        True,
    ),
    ("where all of {} are equal", lambda a: np.full_like(a, a.reshape(-1)[0]), False),
    (
        "for a sorted {}",
        lambda a: np.sort(a) if a.dtype.kind == "f" and a.ndim == 1 else None,
        False,
    ),
)
"""What an operand may have to be; for some a multiple of it must be wrong, as a control."""


def _other_values(value: Any) -> list[Any]:
    if type(value) is bool:
        return [not value]
    if type(value) is int:
        return [n for n in (value - 1, value + 1, -value, 0, 1, 2) if n != value]
    return [n for n in (0.0, 1.0, 0.5, 2.0, -value) if n != value] if type(value) is float else []
