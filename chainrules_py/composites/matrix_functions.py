"""Functions of matrices that are made of other words."""

from __future__ import annotations

from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.values.arrays import Array

__all__: list[str] = []


@v.unitary_factor.implement
def unitary_factor_standard(x: Array) -> Any:
    """Compute the factor by singular vectors, whose derivatives nobody asks for."""
    y = v.svd(x, full_matrices=False)
    return v.matmul(y[0], y[2])


@v.expm_frechet.implement
def expm_frechet_standard(x: Array, t: Array) -> Any:
    """Compute the derivative by a matrix of twice the size: eight times the work of `expm`.

    N. Higham, "Functions of Matrices" (2008), (3.16).
    """
    x, t = x + v.zeros_like(t), t + v.zeros_like(x)
    n = x.shape[-1]
    above, below = v.concat(x, t, axis=-1), v.concat(v.zeros_like(x), x, axis=-1)
    return v.expm(v.concat(above, below, axis=-2))[..., :n, n:]
