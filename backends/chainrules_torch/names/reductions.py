"""PyTorch's functions along axes: sums, extremes, statistics, and what is in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from chainrules_py import vocabulary as v
from chainrules_py.extend import quantiles_composites as quantiles
from chainrules_py.extend import reductions_composites as composites
from chainrules_torch.names.elementwise import to
from chainrules_torch.names.rows import row

_results: Any = torch.return_types


def axes_of(dim: Any) -> Any:
    """Return axes as words take them: PyTorch's none of a tuple are all."""
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def _whole(x: Any, axis: int) -> bool:
    """Tell whether a value has no axis that could be meant, which PyTorch allows."""
    return x.ndim == 0 and axis in (0, -1)


def _plain(names: str, word: Any) -> None:
    """Enter a reduction that takes a dtype."""

    @row(names)
    def reduced(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        x = self if dtype is None else to(self, dtype)
        return (
            x if x.ndim == 0 and dim is not None else word(x, axis=axes_of(dim), keepdims=keepdim)
        )


_word: Any
for _names, _word in (
    ("sum", v.sum),
    ("mean", v.mean),
    ("prod", v.prod),
    ("nansum", composites.nansum),
):
    _plain(_names, _word)


def _of_any_dtype(names: str, word: Any) -> None:
    """Enter a reduction along some axes, or all."""

    @row(names)
    def reduced(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        axis = None if self.ndim == 0 else axes_of(dim)
        return word(self, axis=axis, keepdims=keepdim and self.ndim > 0)


for _names, _word in (
    ("all", v.all),
    ("any", v.any),
    ("amax", v.max),
    ("amin", v.min),
    ("argmax", v.argmax),
    ("argmin", v.argmin),
    ("logsumexp special.logsumexp", v.logsumexp),
):
    _of_any_dtype(_names, _word)


@row("count_nonzero")
def count_nonzero(self: Any, dim: Any = None) -> Any:
    """Return the number of elements that are not zero."""
    return v.count_nonzero(self, axis=axes_of(dim))


def _spread(names: str, word: Any) -> None:
    """Enter the variance, or its root: what is positional behind x may be ``unbiased``."""

    @row(names)
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
        count = (1 if unbiased else 0) if correction is None else correction
        return word(self, axis=axes_of(dim), keepdims=keepdim, correction=count)


_spread("std", v.std)
_spread("var", v.var)


# ---------------------------------------------------------------------------- extremes and order


def _chosen(x: Any, places: Any, axis: int) -> Any:
    return v.take_along_axis(x, places, axis=axis)


def _extreme(name: str, whole: Any, between: Any, places: Any) -> None:
    """Enter an extreme: of all, of two values, or along an axis with its places."""

    @row(name)
    def extreme(self: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = other if other is not None or isinstance(dim, (int, type(None))) else dim
        if other is not None:
            return between(self, other)
        if dim is None:
            return whole(self)
        found = getattr(_results, name)
        if self.ndim == 0:
            return found((self, v.argmax(self)))
        at = places(self, axis=dim, keepdims=True)
        y = _chosen(self, at, dim)
        return found((y, at) if keepdim else (v.squeeze(y, axis=dim), v.squeeze(at, axis=dim)))


_extreme("max", v.max, v.maximum, v.argmax)
_extreme("min", v.min, v.minimum, v.argmin)


@row("aminmax")
def aminmax(self: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Both extremes."""
    axis = None if self.ndim == 0 else dim
    ends = [word(self, axis=axis, keepdims=keepdim) for word in (v.min, v.max)]
    return _results.aminmax(ends)


@row("sort")
def sort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Return the elements in order, and where they were."""
    if _whole(self, dim):
        return _results.sort((self, v.argmax(self)))
    places = v.argsort(self, axis=dim, descending=descending)
    return _results.sort((_chosen(self, places, dim), places))


@row("argsort")
def argsort(self: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Where the elements in order are."""
    if _whole(self, dim):
        return v.argmax(self)
    return v.argsort(self, axis=dim, descending=descending)


@row("msort")
def msort(self: Any) -> Any:
    """Return the elements in order along the first axis."""
    return sort(self, 0)[0]


@row("topk")
def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Return the k largest, or smallest, elements and their places."""
    if _whole(self, dim):
        return _results.topk((self, v.argmax(self)))
    places = v.argsort(self, axis=dim, descending=largest)
    places = places[(*[slice(None)] * (dim % self.ndim), slice(k))]
    return _results.topk((_chosen(self, places, dim), places))


@row("kthvalue")
def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the element that is the k-th in order, and its place."""
    return _ranked(_results.kthvalue, self, lambda n: k - 1, dim, keepdim)


def _ranked(found: Any, x: Any, rank: Callable[[int], int], dim: int, keepdim: bool) -> Any:
    if _whole(x, dim):
        return found((x, v.argmax(x)))
    places = v.argsort(x, axis=dim)
    k = rank(x.shape[dim])
    places = places[(*[slice(None)] * (dim % x.ndim), slice(k, k + 1))]
    y = _chosen(x, places, dim)
    return found((y, places) if keepdim else (v.squeeze(y, axis=dim), v.squeeze(places, axis=dim)))


@row("median")
def median(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the lower of the elements in the middle; along an axis with its place."""
    if dim is None:
        x = v.reshape(self, shape=(-1,))
        return x[v.argsort(x, axis=0)[(x.shape[0] - 1) // 2]]
    return _ranked(_results.median, self, lambda n: (n - 1) // 2, dim, keepdim)


@row("quantile")
def quantile(
    self: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Quantiles."""
    dim = dim if self.ndim else None
    return quantiles.quantile(self, q, axis=dim, keepdims=keepdim, method=interpolation)


# ---------------------------------------------------------------------------------- step by step


def _stepwise(names: str, word: Any) -> None:
    @row(names)
    def cumulative(self: Any, dim: int, *, dtype: Any = None) -> Any:
        x = self if dtype is None else to(self, dtype)
        return x if _whole(x, dim) else word(x, axis=dim)


_stepwise("cumsum", v.cumulative_sum)
_stepwise("cumprod", v.cumulative_prod)


def _shares(names: str, word: Any) -> None:
    @row(names)
    def shared(self: Any, dim: int, _stacklevel: int = 3, dtype: Any = None) -> Any:
        x = self if dtype is None else to(self, dtype)
        if _whole(x, dim):
            return v.reshape(word(v.reshape(x, shape=(1,)), axis=0), shape=())
        return word(x, axis=dim)


_shares("softmax special.softmax nn.functional.softmax", v.softmax)
_shares("log_softmax special.log_softmax nn.functional.log_softmax", v.log_softmax)


@row("diff")
def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours."""
    ends = {name: x for name, x in (("prepend", prepend), ("append", append)) if x is not None}
    return composites.diff(self, n, dim, **ends)
