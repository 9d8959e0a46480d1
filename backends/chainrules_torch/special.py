"""How PyTorch computes special functions.

What it has no function for is computed by whatever does so for NumPy, on the CPU; see
`chainrules_torch.bridging`.
"""

from __future__ import annotations

from typing import Any

import torch

from chainrules_py import vocabulary as v
from chainrules_torch.arrays import TENSOR

__all__: list[str] = []

_special: Any = torch.special

for _word, _function in (
    (v.gammaln, torch.lgamma),
    (v.digamma, _special.digamma),
    (v.erf, _special.erf),
    (v.erfc, _special.erfc),
    (v.erfinv, _special.erfinv),
    (v.erfcx, _special.erfcx),
    (v.ndtr, _special.ndtr),
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
    (v.j0, _special.bessel_j0),
    (v.j1, _special.bessel_j1),
    (v.y0, _special.bessel_y0),
    (v.y1, _special.bessel_y1),
    (v.k0, _special.modified_bessel_k0),
    (v.k1, _special.modified_bessel_k1),
    (v.k0e, _special.scaled_modified_bessel_k0),
    (v.k1e, _special.scaled_modified_bessel_k1),
):
    _word.implement(_function, types=(TENSOR,))


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
    if len(axes) == 1:
        return torch.log_softmax(x, axes[0])
    return x - torch.logsumexp(x, axes, keepdim=True)


@v.softmax.implement
def softmax_torch(x: torch.Tensor, *, axis: Any = None) -> Any:
    """Over several axes at once."""
    axes = _axes(x, axis)
    if len(axes) == 1:
        return torch.softmax(x, axes[0])
    return torch.exp(x - torch.logsumexp(x, axes, keepdim=True))
