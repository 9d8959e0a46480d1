"""Names of mistakes in a Jacobian: what a wrong one has most in common with the right one.

Each pattern is a guess at the mistake: the right Jacobian is changed as the mistake would change
it, and compared with the one that the rule gives.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, final

import numpy as np

from chainrules_py.testing.data.case import Case, scale_of
from chainrules_py.testing.data.coordinates import Coordinates
from chainrules_py.testing.report.report import Table


@final
@dataclasses.dataclass(frozen=True)
class _Block:
    """The part of a Jacobian that belongs to one operand.

    Attributes
    ----------
    have, want : matrix
        One row per coordinate of the result, one column per coordinate of the operand.
    allowed : matrix
        What they may differ by.
    x, y : Coordinates
        Of the operand and of the result.
    gathers : bool
        Whether there are integers among the operands and options that may be indices.
    digits : float
        What equal numbers may differ by, relative to them: more in half precision.
    """

    have: Any
    want: Any
    allowed: Any
    x: Coordinates
    y: Coordinates
    gathers: bool
    digits: float = 1e-6

    @property
    def is_wrong(self) -> Any:
        return Table(self.have, self.want, [], [], self.allowed, ("", "")).excess > 1.0

    def equals(self, guess: Any) -> bool:
        """Tell whether what the rule gives is this guess, to about six digits."""
        return guess.shape == self.have.shape and _close(self.have, guess, self.digits)


def _close(a: Any, b: Any, digits: float = 1e-6) -> bool:
    return bool(np.allclose(a, b, rtol=digits, atol=1e-2 * digits * scale_of(b)))


# ------------------------------------------------------------------------------- the mistakes


def _nan(b: _Block) -> str:
    bad = ~np.isfinite(b.have) & np.isfinite(b.want)
    if not np.any(bad):
        return ""
    return "NaN" if np.any(np.isnan(b.have[bad])) else "infinite"


def _zero(b: _Block) -> str:
    return "zero" if not np.any(b.have) else ""


def _single(b: _Block) -> str:
    """Detect rounding to single precision: an error of its size, and numbers that fit into it."""
    apart = np.max(np.abs(b.have - b.want), initial=0.0)
    fits = np.array_equal(b.have.astype(np.float32).astype(float), b.have)
    near = apart <= 1e-5 * scale_of(b.want)
    if not near or b.digits > 1e-6:
        return ""
    digits = int(-math.log10(apart / scale_of(b.want)))
    return "float32 result for float64 input" if fits else f"right to {digits} digits"


def _factor(b: _Block) -> str:
    name = name_ratio(b.have, b.want, single=bool(np.count_nonzero(b.want) < 2), digits=b.digits)
    lengths = {n for n in (*b.x.shape, *b.y.shape) if n > 1} | {b.x.size, b.y.size}
    for n in sorted(lengths - {0, 1}):
        if name == f"factor 1/{n}":
            return f"{name} (mean instead of sum?)"
        if name == f"factor {n}" and n > 2:
            return f"{name} (sum instead of mean?)"
    return name


def _imaginary(b: _Block) -> str:
    """Detect that imaginary parts alone are missing, of what goes in or of what comes out."""
    wrong = b.is_wrong
    if np.any(b.have[wrong]) or not np.any(b.have):
        return ""
    rows, columns = _imaginary_signs(b.y) < 0, _imaginary_signs(b.x) < 0
    for of, signs, places in ((b.x, columns, wrong.any(axis=0)), (b.y, rows, wrong.any(axis=1))):
        if of.kind == "complex" and len(signs) == len(places) and not np.any(places & ~signs):
            return "imaginary part missing"
    return ""


_CONSTANTS = {
    "pi": math.pi,
    "2 pi": 2 * math.pi,
    "log(2)": math.log(2),
    "log(10)": math.log(10),
    "sqrt(2)": math.sqrt(2),
    "sqrt(pi)": math.sqrt(math.pi),
    "pi/180": math.pi / 180,
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
    norm = float(np.sum(want * want))
    if not norm:
        return ""
    c = float(np.sum(have * want)) / norm
    if not c or abs(c - 1) < 10 * digits or not _close(have, c * want, digits):
        return ""
    if abs(c + 1) < digits:
        return "wrong sign"
    if simple := _simple(c, 24 if digits < 1e-4 else 4, digits):
        return f"factor {simple}"
    for name, value in _CONSTANTS.items():
        for text, at in ((name, value), (f"1/({name})", 1 / value)):
            if simple := _simple(c / at, 2, 1e-6):
                return f"factor {'' if simple == '1' else simple + ' '}{text}"
    return "" if single else f"factor {c:.6g}"


def _simple(c: float, denominator: int, digits: float) -> str:
    """Write a number as a fraction of small whole numbers; empty if it is none."""
    simple = Fraction(c).limit_denominator(denominator)
    near = abs(float(simple) - c) < digits * abs(c) and abs(simple) <= 12 * denominator
    return str(simple) if near else ""


def _conjugated(b: _Block) -> str:
    """Detect imaginary parts of the other sign: of what goes in, of what comes out, or of both."""
    signs = {of: _imaginary_signs(of) for of in (b.x, b.y)}
    if all(np.all(s > 0) for s in signs.values()):
        return ""
    x, y = signs[b.x][None, :], signs[b.y][:, None]
    if y.shape[0] != b.want.shape[0]:
        return ""
    return (
        "conjugated" if any(b.equals(g) for g in (x * y * b.want, x * b.want, y * b.want)) else ""
    )


def _imaginary_signs(of: Coordinates) -> Any:
    return np.asarray([-1.0 if label.endswith(".imag") else 1.0 for label in of.labels()])


def _missing_sum(b: _Block) -> str:
    """Detect that, of an operand used along an axis, only the use at one place is counted."""
    shape = b.y.shape
    if not b.y.is_leaf or not b.y.size or b.want.shape[0] != b.y.size:
        return ""
    parts = b.y.size // math.prod(shape)
    stretched = _stretched(b)
    long = [k for k in range(len(shape)) if shape[k] > 1]
    if np.all(np.any(b.have, axis=0)):
        for axes in (*[(k,) for k in long], tuple(stretched)):
            for place in (0, -1) if axes else ():
                mask = np.zeros((parts, *shape))
                where = [place if k in axes else slice(None) for k in range(len(shape))]
                mask[(slice(None), *where)] = 1.0
                if b.equals(mask.reshape(-1, 1) * b.want):
                    return f"missing sum over axis {_axes(axes)}"
    for axes in [(k,) for k in stretched]:
        if b.equals(b.want / math.prod(shape[k] for k in axes)):
            return f"mean instead of sum over axis {_axes(axes)}"
    return ""


def _stretched(b: _Block) -> list[int]:
    """Find the axes of the result along which the operand is broadcast."""
    shape, of = b.y.shape, b.x.shape
    lead = len(shape) - len(of)
    if not b.x.is_leaf or lead < 0:
        return []
    if any(s not in (1, n) for s, n in zip(of, shape[lead:], strict=True)):
        return []
    return [k for k in range(len(shape)) if shape[k] > 1 and (k < lead or of[k - lead] == 1)]


def _axes(axes: tuple[int, ...]) -> str:
    return str(axes[0] if len(axes) == 1 else axes)


def _overwritten(b: _Block) -> str:
    """Elements that are read several times count once."""
    wrong = b.is_wrong
    columns = np.flatnonzero(wrong.any(axis=0))
    for j in columns:
        have, want = b.have[:, j], b.want[:, j]
        kept = have != 0
        if np.count_nonzero(want) < 2 or not 0 < np.count_nonzero(kept) < np.count_nonzero(want):
            return ""
        if not _close(have[kept], want[kept]) or np.count_nonzero(kept) > 1:
            return ""
    return "repeated index overwritten" if b.gathers or len(columns) < b.have.shape[1] else ""


def _transposed(b: _Block) -> str:
    square = b.want.shape[0] == b.want.shape[1]
    if square and b.equals(b.want.T):
        return "transposed"
    for of, axis in ((b.x, 1), (b.y, 0)):
        if of.is_leaf and len(of.shape) >= 2 and of.shape[-1] == of.shape[-2] > 1:
            places = np.arange(of.size).reshape(-1, *of.shape)
            swapped = np.swapaxes(places, -1, -2).reshape(-1)
            if b.want.shape[axis] == of.size and b.equals(np.take(b.want, swapped, axis=axis)):
                if of is b.y and b.x.is_leaf and len(b.x.shape) < len(b.y.shape):
                    return _wrong_sum(b)
                return "transposed"
    return ""


def _wrong_sum(b: _Block) -> str:
    """Left to projection, which sums the leading axes, and not the one that was used."""
    uses = np.argwhere(b.want[:, 0].reshape(-1, *b.y.shape)[0])
    along = [k for k in range(uses.shape[1]) if len(set(uses[:, k])) > 1]
    if len(set(b.want[b.want[:, 0] != 0, 0])) > 1:
        return "transposed"
    return f"missing sum over axis {_axes(tuple(along))}" if along else "transposed"


_SHAPES = re.compile(r"a cotangent of shape \((.*?)\) cannot belong to a primal of shape \((.*?)\)")
_STRUCTURE = re.compile(r"is no tangent of Space\((\w+)\)")


def projection_failure(text: str) -> str:
    """Say why a cotangent could not be projected: an axis too many, or another shape."""
    found = _SHAPES.search(text)
    if "None" in text:
        return "None for a tangent"
    if (kind := _STRUCTURE.search(text)) is not None:
        return f"write Tangent[{kind[1]}]"
    if found is None:
        return "wrong structure or shape"
    have, of = ([int(n) for n in g.split(",") if n.strip()] for g in found.groups())
    for k in range(len(have)):
        if have[:k] + have[k + 1 :] == of:
            return f"missing sum over axis {k}"
    return "wrong shape"


def _axes_of(b: _Block) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """List the axes of operand and result, each with the matrix's axis and shape that it is in."""
    for side, of in ((1, b.x), (0, b.y)):
        if of.is_leaf and of.size and b.want.shape[side] == of.size:
            parts = of.size // math.prod(of.shape)
            for k, n in enumerate(of.shape):
                if n > 1:
                    yield side, k, (parts, *of.shape)


