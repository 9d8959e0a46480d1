"""Calls of what stands for SciPy's linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.decompositions import (
    apart,
    completed,
    cut,
    eigenspaces,
    eigenspaces_hermitian,
    positive,
    regular,
)
from chainrules_py.testing.samples.linalg import determined
from chainrules_py.testing.samples.matrix_functions import dominant, stable
from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_HERE = "chainrules_scipy.linalg"
_SQUARE = ((3, 3), (2, 2, 2), (1, 1))
_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1))

_name: str
_keywords: Any


def _enter(name: str, *given: Sample) -> None:
    enter_calls(f"{_HERE}.{name}", *given)


def _m(*shape: int) -> Draw:
    return Draw(shape)


# ---------------------------------------------------------------- triangular systems, factors

for _keywords in (
    {},
    {"lower": True},
    {"trans": 1},
    {"trans": "T", "lower": True},
    {"trans": 2},
    {"trans": "C", "lower": True, "unit_diagonal": True},
    {"unit_diagonal": True},
    {"overwrite_b": True, "check_finite": False},
):
    _enter(
        "solve_triangular",
        Sample(regular(3, 3), _m(3), complex=True, **_keywords),
        Sample(regular(3, 3), _m(3, 2), complex=True, **_keywords),
    )
_enter(
    "solve_triangular",
    Sample(regular(2, 3, 3), _m(3, 2)),
    Sample(regular(2, 3, 3), _m(2, 3, 1)),
    Sample(regular(1, 1), _m(1)),
    Sample([[2.0, 1.0], [0.0, 1.0]], _m(2)),
    Sample(regular(2, 2), [1, 2]),
)
for _keywords in ({}, {"lower": True}, {"overwrite_a": True, "check_finite": False}):
    _enter("cholesky", *(Sample(positive(*s), complex=True, **_keywords) for s in _SQUARE))
    _enter("cho_factor", *(Sample(positive(*s), complex=True, **_keywords) for s in _SQUARE))
for _lower in (False, True):
    _enter(
        "cho_solve",
        Sample((regular(3, 3), _lower), _m(3), complex=True),
        Sample((regular(3, 3), _lower), _m(3, 2), complex=True),
        Sample((regular(2, 2, 2), _lower), _m(2, 1), check_finite=False),
    )
_enter("lu_factor", *(Sample(dominant(*s), complex=True) for s in _SQUARE[:2]))
_enter("lu_factor", Sample(dominant(3, 3), overwrite_a=True, check_finite=False))


def _tall(x: Any) -> Any:
    """Pivots far from other elements, of any shape."""
    return 0.3 * x + np.roll(5.0 * np.eye(*x.shape[-2:]), 1, -2)


for _shape in ((4, 2), (2, 4), (2, 3, 2), (2, 2, 3)):
    _enter("lu_factor", Sample(Draw(_shape, make=_tall), complex=True))
    _enter("lu", Sample(Draw(_shape, make=_tall), complex=True))
_enter("lu", Sample(dominant(3, 3), complex=True))
_enter("lu", Sample(dominant(2, 2, 2), permute_l=True))
_enter("lu", Sample(dominant(3, 3), p_indices=True))
_enter("lu", Sample(Draw((4, 2), make=_tall), permute_l=True, complex=True))
_PIVOTS = np.array([2, 2, 2])
for _trans in (0, 1, 2):
    _enter(
        "lu_solve",
        Sample((regular(3, 3), _PIVOTS), _m(3), complex=True, trans=_trans),
        Sample((regular(3, 3), _PIVOTS), _m(3, 2), complex=True, trans=_trans),
        Sample((regular(2, 3, 3), np.stack([_PIVOTS] * 2)), _m(3, 2), trans=_trans),
    )

# ---------------------------------------------------------------- systems

for _keywords in (
    {},
    {"transposed": True},
    {"assume_a": "sym"},
    {"assume_a": "sym", "lower": True},
    {"assume_a": "her"},
    {"assume_a": "her", "lower": True, "transposed": True},
    {"assume_a": "gen"},
    {"assume_a": "upper triangular"},
    {"assume_a": "lower triangular", "transposed": True},
    {"assume_a": "tridiagonal"},
    {"assume_a": "diagonal"},
    {"overwrite_a": True, "overwrite_b": True, "check_finite": False},
):
    _enter(
        "solve",
        Sample(regular(3, 3), _m(3), complex=True, **_keywords),
        Sample(regular(3, 3), _m(3, 2), complex=True, **_keywords),
    )
for _keywords in ({}, {"lower": True}, {"transposed": True}):
    _enter("solve", Sample(positive(3, 3), _m(3, 2), complex=True, assume_a="pos", **_keywords))
_enter("solve", Sample(regular(2, 3, 3), _m(3, 2)), Sample(regular(1, 1), _m(1)))
for _keywords in ({}, {"assume_a": "sym"}, {"assume_a": "her", "lower": True}):
    _enter("inv", *(Sample(regular(*s), complex=True, **_keywords) for s in _SQUARE))
_enter("det", *(Sample(regular(*s), complex=True) for s in _SQUARE))
_enter("det", Sample([[1.0, 2.0], [2.0, 4.0]]), Sample(_m(2, 2), check_finite=False))
_enter(
    "lstsq",
    Sample(regular(4, 2), _m(4), complex=True),
    Sample(regular(4, 2), _m(4, 3), complex=True),
    Sample(regular(3, 3), _m(3, 1)),
    Sample(regular(2, 4), _m(2), complex=True),
    Sample(Draw((4, 3), make=cut), _m(4), cond=0.25, complex=True),
    Sample(regular(4, 2), _m(4), lapack_driver="gelsy"),
)
_CUT = Draw((3, 3), make=cut)
_enter(
    "pinv",
    *(Sample(_m(*s), complex=True) for s in _SHAPES),
    Sample(_CUT, rtol=0.25, complex=True),
    Sample(_CUT, atol=2.0, complex=True),
    Sample(_CUT, atol=1.0, rtol=0.1),
    Sample(_CUT, return_rank=True),
    Sample(_CUT, rtol=0.25, return_rank=True, check_finite=False),
)
_enter(
    "pinvh",
    Sample(_CUT, complex=True),
    Sample(_CUT, lower=False, complex=True),
    Sample(_CUT, rtol=0.25, complex=True),
    Sample(_CUT, atol=2.0, return_rank=True),
)
_enter(
    "solve_sylvester",
    Sample(regular(3, 3), regular(2, 2), _m(3, 2), complex=True),
    Sample(regular(2, 2, 2), regular(3, 3), _m(2, 2, 3)),
    Sample(regular(1, 1), regular(1, 1), _m(1, 1)),
    Sample([[2]], [[1]], _m(1, 1)),
)
for _name in ("solve_continuous_lyapunov", "solve_discrete_lyapunov"):
    _enter(_name, *(Sample(stable(*s), _m(*s), complex=True) for s in _SQUARE))
for _method in ("direct", "bilinear"):
    _enter(
        "solve_discrete_lyapunov",
        Sample(stable(3, 3), _m(3, 3), complex=True, method=_method),
        Sample(stable(2, 2, 2), _m(2, 2), method=_method),
    )

# ---------------------------------------------------------------- functions of matrices

_enter("expm", *(Sample(_m(*s), complex=True) for s in _SQUARE), Sample([[0.0, 1.0], [-1.0, 0.0]]))
for _name in ("logm", "sqrtm"):
    _enter(_name, *(Sample(regular(*s), complex=True) for s in _SQUARE))
for _name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"):
    _enter(_name, *(Sample(stable(*s), complex=True) for s in _SQUARE))

# ---------------------------------------------------------------- spectra


def _values(w: Any) -> Any:
    """SciPy and NumPy may order complex eigenvalues otherwise."""
    return v.sum(w, axis=-1), v.sum(w * w, axis=-1)


_BOTH = (apart(3, 3), positive(3, 3))
for _keywords in (
    {},
    {"lower": False},
    {"type": 2},
    {"type": 3},
    {"type": 3, "lower": False},
    {"driver": "gvd", "check_finite": False},
):
    _enter("eigh", Sample(*_BOTH, gauge=eigenspaces_hermitian, complex=True, **_keywords))
    _enter("eigvalsh", Sample(*_BOTH, complex=True, **_keywords))
for _keywords in (
    {"lower": False},
    {"subset_by_index": (0, 1)},
    {"subset_by_index": [1, 2]},
    {"subset_by_value": (-9.0, 4.5)},
    {"driver": "evr", "overwrite_a": True},
):
    _enter("eigh", Sample(apart(3, 3), gauge=eigenspaces_hermitian, complex=True, **_keywords))
    _enter("eigvalsh", Sample(apart(3, 3), complex=True, **_keywords))
_enter("eigh", *(Sample(apart(*s), gauge=eigenspaces_hermitian, complex=True) for s in _SQUARE))
_enter("eigh", Sample(apart(3, 3), eigvals_only=True, complex=True))
_enter("eigvalsh", *(Sample(apart(*s), complex=True) for s in _SQUARE))
_enter("eig", *(Sample(apart(*s), gauge=eigenspaces, complex=True) for s in _SQUARE))
_enter("eig", Sample(apart(3, 3), right=False, gauge=_values, complex=True))
_enter("eigvals", *(Sample(apart(*s), gauge=_values, complex=True) for s in _SQUARE))

# ---------------------------------------------------------------- orthogonal factors


def _first(y: Any) -> Any:
    return completed(y[:2])


_enter("qr", *(Sample(_m(*s), gauge=_first, complex=True) for s in _SHAPES))
for _mode in ("r", "economic"):
    _enter("qr", *(Sample(_m(*s), complex=True, mode=_mode) for s in _SHAPES))
_enter("qr", Sample(_m(4, 3), mode="economic", pivoting=True, complex=True))
_enter("qr", Sample(_m(3, 3), gauge=_first, pivoting=True, complex=True))
for _keywords in ({"full_matrices": True}, {"full_matrices": False}):
    _enter("svd", *(Sample(_m(*s), gauge=determined, complex=True, **_keywords) for s in _SHAPES))
_enter("svd", Sample(_m(3, 2), compute_uv=False, complex=True))
_enter("svd", Sample(_m(3, 2), gauge=determined, lapack_driver="gesvd"))
_enter("svdvals", *(Sample(_m(*s), complex=True) for s in _SHAPES))
for _side in ("right", "left"):
    _enter("polar", *(Sample(_m(*s), complex=True, side=_side) for s in ((3, 3), (4, 2), (2, 4))))

# ---------------------------------------------------------------- matrices

_enter(
    "block_diag",
    Sample(_m(2, 2), _m(1, 3), complex=True),
    Sample(_m(2), _m(), [[1.0], [2.0]]),
    Sample(_m(2, 2, 3), _m(1, 1)),
    Sample(_m(2, 2)),
    Sample(Draw((2, 1), kind="int"), _m(1, 2)),
    Sample(_m(0, 2), _m(2, 1)),
)
_enter(
    "toeplitz",
    Sample(_m(3), complex=True),
    Sample(_m(3), _m(4), complex=True),
    Sample(_m(2, 3), _m(2, 2)),
    Sample(_m(3), r=_m(1)),
    Sample([1, 2], _m(3)),
)
_enter("circulant", Sample(_m(3), complex=True), Sample(_m(2, 3)), Sample(_m(1)))
_enter("hankel", Sample(_m(3), complex=True), Sample(_m(3), _m(4), complex=True), Sample(_m(1)))
_enter("khatri_rao", Sample(_m(2, 3), _m(4, 3), complex=True), Sample(_m(1, 2), _m(1, 2)))
_enter("norm", *(Sample(_m(*s), complex=True) for s in ((3,), (2, 3), (1, 1))))
for _keywords in (
    {"ord": "fro"},
    {"ord": "nuc"},
    {"ord": 2},
    {"ord": 1},
    {"ord": np.inf, "axis": 0},
    {"ord": 3, "axis": -1, "keepdims": True},
    {"axis": (0, 1), "keepdims": True},
    {"check_finite": False},
):
    _enter("norm", Sample(_m(2, 3), complex=True, **_keywords))
