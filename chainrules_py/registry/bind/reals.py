"""Rules that people wrote, of whole numbers: what they compute is that of the real ones.

The value is that of the operands as they are. A derivative is another number, and may wrap where
the value does not: so a rule is run once more, with the real numbers that whole operands are.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.promotion import counts, real_numbers
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.forgetting import forgets
from chainrules_py.values.pytree import flatten, map_leaves, partition, unflatten
from chainrules_py.values.structure import is_structure_type
from chainrules_py.values.tracers import untraced
from chainrules_py.values.type_info import type_info
from chainrules_py.vocabulary import reductions
from chainrules_py.vocabulary.linalg import resolution
from chainrules_py.vocabulary.selection import where

_PLAIN = frozenset((float, int, bool, complex, str, type(None)))
_known: set[tuple[type, Any]] = set()
"""Classes with dtypes that hold no whole numbers."""
forgets(lambda: (_known,))


NOT_REAL = (TypeError, IndexError)
"""How Python's code and libraries say that they take no real numbers: for places, lengths, bits."""


def once_more(xs: tuple[Any, ...], y: Any, run: Callable[[tuple[Any, ...]], Any]) -> Any:
    """Run a rule with the real numbers that whole operands are; None where that is no use.

    Numbers that it takes for places, bits or lengths stay whole, as wide as the library has them.
    Where it gives another value then (numbers that are to wrap, as those of a hash; that are drawn
    at random), what it gave of the operands as they are counts. Where values cannot be looked at
    yet, as in a program that is traced, both count, by what the values will be.

    Parameters
    ----------
    xs : tuple
        The operands.
    y
        The value of them.
    run : callable
        Gives a tuple of them: a value first, then what is asked for.

    Returns
    -------
    (bool or array, object) or None
        Whether the value is the same, and what was asked for.
    """
    if not any([_may_wrap(x) for x in xs]):
        return None
    for read in (real_numbers, counts):
        try:
            reals = tuple([_read(x, read, y) for x in xs])
            if all([a is b for a, b in zip(xs, reals, strict=True)]):
                return None
            found = run(reals)
        except Exception:  # as it says that it takes no real numbers
            continue
        same = agrees(y, found[0])
        return None if same is False else (same, found[1])
    return None


def either_of(same: Any, reals: Any, own: Any) -> Any:
    """Return what a rule gave of real numbers, or of its own: where values are the same, the first.

    Parameters
    ----------
    same : bool or array
        As `agrees` tells it.
    reals, own
        Tangents, or tuples of them.
    """
    if same is True:
        return reals
    reals, own = unthunk(reals), unthunk(own)
    if type(reals) is tuple and type(own) is tuple and len(reals) == len(own):
        return tuple([either_of(same, a, b) for a, b in zip(reals, own, strict=True)])
    if is_zero(reals) and is_zero(own):
        return reals
    if is_zero(reals):
        reals = _zeros_for(own)
    elif is_zero(own):
        own = _zeros_for(reals)
    (firsts, tree), (others, of) = flatten(reals), flatten(own)
    if tree != of:
        return reals
    pairs = zip(firsts, others, strict=True)
    return unflatten(tree, [a if a is b else where(same, a, b) for a, b in pairs])


def _zeros_for(t: Any) -> Any:
    """Return a tangent with a zero in the place of each number or array."""
    return map_leaves(lambda _: 0.0, t)


def maps_of_reals(y: Any, maps: Any, again: Callable[[], Any]) -> Any:
    """Return maps of real numbers, or those of the operands as they are, where these count."""
    try:
        z, found = again()
    except NOT_REAL:  # of numbers that are a key's, say, of so many bits
        return maps
    same = agrees(y, z)
    if same is False:
        return maps
    if same is True:
        return found
    return tuple([_either_map(same, a, b) for a, b in zip(found, maps, strict=True)])


def _either_map(same: Any, reals: Any, own: Any) -> Any:
    """Return the map of real numbers, or that of the operands as they are, by what is traced."""
    if type(reals) is not LinearMap or type(own) is not LinearMap:
        return reals

    def half(of_reals: Any, of_own: Any) -> Any:
        if of_reals is None or of_own is None:
            return None
        return lambda t, same, a, b: either_of(same, of_reals(t, *a), of_own(t, *b))

    push, pull = half(reals.push, own.push), half(reals.pull, own.pull)
    return LinearMap(push, pull, same, reals.saved, own.saved)


