"""Special functions in PyTorch.

Functions that PyTorch lacks run on NumPy arrays on the CPU; see `chainrules_torch.engine.callback`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from chainrules_py import ops as v
from chainrules_torch.array_types import alike, entered, implement
from chainrules_torch.arrays.manipulation_and_creation import axes_of
from chainrules_torch.engine.callback import called_back
from chainrules_torch.engine.rule_config import is_tensor

_special: Any = torch.special


def _by_numpy(operation: Any, *xs: Any) -> Any:
    """Compute an operation by its implementation for NumPy."""
    return called_back(operation, tuple(map(type, xs)))(*xs)


def _reals(operation: Any, function: Any) -> None:
    """Register a PyTorch function of real numbers; complex numbers are computed by NumPy."""

    def computed(*xs: Any) -> Any:
        if any([is_tensor(x) and x.is_complex() for x in xs]):
            return _by_numpy(operation, *xs)
        return function(*(xs if len(xs) == 1 else alike(*xs)))

    entered(operation, computed)


def _ndtr(x: torch.Tensor) -> Any:
    """Compute the normal CDF by erfc; for very negative x PyTorch's own function returns 0."""
    return _special.erfc(x * -math.sqrt(0.5)) / 2


# PyTorch's Bessel functions of the first and second kind have errors of 1e-8 near 7.
for _operation, _function in (
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
    _reals(_operation, _function)


# torch.kl_div is a different function: it takes logarithms, and returns their mean.
entered(v.kl_div, lambda x, y: _by_numpy(v.kl_div, x, y))


def _polygamma(n: Any, x: Any) -> Any:
    """Compute polygamma; PyTorch takes a Python integer as the order."""
    if type(n) is int and is_tensor(x):
        return _special.polygamma(n, x)
    return _by_numpy(v.polygamma, n, x)


entered(v.polygamma, _polygamma)


def _softmax(function: Any, x: torch.Tensor, axis: Any) -> Any:
    """Compute softmax or its logarithm; PyTorch's own function takes one axis."""
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1 and not x.is_complex():
        return function(x, axes[0])
    y = x - torch.logsumexp(x, axes, keepdim=True)
    return y if function is torch.log_softmax else torch.exp(y)


implement(
    {
        v.logsumexp: lambda x, *, axis=None, keepdims=False: torch.logsumexp(
            x, axes_of(axis, x.ndim), keepdim=keepdims
        ),
        v.log_softmax: lambda x, *, axis=None: _softmax(torch.log_softmax, x, axis),
        v.softmax: lambda x, *, axis=None: _softmax(torch.softmax, x, axis),
        # PyTorch has functions of order 0 and 1.
        v.bessel_i: lambda x, *, order: (
            (_special.i0, _special.i1)[abs(order)](x)
            if abs(order) < 2
            else called_back(v.bessel_i, (type(x),))(x, order=order)
        ),
    }
)
