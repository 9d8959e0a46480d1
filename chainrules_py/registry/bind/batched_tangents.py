"""Batches of tangents: a leading axis, of tangents only, counts directions.

A half of a rule that takes such a batch says so (``batched=`` in the constructors). Any other gets
the directions one by one, and its results are stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.ops.creation import eye_like, full_like, zeros_like
from chainrules_py.ops.elementwise import lift
from chainrules_py.ops.indexing import index
from chainrules_py.ops.joining import stack
from chainrules_py.ops.manipulation import permute_dims, reshape
from chainrules_py.ops.reductions import sum as total
from chainrules_py.tangents.space import Space, default_dtype, kind_of
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import is_zero, missing
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.type_info import namespace_of


def batched(half: Any) -> Callable[..., Any]:
    """Return the form of a push or pull for tangents with a leading axis of directions."""
    found = getattr(half, "batched", None)
    if found is None:
        found = half.batched = one_by_one(half)
    return half if found is True else found


def one_by_one(half: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a push or pull of one direction to take several.

    Examples
    --------
    >>> import numpy as np
    >>> one_by_one(lambda t, c: c * t)(np.array([[1.0, 2.0], [3.0, 4.0]]), 10.0)
    array([[10., 20.],
           [30., 40.]])
    """

    def each(t: Any, *saved: Any) -> Any:
        n = count(t)
        if n is None:
            return half(t, *saved)
        ys = gather([half(direction(t, i), *saved) for i in range(n or 1)], t)
        return ys if n else direction(ys, slice(0))

    return each


def count(t: Any) -> int | None:
    """Return the number of directions in a tangent, or in a tuple of them; None if all are zero."""
    t = unthunk(t)
    if issubclass(type(t), (tuple, Tangent)):
        return next((n for n in map(count, _parts(t)) if n is not None), None)
    return None if is_zero(t) else int(t.shape[0])


def _parts(t: tuple[Any, ...] | Tangent[Any]) -> list[Any]:
    return [part for _, part in t.fields()] if isinstance(t, Tangent) else list(t)


def direction(t: Any, i: int | slice) -> Any:
    """Return one of the directions in a tangent, or in a tuple of them; zero if there is none."""
    t = unthunk(t)
    if type(t) is tuple:
        return tuple([direction(part, i) for part in t])
    if isinstance(t, Tangent):
        return map_fields(lambda part: direction(part, i), t)
    return t if is_zero(t) else index(t, i) if t.shape[0] else total(t, axis=0)


def gather(ts: Sequence[Any], like: Any) -> Any:
    """Stack tangents of single directions; ``like`` gives the library.

    Tuples give a tuple. If only some tangents are zero, these become dense.
    """
    ts = [unthunk(t) for t in ts]
    if type(ts[0]) is tuple:
        return tuple([gather(part, like) for part in zip(*ts, strict=True)])
    dense = next((t for t in ts if not is_zero(t)), None)
    if dense is None:
        return ts[0]
    if (lost := missing(ts)) is not None:
        return lost
    if isinstance(dense, Tangent):
        keys = dict.fromkeys(key for t in ts if not is_zero(t) for key, _ in t.fields())
        parts = {key: gather([t if is_zero(t) else t[key] for t in ts], like) for key in keys}
        return type(dense).of(dense.primal_type, parts, dense._length)
    if not hasattr(dense, "dtype"):
        return stack(*[_scalar(t, like) for t in ts])
    return stack(*[zeros_like(dense) if is_zero(t) else t for t in ts])


def _scalar(t: Any, like: Any) -> Any:
    """Convert the tangent of a Python number, which has no library, to a 0-d array of one."""
    like = _array(like)
    if issubclass(type(t), Tracer):
        return lift(t, to=namespace_of(type(like)))
    dtype = default_dtype(namespace_of(type(like)), "complex" if type(t) is complex else "real")
    return full_like(like, shape=(), fill=0.0 if is_zero(t) else t, dtype=dtype)


