"""The right numbers in other places: transposed, reversed, shifted, conjugated, spread."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py.testing.diagnosis.block import Axes, Block, Evidence, close, shape_of
from chainrules_py.testing.diagnosis.ratio import name_ratio


def find_conjugated(b: Block) -> Iterator[str]:
    """Find imaginary parts of the other sign: of what goes in, of what comes out, or of both."""
    x, y = _imaginary_signs(b.x)[None, :], _imaginary_signs(b.y)[:, None]
    if y.shape[0] != b.want.shape[0] or (np.all(x > 0) and np.all(y > 0)):
        return
    if any(b.equals(g) for g in (x * y * b.want, x * b.want, y * b.want)):
        yield "conjugated"


def find_turned(b: Block) -> Iterator[str]:
    """Find that the imaginary unit is missing, or one too many, in a complex result or operand."""
    for of, axis in ((b.y, 0), (b.x, 1)):
        if of.kind == "complex" and of.is_leaf and b.want.shape[axis] == of.size:
            real, imaginary = np.split(b.want, 2, axis=axis)
            turned = np.concatenate([imaginary, -real], axis=axis)
            for sign, text in ((1.0, "a factor i is missing"), (-1.0, "a factor -i is missing")):
                if b.equals(sign * turned):
                    yield text


def find_missing_imaginary(b: Block) -> Iterator[str]:
    """Find that imaginary parts alone are missing, of what goes in or of what comes out."""
    wrong = b.is_wrong
    if np.any(b.have[wrong]) or not np.any(b.have):
        return
    for of, axis in ((b.x, 0), (b.y, 1)):
        signs, places = _imaginary_signs(of), wrong.any(axis=axis)
        if of.kind == "complex" and len(signs) == len(places) and not np.any(places & (signs > 0)):
            yield "imaginary part missing"


def _imaginary_signs(of: Axes) -> Any:
    return np.asarray([-1.0 if label.endswith(".imag") else 1.0 for label in of.labels()])


# ------------------------------------------------------------------------ exchanged axes


def find_transposed(b: Block) -> Iterator[str]:
    """Find two axes, of the operand or the result or one of each, that are exchanged."""
    n, m = b.want.shape
    if n == m > 1 and _is_multiple(b, b.want.T):
        if _is_permutation(b.want):
            yield "permutation instead of its inverse (transposed)"
        else:
            yield _with_multiple("transposed", b, b.want.T)
    if not b.stands:
        return
    whole = b.want.reshape(*shape_of(b.y), *shape_of(b.x))
    lead = 1 + len(b.y.shape)
    axes = [k for k in range(whole.ndim) if k not in (0, lead) and whole.shape[k] > 1]
    for j, k in itertools.combinations(axes, 2):
        if whole.shape[j] == whole.shape[k]:
            guess = np.swapaxes(whole, j, k).reshape(n, m)
            if _is_multiple(b, guess):
                yield _exchanged(b, guess, j, k, lead)


def find_reordered(b: Block) -> Iterator[str]:
    """Find all axes, of operand and result together, in another order."""
    if not b.stands:
        return
    whole = b.want.reshape(*shape_of(b.y), *shape_of(b.x))
    axes = [k for k, n in enumerate(whole.shape) if n > 1]
    if not 2 < len(axes) < 6:
        return
    for order in itertools.permutations(axes):
        full = list(range(whole.ndim))
        for k, at in zip(axes, order, strict=True):
            full[k] = at
        if whole.transpose(full).shape == whole.shape:
            guess = whole.transpose(full).reshape(b.want.shape)
            if _is_multiple(b, guess):
                yield _with_multiple("axes in another order (factors exchanged?)", b, guess)
                return


def _exchanged(b: Block, guess: Any, j: int, k: int, lead: int) -> str:
    """Name an exchange: of a matrix's axes, or of the axis along which an operand is spread."""
    if k < lead and len(b.x.shape) < len(b.y.shape):
        # Left to projection, which sums the leading axes, and not the one that was used.
        uses = np.argwhere(b.want[:, 0].reshape(shape_of(b.y))[0])
        along = [i for i in range(uses.shape[1]) if len(set(uses[:, i])) > 1]
        if along and len(set(b.want[b.want[:, 0] != 0, 0])) == 1:
            return f"missing sum over axis {axes_text(tuple(along))}"
    return _with_multiple("transposed", b, guess)


