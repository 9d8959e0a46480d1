"""Tensors as arrays: their namespace and memory, and numbers combined with them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import torch

from chainrules_kit import is_constant_of_another
from chainrules_py import Scalar
from chainrules_py.extend import (
    Library,
    Memory,
    register_array_type,
    register_leaf,
    see_roots,
    type_info,
)
from chainrules_torch import _private

register_leaf(torch.Size)  # a tuple of integers only

TENSOR: Any = torch.Tensor
"""The class that implementations are dispatched on, including subclasses."""
PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Classes of plain tensors."""
NUMERIC: Any = torch.Tensor | Scalar


def _is_plain_buffer(x: torch.Tensor) -> bool:
    return not x.requires_grad and 0 not in x.stride() and not x.is_inference()


halves: list[Any] = []
"""Active contexts in which code may not read numbers: `Unlost` of the engine."""


def shown(x: torch.Tensor) -> torch.Tensor:
    """Mark a tensor as constant for the halves that run here, so that they may read it."""
    for mode in halves:
        mode.constants[id(x)] = x
    return x


def own(x: torch.Tensor, theirs: tuple[Any, ...]) -> torch.Tensor:
    """Copy a tensor that is a view, broadcast, or shares memory with a tensor of the caller."""
    copied = _private.is_view(x) or 0 in x.stride()
    for y in () if copied else theirs:
        copied = copied or y is x or (isinstance(y, torch.Tensor) and _private.base(y) is x)
    return shown(x.clone()) if copied else x


def owner(x: torch.Tensor) -> Any:
    """Return the tensor that x is a view of, or x."""
    base = _private.base(x)
    return x if base is None else base


def laid_out(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Copy x with the order of axes in memory of ``like``, and without gaps."""
    order = sorted(range(x.ndim), key=lambda axis: -like.stride()[axis])
    back = [order.index(axis) for axis in range(x.ndim)]
    return x.permute(order).clone(memory_format=torch.contiguous_format).permute(back)


def fingerprint(x: torch.Tensor, full: bool) -> Any:
    """Return PyTorch's count of writes, and NumPy's fingerprint of the memory.

    Writes through ``x.data``, ``x.numpy()`` and the storage are not counted. On a device the memory
    is not read, since that would synchronise.
    """
    count = None if x.is_inference() else _private.version(x)
    if type(x) in PLAIN and x.layout is torch.strided and x.is_cpu:
        with contextlib.suppress(RuntimeError):  # a transformation, which may be vmap
            where = x.data_ptr()
            # A compiler's tensors have no address, and their views only an offset.
            if where != x.storage_offset() * x.element_size():
                return count, _of_numpy().fingerprint(np.asarray(_Seen(x, where)), full)
    return count


@functools.cache
def _of_numpy() -> Any:
    """Return the memory functions of NumPy arrays."""
    see_roots({"numpy"})
    return type_info(np.ndarray).memory


class _Seen:
    """Memory of a tensor as a NumPy array interface, without a call that an engine would trace."""

    __slots__ = ("__array_interface__",)

    def __init__(self, x: torch.Tensor, where: int) -> None:
        size = x.element_size()
        self.__array_interface__ = {
            "version": 3,
            "data": (where, True),
            "typestr": f"<c{size}" if size == 16 else f"<u{size}",
            "shape": tuple(x.shape),
            "strides": tuple([size * step for step in x.stride()]),
        }


register_array_type(
    torch.Tensor,
    Library(
        xp,
        mutable=_is_plain_buffer,
        own=own,
        memory=Memory(
            owner=owner, layout=torch.Tensor.stride, laid_out=laid_out, fingerprint=fingerprint
        ),
    ),
)


# ----------------------------------------------------------------------- numbers beside tensors


def number_as(x: Any, like: torch.Tensor) -> torch.Tensor:
    """Convert a number to a 0-d tensor with its dtype beside ``like``; return tensors unchanged."""
    if isinstance(x, torch.Tensor):
        return x
    return torch.asarray(x, dtype=torch.result_type(like, x), device=like.device)


def dtype_of(dtype: Any) -> Any:
    """Return PyTorch's dtype with the name of NumPy's; return None and PyTorch's own unchanged."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    return getattr(torch, np.dtype(dtype).name)


def beside_tensors(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert NumPy arrays among operands to tensors, since PyTorch rejects arrays.

    Beside tensors, constants of other engines become tensors too, and NumPy scalars become Python
    numbers, which do not change the dtype.
    """
    tensors = [x for x in operands if isinstance(x, torch.Tensor)]
    device = tensors[0].device if tensors else None
    if tensors:
        operands = tuple([x.item() if isinstance(x, np.generic) else x for x in operands])
    others = [
        isinstance(x, np.ndarray) or (bool(tensors) and is_constant_of_another(x, PLAIN))
        for x in operands
    ]
    return tuple(
        [
            # A copy: PyTorch may write to the memory, and has no negative strides.
            torch.from_numpy(np.array(native(x), order="C")).to(device) if is_other else x
            for x, is_other in zip(operands, others, strict=True)
        ]
    )


def native(x: Any) -> Any:
    """Return a NumPy array in native byte order, the only one that PyTorch supports."""
    if isinstance(x, np.ndarray | np.generic) and not x.dtype.isnative:
        return x.astype(x.dtype.newbyteorder("="))
    return x


def alike(*xs: Any) -> tuple[torch.Tensor, ...]:
    """Convert tensors and numbers to tensors of one dtype."""
    like = next(x for x in xs if isinstance(x, torch.Tensor))
    tensors = [number_as(x, like) for x in xs]
    dtype = tensors[0].dtype
    if all([x.dtype is dtype for x in tensors]):
        return tuple(tensors)
    dtype = xp.result_type(*tensors)
    return tuple([x.to(dtype) for x in tensors])


def with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a PyTorch function of two tensors of one dtype accept numbers."""
    return lambda x, y: function(*alike(x, y))


_OF_SO_MANY: dict[int, Callable[..., Any]] = {
    1: lambda f: lambda x, **options: f(x, **options),  # noqa: PLW0108
    2: lambda f: lambda x, y, **options: f(x, y, **options),  # noqa: PLW0108
    3: lambda f: lambda x, y, z, **options: f(x, y, z, **options),  # noqa: PLW0108
    4: lambda f: lambda x, y, z, w, **options: f(x, y, z, w, **options),  # noqa: PLW0108
    5: lambda f: lambda x, y, z, w, u, **options: f(x, y, z, w, u, **options),  # noqa: PLW0108
}


def implement(table: Mapping[Any, Callable[..., Any]], types: tuple[Any, ...] = ()) -> None:
    """Register implementations of operations for tensors, or for operands of these types."""
    for operation, function in table.items():
        tensors = (TENSOR,) * (1 if operation.variadic else len(operation.operands))
        operation.implement(function, types=types or tensors)


def entered(operation: Any, function: Callable[..., Any]) -> None:
    """Register an implementation for every mixture of tensors and numbers."""
    n = len(operation.operands)
    function = _OF_SO_MANY[n](function)
    for first in range(n):
        types = (*[Scalar] * first, TENSOR, *[NUMERIC] * (n - first - 1))
        operation.implement(function, types=types)