def _rearranged(b: _Block, order: Callable[[Any], Any], side: int, k: int, shape: Any) -> Any:
    """Take rows or columns of the right Jacobian in another order along one axis; -1 for none."""
    places = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), k + 1, -1)
    moved = np.moveaxis(order(places), -1, k + 1).reshape(-1)
    taken = np.take(b.want, np.maximum(moved, 0), axis=side)
    return np.where(np.expand_dims(moved < 0, 1 - side), 0.0, taken)


def _reversed(b: _Block) -> str:
    for axis in (0, 1):
        if b.want.shape[axis] > 1 and b.equals(np.flip(b.want, axis)):
            return "elements in reverse order"
    for side, k, shape in _axes_of(b):
        if b.equals(_rearranged(b, lambda p: p[..., ::-1], side, k, shape)):
            return f"reversed axis {k} (elements in reverse order)"
    return ""


def _off_by_one(b: _Block) -> str:
    """Detect elements that stand one place too far, the last of them first or left out."""
    for side, k, shape in _axes_of(b):
        for step in (1, -1):
            for is_cut in (False, True):
                if b.equals(
                    _rearranged(
                        b, functools.partial(_shift, step=step, is_cut=is_cut), side, k, shape
                    )
                ):
                    return f"off by one along axis {k}"
    return ""


