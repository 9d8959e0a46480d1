"""How words carry a shift: a value m that is subtracted, and may be put back.

What comes out of ``m + log(sum(exp(x - m)))``, or of a softmax, does not hang on m, so that nothing
has to flow back to m: the sum of what would is zero but for rounding.

A value v that hangs on m either moves with it, ``v_dot = d * m_dot``, or grows with it, ``v_dot =
d * v * m_dot``. A `Shift` says which, with d, and along which axes v goes with the axes of m,
counted from the last, as broadcasting leaves these. Where d is zero, v does not hang on m.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from chainrules_py import vocabulary as v

__all__ = ["Shift", "extremes", "shifted"]


class Shift(NamedTuple):
    """How a value hangs on another, that is subtracted from something.

    Attributes
    ----------
    grows : bool
        Whether it grows with it, as ``exp(m)``, or moves with it.
    d : int
        How often.
    axes : tuple of int
        Where the axes of the other are that have more than one place, counted from the last.
    """

    grows: bool
    d: int
    axes: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int]) -> Shift:
        """Return how a value of some shape hangs on itself."""
        return cls(False, 1, tuple([i - len(shape) for i, n in enumerate(shape) if n != 1]))


def shifted(word: Any, given: Sequence[Shift | None], saved: Sequence[Any]) -> Shift | None:
    """Return how the result of a word hangs on something, None where that is not known.

    Parameters
    ----------
    word : Primitive
        What was called.
    given : sequence of Shift or None
        How the operands do in which it has a derivative; None of those that do not.
    saved : sequence
        What the record of the call saved.
    """
    if len(given) == 2 and word in _OF_TWO:
        return _OF_TWO[word](*given)
    return _OF_ONE[word](given[0], *saved) if len(given) == 1 and word in _OF_ONE else None


Rule = Callable[..., Shift | None]


# ------------------------------------------------------------------- what becomes of two operands


def _sum(x: Shift | None, y: Shift | None, sign: int = 1) -> Shift | None:
    both = [z for z in (x, y) if z is not None]
    if any([z.grows for z in both]):
        return x if x == y else None  # the same growth in both terms
    d = (x.d if x else 0) + sign * (y.d if y else 0)
    return Shift(False, d, both[0].axes) if _together(both) else None


def _difference(x: Shift | None, y: Shift | None) -> Shift | None:
    return _sum(x, y, -1)


def _product(x: Shift | None, y: Shift | None, sign: int = 1) -> Shift | None:
    both = [z for z in (x, y) if z is not None]
    if not (all([z.grows for z in both]) and _together(both)):
        return None
    d = (x.d if x else 0) + sign * (y.d if y else 0)
    return Shift(True, d, both[0].axes)


def _quotient(x: Shift | None, y: Shift | None) -> Shift | None:
    return _product(x, y, -1)


def _together(both: list[Shift]) -> bool:
    return all([z.axes == both[0].axes for z in both])


# -------------------------------------------------------------------- what becomes of one operand


def _exp(x: Shift, *_: Any) -> Shift | None:
    return None if x.grows else Shift(True, x.d, x.axes)


def _log(x: Shift, *_: Any) -> Shift | None:
    return Shift(False, x.d, x.axes) if x.grows else None


def _negative(x: Shift, *_: Any) -> Shift | None:
    return x if x.grows else Shift(False, -x.d, x.axes)


def _kept(x: Shift, *_: Any) -> Shift | None:
    return x


def _moved(x: Shift, *_: Any) -> Shift | None:
    return None if x.grows else x


def _scaled(x: Shift, *_: Any) -> Shift | None:
    return x if x.grows else None


def _reduced(x: Shift, options: Any, of: Any) -> Shift | None:
    axis, n = options["axis"], len(of.shape)
    axes = range(n) if axis is None else axis if type(axis) is tuple else (axis,)
    gone = {a % n - n for a in axes} if n else set[int]()
    if not x.grows or options.keys() != {"axis", "keepdims"} or not gone.isdisjoint(x.axes):
        return None
    return x if options["keepdims"] else x._replace(axes=_without(x.axes, gone))


def _without(axes: tuple[int, ...], gone: set[int]) -> tuple[int, ...]:
    return tuple([a + sum([g > a for g in gone]) for a in axes])


def _squeezed(x: Shift, options: Any, of: Any) -> Shift | None:
    axis, n = options["axis"], len(of.shape)
    axes = axis if type(axis) is tuple else (axis,)
    ones = [i for i in range(n) if of.shape[i] == 1]
    return x._replace(axes=_without(x.axes, {i % n - n for i in (ones if axis is None else axes)}))


def _expanded(x: Shift, options: Any, of: Any) -> Shift | None:
    axis, n = options["axis"], len(of.shape)
    new = axis if type(axis) is tuple else (axis,)
    total = n + len(new)
    left = [i - total for i in range(total) if i not in {a % total for a in new}]
    return x._replace(axes=tuple([left[a] for a in x.axes]))


def _reshaped(x: Shift, options: Any, of: Any) -> Shift | None:
    """Follow the axes where a new shape has the same lengths, but for ones."""
    shape, before = options["shape"], of.shape
    if not x.axes:
        return x
    now = [i - len(shape) for i, n in enumerate(shape) if n != 1]
    old = [i - len(before) for i, n in enumerate(before) if n != 1]
    if [shape[i] for i in now] != [before[i] for i in old]:
        return None
    return x._replace(axes=tuple([now[old.index(a)] for a in x.axes]))


def _read(x: Shift, where: Any, of: Any, *_: Any) -> Shift | None:
    """Follow the axes where nothing but axes of length one is put in, or read away."""
    if not x.axes:
        return x
    entries = where if type(where) is tuple else (where,)
    n = len(of.shape)
    whole = [type(e) is slice and e == slice(None) for e in entries]
    known = [
        w or e is None or e is ... or type(e) is int for w, e in zip(whole, entries, strict=True)
    ]
    if not all(known):
        return None
    missing = n - sum([e is not None and e is not Ellipsis for e in entries])
    left: list[int | None] = []
    axis = 0
    rest = () if any([e is Ellipsis for e in entries]) else (...,)
    for e in (*entries, *rest):
        if e is None:
            left.append(None)
            continue
        count = missing if e is Ellipsis else 1
        if type(e) is int:
            if of.shape[axis] != 1:
                return None
        else:
            left.extend(range(axis - n, axis - n + count))
        axis += count
    return x._replace(axes=tuple([left.index(a) - len(left) for a in x.axes]))


_OF_TWO: dict[Any, Rule] = {
    v.add: _sum,
    v.subtract: _difference,
    v.multiply: _product,
    v.divide: _quotient,
    v.strong_multiply: _product,
}
_OF_ONE: dict[Any, Rule] = {
    v.exp: _exp,
    v.log: _log,
    v.negative: _negative,
    v.add: _moved,
    v.multiply: _scaled,
    v.strong_multiply: _scaled,
    v.sum: _reduced,
    v.mean: _reduced,
    v.squeeze: _squeezed,
    v.expand_dims: _expanded,
    v.reshape: _reshaped,
    v.broadcast_to: _kept,
    v.getitem: _read,
}

extremes = frozenset((v.max, v.min))
"""The words whose results programs shift by, and whose derivatives are dear."""
