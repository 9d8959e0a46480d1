# ruff: noqa: A006, PLW0108 -- the names of parameters are PyTorch's
"""PyTorch's own functions and methods, of values of the tape that stand for tensors.

A value that one of our engines differentiates has PyTorch's methods, and PyTorch's functions take
it: `torch.exp(x)`, ``x.exp()``. The tables say what word each is. A name is the method and the
function of that name; a name with a dot is one of these alone: ``Tensor.where``, ``torch.where``.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from chainrules_py import UnsupportedKeywordError, ignore_derivatives
from chainrules_py import vocabulary as v
from chainrules_py.extend import alias, flatten, untraced, viewers
from chainrules_py.extend import elementwise_composites as elementwise
from chainrules_py.extend import manipulation_composites as manipulation
from chainrules_py.extend import products_composites as products
from chainrules_py.extend import quantiles_composites as quantiles
from chainrules_py.extend import reductions_composites as reductions

_results: Any = torch.return_types
_ALSO = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "x2": "other"}
"""Names that PyTorch takes for its own."""


def _is_asked(x: Any) -> bool:
    return x is not None and x is not False


def natives(name: str) -> Iterator[Any]:
    """Find the method, or property, and the function that have a name."""
    if "." not in name:
        found = [vars(base)[name] for base in torch.Tensor.__mro__ if name in vars(base)]
        yield from found[:1]
        if not found or callable(found[0]):  # torch.T there is not, torch.real there is
            yield from filter(None, [getattr(torch, name, None)])
        elif name in ("real", "imag"):
            yield getattr(torch, name)
        return
    try:
        yield operator.attrgetter(name.removeprefix("torch."))(torch)
    except AttributeError:  # another release of PyTorch has it
        return


def word(names: str, f: Callable[..., Any]) -> None:
    """Enter a word of one operand, or of two, under names that are set apart by spaces."""
    mine = f.operands  # type: ignore[attr-defined]
    theirs: dict[str, str] = dict(zip(("self", "other"), mine, strict=False))
    for name in names.split():
        for native in natives(name):
            alias(native, to=f, parameters=dict.fromkeys(theirs), rename=theirs)


def row(names: str, *, views: bool = False) -> Callable[[Any], Any]:
    """Enter a function with PyTorch's own parameters under names that are set apart by spaces.

    Parameters
    ----------
    names : str
        The names.
    views : bool
        Whether PyTorch gives a view of what it is given.
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
                shown = ", ".join(lost)
                msg = f"{f.__name__.rstrip('_')}() of a traced value takes no {shown}"
                raise UnsupportedKeywordError(msg)
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
    """Return axes as words take them: PyTorch's none of a tuple are all."""
    return dim if dim is None or isinstance(dim, int) else tuple(dim) or None


