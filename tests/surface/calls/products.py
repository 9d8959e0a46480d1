"""Calls of NumPy's products, determinants and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_A, _B, _V, _W = Draw((3, 4)), Draw((4, 2)), Draw((4,)), Draw((3,))
_SQUARE, _CUBE = Draw((3, 3)), Draw((2, 3, 3))
_name: Any
_x: Any


def _regular(x: Any) -> Any:
    return x + 3 * np.eye(x.shape[-1])


def _singular(x: Any) -> Any:
    x = np.array(x)
    x[..., -1, :] = x[..., 0, :]
    return x


def _of_rank_one(x: Any) -> Any:
    return np.outer(x[:, 0], x[0])


for _name in ("matmul", "linalg.matmul"):
    enter_calls(
        _name,
        Sample(_A, _B, complex=True),
        Sample(Draw((2, 3, 4)), _B),
        Sample(Draw((3, 4)), Draw((2, 4, 2)), complex=True),
        Sample(Draw((2, 1, 3, 4)), Draw((5, 4, 2))),
    )
enter_calls("matmul", Sample(_A, _V, complex=True), Sample(_W, _A), Sample(_V, _V))
enter_calls("matmul", Sample(Draw((2, 3, 4)), _V), Sample(_W, Draw((2, 3, 4))))
for _name in ("dot", "ndarray.dot"):
    enter_calls(
        _name,
        Sample(_A, _B, complex=True),
        Sample(_V, _V),
        Sample(_A, _V),
        Sample(Draw((2, 3, 4)), Draw((5, 4, 2))),
        Sample(_A, 2.0),
    )
enter_calls("dot", Sample(Draw(()), _V), Sample(Draw(()), Draw(())))
enter_calls(
    "vdot", Sample(_V, _V, complex=True), Sample(_A, Draw((4, 3))), Sample(Draw(()), Draw(()))
)
enter_calls("inner", Sample(_A, Draw((2, 4)), complex=True), Sample(_V, _V), Sample(_A, 2.0))
for _name in ("outer", "linalg.outer"):
    enter_calls(_name, Sample(_V, _W, complex=True))
enter_calls("outer", Sample(_A, _V))
for _name in ("tensordot", "linalg.tensordot"):
    enter_calls(
        _name,
        Sample(Draw((2, 3, 4)), Draw((3, 4, 2)), complex=True),
        Sample(_A, _B, axes=1),
        Sample(_A, _B, axes=0),
        Sample(Draw((2, 3, 4)), Draw((4, 2, 3)), axes=([0, 2], [1, 0])),
        Sample(Draw((2, 3, 4)), Draw((4, 2, 3)), axes=(-1, 0)),
    )
for _name in ("vecdot", "linalg.vecdot"):
    enter_calls(
        _name,
        Sample(_A, _A, complex=True),
        Sample(_A, _V),
        Sample(_A, _A, axis=0),
        Sample(_A, Draw((2, 3, 4)), axis=-2),
    )
enter_calls("matvec", Sample(_A, _V, complex=True), Sample(Draw((2, 3, 4)), Draw((5, 1, 4))))
enter_calls("vecmat", Sample(_W, _A, complex=True), Sample(Draw((5, 1, 3)), Draw((2, 3, 4))))
enter_calls(
    "kron",
    Sample(_A, _B, complex=True),
    Sample(_V, _W),
    Sample(_A, _V),
    Sample(Draw((2, 1, 2)), _B),
    Sample(Draw(()), _A),
)
for _name in ("cross", "linalg.cross"):
    enter_calls(_name, Sample(Draw((2, 3)), Draw((2, 3)), complex=True))
    enter_calls(_name, Sample(Draw((3,)), Draw((4, 3))), Sample(Draw((3, 2)), Draw((3, 2)), axis=0))
enter_calls("cross", Sample(Draw((3, 2)), Draw((2, 3)), axisa=0, axisb=1, axisc=0))
enter_calls("cross", Sample(Draw((3, 4)), Draw((4, 3)), axisa=0, axisc=0))

enter_calls(
    "einsum",
    Sample("ij,jk->ik", _A, _B, complex=True),
    Sample("ij,jk", _A, _B),
    Sample("ij,jk->ik", _A, _B, optimize=True),
    Sample("ij,jk,k->i", _A, _B, Draw((2,)), optimize="greedy"),
    Sample("ij,jk,k->i", _A, _B, Draw((2,)), optimize=["einsum_path", (0, 1), (0, 1)]),
    Sample("ij->ji", _A, complex=True),
    Sample("ij->", _A),
    Sample("ij->j", _A),
    Sample("ii", _SQUARE, complex=True),
    Sample("ii->i", _SQUARE),
    Sample("iij->j", Draw((3, 3, 2))),
    Sample("iji->ij", Draw((2, 3, 2))),
    Sample("iii->i", Draw((2, 2, 2))),
    Sample("i,i", _V, _V),
    Sample("i,j->ij", _V, _W),
    Sample("i,i->i", Draw((1,)), _V),
    Sample("...ij,...jk->...ik", Draw((2, 3, 4)), Draw((4, 2)), complex=True),
    Sample("...ij,jk", Draw((2, 3, 4)), _B),
    Sample("i...->...", Draw((2, 3, 4))),
    Sample("...i,...i", Draw((2, 1, 4)), Draw((3, 4))),
    Sample("i...,i...->...", Draw((2, 3)), Draw((2, 1))),
    Sample(_A, [0, 1], _B, [1, 2], [0, 2], complex=True),
    Sample(_A, [0, 1], _B, [1, 2]),
    Sample(Draw((2, 3, 4)), [Ellipsis, 1], [1, Ellipsis]),
    Sample(" i j , j -> i ", _A, _V),
    Sample("a,b,c->cab", _V, _W, Draw((2,))),
    Sample("ij,ij,ij->i", _A, _A, _A),
    Sample("ij,kl->ij", _A, Draw((2, 2))),
    Sample(",i->i", Draw(()), _V),
    Sample("ij,jk->ik", _A, _B, order="F"),
)

enter_calls(
    "linalg.det",
    Sample(_SQUARE, complex=True),
    Sample(_CUBE),
    Sample(Draw((1, 1))),
    Sample(Draw((4, 4), make=_singular), complex=True),
    Sample(Draw((3, 3), make=_of_rank_one)),
    Sample(Draw((2, 2), make=np.zeros_like)),
    Sample(Draw((2, 4, 4), make=_singular)),
)
enter_calls("linalg.slogdet", Sample(Draw((3, 3), make=_regular), complex=True), Sample(_CUBE))
enter_calls(
    "linalg.norm",
    Sample(_V, complex=True),
    Sample(_A, complex=True),
    Sample(Draw((2, 3, 2))),
    Sample(_A, axis=0),
    Sample(_A, axis=-1, keepdims=True),
    Sample(_A, None, 1),
    Sample(Draw((2, 3, 2)), axis=(0, 2)),
    Sample(Draw((2, 3, 2)), axis=(-1, 0), keepdims=True),
    Sample(_A, keepdims=True),
    Sample(Draw((4,), make=np.zeros_like), smooth=False),
    *[Sample(_V, ord=ord, complex=True) for ord in (1, 2, 3, 2.5, -1, -2, 0.5)],
    *[Sample(Draw((4,), apart=0.1), ord=ord) for ord in (np.inf, -np.inf)],
    Sample(_V, ord=0, smooth=False),
    *[Sample(Draw((3, 4), apart=0.1), ord=ord, axis=1) for ord in (1, 3, np.inf, -np.inf)],
    *[Sample(_A, ord=ord, complex=True) for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    *[Sample(Draw((2, 3, 4)), ord=ord, axis=(1, 2)) for ord in ("fro", "nuc", 1, 2, -2, np.inf)],
    Sample(Draw((3, 2, 4)), ord="nuc", axis=(2, 0), keepdims=True),
)
enter_calls(
    "linalg.vector_norm",
    Sample(_A, complex=True),
    Sample(_A, axis=1),
    Sample(_A, axis=(0, 1), keepdims=True, ord=3),
    Sample(_A, axis=0, ord=1),
    Sample(Draw((3, 4), apart=0.1), axis=-1, ord=np.inf),
)
enter_calls(
    "linalg.matrix_norm",
    Sample(_CUBE, complex=True),
    *[Sample(_CUBE, ord=ord) for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
    Sample(_CUBE, keepdims=True, ord="nuc"),
)
for _x in (-2, -1, 0, 1, 2, 3, 5):
    enter_calls("linalg.matrix_power", Sample(Draw((3, 3), make=_regular), _x, complex=_x == 3))
enter_calls("linalg.matrix_power", Sample(_CUBE, 2))
enter_calls("linalg.matrix_transpose", Sample(Draw((2, 3, 4)), complex=True))
enter_calls(
    "linalg.multi_dot",
    Sample([_A, _B], complex=True),
    Sample([_A, _B, Draw((2, 5))]),
    Sample([_W, _A, _B, Draw((2,))]),
    Sample([_A, Draw((4, 4)), Draw((4, 4)), _V]),
)
for _name in ("trace", "ndarray.trace"):
    enter_calls(
        _name,
        Sample(_A, complex=True),
        Sample(_A, offset=1),
        Sample(Draw((2, 3, 4)), axis1=1, axis2=-1, offset=-1),
    )
for _name in ("diagonal", "ndarray.diagonal"):
    enter_calls(
        _name,
        Sample(_A, complex=True),
        Sample(_A, offset=-1),
        Sample(Draw((2, 3, 4)), 1, 0, 2),
        Sample(Draw((2, 3, 4)), axis1=-1, axis2=1),
    )
enter_calls("linalg.trace", Sample(_CUBE, complex=True), Sample(_CUBE, offset=1))
enter_calls("linalg.diagonal", Sample(_CUBE, complex=True), Sample(_CUBE, offset=-1))
for _name in ("tril", "triu"):
    enter_calls(_name, Sample(_A, complex=True), Sample(_CUBE, k=1), Sample(_A, k=-1))
