"""Wrong numbers in some places alone, zeros where numbers belong, and numbers where zeros do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrules_py.testing.diagnosis.block import Block, close, scale_of


def find_nan(b: Block) -> Iterator[str]:
    """Find numbers that are none."""
    bad = ~np.isfinite(b.have) & np.isfinite(b.want)
    if np.any(bad):
        yield "NaN" if np.any(np.isnan(b.have[bad])) else "infinite"


def find_zero(b: Block) -> Iterator[str]:
    """Find that everything is zero."""
    if not np.any(b.have):
        yield "zero"


def find_few_digits(b: Block) -> Iterator[str]:
    """Find rounding to single precision: an error of its size, and numbers that fit into it."""
    apart = np.max(np.abs(b.have - b.want), initial=0.0)
    if apart and apart <= 1e-5 * scale_of(b.want) and b.digits <= 1e-6:
        fits = np.array_equal(b.have.astype(np.float32).astype(float), b.have)
        digits = int(-math.log10(apart / scale_of(b.want)))
        yield "float32 result for float64 input" if fits else f"right to {digits} digits"


def find_overwritten(b: Block) -> Iterator[str]:
    """Find elements that are read several times and count once."""
    columns = np.flatnonzero(b.is_wrong.any(axis=0))
    for j in columns:
        have, want = b.have[:, j], b.want[:, j]
        kept = have != 0
        if np.count_nonzero(want) < 2 or not 0 < np.count_nonzero(kept) < np.count_nonzero(want):
            return
        if not close(have[kept], want[kept]) or np.count_nonzero(kept) > 1:
            return
    if b.evidence.place.gathers or len(columns) < b.have.shape[1]:
        yield "repeated index overwritten"


def find_diagonal(b: Block) -> Iterator[str]:
    """Find that each number depends on its own operand alone, where it should on others too."""
    n = len(b.want)
    if b.want.shape != (n, n) or n < 2 or np.any(b.have - np.diag(np.diag(b.have))):
        return
    if np.any(b.have) and close(np.diag(b.have), np.diag(b.want), b.digits):
        yield "only the diagonal is kept"


def find_extra(b: Block) -> Iterator[str]:
    """Find numbers where zeros belong, beside others that are right."""
    wrong = b.is_wrong
    zero = np.abs(b.want) <= b.allowed
    if np.any(b.want[~zero]) and np.all(zero[wrong]):
        yield f"numbers where zeros belong, {describe_where(b, wrong, zero)}"


def find_other_triangle(b: Block) -> Iterator[str]:
    """Find numbers in the places that are those of the transpose, as of a sum the other way."""
    zero, have = np.abs(b.want) <= b.allowed, b.have == 0
    if (
        zero.shape == have.T.shape
        and np.array_equal(zero.T, have)
        and not np.array_equal(zero, have)
    ):
        yield "numbers in the places of the transpose (a cumulative sum in the other direction?)"


def find_one_place(b: Block) -> Iterator[str]:
    """Find wrong entries that lie in one row or one column."""
    wrong = b.is_wrong
    for axis, of, name in ((0, b.x, "operand"), (1, b.y, "result")):
        places = np.flatnonzero(wrong.any(axis=axis))
        if len(places) == 1 and of.size > 1 and wrong.shape[1 - axis] == of.size:
            yield f"one element of {of.size} ({of.labels()[int(places[0])]} of the {name})"


def find_shared(b: Block) -> Iterator[str]:
    """Find that one element has what several share alike, as the middle of an even number."""
    wrong = np.flatnonzero(b.is_wrong.any(axis=1))
    many, single = b.want[wrong], b.have[wrong]
    for text, rows, one in (
        ("given to one element alone, and several share it (ties?)", many, single),
        ("shared by several elements, and one has it (ties?)", single, many),
    ):
        counts = np.count_nonzero(np.abs(rows) > 1e-9 * scale_of(rows), axis=1)
        alone = np.all(np.count_nonzero(np.abs(one) > 1e-9 * scale_of(one), axis=1) == 1)
        if len(wrong) and alone and np.all(counts > 1) and close(one.sum(axis=1), rows.sum(axis=1)):
            equal = np.where(rows != 0, rows.sum(axis=1, keepdims=True) / counts[:, None], 0.0)
            if close(equal, rows, 1e-5):
                yield text


def describe_where(b: Block, wrong: Any, of: Any = None) -> str:
    """Say which entries are wrong: by what they are of, or else how many there are of ``of``."""
    of = np.abs(b.want) > b.allowed if of is None else of
    for axis, side, name in ((0, b.x, _name(b)), (1, b.y, "the result")):
        if not side.is_leaf or side.kind != "real" or b.want.shape[1 - axis] != side.size:
            continue
        known, places = of.any(axis=axis), (wrong & of).any(axis=axis)
        if not np.any(places) or not np.any(known & ~places):
            continue
        uses = (np.abs(b.want) > b.allowed) | (b.have != 0)
        alone = bool(np.all(uses.sum(axis=axis) <= 1)) and bool(
            np.all(uses.sum(axis=1 - axis) <= 1)
        )
        alone = alone or min(b.want.shape) == 1
        for text, holds in _conditions(side, name, places, known if alone else None):
            if np.array_equal(holds & known, places):
                return f"{text} ({int(wrong.sum())} of {int(of.sum())} entries)"
    return f"in {int(wrong.sum())} of {int(of.sum())} entries"


def _conditions(side: Any, name: str, places: Any, known: Any) -> Iterator[tuple[str, Any]]:
    """List what may be special about places: the diagonal, the ends, the sign, the largest.

    Numbers tell where ``known`` ones do not depend on several.
    """
    values = np.asarray(side.x, dtype=float).reshape(-1)
    if len(side.shape) == 2 and side.shape[0] == side.shape[1]:
        yield f"on the diagonal of {name}", np.eye(side.shape[0]).reshape(-1) > 0
    if len(side.shape) == 1 and len(values) > 2:
        ends = np.zeros(len(values), bool)
        ends[[0, -1]] = True
        yield f"at both ends of {name}", ends
    if known is None:
        return
    yield f"where {name} < 0", values < 0
    yield f"where {name} > 0", values > 0
    for text, size in ((name, values), (f"|{name}|", np.abs(values))):
        low, high = np.min(size[places]), np.max(size[places])
        if np.all(size[known & ~places] < low):
            yield f"where {text} >= {low:.3g}", size >= low
        if np.all(size[known & ~places] > high):
            yield f"where {text} <= {high:.3g}", size <= high


def _name(b: Block) -> str:
    return b.evidence.place.names[b.number]
