# ruff: noqa: A006, PLW0108 -- the names of parameters are PyTorch's
"""PyTorch's functions and methods, for values of the tape that stand for tensors.

A value that one of our engines differentiates has PyTorch's methods, and PyTorch's functions accept
it: `torch.exp(x)`, ``x.exp()``. The tables map each name to an operation. A name without a dot is
both the method and the function; a name with a dot is one of them: ``Tensor.where``,
``torch.where``.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from chainrules_py import UnsupportedKeywordError, extend, ignore_derivatives
from chainrules_py import ops as v
from chainrules_py.extend import alias, flatten, untraced, viewers

_results: Any = torch.return_types
_ALSO = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "x2": "other"}
"""Keyword names that PyTorch accepts for its own."""


def _is_asked(x: Any) -> bool:
    return x is not None and x is not False


def natives(name: str) -> Iterator[Any]:
    """Yield the method or property, and the function, that have a name."""
    paths = [name.removeprefix("torch.")] if "." in name else [f"Tensor.{name}", name]
    for path in paths:
        with contextlib.suppress(AttributeError):  # missing in this version of PyTorch
            yield operator.attrgetter(path)(torch)


def operation(names: str, f: Callable[..., Any]) -> None:
    """Register an operation of one or two operands under names separated by spaces."""
    mine = f.operands  # type: ignore[attr-defined]
    theirs: dict[str, str] = dict(zip(("self", "other"), mine, strict=False))
    for name in names.split():
        for native in natives(name):
            alias(native, to=f, parameters=dict.fromkeys(theirs), rename=theirs)


def row(names: str, *, views: bool = False) -> Callable[[Any], Any]:
    """Register a function with PyTorch's own parameters under names separated by spaces.

    Parameters
    ----------
    names : str
        The names.
    views : bool
        Whether PyTorch returns a view of its operand.
    """

    def enter(f: Any) -> Any:
        known = inspect.signature(f).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in known.values())
        rest = next((n for n, p in known.items() if p.kind is p.VAR_POSITIONAL), None)

        @functools.wraps(f)
        def called(*operands: Any, **keywords: Any) -> Any:
            given = {n if n in known else _ALSO.get(n, n): x for n, x in keywords.items()}
            written = [n for n in ("out", "inplace") if _is_asked(given.pop(n, None))]
            lost = written or ([] if free else [n for n in given if n not in known])
            if lost:
                raise UnsupportedKeywordError(
                    f"{names.split(maxsplit=1)[0]}() of a traced value takes no {', '.join(lost)}"
                )
            more = (given.pop(rest),) if rest in given else ()
            return f(*operands, *more, **given)

        del called.__wrapped__
        for name in names.split():
            for native in natives(name):
                alias(native, to=called, parameters={})
                if views:
                    viewers.add(native)
        return f

    return enter


# ------------------------------------------------------------------------------- arguments


def _axes(dim: Any) -> Any:
    """Return axes as operations take them: PyTorch's empty tuple means all axes."""
    return dim if dim is None or isinstance(dim, int) else tuple(dim) or None


def _gathered(given: Any) -> Any:
    """Return arguments that are passed one by one or as a sequence as a tuple."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], Sequence) else given


def _pairs(dims: Any) -> Any:
    return dims if isinstance(dims, int) else tuple(map(tuple, dims))


def _given(**options: Any) -> dict[str, Any]:
    return {name: x for name, x in options.items() if x is not None}


def to(
    self: Any,
    *operands: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return x with another dtype, or on another device."""
    for x in operands:
        if isinstance(x, torch.dtype):
            dtype = x
        elif isinstance(x, (str, torch.device)):
            device = x
        elif not isinstance(x, bool):
            dtype, device = x.dtype, x.device
    if dtype not in (None, self.dtype):
        self = v.astype(self, dtype=dtype)
    if device is not None and torch.device(device) != self.device:
        self = v.to_device(self, device=device)
    return self


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else to(x, dtype)


