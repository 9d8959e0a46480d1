"""Special functions, as PyTorch computes them.

What it has no function for is computed by whatever does so for NumPy, on the CPU; see
`chainrules_torch.engine.callback`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from chainrules_py import vocabulary as v
from chainrules_torch.engine.callback import called_back
from chainrules_torch.engine.config import is_tensor
from chainrules_torch.tensors import alike, entered

_special: Any = torch.special


def _reals(word: Any, function: Any) -> None:
    """Enter a function of PyTorch's that takes no complex numbers; NumPy's backends do."""
    n = len(word.operands)

    def computed(*xs: Any) -> Any:
        if any([is_tensor(x) and x.is_complex() for x in xs]):
            other = called_back(word, tuple(map(type, xs)))
            if other is not None:
                return other(*xs)
        return function(*(xs if n == 1 else alike(*xs)))

    entered(word, computed)


def _ndtr(x: torch.Tensor) -> Any:
    """Compute the normal distribution by what keeps its digits far left; PyTorch's own is 0."""
    return _special.erfc(x * -math.sqrt(0.5)) / 2


# PyTorch's Bessel functions of the first and second kind are 1e-8 off near 7; SciPy's are not.
for _word, _function in (
    (v.gammaln, torch.lgamma),
    (v.digamma, _special.digamma),
    (v.erf, _special.erf),
    (v.erfc, _special.erfc),
    (v.erfinv, _special.erfinv),
    (v.erfcx, _special.erfcx),
    (v.ndtr, _ndtr),
    (v.log_ndtr, _special.log_ndtr),
    (v.ndtri, _special.ndtri),
    (v.expit, _special.expit),
    (v.log_expit, torch.nn.functional.logsigmoid),
    (v.logit, _special.logit),
    (v.entr, _special.entr),
    (v.i0, _special.i0),
    (v.i0e, _special.i0e),
    (v.i1, _special.i1),
    (v.i1e, _special.i1e),
    (v.k0, _special.modified_bessel_k0),
    (v.k1, _special.modified_bessel_k1),
    (v.k0e, _special.scaled_modified_bessel_k0),
    (v.k1e, _special.scaled_modified_bessel_k1),
    (v.xlogy, _special.xlogy),
    (v.xlog1py, _special.xlog1py),
):
    _reals(_word, _function)


def _kl_div(x: Any, y: Any) -> Any:
    """torch.kl_div is another function: of logarithms, and their mean."""
    other = called_back(v.kl_div, (type(x), type(y)))
    return None if other is None else other(x, y)


entered(v.kl_div, _kl_div)


def _polygamma(n: Any, x: Any) -> Any:
    """PyTorch takes one order, as a number."""
    if type(n) is int and is_tensor(x):
        return torch.special.polygamma(n, x)
    other = called_back(v.polygamma, (type(n), type(x)))
    return None if other is None else other(n, x)


entered(v.polygamma, _polygamma)


def _axes(x: torch.Tensor, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if type(axis) is int else tuple(axis)


@v.logsumexp.implement
def logsumexp_torch(x: torch.Tensor, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Over all axes by default."""
    return torch.logsumexp(x, _axes(x, axis), keepdim=keepdims)


@v.log_softmax.implement
def log_softmax_torch(x: torch.Tensor, *, axis: Any = None) -> Any:
    """Over several axes at once."""
    axes = _axes(x, axis)
    if len(axes) == 1 and not x.is_complex():
        return torch.log_softmax(x, axes[0])
    return x - torch.logsumexp(x, axes, keepdim=True)


@v.softmax.implement
def softmax_torch(x: torch.Tensor, *, axis: Any = None) -> Any:
    """Over several axes at once."""
    axes = _axes(x, axis)
    if len(axes) == 1 and not x.is_complex():
        return torch.softmax(x, axes[0])
    return torch.exp(x - torch.logsumexp(x, axes, keepdim=True))