def either_pull(same: Any, reals: Any, own: Any) -> Any:
    """Return the pullback of real numbers, or that of the operands as they are, likewise."""
    return reals if same is True else lambda y_bar: either_of(same, reals(y_bar), own(y_bar))


def unwrapped(request: Any, y: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands as partials take them, whose whole numbers may not wrap.

    Where values cannot be looked at yet, whole numbers that turn out to wrap are NaN.

    Raises
    ------
    NotDifferentiableError
        Where they wrap on the way to the value; with what to write.
    """
    if not any([_may_wrap(x) for x in xs]):
        return xs
    reals = tuple([_read(x, real_numbers, y) for x in xs])
    try:
        z = request.primal(*reals)
    except Exception:  # as it says that it takes no real numbers
        return xs
    same = agrees(y, z)
    if same is False:
        name = request.statement.primal.__name__
        msg = (
            f"{name} gives {_shown(y)} of the whole numbers that it was given, which wrap, and "
            f"{_shown(z)} of the real numbers that they are, of which partial derivatives are "
            f"computed; pass real numbers, or state the rule by @rule"
        )
        raise NotDifferentiableError(msg)
    if same is True:
        return xs
    return tuple(
        [x if a is x else where(same, a, math.nan) for x, a in zip(xs, reals, strict=True)]
    )


def _shown(y: Any) -> str:
    return describe(y) if getattr(y, "shape", ()) else f"{y}"


def as_counts(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands with whole numbers as wide as the library has them: for a second half."""
    return tuple([_read(x, counts, None) for x in xs])


def _may_wrap(x: Any) -> bool:
    """Tell whether an operand holds whole numbers that may wrap; most often none does."""
    cls, dtype = type(x), getattr(x, "dtype", None)
    if cls in _PLAIN or (dtype is not None and (cls, dtype) in _known):
        return False
    if any(map(_is_whole, _leaves(x))):
        return True
    if dtype is not None and kind_of(x) in ("real", "complex"):
        _known.add((cls, dtype))
    return False


def _leaves(x: Any) -> list[Any]:
    return flatten(x)[0] if is_structure_type(type(x)) else [x]


def _is_whole(x: Any) -> bool:
    """Tell whether numbers may wrap; Python's do not, and truths are none."""
    return type(x) not in _PLAIN and hasattr(x, "dtype") and kind_of(x) == "int"


def _read(x: Any, read: Callable[[Any, Any], Any], y: Any) -> Any:
    """Return an operand whose whole numbers are read in another way."""
    like = next(iter(_reals(y)), None)
    if not is_structure_type(type(x)):
        return read(x, like) if _is_whole(x) else x
    leaves, layout = partition(x, _is_whole)
    return unflatten(layout, [read(leaf, like) for leaf in leaves]) if leaves else x


def _reals(y: Any) -> Iterator[Any]:
    return (leaf for leaf in _leaves(y) if kind_of(leaf) == "real")


def agrees(y: Any, z: Any) -> Any:
    """Tell whether values are those of the same numbers, up to rounding.

    What is whole may have wrapped. Of what cannot be looked at yet (a traced value of another
    engine's) an array is returned, which will tell.
    """
    ys, zs = _leaves(untraced(y)), _leaves(untraced(z))
    if len(ys) != len(zs):
        return False
    told = list(map(_near, ys, zs))
    later = [t for t in told if t is not True]
    if any([t is False for t in later]):
        return False
    return functools.reduce(operator.and_, later) if later else True


def _near(p: Any, q: Any) -> Any:
    if kind_of(p) not in ("real", "complex"):
        return True
    try:
        same = (p == q) | ((p != p) & (q != q))
        most = _rounding(p) * (abs(p) + abs(q) + _size(p))
        near = _all(same | (abs(p - q) <= most))
    except Exception:  # as an engine says that it has no numbers
        return True
    try:
        return near if type_info(type(p)).is_hidden else bool(near)
    except Exception:  # as it says that it has none yet
        return near


def _all(same: Any) -> Any:
    return reductions.all(same) if getattr(same, "shape", ()) else same


def _size(p: Any) -> Any:
    """Return the size of an array's elements, on the mean; they cancel on the way."""
    lengths = getattr(p, "shape", ())
    return reductions.sum(abs(p)) / max(1, math.prod(lengths)) if lengths else 0.0


def _rounding(p: Any) -> float:
    """Return by how much a number may differ: half of the digits of single precision at most.

    PyTorch computes whole numbers beside Python's in that, on the way to a wider value.
    """
    return math.sqrt(max(resolution(p) if hasattr(p, "dtype") else 0.0, 2.0**-23))
