"""Samples of functions of matrices, and of matrix equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.decompositions import regular
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_SQUARE = ((3, 3), (2, 2, 2), (1, 1))


def _dominant(x: Any) -> Any:
    """Return a matrix with its largest elements below the diagonal, so that rows are exchanged."""
    return 0.3 * x + np.roll(np.diag(np.arange(2.0, 2 + x.shape[-1])), 1, -2)


def dominant(*shape: int) -> Draw:
    """Draw matrices whose pivots are off the diagonal, and far from equal to other elements."""
    return Draw(shape, make=_dominant)


def stable(*shape: int) -> Draw:
    """Draw matrices with eigenvalues in the right half plane, inside the unit circle."""
    return Draw(shape, make=lambda x: 0.5 * np.eye(x.shape[-1]) + 0.1 * x)


_m = Draw

enter_table(
    {
        v.expm: (*(Sample(_m(s), complex=True) for s in _SQUARE),),
        v.expm_frechet: (
            *(Sample(_m(s), _m(s), complex=True) for s in _SQUARE),
            Sample(_m((2, 2)), _m((3, 2, 2))),
        ),
        (v.logm, v.sqrtm): (*(Sample(regular(*s), complex=True) for s in _SQUARE),),
        v.unitary_factor: (
            *(Sample(_m(s), complex=True) for s in ((3, 3), (4, 2), (2, 4), (2, 2, 2), (3, 1))),
        ),
        v.solve_sylvester: (
            Sample(regular(3, 3), regular(2, 2), _m((3, 2)), complex=True),
            Sample(regular(2, 2, 2), regular(3, 3), _m((2, 2, 3))),
            Sample(regular(2, 2), regular(2, 2), _m((3, 2, 2))),
            Sample(regular(1, 1), regular(1, 1), _m((1, 1))),
        ),
        v.lu_factor: (*(Sample(dominant(*s), complex=True) for s in _SQUARE[:2]),),
    }
)