def _is_permutation(m: Any) -> bool:
    ones = np.isclose(m, 1.0)
    return bool(np.all(ones.sum(axis=0) == 1) and np.all(ones.sum(axis=1) == 1)) and close(m, ones)


def _is_multiple(b: Block, guess: Any) -> bool:
    """Tell whether what is given is another arrangement, or such a multiple as people forget."""
    if close(guess, b.want, b.digits):
        return False
    ratio = name_ratio(b.have, guess, single=True, digits=b.digits)
    return b.equals(guess) or bool(ratio)


def _with_multiple(name: str, b: Block, guess: Any) -> str:
    ratio = name_ratio(b.have, guess, single=True, digits=b.digits)
    return f"{name}, {ratio}" if ratio else name


# ---------------------------------------------------------------- other orders along an axis


def find_reversed(b: Block) -> Iterator[str]:
    """Find an axis of the operand or the result, or one of each, that runs backwards."""
    backwards = lambda p: p[..., ::-1]
    for axis in (0, 1):
        several = np.count_nonzero(b.want) > 1
        if b.want.shape[axis] > 1 and several and b.equals(np.flip(b.want, axis)):
            yield "elements in reverse order"
    axes = list(b.axes())
    for side, k, shape in axes:
        if b.equals(_rearranged(b.want, backwards, side, k, shape)):
            yield f"reversed axis {k} (elements in reverse order)"
    for x, y in itertools.product(*[[a for a in axes if a[0] == side] for side in (1, 0)]):
        guess = _rearranged(_rearranged(b.want, backwards, *x), backwards, *y)
        if _is_multiple(b, guess) and np.any(np.count_nonzero(b.want, axis=0) > 1):
            yield "reversed in operand and result (kernel not flipped?)"


def find_shifted(b: Block) -> Iterator[str]:
    """Find elements that stand some places too far, the last of them first or left out."""
    if np.count_nonzero(b.want) < 2 and 1 in b.want.shape:
        return  # one number stands somewhere else: it may be anywhere
    for side, k, shape in b.axes():
        most = shape[k + 1] if b.want.size <= _FEW else 2
        steps = [s for n in range(1, most) for s in (n, -n)]
        for step, is_cut in itertools.product(steps, (False, True)):
            shift = functools.partial(_shift, step=step, is_cut=is_cut)
            guess = _rearranged(b.want, shift, side, k, shape)
            if b.equals(guess) and not close(guess, b.want, b.digits):
                far = "one" if abs(step) == 1 else f"{abs(step)} places"
                yield f"off by {far} along axis {k}"


_FEW = 400


def _rearranged(
    want: Any, order: Callable[[Any], Any], side: int, k: int, shape: tuple[int, ...]
) -> Any:
    """Take rows or columns in another order along one axis; -1 for none."""
    places = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), k + 1, -1)
    moved = np.moveaxis(order(places), -1, k + 1).reshape(-1)
    taken = np.take(want, np.maximum(moved, 0), axis=side)
    return np.where(np.expand_dims(moved < 0, 1 - side), 0.0, taken)


def _shift(places: Any, step: int, is_cut: bool) -> Any:
    moved = np.roll(places, step, axis=-1)
    if is_cut:
        moved[..., slice(step) if step > 0 else slice(step, None)] = -1
    return moved


def find_misplaced(b: Block) -> Iterator[str]:
    """Find the right numbers of each row, or column, or of all, in another order."""
    if min(b.want.shape) < 2 and b.want.size < 3:
        return
    for axis, what in ((0, "operand"), (1, "result")):
        if close(np.sort(b.have, axis=axis), np.sort(b.want, axis=axis), b.digits):
            yield f"the right numbers in the wrong places, for each number of the {what}"
    if close(np.sort(b.have, axis=None), np.sort(b.want, axis=None), b.digits):
        yield "the right numbers in the wrong places"