def _tensor(x: Any) -> Any:
    """Return the tensor that a value stands for, or an empty one if it has no numbers."""
    found = untraced(x)
    if issubclass(type(found), torch.Tensor) or not hasattr(found, "shape"):
        return found
    return torch.empty(tuple(x.shape), dtype=x.dtype, device=x.device)


def _alike(tensors: Any) -> list[Any]:
    """Convert values to their common dtype, as PyTorch does in joins."""
    each = flatten(tuple(tensors))[0]
    dtype = functools.reduce(torch.promote_types, [x.dtype for x in each])
    return [to(x, dtype) for x in each]


# ---------------------------------------------------------------------------------- parts

_DIVIDED: dict[Any, Callable[[Any, Any], Any]] = {
    None: v.divide,
    "floor": v.floor_divide,  # 1.0 // 0.1 is 9, and 1.0 / 0.1 is 10
    "trunc": lambda x, y: v.trunc(v.divide(x, y)),
}


def _reduced(operation: Any) -> Callable[..., Any]:
    def reduced(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        axis = None if self.ndim == 0 else _axes(dim)
        return operation(_cast(self, dtype), axis=axis, keepdims=keepdim and self.ndim > 0)

    return reduced


def _spread(operation: Any) -> Callable[..., Any]:
    def spread(
        self: Any,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        count = int(unbiased) if correction is None else correction
        return operation(self, axis=_axes(dim), keepdims=keepdim, correction=count)

    return spread


def _along_one(operation: Any) -> Callable[..., Any]:
    def along(self: Any, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Any:
        x = _cast(self, dtype)
        if x.ndim:
            return operation(x, axis=dim)
        return v.reshape(operation(v.reshape(x, shape=(1,)), axis=0), shape=())

    return along


def _along(x: Any, dim: int, part: Any) -> Any:
    return x[(*[slice(None)] * (dim % x.ndim), part)]


def _order(x: Any, dim: int, descending: bool) -> Any:
    return v.argsort(x, axis=dim, descending=descending) if x.ndim else v.argmax(x)


def _at(x: Any, places: Any, dim: int, keepdim: bool = True) -> tuple[Any, Any]:
    """Return the elements at indices along an axis, and the indices."""
    if x.ndim == 0:
        return x, places
    y = v.take_along_axis(x, places, axis=dim)
    return (y, places) if keepdim else (v.squeeze(y, axis=dim), v.squeeze(places, axis=dim))


def _extreme(name: str, whole: Any, between: Any, places: Any) -> Callable[..., Any]:
    """Make an extreme: of all elements, of two values, or along an axis with its indices."""

    def extreme(self: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = other if other is not None or isinstance(dim, (int, type(None))) else dim
        if other is not None:
            return between(self, other)
        if dim is None:
            return whole(self)
        at = places(self, axis=dim, keepdims=True) if self.ndim else v.argmax(self)
        return getattr(_results, name)(_at(self, at, dim, keepdim))

    return extreme


def _expanded(x: Any, sizes: tuple[int, ...]) -> Any:
    mine = (*[1] * (len(sizes) - x.ndim), *x.shape)
    shape = tuple([n if m == -1 else m for n, m in zip(mine, sizes, strict=True)])
    return v.broadcast_to(x, shape=shape)


def _beside(x: Any, dim: int, places: Any) -> Any:
    """Return the part of a value that indices along an axis cover."""
    axes = enumerate(places.shape)
    return x[tuple([slice(None) if i == dim % x.ndim else slice(n) for i, n in axes])]


def _split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    length = self.shape[dim]
    if isinstance(split_size, int):
        starts = range(0, max(length, 1), max(split_size, 1))
        split_size = [min(split_size, length - i) for i in starts]
    ends = [sum(split_size[: i + 1]) for i in range(len(split_size))]
    cuts = zip((0, *ends), ends, strict=False)
    return tuple([_along(self, dim, slice(i, j)) for i, j in cuts])


def _transform(operation: Any) -> Callable[..., Any]:
    return lambda self, n=None, dim=-1, norm=None: operation(
        self, n=n, axis=dim, norm=norm or "backward"
    )


def _shaped(make: Any) -> Callable[..., Any]:
    """Make a function that returns new tensors of the shape of a value."""

    def made(self: Any, *operands: Any, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        return make(_tensor(self), *operands, dtype=dtype, device=device)

    return made


def _full(x: Any, shape: Any, fill: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    """Fill with one number, which may be traced itself."""
    like = torch.empty(tuple(shape), dtype=dtype or x.dtype, device=device or x.device)
    return (
        v.broadcast_to(to(fill, like), shape=like.shape)
        if hasattr(fill, "dtype")
        else like.fill_(fill)
    )


@row("reshape Tensor.view", views=True)
def reshape(self: Any, *shape: Any) -> Any:
    """Return the elements in another shape; a view with another dtype has no derivative."""
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        raise TypeError("view() of a traced value takes a shape; write to(dtype) for another dtype")
    return v.reshape(self, shape=_gathered(shape))


@row("flatten", views=True)
def flat(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Flatten a range of axes."""
    shape = tuple(self.shape) or (1,)
    start, end = start_dim % len(shape), end_dim % len(shape)
    inner = math.prod(shape[start : end + 1])
    return v.reshape(self, shape=(*shape[:start], inner, *shape[end + 1 :]))


@row("squeeze", views=True)
def squeeze(self: Any, dim: Any = None) -> Any:
    """Remove axes of length one; other axes remain, as in PyTorch."""
    if dim is None or self.ndim == 0:
        return v.squeeze(self) if self.ndim else self
    axes = [axis % self.ndim for axis in ((dim,) if isinstance(dim, int) else dim)]
    return v.squeeze(self, axis=tuple([axis for axis in axes if self.shape[axis] == 1]))


@row("torch.linalg.solve")
def solve(self: Any, B: Any, *, left: bool = True) -> Any:
    """Return the solution of linear equations."""
    if not left:
        return v.matrix_transpose(v.solve(v.matrix_transpose(self), v.matrix_transpose(B)))
    if B.ndim > 1 and tuple(B.shape) == tuple(self.shape[:-1]):  # a stack of vectors
        return v.squeeze(v.solve(self, v.expand_dims(B, axis=-1)), axis=-1)
    return v.solve(self, B)


# --------------------------------------------------------------------------------- tables

_OPERATIONS: tuple[tuple[str, Any], ...] = (
    ("abs absolute", v.abs),
    ("acos arccos", v.acos),
    ("acosh arccosh", v.acosh),
    ("asin arcsin", v.asin),
    ("asinh arcsinh", v.asinh),
    ("atan arctan", v.atan),
    ("atanh arctanh", v.atanh),
    ("ceil", v.ceil),
    ("conj conj_physical", v.conj),
    ("cos", v.cos),
    ("cosh", v.cosh),
    ("deg2rad", v.deg2rad),
    ("digamma special.digamma special.psi", v.digamma),
    ("erf special.erf", v.erf),
    ("erfc special.erfc", v.erfc),
    ("erfinv special.erfinv", v.erfinv),
    ("exp", v.exp),
    ("exp2 special.exp2", v.exp2),
    ("expm1 special.expm1", v.expm1),
    ("fix trunc", v.trunc),
    ("floor", v.floor),
    ("i0 special.i0", v.i0),
    ("imag", v.imag),
    ("isfinite", v.isfinite),
    ("isinf", v.isinf),
    ("isnan", v.isnan),
    ("lgamma special.gammaln", v.gammaln),
    ("log", v.log),
    ("log10", v.log10),
    ("log1p special.log1p", v.log1p),
    ("log2", v.log2),
    ("logical_not", v.logical_not),
    ("neg negative", v.negative),
    ("positive", v.positive),
    ("rad2deg", v.rad2deg),
    ("reciprocal", v.reciprocal),
    ("sigmoid special.expit nn.functional.sigmoid", v.expit),
    ("sgn sign", v.sign),
    ("signbit", v.signbit),
    ("sin", v.sin),
    ("sinc special.sinc", v.sinc),
    ("sinh", v.sinh),
    ("sqrt", v.sqrt),
    ("square", v.square),
    ("tan", v.tan),
    ("tanh nn.functional.tanh", v.tanh),
    ("special.bessel_j0", v.j0),
    ("special.bessel_j1", v.j1),
    ("special.bessel_y0", v.y0),
    ("special.bessel_y1", v.y1),
    ("special.entr", v.entr),
    ("special.erfcx", v.erfcx),
    ("special.i0e", v.i0e),
    ("special.i1", v.i1),
    ("special.i1e", v.i1e),
    ("special.log_ndtr", v.log_ndtr),
    ("special.ndtr", v.ndtr),
    ("special.ndtri", v.ndtri),
    ("nn.functional.logsigmoid", v.log_expit),
    ("add", v.add),
    ("atan2 arctan2", v.atan2),
    ("bitwise_and", v.bitwise_and),
    ("bitwise_or", v.bitwise_or),
    ("bitwise_xor", v.bitwise_xor),
    ("copysign", v.copysign),
    ("eq", v.equal),
    ("floor_divide", v.floor_divide),
    ("fmax", v.fmax),
    ("fmin", v.fmin),
    ("fmod", v.fmod),
    ("ge greater_equal", v.greater_equal),
    ("gt greater", v.greater),
    ("heaviside", v.heaviside),
    ("hypot", v.hypot),
    ("igamma special.gammainc", v.gammainc),
    ("igammac special.gammaincc", v.gammaincc),
    ("le less_equal", v.less_equal),
    ("logaddexp", v.logaddexp),
    ("logaddexp2", v.logaddexp2),
    ("logical_and", v.logical_and),
    ("logical_or", v.logical_or),
    ("logical_xor", v.logical_xor),
    ("lt less", v.less),
    ("maximum", v.maximum),
    ("minimum", v.minimum),
    ("mul multiply", v.multiply),
    ("ne not_equal", v.not_equal),
    ("nextafter", v.nextafter),
    ("pow Tensor.__pow__", v.pow),
    ("remainder", v.remainder),
    ("xlogy special.xlogy", v.xlogy),
    ("special.xlog1py", v.xlog1py),
    ("sub subtract", v.subtract),
    ("special.zeta", v.zeta),
    ("matmul mm bmm linalg.matmul", v.matmul),
    ("inner", v.inner),
    ("outer ger", v.outer),
    ("det linalg.det", v.det),
    ("inverse linalg.inv", v.inv),
    ("matrix_exp linalg.matrix_exp", v.expm),
    ("linalg.eigvals", v.eigvals),
    ("linalg.svdvals", v.svdvals),
)


_ROWS: tuple[tuple[str, Any], ...] = (
    (
        "round special.round",
        lambda self, *, decimals=0: (
            v.round_decimals(self, decimals=decimals) if decimals else v.round(self)
        ),
    ),
    ("rsqrt", lambda self: v.reciprocal(v.sqrt(self))),
    ("cholesky torch.linalg.cholesky", lambda self, upper=False: v.cholesky(self, upper=upper)),
    (
        "clamp clip",
        lambda self, min=None, max=None: extend.elementwise_composites.bounded(self, min, max),
    ),
    ("relu nn.functional.relu", lambda self: v.where(v.less_equal(self, 0), 0.0, self)),
    ("Tensor.where", lambda self, condition, other: v.where(condition, self, other)),
    ("torch.where", lambda condition, self, other: v.where(condition, self, other)),
    ("masked_fill", lambda self, mask, value: v.where(mask, value, self)),
    ("clone", lambda self, *, memory_format=None: v.copy(self)),
    ("count_nonzero", lambda self, dim=None: v.count_nonzero(self, axis=_axes(dim))),
    ("Tensor.repeat", lambda self, *repeats: v.tile(self, repetitions=_gathered(repeats))),
    (
        "repeat_interleave",
        lambda self, repeats, dim=None, *, output_size=None: v.repeat(self, repeats, axis=dim),
    ),
    ("flip", lambda self, *dims: v.flip(self, axis=_gathered(dims))),
    ("diag", lambda self, diagonal=0: extend.manipulation_composites.diag(self, diagonal)),
    ("tril", lambda self, diagonal=0: v.tril(self, k=diagonal)),
    ("triu", lambda self, diagonal=0: v.triu(self, k=diagonal)),
    ("torch.stack", lambda tensors, dim=0: v.stack(*_alike(tensors), axis=dim)),
    ("mv", lambda self, vec: v.matmul(self, vec)),
    ("dot", lambda self, tensor: v.matmul(self, tensor)),
    ("vdot", lambda self, other: v.matmul(v.conj(self), other)),
    ("torch.linalg.vecdot", lambda self, other, *, dim=-1: v.vecdot(self, other, axis=dim)),
    ("trace", lambda self: v.trace(self)),
    (
        "matrix_power torch.linalg.matrix_power",
        lambda self, n: extend.products_composites.matrix_power(self, n),
    ),
    (
        "torch.linalg.svd",
        lambda self, full_matrices=True: _results.linalg_svd(
            tuple(v.svd(self, full_matrices=full_matrices))
        ),
    ),
    (
        "torch.linalg.eigh",
        lambda self, UPLO="L": _results.linalg_eigh(tuple(v.eigh(self, upper=UPLO.upper() == "U"))),
    ),
    ("torch.linalg.eigvalsh", lambda self, UPLO="L": v.eigvalsh(self, upper=UPLO.upper() == "U")),
    (
        "torch.linalg.vector_norm",
        lambda self, ord=2, dim=None, keepdim=False: v.vector_norm(
            self, ord=ord, axis=_axes(dim), keepdims=keepdim
        ),
    ),
    (
        "div divide true_divide",
        lambda self, other, *, rounding_mode=None: _DIVIDED[rounding_mode](self, other),
    ),
    ("std", _spread(v.std)),
    ("var", _spread(v.var)),
    ("sum", _reduced(v.sum)),
    ("mean", _reduced(v.mean)),
    ("prod", _reduced(v.prod)),
    ("all", _reduced(v.all)),
    ("any", _reduced(v.any)),
    ("amax", _reduced(v.max)),
    ("amin", _reduced(v.min)),
    ("argmax", _reduced(v.argmax)),
    ("argmin", _reduced(v.argmin)),
    ("logsumexp special.logsumexp", _reduced(v.logsumexp)),
    ("max", _extreme("max", v.max, v.maximum, v.argmax)),
    ("min", _extreme("min", v.min, v.minimum, v.argmin)),
    ("cumsum", _along_one(v.cumulative_sum)),
    ("cumprod", _along_one(v.cumulative_prod)),
    ("softmax special.softmax nn.functional.softmax", _along_one(v.softmax)),
    ("log_softmax special.log_softmax nn.functional.log_softmax", _along_one(v.log_softmax)),
    (
        "diff",
        lambda self, n=1, dim=-1, prepend=None, append=None: extend.reductions_composites.diff(
            self, n, dim, **_given(prepend=prepend, append=append)
        ),
    ),
    (
        "tile",
        lambda self, *dims: v.tile(
            self, repetitions=(*[1] * (self.ndim - len(_gathered(dims))), *_gathered(dims))
        ),
    ),
    (
        "roll",
        lambda self, shifts, dims=None: (
            v.roll(self, shift=_axes(shifts), axis=_axes(dims)) if self.ndim else self
        ),
    ),
    (
        "index_select",
        lambda self, dim, index: (
            v.take(self, v.reshape(index, shape=(-1,)), axis=dim) if self.ndim else self
        ),
    ),
    (
        "cross",  # by default along the first axis of three
        lambda self, other, dim=None: extend.products_composites.cross_of_three(
            self, other, axis=[*self.shape].index(3) if dim is None else dim
        ),
    ),
    (
        "torch.linalg.cross",
        lambda self, other, *, dim=-1: extend.products_composites.cross_of_three(
            self, other, axis=dim
        ),
    ),
    ("tensordot torch.tensordot", lambda a, b, dims=2: v.tensordot(a, b, axes=_pairs(dims))),
    (
        "torch.einsum",
        lambda equation, *operands: extend.products_composites.einsum(
            (equation.replace(" ", ""), *_gathered(operands))
        ),
    ),
    (
        "nn.functional.linear",
        lambda self, weight, bias=None: v.add(
            v.matmul(self, v.matrix_transpose(weight) if weight.ndim > 1 else weight),
            0.0 if bias is None else bias,
        ),
    ),
    ("torch.fft.fft", _transform(v.fft)),
    ("torch.fft.ifft", _transform(v.ifft)),
    ("torch.fft.rfft", _transform(v.rfft)),
    ("torch.fft.irfft", _transform(v.irfft)),
    ("torch.zeros_like", _shaped(torch.zeros_like)),
    ("torch.ones_like", _shaped(torch.ones_like)),
    ("Tensor.new_zeros", _shaped(torch.Tensor.new_zeros)),
    ("Tensor.new_ones", _shaped(torch.Tensor.new_ones)),
    ("slogdet torch.linalg.slogdet", lambda self: _results.linalg_slogdet(tuple(v.slogdet(self)))),
    (
        "qr torch.linalg.qr",
        lambda self, mode="reduced": _results.linalg_qr(tuple(v.qr(self, mode=mode))),
    ),
    (
        "torch.cat torch.concat torch.concatenate",
        lambda tensors, dim=0: v.concat(*_alike(tensors), axis=dim),
    ),
    (
        "gather",
        lambda self, dim, index, *, sparse_grad=False: v.take_along_axis(
            _beside(self, dim, index), index, axis=dim
        ),
    ),
    (
        "sort",
        lambda self, dim=-1, descending=False, stable=False: _results.sort(
            _at(self, _order(self, dim, descending), dim)
        ),
    ),
    ("argsort", lambda self, dim=-1, descending=False, stable=False: _order(self, dim, descending)),
    (
        "norm",
        lambda self, p="fro", dim=None, keepdim=False, dtype=None: (
            extend.products_composites.norm(_cast(self, dtype), p, _axes(dim) or (-2, -1), keepdim)
            if p == "nuc"
            else v.vector_norm(
                _cast(self, dtype),
                ord=2 if p in ("fro", None) else p,  # pyright: ignore[reportArgumentType]
                axis=_axes(dim),
                keepdims=keepdim,
            )
        ),
    ),
    (
        "torch.linalg.norm",
        lambda self, ord=None, dim=None, keepdim=False, *, dtype=None: (
            extend.products_composites.norm(_cast(self, dtype), ord, _axes(dim), keepdim)
        ),
    ),
    (
        "torch.linalg.matrix_norm",
        lambda self, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None: (
            extend.products_composites.norm(_cast(self, dtype), ord, _axes(dim), keepdim)
        ),
    ),
    (
        "torch.full_like",
        lambda self, fill_value, **options: _full(self, self.shape, fill_value, **options),
    ),
    (
        "Tensor.new_full",
        lambda self, size, fill_value, **options: _full(self, size, fill_value, **options),
    ),
)

_VIEWS: tuple[tuple[str, Any], ...] = (
    ("contiguous resolve_conj resolve_neg", lambda self, memory_format=None: self),
    ("Tensor.detach torch.detach Tensor.data", lambda self: ignore_derivatives(self)),
    ("Tensor.type_as", lambda self, other: to(self, other.dtype)),
    ("Tensor.cpu", lambda self: to(self, "cpu")),
    ("reshape_as view_as", lambda self, other: v.reshape(self, shape=tuple(other.shape))),
    ("ravel", lambda self: v.reshape(self, shape=(-1,))),
    ("unsqueeze", lambda self, dim: v.expand_dims(self, axis=dim)),
    ("broadcast_to", lambda self, size: _expanded(self, tuple(size))),
    ("expand_as", lambda self, other: v.broadcast_to(self, shape=tuple(other.shape))),
    (
        "transpose swapaxes swapdims",
        lambda self, dim0, dim1: (
            extend.manipulation_composites.swapaxes(self, dim0, dim1) if self.ndim else self
        ),
    ),
    (
        "movedim moveaxis",
        lambda self, source, destination: extend.manipulation_composites.moveaxis(
            self, source, destination
        ),
    ),
    ("t Tensor.T", lambda self: v.permute_dims(self)),
    ("Tensor.mT", lambda self: v.matrix_transpose(self)),
    ("Tensor.mH Tensor.H adjoint", lambda self: v.conj(v.matrix_transpose(self))),
    ("Tensor.real torch.real", lambda self: v.real(self) if self.dtype.is_complex else self),
    ("select", lambda self, dim, index: _along(self, dim, index)),
    ("unbind", lambda self, dim=0: tuple([_along(self, dim, i) for i in range(self.shape[dim])])),
    ("split split_with_sizes", _split),
    ("chunk", lambda self, chunks, dim=0: _split(self, max(-(-self.shape[dim] // chunks), 1), dim)),
    ("Tensor.to", to),
    ("expand", lambda self, *size: _expanded(self, _gathered(size))),
    (
        "permute",
        lambda self, *dims: v.permute_dims(
            self, axes=tuple([axis % self.ndim for axis in _gathered(dims)])
        ),
    ),
    (
        "diagonal torch.linalg.diagonal",
        lambda self, offset=0, dim1=0, dim2=1: v.diagonal(
            extend.manipulation_composites.moveaxis(self, (dim1, dim2), (-2, -1)), offset=offset
        ),
    ),
)

_DTYPES = {
    "double": torch.float64, "float": torch.float32, "half": torch.float16,
    "bfloat16": torch.bfloat16, "cfloat": torch.complex64, "cdouble": torch.complex128,
    "long": torch.int64, "int": torch.int32, "bool": torch.bool,
}  # fmt: skip
_FACTS = (
    "dim", "ndimension", "numel", "nelement", "stride", "is_contiguous", "is_floating_point",
    "is_complex", "element_size", "get_device",
)  # fmt: skip
"""Methods that describe a tensor without depending on its numbers."""
_READ = ("is_cpu", "is_cuda", "is_mps", "is_meta", "is_sparse", "layout")


def _fact(name: str) -> Callable[..., Any]:
    return lambda self, *operands: getattr(_tensor(self), name)(*map(_tensor, operands))


def _read(name: str) -> Callable[[Any], Any]:
    return lambda self: getattr(_tensor(self), name)


def _converted(dtype: torch.dtype) -> Callable[..., Any]:
    return lambda self, *, memory_format=None: to(self, dtype)


for _names, _f in _OPERATIONS:
    operation(_names, _f)
for _names, _f in (
    *_ROWS,
    *[(x, _fact(x)) for x in _FACTS],
    *[(f"Tensor.{x}", _read(x)) for x in _READ],
):
    row(_names)(_f)
for _names, _f in (*_VIEWS, *[(f"Tensor.{x}", _converted(of)) for x, of in _DTYPES.items()]):
    row(_names, views=True)(_f)
for _names, _write in (
    ("requires_grad_", "leave .requires_grad_() out: it is being differentiated"),
    ("type", "use .to(dtype), which has its derivative, or x.dtype for the question"),
    *[
        (x, f"write {x} = chainrules_torch.import_rule(torch.Tensor.{x}), which has its derivative")
        for x in ("sum_to_size", "unfold")
    ],
):
    extend.advise(getattr(torch.Tensor, _names), _write)