def _gathered(given: Any) -> Any:
    """Gather what is given one by one or in a sequence."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], Sequence) else given


def _pairs(dims: Any) -> Any:
    return dims if isinstance(dims, int) else tuple(map(tuple, dims))


def _given(**options: Any) -> dict[str, Any]:
    return {name: x for name, x in options.items() if x is not None}


_OF_MEMORY = ("non_blocking", "copy", "memory_format")


def to(self: Any, *operands: Any, **options: Any) -> Any:
    """x with another dtype, or on another device."""
    options = {name: x for name, x in options.items() if name not in _OF_MEMORY}
    for x in operands:
        if isinstance(x, torch.dtype):
            options["dtype"] = x
        elif isinstance(x, (str, torch.device, int)) and not isinstance(x, bool):
            options["device"] = x
        elif not isinstance(x, bool):
            options |= {"dtype": x.dtype, "device": x.device}
    if not options.keys() <= {"dtype", "device"}:
        msg = f"to() of a traced value takes a dtype and a device, got {', '.join(options)}"
        raise UnsupportedKeywordError(msg)
    if options.get("dtype") not in (None, self.dtype):
        self = v.astype(self, dtype=options["dtype"])
    device = options.get("device")
    if device is not None and torch.device(device) != self.device:
        self = v.to_device(self, device=device)
    return self


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else to(x, dtype)


def _tensor(x: Any) -> Any:
    """Return the tensor that a value stands for, or one like it where there are no numbers."""
    found = untraced(x)
    if issubclass(type(found), torch.Tensor) or not hasattr(found, "shape"):
        return found
    return torch.empty(tuple(x.shape), dtype=x.dtype, device=x.device)


def _alike(tensors: Any) -> list[Any]:
    """Values of one dtype, as PyTorch puts them together."""
    each = flatten(tuple(tensors))[0]
    dtype = each[0].dtype
    for x in each:
        dtype = torch.promote_types(dtype, x.dtype)
    return [to(x, dtype) for x in each]


# ---------------------------------------------------------------------------------- parts

_ROUNDED: dict[Any, Callable[[Any], Any]] = {None: lambda y: y, "floor": v.floor, "trunc": v.trunc}


_MODES: dict[Any, Any] = {True: "reduced", False: "complete"}
"""Modes of a factorisation in older programs: whether it is the smaller one."""


def _softplus(x: Any, z: Any, beta: Any, threshold: Any) -> Any:
    near = v.divide(v.log1p(v.exp(v.minimum(z, threshold))), beta)
    return v.where(v.greater(z, threshold), x, near)


def _gelu(x: Any) -> Any:
    inner = v.multiply(v.add(x, v.multiply(v.pow(x, 3), 0.044715)), 0.7978845608028654)
    return v.multiply(v.multiply(x, 0.5), v.add(v.tanh(inner), 1))


def _reduced(word: Any) -> Callable[..., Any]:
    def reduced(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        axis = None if self.ndim == 0 else _axes(dim)
        return word(_cast(self, dtype), axis=axis, keepdims=keepdim and self.ndim > 0)

    return reduced


def _spread(word: Any) -> Callable[..., Any]:
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
        return word(self, axis=_axes(dim), keepdims=keepdim, correction=count)

    return spread


def _along_one(word: Any) -> Callable[..., Any]:
    def along(self: Any, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Any:
        x = _cast(self, dtype)
        if x.ndim:
            return word(x, axis=dim)
        return v.reshape(word(v.reshape(x, shape=(1,)), axis=0), shape=())

    return along


def _length(x: Any, dim: int) -> int:
    return x.shape[dim] if x.ndim else 1


def _along(x: Any, dim: int, part: Any) -> Any:
    return x[(*[slice(None)] * (dim % x.ndim), part)]


def _order(x: Any, dim: int, descending: bool) -> Any:
    return v.argsort(x, axis=dim, descending=descending) if x.ndim else v.argmax(x)


def _ranks(x: Any, dim: int, ranks: slice, descending: bool = False) -> Any:
    places = _order(x, dim, descending)
    return _along(places, dim, ranks) if x.ndim else places


def _at(x: Any, places: Any, dim: int, keepdim: bool = True) -> tuple[Any, Any]:
    """Elements at some places of an axis, and the places."""
    if x.ndim == 0:
        return x, places
    y = v.take_along_axis(x, places, axis=dim)
    return (y, places) if keepdim else (v.squeeze(y, axis=dim), v.squeeze(places, axis=dim))


def _ranked(x: Any, k: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return _at(x, _ranks(x, dim, slice(k, k + 1)), dim, keepdim)


def _median(x: Any) -> Any:
    """Return the lower of the elements in the middle."""
    x = v.reshape(x, shape=(-1,))
    return x[v.argsort(x, axis=0)[(x.shape[0] - 1) // 2]]


def _extreme(name: str, whole: Any, between: Any, places: Any) -> Callable[..., Any]:
    """Make an extreme: of all, of two values, or along an axis with its places."""

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


def _split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    length = self.shape[dim]
    if isinstance(split_size, int):
        split_size = [
            min(split_size, length - i) for i in range(0, max(length, 1), max(split_size, 1))
        ]
    ends = [sum(split_size[: i + 1]) for i in range(len(split_size))]
    cuts = zip((0, *ends), ends, strict=False)
    return tuple([_along(self, dim, slice(i, j)) for i, j in cuts])


def _filled_ones(each: list[Any]) -> list[Any]:
    """Leave out what has no elements, as PyTorch does beside matrices."""
    return [x for x in each if tuple(x.shape) != (0,)] or each


def _joined(each: list[Any], ndim: int) -> Any:
    each = [
        x if x.ndim >= ndim else v.reshape(x, shape=(1, -1)[-ndim:] if x.ndim else (1,) * ndim)
        for x in each
    ]
    return v.concat(*each, axis=1 if ndim == 1 and each[0].ndim > 1 else 0)


def _added(word: Any) -> Callable[..., Any]:
    """Make a product that is added to something; times zero it is left out, whatever is in it."""

    def added(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        product = word(mat1, mat2) if alpha == 1 else v.multiply(word(mat1, mat2), alpha)
        if beta == 0:
            return product
        return v.add(self if beta == 1 else v.multiply(self, beta), product)

    return added


def _transform(word: Any) -> Callable[..., Any]:
    return lambda self, n=None, dim=-1, norm=None: word(
        self, n=n, axis=dim, norm=norm or "backward"
    )


def _shaped(make: Any) -> Callable[..., Any]:
    """Make what has the shape of a value, and holds nothing of it."""

    def made(self: Any, *operands: Any, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        return make(_tensor(self), *operands, dtype=dtype, device=device)

    return made


def _full(x: Any, shape: tuple[int, ...], fill: Any, dtype: Any, device: Any) -> Any:
    """Fill with one number, which may be traced itself."""
    whole = torch.empty(shape, dtype=dtype or x.dtype, device=device or x.device)
    if not hasattr(fill, "dtype"):
        return whole.fill_(fill)
    return v.broadcast_to(to(fill, whole.dtype), shape=shape)


@row("nan_to_num")
def nan_to_num(self: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Numbers for what is none."""
    limits = torch.finfo(self.dtype)
    posinf = limits.max if posinf is None else posinf
    return v.nan_to_num(self, nan or 0.0, posinf, limits.min if neginf is None else neginf)


