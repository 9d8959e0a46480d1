"""Calls of NumPy's decompositions and solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.decompositions import (
    apart,
    completed,
    cut,
    eigenspaces,
    eigenspaces_hermitian,
    positive,
    regular,
    turning,
)
from chainrules_py.testing.samples.linalg import determined
from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_order: Any
_keywords: Any

_SQUARE = ((3, 3), (2, 2, 2), (1, 1), (2, 1, 2, 2))
_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (3, 1), (1, 3))


def _m(*shape: int) -> Draw:
    return Draw(shape)


def _turned(x: Any) -> Any:
    return np.swapaxes(np.eye(x.shape[-1]) * 3 + x, -1, -2)


# ---------------------------------------------------------------- factors

enter_calls(
    "linalg.cholesky",
    *(Sample(positive(*s), complex=True) for s in _SQUARE),
    *(Sample(positive(*s), complex=True, upper=upper) for s in _SQUARE[:2] for upper in (0, True)),
    Sample(_m(0, 0)),
)
enter_calls(
    "linalg.qr",
    *(Sample(_m(*s), complex=True) for s in _SHAPES),
    *(Sample(_m(*s), complex=True, mode=m) for s in _SHAPES for m in ("reduced", "r", "raw")),
    *(Sample(_m(*s), gauge=completed, complex=True, mode="complete") for s in _SHAPES),
    *(Sample(_m(*s), mode=m) for s in ((0, 2), (2, 0)) for m in ("reduced", "r", "complete")),
)
for _draw in (*(apart(*s) for s in _SQUARE), Draw((3, 3), make=turning), _m(0, 0)):
    enter_calls("linalg.eig", Sample(_draw, gauge=eigenspaces, complex=True))
    enter_calls("linalg.eigvals", Sample(_draw, complex=True))
for _draw in (*(apart(*s) for s in _SQUARE), _m(0, 0)):
    enter_calls("linalg.eigh", Sample(_draw, gauge=eigenspaces_hermitian, complex=True))
    enter_calls("linalg.eigvalsh", Sample(_draw, complex=True))
for _triangle in ("L", "U", "l", "u"):
    _gauge = eigenspaces_hermitian
    enter_calls("linalg.eigh", Sample(apart(3, 3), gauge=_gauge, complex=True, UPLO=_triangle))
    enter_calls("linalg.eigvalsh", Sample(apart(2, 3, 3), complex=True, UPLO=_triangle))
    enter_calls("linalg.eigvalsh", Sample(apart(3, 3), _triangle))

# ---------------------------------------------------------------- singular values

for _full in (True, False):
    enter_calls(
        "linalg.svd",
        *(Sample(_m(*s), gauge=determined, complex=True, full_matrices=_full) for s in _SHAPES),
        *(Sample(_m(*s), complex=True, full_matrices=_full, compute_uv=False) for s in _SHAPES),
        Sample(apart(3, 3), gauge=determined, complex=True, full_matrices=_full, hermitian=True),
        Sample(apart(2, 3, 3), _full, False, True, complex=True),
        Sample(_m(2, 3), gauge=determined, full_matrices=_full, hermitian=False),
    )
enter_calls("linalg.svd", Sample(_m(3, 2), gauge=determined), Sample(_m(3, 2), compute_uv=False))
enter_calls("linalg.svdvals", *(Sample(_m(*s), complex=True) for s in _SHAPES))
_CUT = Draw((3, 3), make=cut)
enter_calls(
    "linalg.pinv",
    *(Sample(_m(*s), complex=True) for s in _SHAPES),
    Sample(_CUT, complex=True, rcond=0.25),
    Sample(_CUT, 0.25, complex=True),
    Sample(_CUT, complex=True, rtol=0.25),
    Sample(_CUT, complex=True, rtol=None),
    Sample(_CUT, complex=True, rcond=1e-10),
    Sample(_CUT, complex=True, rcond=np.float64(0.25)),
    Sample(_CUT, complex=True, hermitian=True),
    Sample(_CUT, complex=True, hermitian=True, rcond=0.25),
    Sample(Draw((2, 3, 3), make=cut), complex=True, rcond=np.array([0.25, 1e-3])),
    Sample(Draw((2, 1, 4, 3), make=cut), rtol=np.array([[0.25], [1e-3]])),
    Sample(_m(0, 2)),
)
for _order in (None, 2, -2):
    enter_calls("linalg.cond", *(Sample(_m(*s), complex=True, p=_order) for s in _SHAPES))
for _order in (1, -1, np.inf, -np.inf, "fro", "nuc"):
    enter_calls(  # of one number it is 1, and its second differences are rounding
        "linalg.cond", *(Sample(regular(*s), complex=s != (1, 1), p=_order) for s in _SQUARE)
    )
enter_calls(
    "linalg.cond",
    Sample(Draw((3, 3), make=np.zeros_like), smooth=False),
    Sample(Draw((2, 3, 3), make=np.zeros_like), 1, smooth=False),
    Sample(regular(3, 3)),
    Sample(regular(3, 3), "fro"),
)
for _draw in (_m(3, 2), _m(2, 2, 2), _m(3), _m(0, 2), Draw((3, 3), make=np.ones_like)):
    enter_calls("linalg.matrix_rank", Sample(_draw, complex=True))
for _keywords in (
    {"tol": 0.5},
    {"rtol": 0.1},
    {"hermitian": True},
    {"hermitian": True, "rtol": 0.1},
    {"tol": Draw((2,))},
):
    enter_calls("linalg.matrix_rank", Sample(apart(2, 3, 3), complex=True, **_keywords))

# ---------------------------------------------------------------- solvers

enter_calls("linalg.inv", *(Sample(regular(*s), complex=True) for s in (*_SQUARE, (0, 0))))
_ROWS = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 2.0]]
enter_calls(
    "linalg.solve",
    Sample(regular(3, 3), _m(3), complex=True),
    Sample(regular(3, 3), _m(3, 2), complex=True),
    Sample(regular(3, 3), _m(2, 3, 2), complex=True),
    Sample(regular(2, 3, 3), _m(3), complex=True),
    Sample(regular(2, 3, 3), _m(3, 2), complex=True),
    Sample(regular(2, 3, 3), _m(2, 3, 1), complex=True),
    Sample(regular(2, 1, 3, 3), _m(4, 3, 2)),
    Sample(regular(2, 1, 3, 3), _m(2, 3, 3)),
    Sample(regular(1, 1), _m(1)),
    Sample(regular(3, 3), _m(3, 0)),
    Sample(regular(0, 0), _m(0)),
    Sample(Draw((3, 3), make=_turned), _m(3, 2)),
    Sample(Draw((3, 3), make=np.triu, low=1.0), _m(3)),
    Sample(_ROWS, _m(3)),
    Sample(regular(3, 3), [1.0, 2.0, 3.0]),
    Sample(regular(2, 2), Draw((2,), kind="int")),
    Sample(Draw((3, 3), kind="complex", make=_turned), _m(3)),
)
enter_calls(
    "linalg.lstsq",
    Sample(regular(4, 2), _m(4), complex=True),
    Sample(regular(4, 2), _m(4, 3), complex=True),
    Sample(regular(3, 3), _m(3, 1), complex=True),
    Sample(regular(2, 4), _m(2), complex=True),
    Sample(regular(2, 4), _m(2, 3), complex=True),
    Sample(regular(3, 1), _m(3)),
    Sample(regular(1, 3), _m(1, 2)),
    Sample(regular(3, 2), _m(3, 0)),
    Sample(Draw((4, 3), make=cut), _m(4), complex=True, rcond=0.25),
    Sample(Draw((3, 3), make=cut), _m(3, 2), complex=True, rcond=0.25),
    Sample(regular(4, 2), _m(4), rcond=-1),
    Sample(regular(4, 2), _m(4), rcond=None),
    Sample(regular(4, 2), _m(4), np.float64(1e-9)),
    Sample([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]], _m(3)),
    Sample(regular(3, 2), [1.0, 2.0, 4.0]),
)


def _tensor(x: Any) -> Any:
    """Regular, if its first two axes are taken for one."""
    rows = x.shape[0] * x.shape[1]
    return (2 * np.eye(rows) + 0.3 * x.reshape(rows, -1)).reshape(x.shape)


def _moved(x: Any) -> Any:
    """Make a tensor regular, with the axis of unknowns in front."""
    return np.moveaxis(_tensor(np.moveaxis(x, 0, -1)), -1, 0)


def _crossed(x: Any) -> Any:
    """Make a tensor regular, with the axes of unknowns in places 0 and 2."""
    return _tensor(x.transpose(1, 3, 0, 2)).transpose(2, 0, 3, 1)


enter_calls(
    "linalg.tensorinv",
    Sample(Draw((2, 3, 6), make=_tensor), complex=True),
    Sample(Draw((2, 3, 3, 2), make=_tensor), ind=2),
    Sample(Draw((1, 4, 2, 2), make=_tensor), 2),
    Sample(regular(3, 3), ind=1, complex=True),
)
enter_calls(
    "linalg.tensorsolve",
    Sample(Draw((2, 3, 6), make=_tensor), _m(2, 3), complex=True),
    Sample(Draw((2, 3, 3, 2), make=_tensor), _m(2, 3), complex=True),
    Sample(Draw((6, 2, 3), make=_moved), _m(2, 3), axes=(0,), complex=True),
    Sample(Draw((3, 2, 2, 3), make=_crossed), _m(2, 3), axes=[0, 2]),
    Sample(Draw((2, 2, 4), make=_tensor), [[1.0, 2.0], [3.0, 4.0]]),
    Sample(regular(3, 3), _m(3)),
)