def _array(like: Any) -> Any:
    """Return an array in a tangent, or in a tuple of them, or None."""
    if isinstance(like, (tuple, Tangent)):
        return next((a for a in map(_array, _parts(like)) if a is not None), None)
    return None if is_zero(like) else like


def aligned(t: Any, ndim: int) -> Any:
    """Insert axes of length one after the first of a tangent or `Space`, as broadcasting would.

    ``ndim`` counts the axes except that of directions. Otherwise an ``(n, 3)`` would broadcast its
    axis of directions against the 2 of a ``(2, 3)``.
    """
    if is_zero(t) or len(getattr(t, "shape", (0,) * (ndim + 1))) > ndim:
        return t
    n, *rest = t.shape
    shape = (n, *(1,) * (ndim - len(rest)), *rest)
    return t.with_shape(shape) if type(t) is Space else reshape(t, shape=shape)


def lengthened(of: Any, n: int) -> Any:
    """Return the space of n tangents at once; other values unchanged."""
    return of.with_shape((n, *of.shape)) if type(of) is Space else of


# ------------------------------------------------------------------- parts of Jacobians


def basis(spaces: Sequence[Any], lender: Any = None) -> list[Any]:
    """Return the basis of a product of spaces: per space a batch of its total size.

    A complex space counts its complex dimensions. Spaces of Python numbers need one of arrays,
    among the others or as ``lender``, to determine their library.

    Examples
    --------
    >>> import numpy as np
    >>> for batch in basis([Space(np.zeros(2)), Space(1.0)]):
    ...     print(batch.tolist())
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    [0.0, 0.0, 1.0]
    """
    total, offset, found = sum(of.size for of in spaces), 0, []
    lender = next((of for of in spaces if of.dtype is not None), lender)
    for of in spaces:
        like = (lender if of.dtype is None else of).with_shape(()).zeros()
        dtype = (
            default_dtype(namespace_of(type(like)), of.kind)
            if of.dtype is None
            else of.tangent_dtype
        )
        eye = eye_like(like, rows=total, columns=of.size, diagonal=-offset, dtype=dtype)
        found.append(_reshaped(eye, (total, *of.shape)))
        offset += of.size
    return found


def column(dots: Any, places: slice, y: Space, x: Space) -> Any:
    """Compute the Jacobian of y in x from y's tangents for the basis of x, at these indices.

    Its shape is ``y.shape + x.shape``; for two Python numbers it is a Python number.
    """
    part = _at(dots, places)
    if x.shape:
        last = part if part.ndim == 1 else permute_dims(part, axes=(*range(1, part.ndim), 0))
        return _reshaped(last, (*y.shape, *x.shape))
    return _entry(part, y, x)


def row(bars: Any, places: slice, y: Space, x: Space) -> Any:
    """Compute the Jacobian of y in x from x's cotangents for the basis of y, at these indices."""
    part = _at(bars, places)
    return _reshaped(part, (*y.shape, *x.shape)) if y.shape else _entry(part, y, x)


def _at(ts: Any, places: slice) -> Any:
    return ts if (places.start, places.stop) == (0, ts.shape[0]) else index(ts, places)


def _entry(part: Any, y: Space, x: Space) -> Any:
    """Return the only direction, which is a number for two Python numbers."""
    part = index(part, 0)
    if x.dtype is None is y.dtype and not isinstance(part, Tracer):
        return complex(part) if kind_of(part) == "complex" else float(part)
    return part


def _reshaped(t: Any, shape: tuple[int, ...]) -> Any:
    return t if getattr(t, "shape", ()) == shape else reshape(t, shape=shape)


def block(t: Any, y: Space, x: Space) -> Any:
    """Reshape a tangent of y or x to the Jacobian of y in x, where the other one is a number."""
    return _reshaped(t, (*y.shape, *x.shape))


def zero_block(y: Space, x: Space) -> Any:
    """Return the zero Jacobian of a y that does not depend on x."""
    of = x if y.dtype is None or (x.kind == "complex" and x.dtype is not None) else y
    return of.with_shape((*y.shape, *x.shape)).zeros()
