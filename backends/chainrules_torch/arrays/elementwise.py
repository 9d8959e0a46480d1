"""Elementwise words and reductions, as PyTorch computes them."""

from __future__ import annotations

import math
import operator
from typing import Any

import array_api_compat.torch as xp
import torch

from chainrules_py import Scalar
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_torch import _private
from chainrules_torch.tensors import TENSOR, alike, entered, with_numbers

_xp: Any = xp
_word: Any
_function: Any


def _frexp(x: torch.Tensor) -> tuple[Any, Any]:
    m, n = torch.frexp(x)
    return m, n


def _reciprocal(x: torch.Tensor) -> torch.Tensor:
    return torch.reciprocal(x)


def _tensor(x: Any, beside: Any) -> torch.Tensor:
    return x if isinstance(x, torch.Tensor) else torch.asarray(x, device=beside.device)


def _heaviside(x: Any, h: Any) -> Any:
    x, h = alike(x, h)
    return torch.heaviside(x, h)


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x.is_complex():
        return torch.complex(
            _nan_to_num(x.real, nan, posinf, neginf), _nan_to_num(x.imag, nan, posinf, neginf)
        )
    if not x.is_floating_point():
        return x
    limits = torch.finfo(x.dtype)
    posinf = limits.max if posinf is None else posinf
    neginf = limits.min if neginf is None else neginf
    y = torch.where(torch.isnan(x), nan, x)
    y = torch.where(torch.isposinf(x), posinf, y)
    return torch.where(torch.isneginf(x), neginf, y).to(x.dtype)


_DOUBLE = {float: torch.float64, complex: torch.complex128}
"""Of numbers alone: what PyTorch makes of them by default has half of their digits."""


def _ldexp(x: Any, n: Any) -> Any:
    if kind_of(n) in ("real", "complex"):
        msg = (
            "ldexp takes whole numbers for n, as NumPy has it, and has no derivative in them; "
            "write x * 2.0**n"
        )
        raise TypeError(msg)
    if not isinstance(x, torch.Tensor):
        x = torch.asarray(float(x), dtype=torch.float64, device=n.device)
    return torch.ldexp(*torch.broadcast_tensors(x, _tensor(n, x)))


def _where(condition: Any, x: Any, y: Any) -> Any:
    like = next(z for z in (condition, x, y) if isinstance(z, torch.Tensor))
    if not isinstance(condition, torch.Tensor):
        condition = torch.asarray(bool(condition), device=like.device)
    if not (isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor)):
        x = torch.asarray(x, dtype=_DOUBLE.get(type(x + y)), device=like.device)
    x, y = alike(x, y)
    return torch.where(condition.to(torch.bool), x, y)


def _compared(name: str) -> Any:
    """Return a comparison; of complex numbers by real, then by imaginary parts, as NumPy compares.

    PyTorch has them of real numbers.
    """
    function = getattr(torch, name)
    strictly = torch.gt if name.startswith("greater") else torch.lt

    def computed(x: torch.Tensor, y: torch.Tensor) -> Any:
        if not x.is_complex():
            return function(x, y)
        known = ~(torch.isnan(x.imag) | torch.isnan(y.imag))
        return (strictly(x.real, y.real) & known) | ((x.real == y.real) & function(x.imag, y.imag))

    return computed


def _extreme(name: str) -> Any:
    """Return the greater or the lesser of two, by the same order."""
    function = getattr(torch, name)
    wins = _compared("greater_equal" if name in ("maximum", "fmax") else "less_equal")
    keeps_nan = not name.startswith("f")

    def computed(x: torch.Tensor, y: torch.Tensor) -> Any:
        if not x.is_complex():
            return function(x, y)
        return torch.where(wins(x, y) | torch.isnan(x if keeps_nan else y), x, y)

    return computed


_maximum, _minimum = _extreme("maximum"), _extreme("minimum")


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    x, lo, hi = alike(x, lo, hi)
    return _minimum(_maximum(x, lo), hi)


def _round_decimals(x: torch.Tensor, *, decimals: int) -> torch.Tensor:
    return torch.round(x, decimals=decimals)


def _real(x: torch.Tensor) -> torch.Tensor:
    """Return the real part, a view except for one element: nested forward mode fails there."""
    if not x.is_complex():
        return x
    return x.real if x.numel() != 1 else x.clone().real


def _imag(x: torch.Tensor) -> torch.Tensor:
    """Return the imaginary part, a view except for one element; see `_real`."""
    if not x.is_complex():
        return torch.zeros_like(x)
    return x.imag if x.numel() != 1 else x.clone().imag


# Of one operand.
v.real.implement(_real, types=(TENSOR,))
v.imag.implement(_imag, types=(TENSOR,))
v.conj.implement(lambda x: torch.conj_physical(x) if x.is_complex() else x, types=(TENSOR,))
v.positive.implement(lambda x: x, types=(TENSOR,))
v.frexp.implement(_frexp, types=(TENSOR,))
v.reciprocal.implement(_reciprocal, types=(TENSOR,))
v.round_decimals.implement(_round_decimals, types=(TENSOR,))
v.bitwise_invert.implement(torch.bitwise_not, types=(TENSOR,))
v.sign.implement(lambda x: torch.sgn(x) if x.is_complex() else torch.sign(x), types=(TENSOR,))


