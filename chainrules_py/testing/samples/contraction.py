"""Samples of sums over named axes, of determinants and of norms."""

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_A, _B, _V = Draw((3, 4)), Draw((4, 2)), Draw((4,))


def _singular(x: Any) -> Any:
    x = np.array(x)
    x[..., -1, :] = x[..., 0, :]
    return x


enter_table(
    {
        v.einsum: (
            Sample(_A, _B, subscripts="ij,jk->ik", complex=True),
            Sample(_A, _B, Draw((2,)), subscripts="ij,jk,k->i", optimize=True),
            Sample(_A, subscripts="ij->j"),
            Sample(Draw((3, 3)), subscripts="ii->", complex=True),
            Sample(Draw((3, 3, 2)), Draw((3,)), subscripts="iij,i->j"),
            Sample(Draw((1,)), _V, subscripts="i,i->i"),
        ),
        v.det: (
            Sample(Draw((3, 3)), complex=True),
            Sample(Draw((2, 4, 4), make=_singular)),
            Sample(Draw((1, 1))),
        ),
        v.adjugate: (
            Sample(Draw((3, 3)), complex=True),
            Sample(Draw((3, 3), make=_singular)),
            Sample(Draw((2, 2, 2))),
            Sample(Draw((1, 1))),
        ),
        v.vector_norm: (
            Sample(_A, complex=True),
            Sample(_A, axis=-1, keepdims=True, complex=True),
            Sample(_A, axis=(0, 1), ord=3),
            Sample(_A, axis=0, ord=1),
            Sample(Draw((3, 4), apart=0.1), axis=1, ord=float("inf")),
            Sample(Draw((3, 4), apart=0.1), axis=1, ord=-float("inf")),
            Sample(_V, ord=-1),
            Sample(_V, ord=0.5),
        ),
    }
)
