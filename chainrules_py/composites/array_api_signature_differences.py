"""Operations whose function in the array-API standard has other parameters, for its libraries."""

from collections.abc import Callable
from typing import Any

from chainrules_py import ops as v
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.dispatch_types import Array, Numeric
from chainrules_py.values.type_info import namespace


def in_the_standard(operation: Primitive[..., Any], computed: Callable[..., Any]) -> None:
    """Implement an operation for arrays of the standard, whose function has other parameters."""
    operation.implement(
        computed, types=(Array,) * (len(operation.operands) + bool(operation.variadic))
    )


def _added_up(name: str) -> Callable[..., Any]:
    """Make cumulative sums or products; the standard has a default axis for vectors only."""

    def added_up(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
        xp = namespace(x)
        x, axis = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis)
        return getattr(xp, name)(x, axis=axis, include_initial=include_initial)

    return added_up


for _operation, _computed in (
    (v.cumulative_sum, _added_up("cumulative_sum")),
    (v.cumulative_prod, _added_up("cumulative_prod")),
    # The standard's functions take a sequence of arrays.
    (v.concat, lambda *xs, axis=0: namespace(xs[0]).concat(xs, axis=axis)),
    (v.stack, lambda *xs, axis=0: namespace(xs[0]).stack(xs, axis=axis)),
    # The standard takes these options by position, or as other options.
    (v.tile, lambda x, *, repetitions: namespace(x).tile(x, repetitions)),
    (v.copy, lambda x: namespace(x).asarray(x, copy=True)),
    (
        v.arange_like,
        lambda x, *, stop, start=0, step=1: namespace(x).arange(start, stop, step, device=x.device),
    ),
):
    in_the_standard(_operation, _computed)


@v.permute_dims.implement
def permute_dims_standard(x: Array, *, axes: tuple[int, ...] | None = None) -> Any:
    """Permute the axes; the standard has no default, and no negative axes."""
    order = range(x.ndim)[::-1] if axes is None else [axis % x.ndim for axis in axes]
    return namespace(x).permute_dims(x, tuple(order))


@v.squeeze.implement
def squeeze_standard(x: Array, *, axis: int | tuple[int, ...] | None = None) -> Any:
    """Remove axes of length one; the standard has no default for which."""
    if axis is None:
        axis = tuple(i for i, length in enumerate(x.shape) if length == 1)
    return namespace(x).squeeze(x, axis)


@v.expand_dims.implement
def expand_dims_standard(x: Array, *, axis: int | tuple[int, ...]) -> Any:
    """Insert axes of length one; the standard's function inserts only one."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = x.ndim + len(axes)
    for a in sorted(a % ndim for a in axes):
        x = namespace(x).expand_dims(x, axis=a)
    return x


@v.take.implement
def take_standard(x: Array, indices: Array, *, axis: int | None = None) -> Any:
    """Take elements at indices of any shape; the standard's indices have one axis."""
    xp = namespace(x)
    x, axis = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis % x.ndim)
    taken = xp.take(x, xp.reshape(indices, (-1,)), axis=axis)
    return xp.reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@v.eye_like.implement
def eye_like_standard(
    x: Array, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Make ones on a diagonal, on the device of x."""
    made, on = x.dtype if dtype is None else dtype, getattr(x, "device", None)
    return namespace(x).eye(rows, columns, k=diagonal, dtype=made, device=on)


@v.tie_share.implement
def tie_share_in_operations(z: Array, x: Numeric, y: Numeric) -> Any:
    """Compute the share by two calls of `where`."""
    one = v.full_like(z, shape=(), fill=1)
    return v.where(v.equal(x, z), v.where(v.equal(y, z), one, 2 * one), 0 * one) / 2


# The standard has one function for both bounds.
v.clip_below.implement(lambda x, lo: namespace(x).clip(x, min=lo), types=(Array, Numeric))
v.clip_above.implement(lambda x, hi: namespace(x).clip(x, max=hi), types=(Array, Numeric))
