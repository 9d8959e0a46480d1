"""Elementwise operations and reductions in PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import array_api_compat.torch as xp
import torch

from chainrules_kit.fallbacks.elementwise import nan_to_num_standard
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import kind_of
from chainrules_torch import _private
from chainrules_torch.array_types import TENSOR, alike, entered, implement, with_numbers

_xp: Any = xp


def _tensor(x: Any, beside: Any) -> torch.Tensor:
    return x if isinstance(x, torch.Tensor) else torch.asarray(x, device=beside.device)


_DOUBLE = {float: torch.float64, complex: torch.complex128}
"""Dtypes for operands that are all numbers; PyTorch's default has half of their digits."""


def _ldexp(x: Any, n: Any) -> Any:
    if kind_of(n) in ("real", "complex"):
        raise TypeError(
            "ldexp takes whole numbers for n, as NumPy has it, and has no derivative in them; "
            "write x * 2.0**n"
        )
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
    """Return a comparison that orders complex numbers by real, then by imaginary part.

    NumPy has this order; PyTorch compares real numbers only.
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
    """Return a maximum or minimum in the same order."""
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


def _real(x: torch.Tensor) -> torch.Tensor:
    """Return the real part; a view except for one element, where nested forward mode fails."""
    return x.clone().real if x.is_complex() and x.numel() == 1 else x.real


def _imag(x: torch.Tensor) -> torch.Tensor:
    """Return the imaginary part; a view except for one element, see `_real`."""
    if not x.is_complex():
        return torch.zeros_like(x)
    return x.imag if x.numel() != 1 else x.clone().imag


# Operations of one operand.
implement(
    {
        v.real: _real,
        v.imag: _imag,
        v.conj: lambda x: torch.conj_physical(x) if x.is_complex() else x,
        v.positive: lambda x: x,
        # PyTorch's own loses signs of zeros in long complex tensors.
        v.negative: lambda x: (
            torch.complex(-_real(x), -_imag(x)) if x.is_complex() else torch.neg(x)
        ),
        v.frexp: lambda x: tuple(torch.frexp(x)),
        v.reciprocal: torch.reciprocal,
        v.round_decimals: lambda x, *, decimals: torch.round(x, decimals=decimals),
        v.bitwise_invert: torch.bitwise_not,
        v.sign: lambda x: torch.sgn(x) if x.is_complex() else torch.sign(x),
    }
)


def _of_two(function: Any) -> Any:
    """Make a PyTorch function promote as the array API standard does for 0-d operands."""

    def computed(x: Any, y: Any) -> Any:
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and x.dtype is not y.dtype:
            x, y = alike(x, y)
        return function(x, y)

    return computed


implement(
    {
        v.add: _of_two(torch.add),
        v.subtract: _of_two(torch.subtract),
        v.multiply: _of_two(torch.multiply),
        v.divide: _of_two(torch.divide),
        v.pow: _of_two(torch.pow),
        v.floor_divide: _of_two(torch.floor_divide),
        v.remainder: _of_two(torch.remainder),
    },
    types=(TENSOR, TENSOR),
)
for _types in ((TENSOR, Scalar), (Scalar, TENSOR)):
    implement(
        {
            v.add: operator.add,
            v.subtract: operator.sub,
            v.multiply: operator.mul,
            v.divide: operator.truediv,
            v.pow: operator.pow,
            v.floor_divide: operator.floordiv,
            v.remainder: operator.mod,
        },
        types=_types,
    )

# Operations of two or more operands, some of which may be numbers.
_ENTRIES: dict[Any, Any] = {
    v.ldexp: _ldexp,
    v.nan_to_num: nan_to_num_standard,
    v.where: _where,
    v.clip: _clip,
    v.fmod: with_numbers(torch.fmod),
    v.logaddexp2: with_numbers(torch.logaddexp2),
    v.maximum: with_numbers(_maximum),
    v.minimum: with_numbers(_minimum),
    v.fmax: with_numbers(_extreme("fmax")),
    v.fmin: with_numbers(_extreme("fmin")),
    v.clip_below: with_numbers(_maximum),
    v.clip_above: with_numbers(_minimum),
    v.less: with_numbers(_compared("less")),
    v.less_equal: with_numbers(_compared("less_equal")),
    v.greater: with_numbers(_compared("greater")),
    v.greater_equal: with_numbers(_compared("greater_equal")),
    v.gcd: with_numbers(torch.gcd),
    v.lcm: with_numbers(torch.lcm),
    v.heaviside: with_numbers(torch.heaviside),
}
for _operation, _function in _ENTRIES.items():
    entered(_operation, _function)


def _report(condition: torch.Tensor, *, message: str) -> None:
    """Check tensors on the CPU that have values, for all examples at once: no synchronisation."""
    while _private.functorch.is_functorch_wrapped_tensor(condition):
        condition = _private.functorch.get_unwrapped(condition)
    if type(condition) is torch.Tensor and condition.is_cpu:
        v.report.__wrapped__(condition, message=message)


# -------------------------------------------------------------------------------- reductions


def _numbered(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.uint8) if x.dtype is torch.bool else x


implement(
    {
        v.var: lambda x, *, axis=None, correction=0, keepdims=False: torch.var(
            x, axis, correction=correction, keepdim=keepdims
        ),
        v.std: lambda x, *, axis=None, correction=0, keepdims=False: torch.std(
            x, axis, correction=correction, keepdim=keepdims
        ),
        v.argmax: lambda x, *, axis=None, keepdims=False: torch.argmax(
            _numbered(x), axis, keepdim=keepdims
        ),
        v.argmin: lambda x, *, axis=None, keepdims=False: torch.argmin(
            _numbered(x), axis, keepdim=keepdims
        ),
        v.cumulative_max: lambda x, *, axis: torch.cummax(x, dim=axis).values,
        v.cumulative_min: lambda x, *, axis: torch.cummin(x, dim=axis).values,
        v.vector_norm: lambda x, *, axis=None, keepdims=False, ord=2: _xp.linalg.vector_norm(  # noqa: A006
            x, axis=axis, keepdims=keepdims, ord=ord
        ),
        v.report: _report,
    }
)