@row("reshape Tensor.view", views=True)
def reshape(self: Any, *shape: Any) -> Any:
    """Return the elements in another shape; in another dtype it is no derivative."""
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        msg = "view() of a traced value takes a shape; write to(dtype) for another dtype"
        raise TypeError(msg)
    return v.reshape(self, shape=_gathered(shape))


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


@row("svd")
def older_svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors, the right ones in columns."""
    u, s, vh = v.svd(self, full_matrices=not some)
    return _results.svd((u, s, v.conj(v.matrix_transpose(vh))))


@row("torch.linalg.solve")
def solve(self: Any, B: Any, *, left: bool = True) -> Any:
    """Return the solution of linear equations."""
    if not left:
        turned = v.solve(v.matrix_transpose(self), v.matrix_transpose(B))
        return v.matrix_transpose(turned)
    vectors = B.ndim == 1 or tuple(B.shape) == tuple(self.shape[:-1])
    if not vectors or B.ndim == 1:
        return v.solve(self, B)
    return v.squeeze(v.solve(self, v.expand_dims(B, axis=-1)), axis=-1)


@row("norm")
def older_norm(
    self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """Return the norm of vectors, of all elements if there is no axis."""
    self = self if dtype is None else to(self, dtype)
    if p in ("fro", None):
        p = 2
    if p == "nuc":
        return products.norm(self, p, (-2, -1) if dim is None else _axes(dim), keepdim)
    return v.vector_norm(self, ord=p, axis=_axes(dim), keepdims=keepdim)


# --------------------------------------------------------------------------------- tables

_WORDS: tuple[tuple[str, Any], ...] = (
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
        "add",
        lambda self, other, *, alpha=1: v.add(
            self, other if alpha == 1 else v.multiply(other, alpha)
        ),
    ),
    (
        "sub subtract",
        lambda self, other, *, alpha=1: v.subtract(
            self, other if alpha == 1 else v.multiply(other, alpha)
        ),
    ),
    ("float_power", lambda self, exponent: v.pow(to(self, torch.float64), exponent)),
    (
        "round special.round",
        lambda self, *, decimals=0: (
            v.round_decimals(self, decimals=decimals) if decimals else v.round(self)
        ),
    ),
    ("frac", lambda self: v.subtract(self, v.trunc(self))),
    ("rsqrt", lambda self: v.reciprocal(v.sqrt(self))),
    ("angle", lambda self: elementwise.angle(self)),
    (
        "logit special.logit",
        lambda self, eps=None: v.logit(self if eps is None else v.clip(self, eps, 1.0 - eps)),
    ),
    ("clamp clip", lambda self, min=None, max=None: elementwise.bounded(self, min, max)),
    ("clamp_min", lambda self, min: elementwise.bounded(self, min, None)),
    ("clamp_max", lambda self, max: elementwise.bounded(self, None, max)),
    ("lerp", lambda self, end, weight: v.lerp(self, end, weight)),
    (
        "addcmul",
        lambda self, tensor1, tensor2, *, value=1: v.add(
            self, v.multiply(v.multiply(tensor1, tensor2), value)
        ),
    ),
    (
        "addcdiv",
        lambda self, tensor1, tensor2, *, value=1: v.add(
            self, v.multiply(v.divide(tensor1, tensor2), value)
        ),
    ),
    ("relu nn.functional.relu", lambda self: v.where(v.greater(self, 0), self, 0.0)),
    ("nn.functional.silu", lambda self: v.multiply(self, v.expit(self))),
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
    ("fliplr", lambda self: v.flip(self, axis=1)),
    ("flipud", lambda self: v.flip(self, axis=0)),
    ("rot90", lambda self, k=1, dims=(0, 1): manipulation.rot90(self, k, tuple(dims))),
    ("diag", lambda self, diagonal=0: manipulation.diag(self, diagonal)),
    ("tril", lambda self, diagonal=0: v.tril(self, k=diagonal)),
    ("triu", lambda self, diagonal=0: v.triu(self, k=diagonal)),
    ("take", lambda self, index: v.take(v.reshape(self, shape=(-1,)), index, axis=0)),
    ("torch.stack", lambda tensors, dim=0: v.stack(*_alike(tensors), axis=dim)),
    ("mv", lambda self, vec: v.matmul(self, vec)),
    ("dot", lambda self, tensor: v.matmul(self, tensor)),
    ("vdot", lambda self, other: v.matmul(v.conj(self), other)),
    ("torch.linalg.vecdot", lambda self, other, *, dim=-1: v.vecdot(self, other, axis=dim)),
    ("kron", lambda self, other: products.kron(self, other)),
    ("trace", lambda self: v.trace(self)),
    ("matrix_power torch.linalg.matrix_power", lambda self, n: products.matrix_power(self, n)),
    ("slogdet torch.linalg.slogdet", lambda self: _results.linalg_slogdet(tuple(v.slogdet(self)))),
    ("cholesky torch.linalg.cholesky", lambda self, upper=False: v.cholesky(self, upper=upper)),
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
        "pinverse torch.linalg.pinv",
        lambda self, rcond=None, *, rtol=None, hermitian=False: v.pinv(
            self, rtol=rcond if rtol is None else rtol, hermitian=hermitian
        ),
    ),
    (
        "torch.linalg.vector_norm",
        lambda self, ord=2, dim=None, keepdim=False: v.vector_norm(
            self, ord=ord, axis=_axes(dim), keepdims=keepdim
        ),
    ),
    ("dist", lambda self, other, p=2: v.vector_norm(v.subtract(self, other), ord=p)),
    (
        "div divide true_divide",
        lambda self, other, *, rounding_mode=None: _ROUNDED[rounding_mode](v.divide(self, other)),
    ),
    (
        "polygamma special.polygamma",
        lambda self, other: (
            v.polygamma(self, other) if isinstance(self, int) else v.polygamma(other, self)
        ),
    ),
    (
        "nn.functional.softplus",
        lambda self, beta=1, threshold=20: _softplus(self, v.multiply(self, beta), beta, threshold),
    ),
    (
        "nn.functional.gelu",
        lambda self, *, approximate="none": (
            v.multiply(self, v.ndtr(self)) if approximate == "none" else _gelu(self)
        ),
    ),
    ("std", _spread(v.std)),
    ("var", _spread(v.var)),
    ("sum", _reduced(v.sum)),
    ("mean", _reduced(v.mean)),
    ("prod", _reduced(v.prod)),
    ("nansum", _reduced(reductions.nansum)),
    ("all", _reduced(v.all)),
    ("any", _reduced(v.any)),
    ("amax", _reduced(v.max)),
    ("amin", _reduced(v.min)),
    ("argmax", _reduced(v.argmax)),
    ("argmin", _reduced(v.argmin)),
    ("logsumexp special.logsumexp", _reduced(v.logsumexp)),
    (
        "aminmax",
        lambda self, *, dim=None, keepdim=False: _results.aminmax(
            [_reduced(f)(self, dim, keepdim) for f in (v.min, v.max)]
        ),
    ),
    ("max", _extreme("max", v.max, v.maximum, v.argmax)),
    ("min", _extreme("min", v.min, v.minimum, v.argmin)),
    (
        "sort",
        lambda self, dim=-1, descending=False, stable=False: _results.sort(
            _at(self, _order(self, dim, descending), dim)
        ),
    ),
    ("argsort", lambda self, dim=-1, descending=False, stable=False: _order(self, dim, descending)),
    ("msort", lambda self: _at(self, _order(self, 0, False), 0)[0]),
    (
        "topk",
        lambda self, k, dim=-1, largest=True, sorted=True: _results.topk(
            _at(self, _ranks(self, dim, slice(k), largest), dim)
        ),
    ),
    (
        "kthvalue",
        lambda self, k, dim=-1, keepdim=False: _results.kthvalue(
            _ranked(self, k - 1, dim, keepdim)
        ),
    ),
    (
        "median",
        lambda self, dim=None, keepdim=False: (
            _median(self)
            if dim is None
            else _results.median(_ranked(self, (_length(self, dim) - 1) // 2, dim, keepdim))
        ),
    ),
    (
        "quantile",
        lambda self, q, dim=None, keepdim=False, *, interpolation="linear": quantiles.quantile(
            self, q, axis=dim if self.ndim else None, keepdims=keepdim, method=interpolation
        ),
    ),
    ("cumsum", _along_one(v.cumulative_sum)),
    ("cumprod", _along_one(v.cumulative_prod)),
    ("softmax special.softmax nn.functional.softmax", _along_one(v.softmax)),
    ("log_softmax special.log_softmax nn.functional.log_softmax", _along_one(v.log_softmax)),
    (
        "diff",
        lambda self, n=1, dim=-1, prepend=None, append=None: reductions.diff(
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
        "diag_embed",
        lambda self, offset=0, dim1=-2, dim2=-1: manipulation.moveaxis(
            v.from_diagonal(
                self,
                rows=self.shape[-1] + abs(offset),
                columns=self.shape[-1] + abs(offset),
                offset=offset,
            ),
            (-2, -1),
            (dim1, dim2),
        ),
    ),
    (
        "index_select",
        lambda self, dim, index: (
            v.take(self, v.reshape(index, shape=(-1,)), axis=dim) if self.ndim else self
        ),
    ),
    (
        "torch.cat torch.concat torch.concatenate",
        lambda tensors, dim=0: v.concat(*_filled_ones(_alike(tensors)), axis=dim),
    ),
    ("torch.hstack", lambda tensors: _joined(_alike(tensors), 1)),
    ("torch.vstack torch.row_stack", lambda tensors: _joined(_alike(tensors), 2)),
    (
        "cross torch.linalg.cross",
        lambda self, other, dim=-1: products.cross_of_three(
            self, other, axis=-1 if dim is None else dim
        ),
    ),
    ("tensordot torch.tensordot", lambda a, b, dims=2: v.tensordot(a, b, axes=_pairs(dims))),
    (
        "torch.einsum",
        lambda equation, *operands: products.einsum(
            (equation.replace(" ", ""), *_gathered(operands))
        ),
    ),
    ("addmm", _added(v.matmul)),
    ("addmv", _added(v.matmul)),
    ("baddbmm", _added(v.matmul)),
    ("addr", _added(v.outer)),
    (
        "nn.functional.linear",
        lambda self, weight, bias=None: v.add(
            v.matmul(self, v.matrix_transpose(weight) if weight.ndim > 1 else weight),
            0.0 if bias is None else bias,
        ),
    ),
    (
        "logdet",
        lambda self: v.where(v.less(v.real(v.slogdet(self)[0]), 0), math.nan, v.slogdet(self)[1]),
    ),
    (
        "qr torch.linalg.qr",
        lambda self, mode="reduced": _results.linalg_qr(
            tuple(v.qr(self, mode=_MODES.get(mode) or str(mode)))
        ),
    ),
    (
        "torch.linalg.norm",
        lambda self, ord=None, dim=None, keepdim=False: products.norm(
            self, ord, _axes(dim), keepdim
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
    (
        "torch.full_like",
        lambda self, fill_value, *, dtype=None, device=None, **_: _full(
            self, tuple(self.shape), fill_value, dtype, device
        ),
    ),
    (
        "Tensor.new_full",
        lambda self, size, fill_value, *, dtype=None, device=None, **_: _full(
            self, tuple(size), fill_value, dtype, device
        ),
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
        lambda self, dim0, dim1: manipulation.swapaxes(self, dim0, dim1) if self.ndim else self,
    ),
    (
        "movedim moveaxis",
        lambda self, source, destination: manipulation.moveaxis(self, source, destination),
    ),
    ("t Tensor.T", lambda self: v.permute_dims(self)),
    ("Tensor.mT", lambda self: v.matrix_transpose(self)),
    ("Tensor.mH Tensor.H adjoint", lambda self: v.conj(v.matrix_transpose(self))),
    ("Tensor.real torch.real", lambda self: v.real(self) if self.dtype.is_complex else self),
    ("select", lambda self, dim, index: _along(self, dim, index)),
    ("unbind", lambda self, dim=0: tuple([_along(self, dim, i) for i in range(self.shape[dim])])),
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
        "narrow",
        lambda self, dim, start, length: _along(
            self,
            dim,
            slice(
                int(start) % max(self.shape[dim], 1), int(start) % max(self.shape[dim], 1) + length
            ),
        ),
    ),
    ("split split_with_sizes", _split),
    (
        "diagonal torch.linalg.diagonal",
        lambda self, offset=0, dim1=0, dim2=1: v.diagonal(
            manipulation.moveaxis(self, (dim1, dim2), (-2, -1)), offset=offset
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
    "is_complex", "is_signed", "is_conj", "is_neg", "element_size", "get_device", "storage_offset",
    "is_same_size", "data_ptr",
)  # fmt: skip
"""Methods that say what a tensor is like: no numbers that depend on it."""
_READ = (
    "is_cpu", "is_cuda", "is_mps", "is_meta", "is_sparse", "is_quantized", "layout", "names",
)  # fmt: skip


def _fact(name: str) -> Callable[..., Any]:
    return lambda self, *operands: getattr(_tensor(self), name)(*map(_tensor, operands))


def _read(name: str) -> Callable[[Any], Any]:
    return lambda self: getattr(_tensor(self), name)


def _converted(dtype: torch.dtype) -> Callable[..., Any]:
    return lambda self, *, memory_format=None: to(self, dtype)


for _names, _f in _WORDS:
    word(_names, _f)
for _names, _f in (*_ROWS, *[(x, _fact(x)) for x in _FACTS], *[(x, _read(x)) for x in _READ]):
    row(_names)(_f)
for _names, _f in (*_VIEWS, *[(f"Tensor.{x}", _converted(of)) for x, of in _DTYPES.items()]):
    row(_names, views=True)(_f)
