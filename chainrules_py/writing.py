"""What writing in place is in words: for engines, which know no word by its name.

``x[i] = y`` is a word that gives a new array, `store`. An engine writes to memory itself where it
may, and gives the result the derivative of that word.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from chainrules_py.arrays import dispatch_type, is_tracer_type, type_namespace
from chainrules_py.primitive import Primitive
from chainrules_py.tracers import find_tracers, ignore_derivatives
from chainrules_py.vocabulary.creation import arange_like
from chainrules_py.vocabulary.elementwise import imag, lift, real
from chainrules_py.vocabulary.indexing import Index, getitem, put_at, scatter_add, take
from chainrules_py.vocabulary.joining import concat, stack
from chainrules_py.vocabulary.linalg import diagonal
from chainrules_py.vocabulary.manipulation import (
    astype,
    broadcast_to,
    copy,
    expand_dims,
    flip,
    matrix_transpose,
    permute_dims,
    reshape,
    squeeze,
    to_device,
)
from chainrules_py.vocabulary.predicates import round_decimals
from chainrules_py.vocabulary.reductions import cumulative_sum, mean, sum
from chainrules_py.vocabulary.selection import where as select

__all__ = [
    "Index",
    "always_views",
    "converted",
    "depends_on_layout",
    "duplicate",
    "gives_views",
    "may_be_filled",
    "place",
    "read",
    "rounded",
    "shaped",
    "stacked",
    "store",
    "written_through",
]

read, store = getitem, put_at
"""The words that ``x[i]`` and ``x[i] = y`` are."""

_COPIES = (astype, to_device, copy)
"""Words that may give the very array they got, where what the program called gives a copy."""
_NEW = (sum, mean, cumulative_sum, concat, stack, select, take, scatter_add, put_at)
"""Linear words that always make a new array: of them it need not be asked at each call."""
_VIEWS = (
    broadcast_to,
    diagonal,
    expand_dims,
    flip,
    imag,
    matrix_transpose,
    permute_dims,
    real,
    squeeze,
)
"""Words whose result is a view in NumPy, whatever it is here; reshape's depends on the memory."""
_PENS = ("scalar_rule", "bilinear_rule")
"""The pens of functions that do."""


def gives_views(primitive: Primitive[..., Any], pen: str) -> bool:
    """Whether the result of a function, whose rule has this pen, may be a view of its operand."""
    return pen not in _PENS and primitive not in (*_COPIES, *_NEW)


def always_views(word: Primitive[..., Any]) -> bool:
    """Whether what a program called gives a view of an array, however that lies in memory."""
    return word in _VIEWS


def depends_on_layout(word: Primitive[..., Any]) -> bool:
    """Whether a word gives a view of some arrays, and a copy of others of the same shape."""
    return word is reshape


def may_be_filled(word: Primitive[..., Any]) -> bool:
    """Whether what is a view in NumPy may be a copy here, whose layout says nothing of NumPy's."""
    return word is broadcast_to


def written_through(
    parent: Any, child: Any, word: Primitive[..., Any], rest: tuple[Any, ...], options: Any
) -> Any:
    """A value of an array that has other elements in a view of it.

    Parameters
    ----------
    parent : array
        What is viewed.
    child : array
        The elements that the view has now.
    word, rest, options
        How the view is read: ``word(parent, *rest, **options)``, a rearrangement. It is applied to
        the places of the elements.
    """
    plain = ignore_derivatives(parent)
    size = math.prod(plain.shape)
    places = reshape(arange_like(plain, stop=size), shape=plain.shape)
    places = reshape(word(places, *rest, **options), shape=(-1,))
    if places.shape[0] > size:
        msg = "assignment destination is read-only"  # as what broadcasting gives is in NumPy
        raise ValueError(msg)
    flat = reshape(parent, shape=(-1,))
    flat = put_at(flat, reshape(child, shape=(-1,)), places, index=Index((Index.HOLE,)))
    return reshape(flat, shape=plain.shape)


def duplicate(x: Any) -> Any:
    """An array in memory of its own."""
    return copy(x)


def converted(x: Any, dtype: Any) -> Any:
    """An array with another dtype, if it has not got it."""
    return x if x.dtype == dtype else astype(x, dtype=dtype)


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """An array in a shape that it broadcasts to."""
    return x if x.shape == shape else broadcast_to(x, shape=shape)


def rounded(x: Any, decimals: int) -> Any:
    """``round(x, decimals)``."""
    return round_decimals(x, decimals=decimals)


def stacked(values: Any, like: Any) -> Any:
    """What is no array as one: most often a list of tracers and numbers, or of such lists.

    Parameters
    ----------
    values
        A list or tuple, a number, or anything that the library makes an array of.
    like : array or tracer
        Of the library.
    """
    xp: Any = type_namespace(dispatch_type(type(like)))
    if not find_tracers(values):
        return values if xp is None else xp.asarray(values)
    if is_tracer_type(type(values)):
        return lift(values, to=xp)
    return stack(*[stacked(value, like) for value in values])


def place(entry: Any, like: Any) -> Any:
    """A list in an index as an array."""
    xp: Any = type_namespace(dispatch_type(type(like)))
    if xp is None:
        return operator.index(entry)
    return stacked(entry, like) if len(entry) else xp.zeros((0,), dtype=xp.int64)
