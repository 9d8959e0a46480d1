"""Words that shape, make, join and sort, as PyTorch computes them."""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch

from chainrules_py import vocabulary as v
from chainrules_torch.tensors import TENSOR, alike, dtype_of, entered


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([a % ndim if ndim else a for a in ((axis,) if type(axis) is int else axis)])


# ------------------------------------------------------------------------------------- shapes


@v.reshape.implement
def reshape_torch(x: torch.Tensor, *, shape: Any) -> Any:
    """Reshape by the tensor's method."""
    return x.reshape(shape)


@v.permute_dims.implement
def permute_dims_torch(x: torch.Tensor, *, axes: Any = None) -> Any:
    """Reversed by default."""
    return x.permute(tuple(range(x.ndim - 1, -1, -1)) if axes is None else axes)


@v.matrix_transpose.implement
def matrix_transpose_torch(x: torch.Tensor) -> Any:
    """Transpose matrices by the tensor's property."""
    return x.mT


@v.broadcast_to.implement
def broadcast_to_torch(x: torch.Tensor, *, shape: Any) -> Any:
    """Broadcast to a shape, as a view; one number with axes of 1 to one without, as a cotangent."""
    return x.expand(shape) if x.ndim <= len(shape) else x.reshape(shape)


@v.expand_dims.implement
def expand_dims_torch(x: torch.Tensor, *, axis: Any) -> Any:
    """Insert the new axes one after the other."""
    if type(axis) is int:
        return x.unsqueeze(axis)
    for a in sorted(_axes(axis, x.ndim + len(axis))):
        x = x.unsqueeze(a)
    return x


@v.squeeze.implement
def squeeze_torch(x: torch.Tensor, *, axis: Any = None) -> Any:
    """PyTorch leaves axes alone that are longer."""
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else _axes(axis, x.ndim)
    if any([x.shape[a] != 1 for a in axes]):
        msg = f"axes {axis} of shape {tuple(x.shape)} are not all of length one"
        raise ValueError(msg)
    return x.squeeze(tuple(axes))


@v.flip.implement
def flip_torch(x: torch.Tensor, *, axis: Any = None) -> Any:
    """Flip into a copy, as views of PyTorch go forward."""
    return torch.flip(x, _axes(axis, x.ndim))


@v.roll.implement
def roll_torch(x: torch.Tensor, *, shift: Any, axis: Any = None) -> Any:
    """Roll, under PyTorch's own name for the axis, and with one shift for several axes."""
    if axis is None:
        return torch.roll(x, shift if type(shift) is int else sum(shift))
    axes = (axis,) if type(axis) is int else tuple(axis)
    shifts = (shift,) * len(axes) if type(shift) is int else tuple(shift)
    return torch.roll(x, shifts, axes * len(shifts) if len(axes) < len(shifts) else axes)


@v.tile.implement
def tile_torch(x: torch.Tensor, *, repetitions: Any) -> Any:
    """Tile, under PyTorch's own name for the repetitions."""
    return torch.tile(x, repetitions)


def _repeat(x: torch.Tensor, repeats: Any, *, axis: int | None = None) -> Any:
    if isinstance(repeats, torch.Tensor):
        repeats = repeats.to(torch.int64)
        if repeats.ndim == 0 or repeats.shape == (1,):
            n = x.numel() if axis is None else x.shape[axis]
            repeats = repeats.reshape(1).expand(n)
    elif isinstance(repeats, (tuple, list)):
        repeats = torch.asarray(repeats, device=x.device)
    return torch.repeat_interleave(x, repeats, dim=axis)


v.repeat.implement(_repeat, types=(TENSOR, object))


