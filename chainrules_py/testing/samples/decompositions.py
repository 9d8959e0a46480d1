"""Samples of decompositions and solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

# ---------------------------------------------------------------- matrices


def _adjoint(x: Any) -> Any:
    return v.conj(v.matrix_transpose(x))


def _positive(x: Any) -> Any:
    return x @ np.conj(np.swapaxes(x, -1, -2)) / x.shape[-1] + np.eye(x.shape[-1])


def _regular(x: Any) -> Any:
    return 2 * np.eye(x.shape[-2], x.shape[-1]) + 0.3 * x


def _apart(x: Any) -> Any:
    return 0.4 * x + np.diag(3.0 * np.arange(x.shape[-1]))


def turning(x: Any) -> Any:
    """Return a matrix with a pair of conjugate eigenvalues, if x is real."""
    return 0.3 * x + np.array([[0.0, 5.0, 0.0], [-5.0, 0.0, 0.0], [0.0, 0.0, 9.0]])


def cut(x: Any) -> Any:
    """Return a matrix with singular values of about 1, 4 and 8."""
    return 0.2 * x + np.eye(x.shape[-2], x.shape[-1]) * np.array([1.0, 4.0, 8.0])


def positive(*shape: int) -> Draw:
    """Draw positive definite Hermitian matrices."""
    return Draw(shape, make=_positive)


def regular(*shape: int) -> Draw:
    """Draw matrices whose columns are independent, with a diagonal away from zero."""
    return Draw(shape, make=_regular)


def apart(*shape: int) -> Draw:
    """Draw matrices with eigenvalues at least about 1 apart, which are real if the matrices are."""
    return Draw(shape, make=_apart)


def _m(*shape: int) -> Draw:
    return Draw(shape)


_SQUARE = ((3, 3), (2, 2, 2), (1, 1))
_SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (3, 1), (1, 3))


def completed(y: Any) -> Any:
    """Return the part of a QR that depends neither on signs nor on how columns complete Q."""
    Q, R = y
    k = min(R.shape[-2:])
    d = v.expand_dims(v.diagonal(R), axis=-2)
    signless = v.conj(v.matrix_transpose(d)) * R[..., :k, :]
    return Q[..., :k] * d, signless, v.matmul(Q[..., k:], _adjoint(Q[..., k:]))


def eigenspaces_hermitian(y: Any) -> Any:
    """Return the parts that do not depend on phases: eigenvalues, a matrix function, sizes."""
    w, V = y
    weights = v.expand_dims(v.sin(w), axis=-2)
    return w, v.matmul(V * weights, _adjoint(V)), v.real(V * v.conj(V))


def eigenspaces(y: Any) -> Any:
    """Return these parts where eigenvectors are not orthogonal, and in no order."""
    w, V = y
    weights = v.expand_dims(v.sin(w), axis=-2)
    sizes = v.sum(v.real(V * v.conj(V)) * v.real(weights), axis=-1)
    return v.matmul(V * weights, v.inv(V)), sizes


_SIDES = False, True
_APART = (*[apart(*s) for s in _SQUARE], Draw((3, 3), make=turning))
enter_table(
    {
        # triangular factors:
        v.cholesky: [
            Sample(positive(*s), complex=True, upper=upper) for upper in _SIDES for s in _SQUARE
        ],
        v.solve_triangular: [
            sample
            for upper in _SIDES
            for sample in (
                Sample(regular(3, 3), _m(3), complex=True, upper=upper),
                Sample(regular(3, 3), _m(3, 2), complex=True, upper=upper, unit_diagonal=True),
                Sample(regular(2, 3, 3), _m(3, 2), upper=upper),
                Sample(regular(2, 2, 2), _m(2), upper=upper),
                Sample(regular(1, 1), _m(2, 1, 1), upper=upper),
            )
        ],
        (v.cholesky_cotangent, v.cholesky_tangent): [
            Sample(_m(*s), regular(*s)) for s in ((3, 3), (2, 2, 2), (1, 1))
        ],
        v.solve_again: (
            Sample(regular(3, 3), _m(3), complex=True),
            Sample(regular(2, 3, 3), _m(3, 2), complex=True),
            Sample(regular(2, 2, 2), _m(2)),
            Sample(regular(1, 1), _m(1)),
        ),
        v.inv_again: (
            Sample(regular(3, 3), complex=True),
            Sample(regular(2, 2, 2)),
        ),
        v.qr: (
            *(Sample(_m(*s), complex=True) for s in _SHAPES),
            *(Sample(_m(*s), gauge=completed, complex=True, mode="complete") for s in _SHAPES[:4]),
        ),
        v.qr_raw: [Sample(_m(*s), complex=True) for s in _SHAPES],
        # eigenvalues:
        v.eigvalsh: [
            Sample(apart(*s), complex=True, upper=upper) for upper in _SIDES for s in _SQUARE
        ],
        v.eigh: [
            Sample(apart(*s), gauge=eigenspaces_hermitian, complex=True, upper=upper)
            for upper in _SIDES
            for s in _SQUARE
        ],
        v.eig: [Sample(x, gauge=eigenspaces, complex=True) for x in _APART],
        v.eigvals: [Sample(x, complex=True) for x in _APART],
        # least squares:
        v.pinv: (
            *(Sample(_m(*s), complex=True) for s in _SHAPES),
            Sample(Draw((3, 3), make=cut), complex=True, rtol=0.25),
            Sample(Draw((4, 3), make=cut), complex=True, rtol=0.75),
            Sample(Draw((3, 3), make=cut), complex=True, hermitian=True),
            Sample(Draw((3, 3), make=cut), complex=True, hermitian=True, rtol=0.25),
        ),
        v.lstsq: (
            Sample(regular(4, 2), _m(4), complex=True),
            Sample(regular(4, 2), _m(4, 3), complex=True),
            Sample(regular(2, 4), _m(2, 2), complex=True),
            Sample(regular(3, 3), _m(3, 1)),
            Sample(Draw((4, 3), make=cut), _m(4), rcond=0.25),
        ),
        v.matrix_rank: (
            Sample(regular(3, 2)),
            Sample(Draw((2, 3, 3), make=lambda x: np.ones(x.shape)), smooth=False),
            Sample(apart(3, 3), rtol=0.1),
        ),
    }
)