def find_spread(b: Block) -> Iterator[str]:
    """Find numbers that meet the result along another axis of the operand than they should."""
    if not b.stands or len(b.x.shape) < 2 or not b.y.shape:
        return
    of, to = (np.indices(side.shape).reshape(len(side.shape), -1) for side in (b.x, b.y))
    if b.want.shape != (to.shape[1], of.shape[1]):
        return  # complex numbers have two places each
    have, want = np.abs(b.have) > b.allowed, np.abs(b.want) > b.allowed
    for k in range(len(b.y.shape)):
        meets = [np.equal.outer(to[k], of[j]) for j in range(len(b.x.shape))]
        right = [j for j, m in enumerate(meets) if not np.any(want & ~m)]
        given = [j for j, m in enumerate(meets) if not np.any(have & ~m)]
        if len(right) == len(given) == 1 and right != given:
            yield (
                f"spread along the wrong axis: axis {given[0]} of the operand in place of axis "
                f"{right[0]} (expand_dims or keepdims forgotten?)"
            )


# ------------------------------------------------------------------------------ sums and means


def find_missing_sum(b: Block) -> Iterator[str]:
    """Find that, of an operand used along an axis, only the use at one place is counted."""
    shape = b.y.shape
    if not b.y.is_leaf or not b.y.size or b.want.shape[0] != b.y.size:
        return
    stretched = _stretched(b)
    long = [k for k in range(len(shape)) if shape[k] > 1]
    if np.all(np.any(b.have, axis=0)):
        for axes in (*[(k,) for k in long], tuple(stretched)):
            for place in (0, -1) if axes else ():
                mask = np.zeros(shape_of(b.y))
                where = [place if k in axes else slice(None) for k in range(len(shape))]
                mask[(slice(None), *where)] = 1.0
                if b.equals(mask.reshape(-1, 1) * b.want):
                    yield f"missing sum over axis {axes_text(axes)}"
    for axes in [(k,) for k in stretched]:
        if b.equals(b.want / math.prod(shape[k] for k in axes)):
            yield f"mean instead of sum over axis {axes_text(axes)}"


def _stretched(b: Block) -> list[int]:
    """Find the axes of the result along which the operand is broadcast."""
    shape, of = b.y.shape, b.x.shape
    lead = len(shape) - len(of)
    if not b.x.is_leaf or lead < 0:
        return []
    if any(s not in (1, n) for s, n in zip(of, shape[lead:], strict=True)):
        return []
    return [k for k in range(len(shape)) if shape[k] > 1 and (k < lead or of[k - lead] == 1)]


def axes_text(axes: tuple[int, ...]) -> str:
    """Write one axis as a number, and several as a tuple."""
    return str(axes[0] if len(axes) == 1 else axes)


def find_mean(b: Block) -> Iterator[str]:
    """Find a mean that is not subtracted, or one too many; or a mean or sum in place of numbers."""
    for side, k, shape in b.axes():
        where = f"along axis {k} of the {'operand' if side else 'result'}"
        if close(_centred(b.have, side, k, shape), b.want, b.digits):
            yield f"mean not subtracted, {where}"
        if b.equals(_centred(b.want, side, k, shape)):
            yield f"mean subtracted, {where}"
        averaged = b.want - _centred(b.want, side, k, shape)
        if b.equals(averaged):
            yield f"mean {where} instead of single numbers"
        if min(b.want.shape) > 1 and b.equals(averaged * shape[k + 1]):
            yield f"sum {where} instead of single numbers"
    for axis in (0, 1):
        if b.want.shape[axis] > 1:
            flat = b.have - b.have.mean(axis=axis, keepdims=True)
            if close(flat, b.want, b.digits):
                yield f"mean not subtracted, of the {'operand' if axis else 'result'}"


def _centred(m: Any, side: int, k: int, shape: tuple[int, ...]) -> Any:
    axis = k + 1 if side == 0 else k + 2
    whole = m.reshape(*shape, -1) if side == 0 else m.reshape(-1, *shape)
    return (whole - whole.mean(axis=axis, keepdims=True)).reshape(m.shape)


# --------------------------------------------------------------------------- square matrices


