"""PyTorch's functions of shapes and places."""

from __future__ import annotations

import math
from typing import Any

import torch

from chainrules_py import vocabulary as v
from chainrules_py.extend import flatten, untraced
from chainrules_py.extend import manipulation_composites as composites
from chainrules_torch.names.elementwise import to
from chainrules_torch.names.rows import row


def _sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Gather sizes, or axes, that are given one by one or in a sequence."""
    if len(given) == 1 and not isinstance(given[0], int):
        return tuple(given[0])
    return given


def _along(x: Any, dim: int, part: Any) -> Any:
    """Read a part of an axis."""
    return x[(*[slice(None)] * (dim % x.ndim), part)]


# -------------------------------------------------------------------------------------- facts
# They are read off the value, and are no numbers that depend on it.

_FACTS = (
    "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "is_floating_point",
    "is_complex", "is_signed", "is_conj", "is_neg", "element_size", "get_device", "storage_offset",
    "is_same_size", "data_ptr",
)  # fmt: skip
_READ = (
    "is_cpu", "is_cuda", "is_mps", "is_meta", "is_sparse", "is_quantized", "layout", "names",
)  # fmt: skip


def _tensor(x: Any) -> Any:
    """Return the tensor that a value stands for, or one like it where there are no numbers."""
    found = untraced(x)
    if issubclass(type(found), torch.Tensor) or not hasattr(found, "shape"):
        return found
    return torch.empty(tuple(x.shape), dtype=x.dtype, device=x.device)


def _fact(name: str) -> None:
    @row(name)
    def fact(self: Any, *operands: Any) -> Any:
        return getattr(_tensor(self), name)(*map(_tensor, operands))


def _property(name: str) -> None:
    @row(name)
    def read(self: Any) -> Any:
        return getattr(_tensor(self), name)


for _name in _FACTS:
    _fact(_name)
for _name in _READ:
    _property(_name)


def _shaped(names: str, word: Any) -> None:
    """Enter what is made with the shape of a value, and holds nothing of it."""

    @row(names)
    def made(self: Any, *operands: Any, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        return word(_tensor(self), *operands, dtype=dtype, device=device)


for _names, _made in (
    ("torch.zeros_like", torch.zeros_like),
    ("torch.ones_like", torch.ones_like),
    ("Tensor.new_zeros", torch.Tensor.new_zeros),
    ("Tensor.new_ones", torch.Tensor.new_ones),
):
    _shaped(_names, _made)


def _filled(names: str, *, like: bool) -> None:
    """Enter what is full of one number, which may be traced itself."""

    @row(names)
    def full(self: Any, *operands: Any, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        *size, fill = operands
        shape = tuple(self.shape) if like else _sizes(tuple(size))
        whole = torch.empty(shape, dtype=dtype or self.dtype, device=device or self.device)
        if not hasattr(fill, "dtype"):
            return whole.fill_(fill)
        return v.broadcast_to(to(fill, whole.dtype), shape=shape)


_filled("torch.full_like", like=True)
_filled("Tensor.new_full", like=False)


# ------------------------------------------------------------------------------------- shapes


@row("reshape Tensor.view", views=True)
def reshape(self: Any, *shape: Any) -> Any:
    """Return the elements in another shape; in another dtype it is no derivative."""
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        msg = "view() of a traced value takes a shape; write to(dtype) for another dtype"
        raise TypeError(msg)
    return v.reshape(self, shape=_sizes(shape))


@row("reshape_as view_as", views=True)
def reshape_as(self: Any, other: Any) -> Any:
    """Return the elements in the shape of another."""
    return v.reshape(self, shape=tuple(other.shape))


@row("ravel", views=True)
def ravel(self: Any) -> Any:
    """Return the elements in one row."""
    return v.reshape(self, shape=(-1,))


@row("flatten", views=True)
def flat(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Return some axes in one."""
    if self.ndim == 0:
        return v.reshape(self, shape=(1,))
    start, end = start_dim % self.ndim, end_dim % self.ndim
    shape = self.shape
    inner = math.prod(shape[start : end + 1])
    return v.reshape(self, shape=(*shape[:start], inner, *shape[end + 1 :]))


@row("unflatten", views=True)
def unflatten(self: Any, dim: int, sizes: Any) -> Any:
    """One axis in several."""
    dim %= self.ndim
    length, sizes = self.shape[dim], list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = length // -math.prod(sizes)
    return v.reshape(self, shape=(*self.shape[:dim], *sizes, *self.shape[dim + 1 :]))


@row("squeeze", views=True)
def squeeze(self: Any, dim: Any = None) -> Any:
    """Without axes of length one; PyTorch leaves the others."""
    if dim is None or self.ndim == 0:
        return v.squeeze(self) if self.ndim else self
    axes = [axis % self.ndim for axis in ((dim,) if isinstance(dim, int) else dim)]
    return v.squeeze(self, axis=tuple([axis for axis in axes if self.shape[axis] == 1]))


