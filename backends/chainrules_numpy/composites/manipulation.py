"""Functions that rearrange the elements of an array, written in operations."""

import builtins
import math
from typing import Any

import numpy as np

from chainrules_py import ops as v


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return an axis, or several, as a tuple counted from the front.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return np.lib.array_utils.normalize_axis_tuple(axis, ndim, allow_duplicate=True)


# --------------------------------------------------------------------------------------- axes


def ravel(x: Any, order: str = "C") -> Any:
    """Return all elements on one axis, in C or F order."""
    return v.reshape(v.permute_dims(x) if order == "F" else x, shape=(-1,))


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Return x with two axes exchanged."""
    (i,), (j,) = normal_axes(axis1, x.ndim), normal_axes(axis2, x.ndim)
    return v.permute_dims(x, axes=tuple([{i: j, j: i}.get(a, a) for a in range(x.ndim)]))


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Return x with some axes moved to other positions, and the rest in their order."""
    sources, destinations = normal_axes(source, x.ndim), normal_axes(destination, x.ndim)
    if len({*destinations}) < len(destinations):
        raise ValueError("repeated axis in `destination` argument")
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return v.permute_dims(x, axes=tuple(order))


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """Return x with an axis moved before another."""
    (i,) = normal_axes(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, i, start - (i < start))


def fliplr(x: Any) -> Any:
    """Return x with its second axis in reverse order."""
    return v.flip(x, axis=1)


def flipud(x: Any) -> Any:
    """Return x with its first axis in reverse order."""
    return v.flip(x, axis=0)


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Rotate x k times by a right angle, from the first axis towards the second."""
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    i, j = normal_axes(axes, x.ndim)
    if i == j:
        raise ValueError("Axes must be different.")
    if k % 2:
        return swapaxes(v.flip(x, axis=j if k % 4 == 1 else i), i, j)
    return v.flip(x, axis=(i, j)) if k % 4 else v.copy(x)


def resize(x: Any, new_shape: Any) -> Any:
    """Fill an array of another shape with the elements of x, repeated as needed."""
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    size = math.prod(shape)
    if builtins.any(length < 0 for length in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if math.prod(x.shape) == 0 or size == 0:
        return v.full_like(x, shape=shape, fill=0)
    flat = v.reshape(x, shape=(-1,))
    if size > math.prod(x.shape):
        flat = v.tile(flat, repetitions=(-(-size // math.prod(x.shape)),))
    return v.reshape(v.index(flat, slice(size)), shape=shape)


def diag(x: Any, k: int = 0) -> Any:
    """Return the k-th diagonal of a matrix, or the matrix with a vector as its k-th diagonal."""
    if x.ndim == 2:
        return v.diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.shape[0] + builtins.abs(k)
    return v.from_diagonal(x, rows=n, columns=n, offset=k)


def diagflat(x: Any, k: int = 0) -> Any:
    """Make the matrix with the elements of x, in C order, on its k-th diagonal."""
    return diag(v.reshape(x, shape=(-1,)), k)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Broadcast all arrays to their common shape."""
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([x if x.shape == shape else v.broadcast_to(x, shape=shape) for x in arrays])


def _several(arrays: tuple[Any, ...], raised: Any) -> Any:
    return raised(arrays[0]) if len(arrays) == 1 else tuple(map(raised, arrays))


def atleast_1d(*arrays: Any) -> Any:
    """Reshape 0-d arrays to one axis."""
    return _several(arrays, lambda x: x if x.ndim else v.reshape(x, shape=(1,)))


def atleast_2d(*arrays: Any) -> Any:
    """Reshape arrays with fewer than two axes to two; new axes come first."""
    return _several(
        arrays, lambda x: x if x.ndim >= 2 else v.reshape(x, shape=(1, *(x.shape or (1,))))
    )


def atleast_3d(*arrays: Any) -> Any:
    """Reshape arrays with fewer than three axes to three; vectors are on the middle axis."""

    def raised(x: Any) -> Any:
        shapes = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}
        return v.reshape(x, shape=shapes[x.ndim]) if x.ndim < 3 else x

    return _several(arrays, raised)
