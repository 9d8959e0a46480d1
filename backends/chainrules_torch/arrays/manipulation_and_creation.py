"""Operations on shapes, creation, joining and sorting in PyTorch."""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch

from chainrules_kit.fallbacks.manipulation_and_creation import pad_standard
from chainrules_kit.fallbacks.statistics import bincount_standard
from chainrules_py import ops as v
from chainrules_torch.array_types import TENSOR, alike, dtype_of, entered, implement


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """List axes, counted from the front; all axes for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple([a % ndim if ndim else a for a in ((axis,) if type(axis) is int else axis)])


# ------------------------------------------------------------------------------------- shapes


@v.roll.implement
def roll_torch(x: torch.Tensor, *, shift: Any, axis: Any = None) -> Any:
    """Roll along axes; one shift may apply to several axes."""
    if axis is None:
        return torch.roll(x, shift if type(shift) is int else sum(shift))
    axes = (axis,) if type(axis) is int else tuple(axis)
    shifts = (shift,) * len(axes) if type(shift) is int else tuple(shift)
    return torch.roll(x, shifts, axes * len(shifts) if len(axes) < len(shifts) else axes)


def _repeat(x: torch.Tensor, repeats: Any, *, axis: int | None = None) -> Any:
    if isinstance(repeats, torch.Tensor):
        repeats = repeats.to(torch.int64)
        if repeats.ndim == 0 or repeats.shape == (1,):
            n = x.numel() if axis is None else x.shape[axis]
            repeats = repeats.reshape(1).expand(n)
    elif isinstance(repeats, (tuple, list)):
        repeats = torch.asarray(repeats, device=x.device)
    return torch.repeat_interleave(x, repeats, dim=axis)


implement({v.repeat: _repeat}, types=(TENSOR, object))


@v.astype.implement
def astype_torch(x: torch.Tensor, *, dtype: Any) -> Any:
    """Convert the dtype; avoids PyTorch's warning about a dropped imaginary part."""
    dtype = dtype_of(dtype)
    if x.is_complex() and not dtype.is_complex:
        x = x.real
    if x.device.type == "mps":  # which has no numbers of 64 bits
        dtype = {torch.float64: torch.float32, torch.complex128: torch.complex64}.get(dtype, dtype)
    return x.to(dtype)


def _pad(x: torch.Tensor, value: Any, *, widths: Any) -> Any:
    if isinstance(value, torch.Tensor) or type(value) is complex:
        return pad_standard(x, value, widths=widths)
    flat = [n for pair in reversed(widths) for n in pair]
    return torch.nn.functional.pad(x, flat, value=value)


entered(v.pad, _pad)


@v.sliding_window_view.implement
def sliding_window_view_torch(x: torch.Tensor, *, window_shape: Any, axis: Any) -> Any:
    """Return a view of sliding windows; each new axis is last."""
    ndim = x.ndim
    for length, a in zip(window_shape, axis, strict=True):
        x = x.unfold(a % ndim, length, 1)
    return x


# ----------------------------------------------------------------------------------- creation


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


# ------------------------------------------------------------------------- joining and sorting


@v.searchsorted.implement
def searchsorted_torch(x1: torch.Tensor, x2: torch.Tensor, *, side: str = "left") -> Any:
    """Find insertion indices; PyTorch wants one dtype, and warns of non-contiguous tensors."""
    x1, x2 = alike(x1, x2)
    return torch.searchsorted(x1.contiguous(), x2.contiguous(), right=side == "right")


def _full(x: torch.Tensor, shape: Any, fill: Any, dtype: Any) -> torch.Tensor:
    dtype = x.dtype if dtype is None else dtype_of(dtype)
    return torch.full(tuple(shape), fill, dtype=dtype, device=x.device)


def _counted(x: torch.Tensor, places: range) -> torch.Tensor:
    """Return a range as a tensor; empty ranges would make `torch.arange` raise."""
    start, stop = (places.start, places.stop) if len(places) else (0, 0)
    return torch.arange(start, stop, places.step if len(places) else 1, device=x.device)


implement(
    {
        v.reshape: lambda x, *, shape: x.reshape(shape),
        v.permute_dims: lambda x, *, axes=None: x.permute(
            tuple(range(x.ndim - 1, -1, -1)) if axes is None else axes
        ),
        v.matrix_transpose: lambda x: x.mT,
        # A cotangent of one element with axes of length 1 may be broadcast to fewer axes.
        v.broadcast_to: lambda x, *, shape: (
            x.expand(shape) if x.ndim <= len(shape) else x.reshape(shape)
        ),
        v.flip: lambda x, *, axis=None: torch.flip(x, axes_of(axis, x.ndim)),
        v.tile: lambda x, *, repetitions: torch.tile(x, repetitions),
        v.copy: lambda x: x.clone(),
        v.to_device: lambda x, *, device: x.to(device),
        v.full_like: lambda x, *, shape, fill, dtype=None: _full(x, shape, fill, dtype),
        v.zeros_like: lambda x, *, shape=None, dtype=None: (
            torch.zeros_like(x, dtype=dtype_of(dtype))
            if shape is None
            else _full(x, shape, 0, dtype)
        ),
        v.ones_like: lambda x, *, dtype=None: torch.ones_like(x, dtype=dtype_of(dtype)),
        v.arange_like: lambda x, *, stop, start=0, step=1: _counted(x, range(start, stop, step)),
        v.eye_like: lambda x, *, rows, columns=None, diagonal=0, dtype=None: (
            _counted(x, range(diagonal, rows + diagonal))[:, None]
            == _counted(x, range(rows if columns is None else columns))
        ).to(x.dtype if dtype is None else dtype_of(dtype)),
        v.bincount: bincount_standard,
        v.vander: lambda x, *, columns, increasing=False: torch.vander(x, columns, increasing),
        v.concat: lambda *arrays, axis=0: xp.concat(arrays, axis=axis),
        v.stack: lambda *arrays, axis=0: torch.stack(alike(*arrays), dim=axis),
        # PyTorch has no partition.
        v.partition: lambda x, *, kth, axis=-1: torch.sort(x, dim=axis, stable=True).values,
    }
)
