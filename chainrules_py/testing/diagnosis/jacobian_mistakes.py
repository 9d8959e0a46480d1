"""Names of mistakes in a Jacobian, found by changing the right one as a mistake would.

Only matrices are compared; the rule is not inspected. The name is the first change that gives the
Jacobian of the rule at each point.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.diagnosis.ratio import close, name_constant, name_ratio

_NOTHING = "wrong numbers"


@final
@dataclasses.dataclass(frozen=True)
class Block:
    """The part of two Jacobians that belongs to one operand, or to a field of a structure.

    Attributes
    ----------
    have, want, allowed : matrix
        The Jacobian of the rule, the right one, and their allowed difference: one row per number
        of the result, one column per number of the operand.
    x, y : Coordinates
        The coordinates of the columns and rows.
    digits : float
        Relative tolerance for equal numbers: larger in half precision.
    gathers : bool
        Whether the call has integers that may be indices.
    """

    have: Any
    want: Any
    allowed: Any
    x: Coordinates
    y: Coordinates
    digits: float = 1e-6
    gathers: bool = False

    @property
    def is_wrong(self) -> Any:
        """Where the two differ by more than is allowed."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.have - self.want)
            same = (self.have == self.want) | (np.isnan(self.have) & np.isnan(self.want))
            return ~same & np.isfinite(self.allowed) & ~(apart <= self.allowed)

    def equals(self, guess: Any) -> bool:
        """Return whether the Jacobian of the rule equals a guess, within ``digits``."""
        return close(self.have, guess, self.digits)


# ------------------------------------------------------------------------------- one operand


def _names_of(b: Block) -> Iterator[str]:
    """Yield the mistakes that explain a block, the simplest first."""
    bad = ~np.isfinite(b.have) & np.isfinite(b.want)
    if np.any(bad):
        yield "NaN" if np.any(np.isnan(b.have[bad])) else "infinite"
    if not np.any(b.have):
        yield "zero"
    how: dict[str, Any] = {"single": np.count_nonzero(b.want) < 2, "digits": b.digits}
    number = name_ratio(b.have, b.want, **how)
    if number and "." not in number:
        yield f"{number}{_length_of(b, number)}"
    for text, guess in _changes(b):
        if close(guess, b.want, b.digits):
            continue
        if b.equals(guess):
            yield text
        elif text == "transposed" and (ratio := name_ratio(b.have, guess, **how)):
            yield f"{text}, {ratio}"
    if _is_overwritten(b):
        yield "repeated index overwritten"
    yield from _names_in_fields(b)
    yield from _names_in_places(b)
    if number:
        yield number


def _length_of(b: Block, name: str) -> str:
    """Return the note that a factor may be the length of an axis; empty if nothing is summed."""
    if max(np.count_nonzero(b.want, axis=k).max(initial=0) for k in (0, 1)) < 2:
        return ""
    lengths = {n for n in (*b.x.shape, *b.y.shape, b.x.size, b.y.size) if n > 2}
    if name in {f"factor 1/{n}" for n in lengths}:
        return " (mean instead of sum?)"
    return " (sum instead of mean?)" if name in {f"factor {n}" for n in lengths} else ""


