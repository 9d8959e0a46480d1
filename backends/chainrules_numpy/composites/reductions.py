"""Reductions that skip NaN, differences and integrals, written in operations."""

from __future__ import annotations

from typing import Any

from chainrules_numpy.composites import manipulation
from chainrules_numpy.keyword_lowerings import in_memory_order
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, namespace_of, real_numbers, type_info, varies
from chainrules_py.ops.higher_order import arrayed

Axes = int | tuple[int, ...] | None
_ABSENT: Any = object()


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front; all axes for None."""
    return tuple(range(ndim)) if axis is None else manipulation.normal_axes(axis, ndim)


def array_of(numbers: Any, like: Any) -> Any:
    """Convert a list of numbers to an array like ``like``; return anything else unchanged.

    Arrays of that library in the list, which may be traced, are stacked with the numbers.
    """
    if not isinstance(numbers, (list, tuple)):
        return numbers
    if any([type_info(type(n)).host is not None for n in numbers]):
        return v.stack(*[_array(n, like) for n in numbers])
    xp, device = namespace_of(type(like)), getattr(like, "device", None)
    given = {} if device is None else {"device": device}
    # Some libraries default to single precision, and a product has the larger precision.
    if getattr(like, "dtype", 0) == getattr(xp, "float64", None) and any(
        [type(n) is float for n in numbers]
    ):
        given["dtype"] = like.dtype
    return xp.asarray(numbers, **given)


def _array(n: Any, like: Any) -> Any:
    """Convert an entry of a list, which may be traced, to an array."""
    if hasattr(n, "dtype"):
        return n
    return arrayed(n, like) if varies(n) else array_of((n,), like)[0]


def _part(x: Any, axis: int, where: Any) -> Any:
    return v.index(x, (slice(None),) * axis + (where,))


def ptp(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    """Subtract the smallest element from the largest."""
    return v.max(x, axis=axis, keepdims=keepdims) - v.min(x, axis=axis, keepdims=keepdims)


# ------------------------------------------------------------------------------------------- NaN


def without_nan(x: Any, identity: int) -> Any:
    """Replace NaN by a number."""
    return v.where(v.isnan(x), identity, x) if kind_of(x) in ("real", "complex") else x


def nansum(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the sum, ignoring NaNs."""
    return v.sum(without_nan(x, 0), axis=axis, keepdims=keepdims)