@row("unsqueeze", views=True)
def unsqueeze(self: Any, dim: int) -> Any:
    """One more axis."""
    return v.expand_dims(self, axis=dim)


@row("expand", views=True)
def expand(self: Any, *size: Any) -> Any:
    """Repeated along axes of length one."""
    sizes = _sizes(size)
    mine = (*[1] * (len(sizes) - self.ndim), *self.shape)
    shape = tuple([n if m == -1 else m for n, m in zip(mine, sizes, strict=True)])
    return v.broadcast_to(self, shape=shape)


@row("broadcast_to", views=True)
def broadcast_to(self: Any, size: Any) -> Any:
    """Repeated along axes of length one."""
    return expand(self, *size)


@row("expand_as", views=True)
def expand_as(self: Any, other: Any) -> Any:
    """Repeated to the shape of another."""
    return v.broadcast_to(self, shape=tuple(other.shape))


@row("Tensor.repeat")
def repeat(self: Any, *repeats: Any) -> Any:
    """Return copies, side by side."""
    return v.tile(self, repetitions=_sizes(repeats))


@row("tile")
def tile(self: Any, *dims: Any) -> Any:
    """Return copies, side by side."""
    dims = _sizes(dims)
    return v.tile(self, repetitions=(*[1] * (self.ndim - len(dims)), *dims))