def _changes(b: Block) -> Iterator[tuple[str, Any]]:
    """Yield simple mistakes, and what each makes of the right Jacobian."""
    want, (n, m) = b.want, b.want.shape
    x, y = _signs(b.x)[None, :], _signs(b.y)[:, None]
    if (n, m) == (len(y), x.size) and (np.any(x < 0) or np.any(y < 0)):
        yield from (("conjugated", g * want) for g in (x * y, x, y))
    if n == m > 1:
        yield "transposed", want.T
        yield "only the diagonal is kept", np.diag(np.diag(want))
    if not (b.x.is_leaf and b.y.is_leaf and (n, m) == (b.y.size, b.x.size) and n * m):
        return
    shapes = [(of.size // int(np.prod(of.shape, dtype=int)), *of.shape) for of in (b.y, b.x)]
    whole, lead = want.reshape(*shapes[0], *shapes[1]), len(shapes[0])
    axes = [k for k in range(whole.ndim) if k not in (0, lead) and whole.shape[k] > 1]
    there = b.have.reshape(whole.shape)
    for k in axes:
        side = f"axis {k - 1} of the result" if k < lead else f"axis {k - lead - 1} of the operand"
        mean, count = whole.mean(axis=k, keepdims=True) + 0.0 * whole, whole.shape[k]
        for place in (0, -1) if k < lead and np.all(np.any(b.have, axis=0)) else ():
            one = np.arange(count) == place % count
            one = one.reshape([-1 if j == k else 1 for j in range(whole.ndim)])
            yield f"missing sum over axis {k - 1}", (one * whole).reshape(n, m)
        yield "elements in reverse order", np.flip(whole, k).reshape(n, m)
        yield f"sum along {side} instead of single numbers", (mean * count).reshape(n, m)
        yield f"mean subtracted, along {side}", (whole - mean).reshape(n, m)
        excess = there.mean(axis=k, keepdims=True)
        yield f"mean not subtracted, along {side}", (whole + excess).reshape(n, m)
    for j, k in itertools.combinations(axes, 2):
        if whole.shape[j] == whole.shape[k]:
            turned = np.swapaxes(whole, j, k)
            yield "transposed", turned.reshape(n, m)
            if (j < lead) == (k < lead):
                yield "symmetrised", (whole + turned).reshape(n, m) / 2


def _signs(of: Coordinates) -> Any:
    return np.asarray([-1.0 if label.endswith(".imag") else 1.0 for label in of.labels()])


def _is_overwritten(b: Block) -> bool:
    """Return whether elements that are read several times count only once."""
    columns = np.flatnonzero(b.is_wrong.any(axis=0))
    for have, want in zip(b.have[:, columns].T, b.want[:, columns].T, strict=True):
        kept = have != 0
        if np.count_nonzero(kept) != 1 or np.count_nonzero(want) < 2:
            return False
        if not close(have[kept], want[kept]):
            return False
    return b.gathers or len(columns) < b.have.shape[1]


def _names_in_fields(b: Block) -> Iterator[str]:
    """Yield the mistakes of the one field of a structure that is wrong, or a swap of two."""
    for of, axis, name in ((b.x, 1, "operand"), (b.y, 0, "result")):
        ends = np.cumsum([field.size for field in of.fields.values()])
        if not len(ends) or ends[-1] != b.want.shape[axis]:
            continue
        places = dict(zip(of.fields, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
        wrong = [k for k, at in places.items() if np.any(np.take(b.is_wrong, at, axis=axis))]
        if len(wrong) == 1 < len(places):
            at, key = places[wrong[0]], wrong[0]
            have, want, allowed = (np.take(z, at, axis=axis) for z in (b.have, b.want, b.allowed))
            sides: dict[str, Any] = {"x" if axis else "y": of.fields[key]}
            entry = key if isinstance(key, str) else f"{'entry' if axis else 'output'} {key}"
            part = dataclasses.replace(b, have=have, want=want, allowed=allowed, **sides)
            for inner in _names_of(part):
                yield f"{inner} for {entry} of the {name}"
        if len(wrong) == 2 and len(places[wrong[0]]) == len(places[wrong[1]]):
            order = np.arange(b.want.shape[axis])
            order[places[wrong[0]]], order[places[wrong[1]]] = places[wrong[1]], places[wrong[0]]
            if b.equals(np.take(b.want, order, axis=axis)):
                yield f"swapped fields {wrong[0]} and {wrong[1]} of the {name}"


def _names_in_places(b: Block) -> Iterator[str]:
    """Yield names of misplaced entries, and of entries off by a factor or a constant."""
    for axis in (0, 1, None) if b.want.size > 2 and not b.equals(b.want) else ():
        if close(np.sort(b.have, axis=axis), np.sort(b.want, axis=axis), b.digits):
            yield "the right numbers in the wrong places"
    wrong, nonzero = b.is_wrong, np.abs(b.want) > b.allowed
    n, m = int((wrong & nonzero).sum()), np.count_nonzero(nonzero)
    if n and int(wrong.sum()) == n < m:
        have, want = b.have[wrong], b.want[wrong]
        ratio = name_ratio(have, want, single=n < 2, digits=b.digits)
        if name := ratio if np.any(have) else "zero":
            yield f"{name} in {n} of {m} entries"
    apart = (b.have - b.want)[wrong]
    mean = apart.mean() if len(apart) else np.nan
    if close(apart, np.full_like(apart, mean), 1e2 * b.digits) and (
        c := name_constant(float(mean))
    ):
        yield f"off by the constant {c}"
    if n == 0 and np.any(nonzero):
        yield "numbers where zeros belong"


_COUNT = re.compile(r" in \d+ of \d+ entries")


def _name_blocks(blocks: Sequence[Block]) -> str:
    """Return the first mistake that explains a block at each point where it is wrong.

    A name that fits at one point alone may be an accident: 1 + r may be 21/20 there.
    """
    first, *others = [b for b in blocks if np.any(b.is_wrong)]
    around = [{_COUNT.sub("", name) for name in _names_of(b)} for b in others]
    named = (n for n in _names_of(first) if all(_COUNT.sub("", n) in names for names in around))
    return next(named, _NOTHING)


# ------------------------------------------------------------------------------ whole Jacobians


def name_jacobian(points: Sequence[Mapping[int, Block]], called: Sequence[str]) -> str:
    """Name how a Jacobian differs from the right one, at several points; empty if it does not.

    Parameters
    ----------
    points : sequence of dict
        The blocks at each point, by the index of the operand. The name is one for the first point
        that also holds at the others.
    called : sequence of str
        The names of the operands.
    """
    blocks = {i: [point[i] for point in points if i in point] for i in points[0]}
    names = {i: _name_blocks(of) for i, of in blocks.items() if np.any(of[0].is_wrong)}
    for i, k in itertools.permutations(blocks, 2):
        pairs = list(zip(blocks[i], blocks[k], strict=True))
        if any(a.want.shape != b.want.shape for a, b in pairs):
            continue
        given = all(b.equals(a.want) for a, b in pairs)
        both = names.keys() >= {i, k} and {names[i], names[k]} != {"wrong sign"}
        if given and both and all(a.equals(b.want) for a, b in pairs):
            return f"swapped operands {called[i]} and {called[k]}"
        known = ("wrong sign", "factor", "zero")
        if given and list(names) == [k] and not names[k].startswith(known):
            return f"the derivative of {called[i]} for {called[k]}"
    return _join_operands(called, names, len(blocks))


def _join_operands(called: Sequence[str], names: Mapping[int, str], count: int) -> str:
    """Join the names of mistakes in operands, of which ``count`` have derivatives."""
    if count == len(names) and len(set(names.values())) == 1 and "zero" not in names.values():
        return next(iter(names.values()))
    return ", ".join(
        name if count == 1 and name != "zero" else f"{name} for argument {i + 1} ({called[i]})"
        for i, name in names.items()
    )


def join_halves(wrong: Mapping[Any, str], count: int, *, both: bool) -> str:
    """Join the names of mistakes in halves: ``count`` were compared, ``both`` if both exist."""
    if len(set(wrong.values())) == 1 and len(wrong) == count:
        return next(iter(wrong.values()))
    text = ", ".join(f"{name} in the {half}" for half, name in wrong.items())
    if both and any(name.startswith(("factor", "wrong sign")) for name in wrong.values()):
        text = f"push and pull disagree by a factor: {text}"
    return text