def _shift(places: Any, step: int, is_cut: bool) -> Any:
    moved = np.roll(places, step, axis=-1)
    if is_cut:
        moved[..., 0 if step > 0 else -1] = -1
    return moved


def _fields(b: _Block) -> str:
    """Detect fields that have each other's derivatives, or one alone that is wrong."""
    wrong = b.is_wrong
    for of, axis, name in ((b.x, 1, "operand"), (b.y, 0, "result")):
        ends = np.cumsum([field.size for field in of.fields.values()])
        if not len(ends) or ends[-1] != wrong.shape[axis]:
            continue
        places = dict(zip(of.fields, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
        bad = [k for k, at in places.items() if np.any(np.take(wrong, at, axis=axis))]
        if len(bad) == 2 and len(places[bad[0]]) == len(places[bad[1]]):
            order = np.arange(ends[-1])
            order[places[bad[0]]], order[places[bad[1]]] = places[bad[1]], places[bad[0]]
            if b.equals(np.take(b.want, order, axis=axis)):
                return f"swapped fields {bad[0]} and {bad[1]} of the {name}"
        if len(bad) == 1 < len(places):
            part, at = of.fields[bad[0]], places[bad[0]]
            x, y = (part, b.y) if axis else (b.x, part)
            h, w, a = (np.take(m, at, axis=axis) for m in (b.have, b.want, b.allowed))
            inner = _name_block(_Block(h, w, a, x, y, b.gathers, b.digits))
            return f"{inner} for {bad[0]} of the {name}"
    return ""


def _one_element(b: _Block) -> str:
    """Detect wrong entries that lie in one row or one column."""
    wrong = b.is_wrong
    rows, columns = np.flatnonzero(wrong.any(axis=1)), np.flatnonzero(wrong.any(axis=0))
    for places, of, name in ((columns, b.x, "operand"), (rows, b.y, "result")):
        if len(places) == 1 and of.size > 1 and wrong.shape[name == "operand"] == of.size:
            return f"one element of {of.size} ({of.labels()[int(places[0])]} of the {name})"
    return ""


def _some(b: _Block) -> str:
    """Detect a pattern that the wrong entries alone follow."""
    wrong = b.is_wrong & (b.want != 0)
    n, of = int(wrong.sum()), int(np.count_nonzero(b.want))
    if n and n == int(b.is_wrong.sum()):
        have, want = b.have[wrong], b.want[wrong]
        name = "zero" if not np.any(have) else name_ratio(have, want, single=n < 2, digits=b.digits)
        return f"{name} in {n} of {of} entries" if name else ""
    return ""


_MISTAKES: tuple[Callable[[_Block], str], ...] = (
    _nan,
    _zero,
    _single,
    _missing_sum,
    _factor,
    _imaginary,
    _conjugated,
    _overwritten,
    _transposed,
    _fields,
    _reversed,
    _off_by_one,
    _one_element,
    _some,
)


def _name_block(b: _Block) -> str:
    """Name the first mistake of all that a block may have."""
    return next((n for mistake in _MISTAKES if (n := mistake(b))), "wrong numbers")


# ------------------------------------------------------------------------------ whole Jacobians


def _swapped(case: Case, blocks: dict[int, _Block], names: dict[int, str]) -> str:
    """Detect that operands have each other's derivatives."""
    wrong = [i for i, n in names.items() if n in ("wrong numbers", "transposed") or "factor" in n]
    for i, k in itertools.combinations(wrong, 2):
        a, b = blocks[i], blocks[k]
        if a.equals(b.want) and b.equals(a.want):
            operands = case.operand_names()
            return f"swapped operands {operands[i]} and {operands[k]}"
    return ""


def _name_difference(case: Case, have: Any, want: Any, allowed: Any) -> str:
    """Name how a whole Jacobian differs from the right one; empty if it does not."""
    names, blocks = {}, {}
    allowed = np.broadcast_to(allowed, want.shape)
    have, want = (np.where(np.isfinite(allowed), a, 0.0) for a in (have, want))
    gathers = any(p.kind == "int" for p in case.parts) or "index" in case.options
    ends = np.cumsum([part.size for part in case.parts])[:-1]
    parts = zip(*(np.split(a, ends, axis=1) for a in (have, want, allowed)), strict=True)
    for number, (part, (h, w, a)) in enumerate(zip(case.parts, parts, strict=True)):
        if part.size:
            digits = max(1e-6, 4 * case.precision)
            block = blocks[number] = _Block(h, w, a, part, case.raw, gathers, digits)
            if np.any(block.is_wrong):
                names[number] = _name_block(block)
    if not names:
        return ""
    return _swapped(case, blocks, names) or join_operands(case, names, len(blocks))


def join_operands(case: Case, names: dict[int, str], count: int) -> str:
    """Join names of what is wrong for single operands; ``count`` is how many have derivatives."""
    if count == len(names) and len(set(names.values())) == 1 and "zero" not in names.values():
        return next(iter(names.values()))
    operands = case.operand_names()
    return ", ".join(
        name if count == 1 and name != "zero" else f"{name} for argument {i + 1} ({operands[i]})"
        for i, name in names.items()
    )


def jacobian_tables(case: Case) -> dict[str, Table]:
    """Put the whole Jacobian by each half beside that by differences, or else by the push."""
    found = case.jacobians()
    reference = "differences" if "differences" in found else "push"
    want = found.get(reference)
    if want is None:
        return {}
    names = case.output_names(), case.coordinate_names()
    allowed = 10 * found.get("allowed", 1e-9 * scale_of(want))
    return {
        half: Table(found[half], want, *names, allowed, (half, reference))
        for half in ("push", "pull")
        if half in found and half != reference
    }


def join_halves(wrong: Mapping[Any, str], count: int, *, both: bool) -> str:
    """Join names of what is wrong in halves; ``count`` were compared, and there may be both."""
    if len(set(wrong.values())) == 1 and len(wrong) == count:
        return next(iter(wrong.values()))
    text = ", ".join(f"{name} in the {half}" for half, name in wrong.items())
    if both and any("factor" in n for n in wrong.values()):
        text = f"push and pull disagree by a factor: {text}"
    return text


def diagnose(case: Case) -> tuple[str, Table | None]:
    """Say what is wrong with the derivatives of a rule, in words, and where.

    Both halves are compared with differences, or with each other where there are none.
    """
    tables = jacobian_tables(case)
    names = {half: _name_difference(case, t.have, t.want, t.allowed) for half, t in tables.items()}
    wrong = {half: name for half, name in names.items() if name}
    if not wrong:
        return "", None
    table = tables[next(iter(wrong))]
    both = case.has_push and case.has_pull
    return join_halves(wrong, len(names), both=both), table


def name_nonlinearity(half: str, images: Any, given: Any, apart: float) -> str:
    """Name what a half does that is not linear, of images and what they are of, as columns.

    They are so far ``apart`` from those of a linear map, relative to the largest of them.
    """
    if apart < 1e-5:
        return "float32 result for float64 input"
    what = "cotangent" if half == "pull" else "tangent"
    nonzero = np.any(given != 0, axis=0)
    kept = images[:, nonzero]
    if kept.shape[1] > 1 and np.any(kept) and _close(kept, kept[:, :1] + 0 * kept):
        return f"ignores the {what}"
    return f"not linear in the {what}"