def _of_two(function: Any) -> Any:
    """Make a PyTorch function promote as the standard does where one operand has no axes."""

    def computed(x: Any, y: Any) -> Any:
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x.dtype is not y.dtype:
            x, y = alike(x, y)
        return function(x, y)

    return computed


for _word, _function in (
    (v.add, torch.add),
    (v.subtract, torch.subtract),
    (v.multiply, torch.multiply),
    (v.divide, torch.divide),
    (v.pow, torch.pow),
    (v.floor_divide, torch.floor_divide),
    (v.remainder, torch.remainder),
):
    _word.implement(_of_two(_function), types=(TENSOR, TENSOR))
for _word, _function in (
    (v.add, operator.add),
    (v.subtract, operator.sub),
    (v.multiply, operator.mul),
    (v.divide, operator.truediv),
    (v.pow, operator.pow),
    (v.floor_divide, operator.floordiv),
    (v.remainder, operator.mod),
):
    _word.implement(_function, types=(TENSOR, Scalar))
    _word.implement(_function, types=(Scalar, TENSOR))

# Of two or more, among them numbers.
for _word, _function in (
    (v.fmod, torch.fmod),
    (v.logaddexp2, torch.logaddexp2),
    (v.maximum, _maximum),
    (v.minimum, _minimum),
    (v.fmax, _extreme("fmax")),
    (v.fmin, _extreme("fmin")),
    (v.clip_below, _maximum),
    (v.clip_above, _minimum),
    (v.less, _compared("less")),
    (v.less_equal, _compared("less_equal")),
    (v.greater, _compared("greater")),
    (v.greater_equal, _compared("greater_equal")),
    (v.gcd, torch.gcd),
    (v.lcm, torch.lcm),
):
    entered(_word, with_numbers(_function))
for _word, _function in (
    (v.ldexp, _ldexp),
    (v.heaviside, _heaviside),
    (v.nan_to_num, _nan_to_num),
    (v.where, _where),
    (v.clip, _clip),
):
    entered(_word, _function)


_is_wrapped: Any = _private.functorch.is_functorch_wrapped_tensor


def _report(condition: torch.Tensor, *, message: str) -> None:
    """Look at what can be looked at: nothing is waited for, nor asked of a value not yet there."""
    if type(condition) is torch.Tensor and condition.is_cpu and not _is_wrapped(condition):
        v.report.__wrapped__(condition, message=message)


v.report.implement(_report, types=(TENSOR,))

# -------------------------------------------------------------------------------- reductions


def _argmost(find: Any) -> Any:
    """PyTorch promises nothing on which of equal elements it finds."""

    def computed(x: torch.Tensor, *, axis: int | None = None, keepdims: bool = False) -> Any:
        x = x.to(torch.uint8) if x.dtype is torch.bool else x  # of which there is none
        if axis is None:
            y = find(x.reshape(-1), dim=0)
            return y.reshape((1,) * x.ndim) if keepdims else y
        return find(x, dim=axis, keepdim=keepdims)

    return computed


def _spread(function: Any) -> Any:
    """PyTorch divides by n less a whole number."""

    def computed(
        x: torch.Tensor, *, axis: Any = None, correction: float = 0, keepdims: bool = False
    ) -> Any:
        axes = tuple(range(x.ndim)) if axis is None else axis
        if correction == int(correction):
            return function(x, axes, correction=int(correction), keepdim=keepdims)
        n = 1
        for a in (axes,) if type(axes) is int else axes:
            n *= x.shape[a]
        scale = n / max(n - correction, 0) if n > correction else math.inf
        y = function(x, axes, correction=0, keepdim=keepdims)
        return y * (scale if function is torch.var else math.sqrt(scale))

    return computed


v.var.implement(_spread(torch.var), types=(TENSOR,))
v.std.implement(_spread(torch.std), types=(TENSOR,))
v.argmax.implement(_argmost(torch.argmax), types=(TENSOR,))
v.argmin.implement(_argmost(torch.argmin), types=(TENSOR,))


def _accumulated(accumulate: Any, start: int) -> Any:
    def computed(x: torch.Tensor, *, axis: int | None = None, include_initial: bool = False) -> Any:
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        y = accumulate(x, dim=axis)
        if not include_initial:
            return y
        shape = [*y.shape]
        shape[axis] = 1
        first = torch.full(shape, start, dtype=y.dtype, device=y.device)
        return torch.cat((first, y), dim=axis)

    return computed


v.cumulative_sum.implement(_accumulated(torch.cumsum, 0), types=(TENSOR,))
v.cumulative_prod.implement(_accumulated(torch.cumprod, 1), types=(TENSOR,))
v.cumulative_max.implement(lambda x, *, axis: torch.cummax(x, dim=axis).values, types=(TENSOR,))
v.cumulative_min.implement(lambda x, *, axis: torch.cummin(x, dim=axis).values, types=(TENSOR,))


@v.vector_norm.implement
def vector_norm_torch(
    x: torch.Tensor, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """PyTorch flattens for no axis."""
    return _xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
