"""Samples of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def _m(*shape: int) -> Draw:
    return Draw(shape)


_PRODUCTS = (
    ((3,), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
    ((2, 2, 3), (2, 3, 2)),
    ((2, 2, 3), (3, 2)),
    ((2, 3), (2, 3, 2)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((1, 2, 3), (2, 3, 2)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3,)),
)


def _well_conditioned(x: Any) -> Any:
    return np.eye(x.shape[-1]) + 0.2 * x


def _regular(*shape: int) -> Draw:
    return Draw(shape, make=_well_conditioned)


def determined(y: Any) -> Any:
    """Return the part of an SVD that does not depend on the choice of singular vectors."""
    U, S, Vh = y
    k = S.shape[-1]
    Uh, V = v.conj(v.matrix_transpose(U)), v.conj(v.matrix_transpose(Vh))
    weights = v.expand_dims(v.exp(-S), axis=-2)
    return (
        S,
        v.matmul(U[..., :k] * weights, Vh[..., :k, :]),
        v.matmul(U[..., :k] * weights, Uh[..., :k, :]),
        v.matmul(V[..., :k] * weights, Vh[..., :k, :]),
        v.matmul(U, Uh),
        v.matmul(V, Vh),
    )


_SHAPES = ((3, 3), (4, 2), (2, 4), (1, 1), (3, 1), (1, 3), (2, 3, 2), (2, 1, 2, 2))


def _nowhere(x: Any) -> Any:
    return np.zeros(np.shape(x), bool)


enter_table(
    {
        v.matmul: (*(Sample(_m(*a), _m(*b), complex=True) for a, b in _PRODUCTS),),
        v.vecdot: (
            Sample(_m(3), _m(3), complex=True),
            Sample(_m(2, 3), _m(2, 3), complex=True),
            Sample(_m(2, 3), _m(3), complex=True),
            Sample(_m(2, 1, 3), _m(4, 3), complex=True),
            Sample(_m(2, 3), _m(4, 2, 3), complex=True, axis=-2),
            Sample(_m(1), _m(1)),
            Sample(_m(2, 0), _m(2, 0)),
        ),
        v.tensordot: (
            Sample(_m(2, 3, 2), _m(3, 2, 4), complex=True),
            Sample(_m(2, 3), _m(3, 4), complex=True, axes=1),
            Sample(_m(2), _m(3), axes=0),
            Sample(_m(2, 3), _m(2, 3), axes=2),
            Sample(_m(2, 3, 4), _m(4, 5, 2), complex=True, axes=((0, 2), (2, 0))),
            Sample(_m(2, 3, 4), _m(4, 2, 5), axes=((-1, 0), (0, -2))),
            Sample(_m(2, 3), _m(4, 3), axes=((1,), (1,))),
        ),
        v.outer: (
            Sample(_m(2), _m(3), complex=True),
            Sample(_m(2, 2), _m(3), complex=True),
            Sample(_m(), _m(1, 2)),
            Sample(_m(1), _m(1)),
            Sample(_m(0), _m(3)),
            Sample(_m(2), Draw(None)),
        ),
        (v.inner, v.dot): (
            Sample(_m(3), _m(3), complex=True),
            Sample(_m(2, 3), _m(3), complex=True),
            Sample(_m(), _m(2, 3), complex=True),
            Sample(_m(2, 3), Draw(None)),
            Sample(Draw(None), _m(3)),
            Sample(_m(1), _m(1)),
        ),
        v.inner: (
            Sample(_m(2, 3), _m(4, 3), complex=True),
            Sample(_m(2, 2, 3), _m(2, 3)),
        ),
        v.dot: (
            Sample(_m(2, 3), _m(3, 4), complex=True),
            Sample(_m(2, 3), _m(2, 3, 2)),
        ),
        (v.diagonal, v.trace): (
            Sample(_m(3, 3), complex=True),
            Sample(_m(2, 3, 4), complex=True, offset=1),
            Sample(_m(4, 3), offset=-2),
            Sample(_m(2, 2), offset=2),
            Sample(_m(1, 1)),
        ),
        v.from_diagonal: (
            Sample(_m(3), complex=True, rows=3, columns=3),
            Sample(_m(2, 2), rows=4, columns=2, offset=-1),
            Sample(_m(2), rows=2, columns=3, offset=1),
        ),
        (v.tril, v.triu): (
            Sample(_m(3, 3), complex=True),
            Sample(_m(2, 3, 4), k=1),
            Sample(_m(4, 3), k=-1),
            Sample(_m(3), without=("array_api_strict",)),
        ),
        v.inv: (
            Sample(_regular(3, 3), complex=True),
            Sample(_regular(2, 2, 2), complex=True),
            Sample(_regular(1, 1)),
        ),
        v.solve: (
            Sample(_regular(3, 3), _m(3), complex=True),
            Sample(_regular(3, 3), _m(3, 2), complex=True),
            Sample(_regular(2, 3, 3), _m(3, 2), complex=True),
            Sample(_regular(3, 3), _m(2, 3, 2)),
            Sample(_regular(1, 1), _m(1)),
        ),
        v.slogdet: (
            Sample(_regular(3, 3), complex=True),
            Sample(_regular(2, 2, 2), complex=True),
            Sample(_regular(1, 1)),
        ),
        v.svd: (
            *(
                Sample(_m(*shape), gauge=determined, complex=True, full_matrices=full)
                for shape in _SHAPES
                for full in (False, True)
            ),
        ),
        v.svdvals: (*(Sample(_m(*shape), complex=True) for shape in _SHAPES),),
        v.report: (Sample(Draw((3,), kind="bool", make=_nowhere), message="nothing is reported"),),
    }
)