@v.astype.implement
def astype_torch(x: torch.Tensor, *, dtype: Any) -> Any:
    """PyTorch warns of the imaginary part that goes."""
    dtype = dtype_of(dtype)
    if x.is_complex() and not dtype.is_complex:
        x = x.real
    if x.device.type == "mps":  # which has no numbers of 64 bits
        dtype = {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(dtype, dtype)
    return x.to(dtype)


@v.copy.implement
def copy_torch(x: torch.Tensor) -> Any:
    """Copy a tensor, which PyTorch calls ``clone``."""
    return x.clone()


@v.to_device.implement
def to_device_torch(x: torch.Tensor, *, device: Any) -> Any:
    """Move a tensor to a device by its method."""
    return x.to(device)


def _pad(x: torch.Tensor, value: Any, *, widths: Any) -> Any:
    flat = [n for pair in reversed(widths) for n in pair]
    if not isinstance(value, torch.Tensor) and type(value) is not complex:
        return torch.nn.functional.pad(x, flat, value=value)
    pad = torch.nn.functional.pad
    inside = pad(torch.ones_like(x, dtype=torch.bool), flat, value=False)
    x, value = alike(x, value)
    return torch.where(inside, pad(x, flat), value)


entered(v.pad, _pad)


@v.sliding_window_view.implement
def sliding_window_view_torch(x: torch.Tensor, *, window_shape: Any, axis: Any) -> Any:
    """Return a view of sliding windows, in which each new axis comes last."""
    ndim = x.ndim
    for length, a in zip(window_shape, axis, strict=True):
        x = x.unfold(a % ndim, length, 1)
    return x


# ----------------------------------------------------------------------------------- creation


@v.full_like.implement
def full_like_torch(x: torch.Tensor, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """PyTorch's takes no shape."""
    return torch.full(
        tuple(shape), fill, dtype=x.dtype if dtype is None else dtype_of(dtype), device=x.device
    )


@v.zeros_like.implement
def zeros_like_torch(x: torch.Tensor, *, shape: Any = None, dtype: Any = None) -> Any:
    """Make zeros like a tensor; a dtype of NumPy's is taken by its name."""
    if shape is not None:
        return full_like_torch(x, shape=shape, fill=0, dtype=dtype)
    return torch.zeros_like(x, dtype=dtype_of(dtype))


@v.ones_like.implement
def ones_like_torch(x: torch.Tensor, *, dtype: Any = None) -> Any:
    """Make ones like a tensor; a dtype of NumPy's is taken by its name."""
    return torch.ones_like(x, dtype=dtype_of(dtype))


@v.arange_like.implement
def arange_like_torch(x: torch.Tensor, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """On the device of x."""
    n = len(range(start, stop, step))  # none where torch.arange objects to the signs
    return torch.arange(start, stop, step, device=x.device) if n else _no_places(x)


def _no_places(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros((0,), dtype=torch.int64, device=x.device)


@v.eye_like.implement
def eye_like_torch(
    x: torch.Tensor,
    *,
    rows: int,
    columns: int | None = None,
    diagonal: int = 0,
    dtype: Any = None,
) -> Any:
    """torch.eye has the main diagonal only."""
    dtype = x.dtype if dtype is None else dtype_of(dtype)
    columns = rows if columns is None else columns
    i = torch.arange(rows, device=x.device)
    j = torch.arange(columns, device=x.device)
    return (i[:, None] + diagonal == j).to(dtype)


def _linspace(start: Any, stop: Any, *, num: int, endpoint: bool = True, axis: int = 0) -> Any:
    start, stop = alike(start, stop)
    if not (start.is_floating_point() or start.is_complex()):
        start, stop = start.to(torch.get_default_dtype()), stop.to(torch.get_default_dtype())
    shape = torch.broadcast_shapes(start.shape, stop.shape)
    t = torch.arange(num, device=start.device).to(start.dtype)
    t = t.reshape(num, *(1,) * len(shape))
    parts = num - 1 if endpoint else num
    y = start + (stop - start) * (t / parts if parts > 0 else t)
    if endpoint and num > 1:
        y = torch.cat((y[:-1], torch.broadcast_to(stop, shape)[None]))
    return torch.movedim(y, 0, axis)


entered(v.linspace, _linspace)


@v.vander.implement
def vander_torch(x: torch.Tensor, *, columns: int, increasing: bool = False) -> Any:
    """Build a Vandermonde matrix, under PyTorch's own name for the columns."""
    return torch.vander(x, columns, increasing)


# ------------------------------------------------------------------------- joining and sorting


def _concat(*arrays: torch.Tensor, axis: int | None = 0) -> Any:
    return xp.concat(arrays, axis=axis)


def _stack(*arrays: torch.Tensor, axis: int = 0) -> Any:
    return torch.stack(alike(*arrays), dim=axis)


v.concat.implement(_concat, types=(TENSOR,))
v.stack.implement(_stack, types=(TENSOR,))


@v.partition.implement
def partition_torch(x: torch.Tensor, *, kth: Any, axis: int = -1) -> Any:
    """All in order: PyTorch has no partition."""
    return torch.sort(x, dim=axis, stable=True).values


@v.searchsorted.implement
def searchsorted_torch(x1: torch.Tensor, x2: torch.Tensor, *, side: str = "left") -> Any:
    """PyTorch's wants one dtype, and warns of strides."""
    x1, x2 = alike(x1, x2)
    return torch.searchsorted(x1.contiguous(), x2.contiguous(), right=side == "right")


@v.convolve.implement
def convolve_torch(x1: torch.Tensor, x2: torch.Tensor, *, mode: str = "full") -> Any:
    """PyTorch's slides without turning the second, and knows no number it has not."""
    x1, x2 = [torch.atleast_1d(x) for x in alike(x1, x2)]
    if len(x1) < len(x2):
        x1, x2 = x2, x1
    n = len(x2)
    padding = n - 1
    y = torch.nn.functional.conv1d(x1[None, None], x2.flip(0)[None, None], padding=padding)[0, 0]
    if mode == "valid":
        return y[n - 1 : len(x1)]
    if mode == "same":
        first = (n - 1) // 2
        return y[first : first + len(x1)]
    return y


@v.bincount.implement
def bincount_torch(x: torch.Tensor, weights: torch.Tensor, *, minlength: int = 0) -> Any:
    """PyTorch's gives double precision for all weights, and knows no complex ones."""
    n = max(minlength, int(x.max()) + 1 if x.numel() else 0)
    zeros = torch.zeros(n, dtype=weights.dtype, device=weights.device)
    return zeros.index_add(0, x.to(torch.int64), weights)
