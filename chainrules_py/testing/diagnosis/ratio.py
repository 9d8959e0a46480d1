"""Factors and constants by which derivatives are off, as an author would write them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from chainrules_py.testing.diagnosis.block import Block, close, shape_of
from chainrules_py.testing.diagnosis.places import describe_where

_CONSTANTS = {
    "pi": math.pi,
    "2 pi": 2 * math.pi,
    "log(2)": math.log(2),
    "log(10)": math.log(10),
    "sqrt(2)": math.sqrt(2),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2 pi)": math.sqrt(2 * math.pi),
    "pi/180": math.pi / 180,
    "pi**2": math.pi**2,
    "log(2)**2": math.log(2) ** 2,
    "log(10)**2": math.log(10) ** 2,
}


def name_ratio(have: Any, want: Any, *, single: bool, digits: float = 1e-6) -> str:
    """Name how one array is a multiple of another, as ``"factor 2"``; empty if it is none.

    Parameters
    ----------
    have, want : array
        The two.
    single : bool
        Whether there is but one number, of which every other one is a multiple.
    digits : float
        What equal numbers may differ by, relative to them.
    """
    top = float(np.max(np.abs(want), initial=0.0))
    if not top or not np.isfinite(top):
        return ""
    have, want = have / top, want / top
    norm = float(np.sum(want * want))
    c = float(np.sum(have * want)) / norm
    if not c or abs(c - 1) < 10 * digits or not close(have, c * want, digits):
        return ""
    if abs(c + 1) < digits:
        return "wrong sign"
    if name := name_constant(c, digits):
        return f"factor {name}"
    inverse = f" (1/{1 / c:.6g})" if abs(c) < 1 else ""
    return "" if single else f"factor {c:.6g}{inverse}"


def name_constant(c: float, digits: float = 1e-6) -> str:
    """Write a number by a small fraction and a well-known constant; empty if it is none.

    Examples
    --------
    >>> name_constant(0.75), name_constant(2 * 3.141592653589793), name_constant(0.1234567)
    ('3/4', '2 pi', '')
    """
    if not 1e-99 < abs(c) < 1e99:
        return ""
    if simple := simple_fraction(c, 24 if digits < 1e-4 else 4, digits):
        return simple
    for name, value in _CONSTANTS.items():
        for text, at in ((name, value), (f"1/({name})", 1 / value)):
            if simple := simple_fraction(c / at, 2, 1e-6):
                return f"{'' if simple == '1' else simple + ' '}{text}"
    for square, text in ((c * c, "{}sqrt({})"), (1 / (c * c), "{}1/sqrt({})")):
        if digits < 1e-4 and square < _MOST and (n := simple_fraction(square, 1, digits)):
            return text.format("-" if c < 0 else "", n)
    return ""


_MOST = 128.0


def simple_fraction(c: float, denominator: int, digits: float) -> str:
    """Write a number as a fraction of small whole numbers; empty if it is none."""
    if not math.isfinite(c) or abs(c) > 12 * denominator:
        return ""
    for down in range(1, denominator + 1):
        up = round(c * down)
        if up and abs(up / down - c) < digits * abs(c):
            return str(up) if down == 1 else f"{up}/{down}"
    return ""


# ---------------------------------------------------------------------------- in a Jacobian


def find_factor(b: Block) -> Iterator[str]:
    """Find one factor that has a name, by which all entries are off."""
    for name in find_number(b):
        if "." not in name:
            yield f"{name}{_lengths_text(b, name)}"


def find_number(b: Block) -> Iterator[str]:
    """Find one factor by which all entries are off, whatever it is."""
    single = bool(np.count_nonzero(b.want) < 2)
    if name := name_ratio(b.have, b.want, single=single, digits=b.digits):
        yield name


def _lengths_text(b: Block, name: str) -> str:
    """Say which length of an axis a factor may be, if several numbers come together."""
    if b.stands and b.x.shape == b.y.shape and _is_elementwise(b):
        return ""
    lengths = dict.fromkeys([n for n in (*b.x.shape, *b.y.shape, b.x.size, b.y.size) if n > 2])
    for n in lengths:
        axes = [k for k, length in enumerate(b.x.shape) if length == n]
        along = f", along axis {axes[0]}" if len(axes) == 1 < len(b.x.shape) else ""
        if name == f"factor 1/{n}":
            return f" (mean instead of sum{along}?)"
        if name == f"factor {n}":
            return f" (sum instead of mean{along}?)"
    pairs = itertools.permutations(b.x.shape, 2)
    if any(name == f"factor {Fraction(n, m)}" for n, m in pairs if m):
        return " (the length of another axis?)"
    return ""


def _is_elementwise(b: Block) -> bool:
    """Tell whether each number of the result depends on the one in its place alone."""
    (up, *_), (left, *_) = shape_of(b.y), shape_of(b.x)
    n = b.x.size // left
    uses = np.abs(b.want).reshape(up, n, left, n).sum(axis=(0, 2))
    return not np.any(uses[~np.eye(n, dtype=bool)])


def find_some(b: Block) -> Iterator[str]:
    """Find a factor by which some entries are off, and others are not."""
    wrong, nonzero = b.is_wrong, np.abs(b.want) > b.allowed
    n = int((wrong & nonzero).sum())
    if not n or n < int(wrong.sum()) or n == np.count_nonzero(nonzero):
        return
    have, want, where = b.have[wrong], b.want[wrong], describe_where(b, wrong)
    if not np.any(have):
        yield f"zero {where}"
    elif name := name_ratio(have, want, single=n < 2, digits=b.digits):
        yield f"{name} {where}"


def find_constant(b: Block) -> Iterator[str]:
    """Find a constant that is missing, or one too many."""
    wrong = b.is_wrong
    difference = (b.have - b.want)[wrong]
    if len(difference) and close(difference, difference.mean() + 0 * difference, 1e2 * b.digits):
        c = float(difference.mean())
        name = name_constant(c, 1e2 * b.digits)
        nonzero = (np.abs(b.want) > b.allowed) | (np.abs(b.have) > b.allowed)
        where = "" if np.all(wrong[nonzero]) else f" {describe_where(b, wrong)}"
        if name or len(difference) > 1:
            yield f"off by the constant {name or f'{c:.5g}'}{where}"