@row("repeat_interleave")
def repeat_interleave(self: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Any:
    """Return copies of each element, one behind the other."""
    return v.repeat(self, repeats, axis=dim)


# --------------------------------------------------------------------------------------- axes


@row("permute", views=True)
def permute(self: Any, *dims: Any) -> Any:
    """Return the axes in another order."""
    axes = tuple([axis % self.ndim for axis in _sizes(dims)])
    return v.permute_dims(self, axes=axes)


@row("transpose swapaxes swapdims", views=True)
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two axes in each other's place."""
    return composites.swapaxes(self, dim0, dim1) if self.ndim else self


@row("movedim moveaxis", views=True)
def movedim(self: Any, source: Any, destination: Any) -> Any:
    """Axes in another place."""
    return composites.moveaxis(self, source, destination)


@row("t Tensor.T", views=True)
def t(self: Any) -> Any:
    """Return the transpose."""
    return v.permute_dims(self)


@row("Tensor.mT", views=True)
def matrix_transpose(self: Any) -> Any:
    """Return the transposes of matrices."""
    return v.matrix_transpose(self)


@row("Tensor.mH Tensor.H adjoint", views=True)
def adjoint(self: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return v.conj(v.matrix_transpose(self))


@row("Tensor.real torch.real", views=True)
def real(self: Any) -> Any:
    """Return the real part."""
    return v.real(self) if self.dtype.is_complex else self


@row("flip")
def flip(self: Any, *dims: Any) -> Any:
    """Backwards."""
    return v.flip(self, axis=_sizes(dims))


@row("fliplr")
def fliplr(self: Any) -> Any:
    """Return the columns backwards."""
    return v.flip(self, axis=1)


@row("flipud")
def flipud(self: Any) -> Any:
    """Return the rows backwards."""
    return v.flip(self, axis=0)


@row("rot90")
def rot90(self: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Return turned."""
    return composites.rot90(self, k, tuple(dims))


@row("roll")
def roll(self: Any, shifts: Any, dims: Any = None) -> Any:
    """Pushed around."""
    if self.ndim == 0:
        return self
    each: Any = lambda x: x if x is None or isinstance(x, int) else tuple(x)
    axes = each(dims)
    return v.roll(self, shift=each(shifts), axis=None if axes == () else axes)


# -------------------------------------------------------------------------------------- parts


@row("narrow", views=True)
def narrow(self: Any, dim: int, start: Any, length: int) -> Any:
    """Return a stretch of an axis."""
    start = int(start) % max(self.shape[dim], 1) if start < 0 else int(start)
    return _along(self, dim, slice(start, start + length))


@row("select", views=True)
def select(self: Any, dim: int, index: int) -> Any:
    """One place of an axis."""
    return _along(self, dim, index)


@row("unbind", views=True)
def unbind(self: Any, dim: int = 0) -> Any:
    """All places of an axis."""
    return tuple([_along(self, dim, i) for i in range(self.shape[dim])])


def _cut(x: Any, ends: list[int], dim: int) -> tuple[Any, ...]:
    starts = [0, *ends[:-1]]
    return tuple([_along(x, dim, slice(i, j)) for i, j in zip(starts, ends, strict=True)])


@row("split split_with_sizes", views=True)
def split(self: Any, split_size: Any, dim: int = 0) -> Any:
    """Stretches of an axis."""
    length = self.shape[dim]
    if isinstance(split_size, int):
        ends = [min(end + split_size, length) for end in range(0, max(length, 1), split_size)]
    else:
        ends = [sum(split_size[: i + 1]) for i in range(len(split_size))]
    return _cut(self, ends, dim)


@row("chunk", views=True)
def chunk(self: Any, chunks: int, dim: int = 0) -> Any:
    """At most so many stretches of an axis, of one length."""
    return split(self, max(-(-self.shape[dim] // chunks), 1), dim)


@row("diagonal torch.linalg.diagonal", views=True)
def diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return the diagonal of two axes."""
    return v.diagonal(composites.moveaxis(self, (dim1, dim2), (-2, -1)), offset=offset)


@row("diag")
def diag(self: Any, diagonal: int = 0) -> Any:
    """Return the diagonal of a matrix, or a matrix of a diagonal."""
    return composites.diag(self, diagonal)


@row("diag_embed")
def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices of diagonals."""
    size = self.shape[-1] + abs(offset)
    y = v.from_diagonal(self, rows=size, columns=size, offset=offset)
    return composites.moveaxis(y, (-2, -1), (dim1, dim2))


@row("tril")
def tril(self: Any, diagonal: int = 0) -> Any:
    """Return what is below a diagonal."""
    return v.tril(self, k=diagonal)


@row("triu")
def triu(self: Any, diagonal: int = 0) -> Any:
    """Return what is above a diagonal."""
    return v.triu(self, k=diagonal)


# ------------------------------------------------------------------------------------- places


@row("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    """Return some places of an axis."""
    if self.ndim == 0:
        return self
    return v.take(self, v.reshape(index, shape=(-1,)), axis=dim)


@row("take")
def take(self: Any, index: Any) -> Any:
    """Return some of all elements."""
    return v.take(v.reshape(self, shape=(-1,)), index, axis=0)


@row("gather")
def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Return an element for each place along an axis."""
    if self.ndim == 0 or index.ndim == 0:
        y = v.take(v.reshape(self, shape=(-1,)), v.reshape(index, shape=(-1,)), axis=0)
        return v.reshape(y, shape=tuple(index.shape))
    if index.ndim != self.ndim:  # of no elements
        return v.reshape(v.reshape(self, shape=(-1,))[:0], shape=tuple(index.shape))
    axes = enumerate(index.shape)
    part = tuple([slice(None) if i == dim % self.ndim else slice(n) for i, n in axes])
    return v.take_along_axis(self[part], to(index, torch.int64), axis=dim)


@row("take_along_dim")
def take_along_dim(self: Any, indices: Any, dim: Any = None) -> Any:
    """Return an element for each place along an axis."""
    if dim is None:
        x, at = (v.reshape(x, shape=(-1,)) for x in (self, indices))
        return v.take_along_axis(x, at, axis=0)
    dim %= self.ndim
    ends = lambda x: (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    shape = torch.broadcast_shapes(ends(self), ends(indices))
    x, at = (
        v.broadcast_to(x, shape=(*shape[:dim], x.shape[dim], *shape[dim + 1 :]))
        for x in (self, indices)
    )
    return v.take_along_axis(x, at, axis=dim)


@row("masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    """Return the elements where a mask says so."""
    shape = torch.broadcast_shapes(tuple(self.shape), tuple(mask.shape))
    shape = tuple(shape) or (1,)
    return v.broadcast_to(self, shape=shape)[v.broadcast_to(mask, shape=shape)]


# ------------------------------------------------------------------------------------ together


def _alike(tensors: Any) -> list[Any]:
    """Values of one dtype, as PyTorch puts them together."""
    each = flatten(tuple(tensors))[0]
    dtype = each[0].dtype
    for x in each:
        dtype = torch.promote_types(dtype, x.dtype)
    return [to(x, dtype) for x in each]


@row("torch.stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    """Values along a new axis."""
    return v.stack(*_alike(tensors), axis=dim)


@row("torch.cat torch.concat torch.concatenate")
def cat(tensors: Any, dim: int = 0) -> Any:
    """Values one behind the other."""
    each = _alike(tensors)
    full = [x for x in each if tuple(x.shape) != (0,)]  # beside matrices these are left out
    return v.concat(*(full or each), axis=dim)


@row("torch.hstack")
def hstack(tensors: Any) -> Any:
    """Values side by side."""
    each = [v.reshape(x, shape=(1,)) if x.ndim == 0 else x for x in _alike(tensors)]
    return v.concat(*each, axis=0 if each[0].ndim == 1 else 1)


@row("torch.vstack torch.row_stack")
def vstack(tensors: Any) -> Any:
    """Values below each other."""
    each = [v.reshape(x, shape=(1, -1)) if x.ndim < 2 else x for x in _alike(tensors)]
    return v.concat(*each, axis=0)
