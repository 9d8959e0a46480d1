"""Factors and terms of what an author has at hand: operands, the result, options, sums of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from chainrules_diagnosis.block import Axes, Block, close, scale_of, shape_of
from chainrules_diagnosis.places import describe_where
from chainrules_diagnosis.ratio import name_constant, name_ratio

_ENTRIES = 24
"""Of so many entries a factor is looked for, before it is tried on all."""


class _Atom(NamedTuple):
    """Something that an author may have multiplied by, for each entry of a Jacobian."""

    name: str
    values: Any


# ------------------------------------------------------------------------------------- factors


def find_factor(b: Block) -> Iterator[str]:
    """Find one number by which all entries are off."""
    single = bool(np.count_nonzero(b.want) < 2)
    name = name_ratio(b.have, b.want, single=single, digits=b.digits)
    if name and "." not in name:
        yield f"{name}{_lengths_text(b, name)}"


def _is_elementwise(b: Block) -> bool:
    """Tell whether each number of the result is of the one in its place alone."""
    (up, *_), (left, *_) = shape_of(b.y), shape_of(b.x)
    n = b.x.size // left
    uses = np.abs(b.want).reshape(up, n, left, n).sum(axis=(0, 2))
    return not np.any(uses[~np.eye(n, dtype=bool)])


def find_number(b: Block) -> Iterator[str]:
    """Find one number by which all entries are off, which says nothing."""
    single = bool(np.count_nonzero(b.want) < 2)
    if name := name_ratio(b.have, b.want, single=single, digits=b.digits):
        yield name


def _lengths_text(b: Block, name: str) -> str:
    """Say what lengths of axes a factor may come of, if several numbers come together."""
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
    if any(
        name == f"factor {Fraction(n, m)}" for n, m in itertools.permutations(b.x.shape, 2) if m
    ):
        return " (the length of another axis?)"
    return ""


def find_multiple(b: Block) -> Iterator[str]:
    """Find a factor that is made of what is at hand, as ``"factor 1/y"``."""
    support = np.abs(b.want) > 1e-6 * scale_of(b.want)
    yield from _multiples(b, support)


def find_reciprocal(b: Block) -> Iterator[str]:
    """Find one over what belongs, in every place."""
    at = np.abs(b.want) > 1e-6 * scale_of(b.want)
    whole = np.where(at, b.have * b.want, b.have)
    for sign, text in ((1.0, ""), (-1.0, "negative ")):
        if close(whole, np.where(at, sign, 0.0), b.digits):
            yield f"{text}reciprocal of the derivative"


def find_given(b: Block) -> Iterator[str]:
    """Find that what is given is the result, or another thing at hand, and no derivative of it."""
    support = np.abs(b.want) > 1e-6 * scale_of(b.want)
    at = np.flatnonzero(support)[:_ENTRIES]
    numbers = b.have.reshape(-1)[at]
    if not len(at) or np.any(b.have[~support]) or len(np.unique(numbers)) < 2:
        return
    for text, c, values in _monomials(b, numbers, at, far=2.0):
        if b.equals(np.where(support, c * np.broadcast_to(values, b.want.shape), 0.0)):
            yield f"what is given is {text}, not the derivative"


def find_by_place(b: Block) -> Iterator[str]:
    """Find a factor that is another one at each place along an axis, whatever the numbers are."""
    support, apart = np.abs(b.want) > 1e-6 * scale_of(b.want), b.have - b.want
    if np.any(b.have[~support]) or close(apart[support], np.mean(apart[support]), b.digits):
        return
    if not np.all(b.have[support]) or not np.all(np.isfinite(b.have)):
        return
    ratio = np.divide(b.have, b.want, out=np.ones_like(b.want), where=support)
    for side, axis, shape in b.axes():
        places = np.arange(b.want.shape[side])
        at = np.unravel_index(places, shape)[axis + 1].reshape((-1, 1) if side == 0 else (1, -1))
        at = np.broadcast_to(at, ratio.shape)
        found = [ratio[support & (at == k)] for k in range(shape[axis + 1])]
        if len(found) > _PLACES or not all(len(r) and close(r, r[0], b.digits) for r in found):
            continue
        names = [name_constant(float(r[0]), b.digits) for r in found]
        if all(names) and len(set(names)) > 2:  # two may be a matter of signs, or of bounds
            along = f" along axis {axis} of the {'operand' if side else 'result'}"
            yield f"factor by place{along if len(shape) > 2 else ''}: {', '.join(names)}"


_PLACES = 8


def find_some(b: Block) -> Iterator[str]:
    """Find a factor that some entries are off by, and others are not."""
    wrong = b.is_wrong & (np.abs(b.want) > b.allowed)
    n = int(wrong.sum())
    if not n or n < int(b.is_wrong.sum()) or n == np.count_nonzero(np.abs(b.want) > b.allowed):
        return
    have, want = b.have[wrong], b.want[wrong]
    where = describe_where(b, wrong)
    if not np.any(have):
        yield f"zero {where}"
        return
    if name := name_ratio(have, want, single=n < 2, digits=b.digits):
        yield f"{name} {where}"
    if n < np.count_nonzero(b.want):
        for name in _multiples(b, wrong):
            yield f"{name} {where}"


def _multiples(b: Block, support: Any) -> Iterator[str]:
    at = np.flatnonzero(support)[:_ENTRIES]
    if not len(at):
        return
    with np.errstate(all="ignore"):
        ratio = b.have.reshape(-1)[at] / b.want.reshape(-1)[at]
    if not np.all(np.isfinite(ratio)) or not np.any(ratio):
        return
    for text, c, values in _monomials(b, ratio, at):
        whole = np.where(support, c * np.broadcast_to(values, b.want.shape), 1.0)
        if b.equals(whole * b.want):
            yield f"factor {text}"


# --------------------------------------------------------------------------------------- terms


def find_term(b: Block) -> Iterator[str]:
    """Find a term that is missing, or one too many, as ``"off by the term 1/s"``."""
    apart = b.have - b.want
    wrong = b.is_wrong
    at = np.flatnonzero(wrong)[:_ENTRIES]
    if 2 * wrong.sum() < np.count_nonzero(np.abs(b.want) > b.allowed):
        return
    difference = apart.reshape(-1)[at]
    where = "" if _is_everywhere(b, wrong) else f" {describe_where(b, wrong)}"
    yield from find_constant(b)
    for text, c, values in _monomials(b, difference, at, far=6.0):
        whole = np.where(wrong, c * np.broadcast_to(values, b.want.shape), 0.0)
        if close(b.have - whole, b.want, 1e2 * b.digits):
            yield f"off by the term {text}{where}"


def find_constant(b: Block, *, known: bool = False) -> Iterator[str]:
    """Find a constant that is missing, or one too many; with ``known`` one that people write."""
    wrong = b.is_wrong
    difference = (b.have - b.want)[wrong][:_ENTRIES]
    if close(difference, np.full_like(difference, difference.mean()), 1e2 * b.digits):
        c, where = float(difference.mean()), ""
        where = "" if _is_everywhere(b, wrong) else f" {describe_where(b, wrong)}"
        name = name_constant(c, 1e2 * b.digits)
        if name or (len(difference) > 1 and not known):
            yield f"off by the constant {name or f'{c:.5g}'}{where}"


def find_one(b: Block) -> Iterator[str]:
    """Find that everywhere 1 is missing, or one too many."""
    if _is_everywhere(b, b.is_wrong):
        yield from [name for name in find_constant(b, known=True) if name.endswith((" 1", " -1"))]


def _is_everywhere(b: Block, wrong: Any) -> bool:
    """Tell whether all entries are wrong, or all that are not zero, or all of a diagonal."""
    of = (np.abs(b.want) > b.allowed) | (np.abs(b.have) > b.allowed)
    return bool(np.all(wrong[of]))


# ------------------------------------------------------------------------------------ monomials


class _Power(NamedTuple):
    """A power of something that is at hand, or of a simple expression of it.

    Attributes
    ----------
    atom : int
        Of which it is made.
    name, power
        How it is written.
    values
        It, for each entry of a Jacobian, to be broadcast.
    cost : float
        How far-fetched it is.
    """

    atom: int
    name: str
    power: float
    values: Any
    cost: float


def _monomials(
    b: Block, numbers: Any, at: Any, far: float = 7.5
) -> Iterator[tuple[str, float, Any]]:
    """List the products of powers of what is at hand of which some numbers are a multiple.

    What costs more than ``far`` is too far-fetched.

    Yields
    ------
    text, c, values
        How it is written, with the multiple; the multiple; the product, for all entries.
    """
    is_one = len(at) == 1 or close(numbers, np.full_like(numbers, numbers[0]), b.digits)
    with np.errstate(all="ignore"):
        if "powers" not in b.kept:
            b.kept["powers"] = _powers(b)
        powers = b.kept["powers"]
        if not powers:
            return
        table = np.stack([np.broadcast_to(p.values, b.want.shape).reshape(-1)[at] for p in powers])
        found = []
        for chosen in _products(powers, table, numbers, b.digits, is_one=is_one):
            factors = [powers[i] for i in chosen]
            quotient = numbers / np.prod(table[list(chosen)], axis=0)
            c = float(quotient[0])
            if not np.isfinite(c) or not close(quotient, c + 0 * quotient, b.digits):
                continue
            name = name_constant(c, b.digits)
            if name or not (is_one or len(factors) > 1):
                cost = sum(p.cost for p in factors) + _far_fetched(name)
                text = _text([(p.name, p.power) for p in factors], name or f"{c:.5g}")
                found.append((cost, text, c, factors))
        for cost, text, c, factors in sorted(found, key=lambda candidate: candidate[0]):
            if cost > far + (_UNNAMED if "." in text else 0.0):
                continue
            yield text, c, functools.reduce(np.multiply, [p.values for p in factors])


def _far_fetched(constant: str) -> float:
    """Say what a multiple costs: one costs nothing, and a number without a name most."""
    if constant.lstrip("-") in ("1", "2", "1/2", "3", "4", "1/3", "1/4"):
        return 0.0 if constant == "1" else 0.5
    return 2.0 if constant and len(constant) < 4 else _UNNAMED


_UNNAMED = 4.0


def _products(
    powers: list[_Power], table: Any, numbers: Any, digits: float, *, is_one: bool
) -> Iterator[tuple[int, ...]]:
    """List the products of few powers of which numbers are a multiple.

    Of a single number nearly everything is a multiple: with ``is_one`` only few are looked at.
    """
    costs = np.asarray([p.cost for p in powers])
    atoms = np.asarray([p.atom for p in powers])
    fits = functools.partial(_is_flat, digits=digits, is_one=is_one)
    rest = numbers / table
    yield from [(int(i),) for i in np.flatnonzero(fits(rest))]
    plain = costs <= _PLAIN
    pairs = (plain[:, None] & plain) | ((atoms[:, None] == atoms) & ~(is_one & ~plain))
    pairs = np.argwhere(np.triu(pairs, 1))
    found = pairs[fits(rest[pairs[:, 0]] / table[pairs[:, 1]])]
    order = np.argsort(costs[found].sum(axis=1), kind="stable")
    found = [f for f in found[order] if powers[f[0]].name != powers[f[1]].name][:_MANY]
    yield from [(int(i), int(k)) for i, k in found]
    alone = np.asarray([i for i in np.flatnonzero(plain) if powers[i].values.size == 1], dtype=int)
    leads = [*np.flatnonzero(fits(rest))[:_MANY, None], *found]
    left = np.asarray([numbers[0] / np.prod(table[lead, 0]) for lead in leads])
    if is_one or not len(alone):
        return
    # What is the same for all entries may be made of sums, norms, options: one, or two of them.
    values = table[alone, 0]
    for n in np.argsort([costs[lead].sum() for lead in leads], kind="stable")[:_LEADS]:
        lead, once = tuple(map(int, leads[n])), left[n] / values
        yield from [(*lead, int(alone[i])) for i in np.flatnonzero(_is_small(once, digits))]
        for i, k in np.argwhere(np.triu(_is_small(once[:, None] / values, digits), 1)):
            if atoms[alone[i]] != atoms[alone[k]]:
                yield (*lead, int(alone[i]), int(alone[k]))


_LEADS, _MANY = 4, 16


def _is_small(numbers: Any, digits: float) -> Any:
    """Tell which numbers are small whole ones, or one over one."""
    return np.any(np.abs(np.abs(numbers[..., None]) / _SMALL - 1.0) <= 10 * digits, axis=-1)


_PLAIN = 2.0


def _is_flat(numbers: Any, digits: float, *, is_one: bool) -> Any:
    """Tell of which rows the numbers are all the same, and with ``is_one`` small and whole."""
    first = numbers[..., :1]
    known = np.isfinite(first[..., 0]) & (first[..., 0] != 0)
    if is_one:
        known &= _is_small(first[..., 0], digits)
    return known & np.all(np.abs(numbers - first) <= 10 * digits * np.abs(first), axis=-1)


_SMALL = np.asarray([1.0, 2.0, 0.5, 3.0, 4.0, 1 / 3, 0.25])


_EXPRESSIONS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("(1 + {})", lambda a: 1.0 + a),
    ("(1 - {})", lambda a: 1.0 - a),
    ("sign({})", np.sign),
    ("exp({})", np.exp),
    ("log({})", lambda a: np.log(np.abs(a))),
    ("(1 + {}**2)", lambda a: 1.0 + a * a),
    ("(1 - {}**2)", lambda a: 1.0 - a * a),
    ("sin({})", np.sin),
    ("cos({})", np.cos),
    ("tanh({})", np.tanh),
    ("logistic({})", lambda a: 1.0 / (1.0 + np.exp(-a))),
    ("(1 - logistic({}))", lambda a: 1.0 / (1.0 + np.exp(a))),
)


def _powers(b: Block) -> list[_Power]:
    """List powers of what is at hand, and of simple expressions of it."""
    found = []
    for number, (name, values) in enumerate(_atoms(b)):
        for power in (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0):
            cost = {0.5: 2.0, 1.0: 1.0, 2.0: 1.5, 3.0: 3.0}[abs(power)]
            found.append(_Power(number, name, power, _power(values, power), cost))
        for text, expression in _EXPRESSIONS:
            changed = expression(values)
            for power in (1.0, -1.0, 2.0, -2.0, 0.5, -0.5):
                cost = (0.5 if expression is np.sign else 2.5) + abs(power)
                found.append(_Power(number, text.format(name), power, _power(changed, power), cost))
    return found


def _power(values: Any, power: float) -> Any:
    return np.abs(values) ** power if abs(power) == 0.5 else values**power


def _text(factors: list[tuple[str, float]], multiple: str) -> str:
    """Write a product, as ``"-2 x/y**2"``."""
    above = [_powered(n, p) for n, p in factors if p > 0]
    below = [_powered(n, -p) for n, p in factors if p < 0]
    sign = "-" if multiple.startswith("-") else ""
    multiple = multiple.lstrip("-")
    if "/" in multiple and " " not in multiple and multiple.count("/") == 1:
        up, down = multiple.split("/")
        multiple, below = up, [down, *below]
    top = " ".join([*([multiple] if multiple != "1" or not above else []), *above])
    if not below:
        return sign + top
    return f"{sign}{top}/{below[0] if len(below) == 1 else '(' + ' '.join(below) + ')'}"


def _powered(name: str, power: float) -> str:
    if power == 0.5:
        return f"sqrt({name})"
    return name if power == 1 else f"{name}**{power:g}"


def _atoms(b: Block) -> list[_Atom]:
    """List what is at hand: the operand, the result, other operands, options, sums and norms."""
    place = b.evidence.place
    result = "y" if "y" not in place.names else "result"
    found: list[_Atom] = []
    is_full = np.count_nonzero(b.want) > max(b.want.shape)
    for of, name, side in (
        (b.x, place.names[b.number], 1),
        (b.y, result, 0),
        *[(of, place.names[i], -1) for i, of in enumerate(place.operands) if i != b.number],
    ):
        values = _numbers(of)
        if values is None:
            continue
        if (laid := _laid(b, of, values, side)) is not None:
            found.append(_Atom(name, laid))
            if np.any(laid < 0) and np.any(laid > 0):
                found.append(_Atom(f"|{name}|", np.abs(laid)))
            found += _along_axes(b, of, name, values) if side == 0 else []
            # The same along the other side, as in an outer product.
            if laid.size > 1 and laid.size == b.want.shape[int(laid.shape[1] == 1)] and is_full:
                found.append(_Atom(f"{name}.T", laid.T))
    for name, value in place.options.items():
        if type(value) in (int, float) and value not in (0, 1):
            found.append(_Atom(name, np.asarray([[float(value)]])))
    for of, name in [(b.y, result), *zip(place.operands, place.names, strict=True)]:
        values = _numbers(of)
        if values is not None and values.size > 1:
            found += [
                _Atom(f"sum({name})", np.asarray([[values.sum()]])),
                _Atom(f"norm({name})", np.asarray([[np.sqrt(np.sum(values**2))]])),
            ]
    return found


def _along_axes(b: Block, of: Axes, name: str, values: Any) -> list[_Atom]:
    """Lay a vector along each axis of an operand that has several: one of them may be wrong."""
    if len(of.shape) != 1 or values.size < 2 or len(b.x.shape) < 2 or not b.stands:
        return []
    if b.x.kind != "real":
        return []
    found = []
    for k in [k for k, n in enumerate(b.x.shape) if n == values.size]:
        shape = [values.size if j == k else 1 for j in range(len(b.x.shape))]
        laid = np.broadcast_to(values.reshape(shape), b.x.shape).reshape(1, -1)
        found.append(_Atom(f"({name} along axis {k})", laid))
    return found


def _numbers(of: Axes) -> Any:
    """Return the numbers of an array of real ones; None for other values."""
    if not of.is_leaf or not of.size or of.kind != "real":
        return None
    return np.asarray(of.x, dtype=float)


def _laid(b: Block, of: Axes, values: Any, side: int) -> Any:
    """Lay numbers along rows or columns of the matrix, or let one stand for all; None if unfit."""
    n, m = b.want.shape
    if values.size == 1:
        return values.reshape(1, 1)
    if side == 1:
        return values.reshape(1, -1) if values.size == m else None
    if side == 0:
        return values.reshape(-1, 1) if values.size == n else None
    for axes, count, shape in ((b.y, n, (-1, 1)), (b.x, m, (1, -1))):
        if axes.is_leaf and axes.size == count and axes.kind == "real":
            try:
                return np.broadcast_to(values, axes.shape).reshape(shape)
            except ValueError:
                continue
    return None