def find_halves(b: Block) -> Iterator[str]:
    """Find a square operand or result of which one triangle is left out, or both are not alike."""
    for side, of, name in ((0, b.y, "cotangent of the result"), (1, b.x, "operand's cotangent")):
        if not of.is_leaf or len(of.shape) < 2 or of.shape[-1] != of.shape[-2] or not of.size:
            continue
        if of.shape[-1] < 2 or b.want.shape[side] != of.size:
            continue
        places = np.arange(of.size).reshape(shape_of(of))
        order = np.swapaxes(places, -1, -2).reshape(-1)
        for factor, times in ((1, ""), (2, ", factor 2"), (0.5, ", factor 1/2")):
            if close(_even(b.have, order, side), factor * b.want, b.digits):
                yield f"the {name} is not symmetrised{times}"
            if b.equals(factor * _even(b.want, order, side)):
                yield f"the {name} is symmetrised{times}"
        for triangle, mask in (
            ("lower triangle", np.tri(of.shape[-1])),
            ("upper triangle", np.tri(of.shape[-1]).T),
            ("lower triangle without the diagonal", np.tri(of.shape[-1], k=-1)),
            ("upper triangle without the diagonal", np.tri(of.shape[-1], k=-1).T),
            ("diagonal", np.eye(of.shape[-1])),
        ):
            kept = np.expand_dims(np.broadcast_to(mask, shape_of(of)).reshape(-1), 1 - side)
            if b.equals(kept * b.want):
                yield f"only the {triangle} of the {name} is kept"
            if np.any(b.want) and close(kept * b.have, b.want, b.digits):
                yield f"more than the {triangle} of the {name} is kept"
            twice = np.where(order == np.arange(of.size), 1.0, 2.0)
            if side and close(kept * twice * _even(b.have, order, side), b.want, b.digits):
                yield f"what belongs to the other triangle is not added to the {triangle}"


def symmetrised(evidence: Evidence) -> Any:
    """Compute what is right along symmetric matrices alone, if what is given is of these.

    None where it is not, or what is right is the same. A function that reads one triangle may have
    a rule for symmetric operands.
    """
    want, start, changed = evidence.want.copy(), 0, False
    for of in evidence.place.operands:
        inside = slice(start, start + of.size)
        start += of.size
        if of.is_leaf and len(of.shape) == 2 and of.shape[0] == of.shape[1] > 1:
            order = np.swapaxes(np.arange(of.size).reshape(shape_of(of)), -1, -2).reshape(-1)
            have, even = evidence.have[:, inside], _even(want[:, inside], order, 1)
            given = close(_even(have, order, 1), have, evidence.digits)
            if given and not close(even, want[:, inside], evidence.digits):
                want[:, inside], changed = even, True
    return want if changed else None


def _even(m: Any, order: Any, side: int) -> Any:
    return (m + np.take(m, order, axis=side)) / 2


# -------------------------------------------------------------------------------------- fields


def find_swapped_fields(b: Block) -> Iterator[str]:
    """Find two fields, of the operand or of the result, that have each other's derivatives."""
    for axis, name, places in fields_of(b):
        wrong = [k for k, at in places.items() if np.any(np.take(b.is_wrong, at, axis=axis))]
        if len(wrong) == 2 and len(places[wrong[0]]) == len(places[wrong[1]]):
            order = np.arange(b.want.shape[axis])
            order[places[wrong[0]]], order[places[wrong[1]]] = places[wrong[1]], places[wrong[0]]
            if b.equals(np.take(b.want, order, axis=axis)):
                yield f"swapped fields {wrong[0]} and {wrong[1]} of the {name}"


def fields_of(b: Block) -> Iterator[tuple[int, str, dict[Any, Any]]]:
    """List sides that are structures: the matrix's axis, their name, and the places of fields."""
    for of, axis, name in ((b.x, 1, "operand"), (b.y, 0, "result")):
        ends = np.cumsum([field.size for field in of.fields.values()])
        if len(ends) and ends[-1] == b.want.shape[axis]:
            cut = np.split(np.arange(ends[-1]), ends[:-1])
            yield axis, name, dict(zip(of.fields, cut, strict=True))