def nanprod(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the product, ignoring NaNs."""
    return v.prod(without_nan(x, 1), axis=axis, keepdims=keepdims)


def nancumsum(x: Any, /, *, axis: int | None = None) -> Any:
    """Compute the cumulative sums, as if NaN were 0."""
    return v.cumulative_sum(without_nan(x, 0), axis=axis)


def nancumprod(x: Any, /, *, axis: int | None = None) -> Any:
    """Compute the cumulative products, as if NaN were 1."""
    return v.cumulative_prod(without_nan(x, 1), axis=axis)


# ------------------------------------------------------------------------------------ differences


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = _ABSENT, append: Any = _ABSENT) -> Any:
    """Compute the n-th differences of neighbours in x with ``prepend`` and ``append``."""
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    (a,) = manipulation.normal_axes(axis, x.ndim)
    parts = [
        end if end is x or end.ndim else v.broadcast_to(end, shape=_replaced(x.shape, a, 1))
        for end in (prepend, x, append)
        if end is not _ABSENT
    ]
    if len(parts) > 1:
        x = v.concat(*parts, axis=a)
    return v.diff(x, axis=a, n=n)


def _replaced(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Compute differences of neighbours in C order, between ``to_begin`` and ``to_end``."""
    x = v.reshape(x, shape=(-1,))
    differences = v.diff(x)
    parts = [
        part if part is differences else _in_kind(v.reshape(part, shape=(-1,)), x)
        for part in (to_begin, differences, to_end)
        if part is not None
    ]
    return differences if len(parts) == 1 else v.concat(*parts, axis=0)


_KINDS = ("bool", "int", "real", "complex")


def _in_kind(part: Any, x: Any) -> Any:
    if _KINDS.index(kind_of(part)) > _KINDS.index(kind_of(x)):
        raise TypeError(
            f"what is put before or behind differences of {x.dtype} is {part.dtype}; "
            f"convert it before, or convert the input"
        )
    return part if part.dtype == x.dtype else v.astype(part, dtype=x.dtype)


# -------------------------------------------------------------------------- slopes and integrals


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate y along an axis by the trapezoidal rule."""
    (a,) = manipulation.normal_axes(axis, y.ndim)
    if x is None:
        widths = dx
    elif x.ndim == 1:
        widths = v.diff(x)
        widths = v.reshape(widths, shape=_replaced((1,) * y.ndim, a, widths.shape[0]))
    else:
        widths = v.diff(x, axis=axis)
    heights = _part(y, a, slice(1, None)) + _part(y, a, slice(None, -1))
    return v.sum(widths * heights / 2.0, axis=axis)


def gradient(x: Any, spacings: tuple[Any, ...] = (), axis: Axes = None, edge_order: int = 1) -> Any:
    """Compute the slopes of x along axes: central differences, and one-sided ones at the ends.

    For each axis there is a distance, or an array of coordinates, which may be unevenly spaced.

    References
    ----------
    Quarteroni, Sacco, Saleri: Numerical Mathematics (2007), chapter 10.10, for unequal distances.
    """
    axes, x = axes_of(axis, x.ndim), real_numbers(x)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    each = _each(tuple([array_of(s, x) for s in spacings]), len(axes))
    steps = [_distances(s, x, a) for s, a in zip(each, axes, strict=True)]
    slopes = []
    for a, step in zip(axes, steps, strict=True):
        if x.shape[a] < edge_order + 1:
            raise ValueError(
                f"Shape of array too small to calculate a numerical gradient, "
                f"at least {edge_order + 1} elements are required along axis {a}"
            )
        slope = _slope(x, a, step, edge_order)
        slope = slope if slope.dtype == x.dtype else v.astype(slope, dtype=x.dtype)
        slopes.append(in_memory_order(slope, x, "K"))
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _each(spacings: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    if not spacings:
        return (1.0,) * n
    if len(spacings) == 1 and _is_one(spacings[0]):
        return spacings * n
    if len(spacings) != n:
        raise TypeError(
            f"{len(spacings)} spacings for {n} axes; give none, one number, or one for each axis"
        )
    return spacings


def _is_one(spacing: Any) -> bool:
    """Return whether this is one distance: a 0-d array or a Python number, also a boolean."""
    return not getattr(spacing, "ndim", 0)


def _distances(spacing: Any, x: Any, axis: int) -> Any:
    """Return a distance, or the distances between coordinates, shaped to lie along an axis."""
    if _is_one(spacing):
        return spacing
    if spacing.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if spacing.shape[0] != x.shape[axis]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    h = v.diff(real_numbers(spacing))
    # Equal distances become one, unless they are traced.
    if not varies(h) and bool(v.all(v.equal(h, h[0]))):
        return h[0]
    return v.reshape(h, shape=_replaced((1,) * x.ndim, axis, -1))


def _slope(x: Any, axis: int, h: Any, edge_order: int) -> Any:
    equal = _is_one(h)

    def at(start: int | None, stop: int | None) -> Any:
        return _part(x, axis, slice(start, stop))

    def step(start: int | None, stop: int | None) -> Any:
        return h if equal else _part(h, axis, slice(start, stop))

    if equal:
        inner = (at(2, None) - at(None, -2)) / (2.0 * h)
    else:
        p, r = step(None, -1), step(1, None)
        inner = -r / (p * (p + r)) * at(None, -2) + (r - p) / (p * r) * at(1, -1)
        inner = inner + p / (r * (p + r)) * at(2, None)
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / step(0, 1)
        last = (at(-1, None) - at(-2, -1)) / step(-1, None)
    else:
        # The weights and the order of the sums are NumPy's, so that the rounding is equal.
        halves = (-1.5 / h, 2.0 / h, -0.5 / h) if equal else None
        a, b, c = halves or _end_weights(step(0, 1), step(1, 2))
        first = a * at(0, 1) + b * at(1, 2) + c * at(2, 3)
        a, b, c = halves or _end_weights(step(-1, None), step(-2, -1))
        last = -c * at(-3, -2) + -b * at(-2, -1) + -a * at(-1, None)
    return v.concat(first, inner, last, axis=axis)


def _end_weights(p: Any, r: Any) -> tuple[Any, Any, Any]:
    """Return the weights of three points, p and r apart, in the parabola's slope at the first."""
    return -(2.0 * p + r) / (p * (p + r)), (p + r) / (p * r), -p / (r * (p + r))
