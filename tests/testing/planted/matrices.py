"""Plants of matrix functions: symmetry taken for granted, oblong and complex matrices, gauges."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import is_zero, primitive, rrule, unthunk
from tests.testing.planted.build import SQUARE, VECTOR, Plant, X, Z, numpy_pair, numpy_rule

REGULAR = SQUARE + 3.0 * np.eye(3)
SYMMETRIC = REGULAR + REGULAR.T
TALL = np.concatenate([SQUARE, X])
OTHER = np.concatenate([Z, SQUARE])
COMPLEX = REGULAR + 1j * SQUARE
PHASES = VECTOR + 1j * VECTOR[::-1]


def by_the_same_matrix(t, a, b):
    """Right for symmetric matrices: the transpose is missing."""
    return -np.outer(np.linalg.solve(a, t), np.linalg.solve(a, b))


def solved(pull_a: Any, pull_b: Any) -> Any:
    return numpy_pair(np.linalg.solve, pull_a, pull_b)


def form(x, a):
    return x @ a @ x


def trace_of_product(a, b):
    return np.trace(a @ b)


def exponential(a):
    """By a Taylor series of a part, squared again."""
    y = term = np.eye(len(a))
    for k in range(1, 20):
        term = term @ a / (64.0 * k)
        y = y + term
    for _ in range(6):
        y = y @ y
    return y


def dense(t, like):
    return np.zeros(like.shape) if is_zero(t) else unthunk(t)


def decomposed(pull_vectors: Any) -> Any:
    """Eigenvalues and vectors of the symmetric part, with this pull through the vectors."""

    def value(x):
        return tuple(np.linalg.eigh((x + x.T) / 2))

    @primitive
    def f(x, /):
        return value(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        w, q = value(x)

        def pull(t):
            t = [dense(part, like) for part, like in zip((t[0], t[1]), (w, q), strict=True)]
            inner = np.diag(t[0])
            gaps = w - w[:, None] + np.eye(len(w))
            inner = inner + pull_vectors(q.T @ t[1], gaps)
            x_bar = q @ inner @ q.T
            return ((x_bar + x_bar.T) / 2,)

        return (w, q), pull

    return f


def pseudo_inverse_of_a_square(t, a):
    y = np.linalg.pinv(a)
    return -y.T @ t @ y.T


def least_squares(a, b):
    return np.linalg.solve(a.T @ a, a.T @ b)


def of_exact_equations(t, a, b):
    """The residual is taken for zero."""
    y = np.linalg.solve(a.T @ a, t)
    return -np.outer(a @ y, least_squares(a, b))


def covariance(x):
    d = x - x.mean(axis=0)
    return d.T @ d / len(x)


WRONG: dict[str, Plant] = {
    "solution for symmetric matrices": Plant(
        solved(by_the_same_matrix, lambda t, a, b: np.linalg.solve(a, t)),
        (SYMMETRIC, VECTOR),
        "transposed (at another point)",
    ),
    "complex solution, transposed": Plant(
        solved(
            lambda t, a, b: -np.outer(np.linalg.solve(a.T, t), np.linalg.solve(a, b)),
            lambda t, a, b: np.linalg.solve(a.T, t),
        ),
        (COMPLEX, PHASES),
        "conjugated",
    ),
    "determinant, transposed": Plant(
        numpy_rule(np.linalg.det, lambda t, a: t * np.linalg.det(a) * np.linalg.inv(a)),
        (REGULAR,),
        "transposed",
    ),
    "trace of a product, transposed": Plant(
        numpy_pair(trace_of_product, lambda t, a, b: t * b, lambda t, a, b: t * a),
        (SQUARE, SQUARE + 1.0),
        "transposed",
    ),
    "form of a symmetric matrix": Plant(
        numpy_pair(form, lambda t, x, a: 2.0 * t * a @ x, lambda t, x, a: t * np.outer(x, x)),
        (VECTOR, SYMMETRIC),
        "right only for a symmetric",
    ),
    "Frobenius norm, not divided": Plant(
        numpy_rule(np.linalg.norm, lambda t, a: t * a), (SQUARE,), "factor"
    ),
    "cross product, its sign": Plant(
        numpy_pair(np.cross, lambda t, a, b: np.cross(b, t), lambda t, a, b: np.cross(a, t)),
        (VECTOR, VECTOR[::-1] + 1.0),
        "wrong sign for argument 2",
    ),
    "exponential of matrices that commute": Plant(
        numpy_rule(exponential, lambda t, a: exponential(a).T @ t),
        (SQUARE,),
        "right only where x is a multiple of the identity",
        cites="JuliaDiff/ChainRules.jl#595",
    ),
    "pseudo-inverse of oblong matrices": Plant(
        numpy_rule(np.linalg.pinv, pseudo_inverse_of_a_square),
        (REGULAR,),
        "wrong only for another shape | wrong only for a leading axis",
        cites="HIPS/autograd#408",
    ),
    "least squares without a residual": Plant(
        numpy_pair(
            least_squares,
            of_exact_equations,
            lambda t, a, b: a @ np.linalg.solve(a.T @ a, t),
        ),
        (TALL, OTHER[:, 0]),
        "for argument 1",
    ),
    "covariance of the columns": Plant(
        numpy_rule(covariance, lambda t, x: 2.0 * (x - x.mean(axis=0)) @ t / len(x)),
        (TALL,),
        "cotangent of the result is not symmetrised",
    ),
    "inner product without a conjugate": Plant(
        numpy_pair(np.vdot, lambda t, a, b: t * b, lambda t, a, b: t * a),
        (PHASES, PHASES * 1j + 1.0),
        "conjugated for argument 1",
    ),
    "trace of an oblong matrix": Plant(
        numpy_rule(np.trace, lambda t, a: t * np.eye(len(a))),
        (SQUARE,),
        "wrong only for another shape | wrong for an empty array",
    ),
    "Kronecker product, its blocks": Plant(
        numpy_pair(
            np.kron,
            lambda t, a, b: np.einsum("ikjl,kl->ij", t.reshape(*a.shape, *b.shape), b),
            lambda t, a, b: np.einsum(
                "ikjl,ij->kl", t.reshape(len(a), len(b), a.shape[1], b.shape[1]), a
            ),
        ),
        (SQUARE, SQUARE + 1.0),
        "wrong only for another shape",
    ),
    "vectors with their gaps turned round": Plant(
        decomposed(lambda q_bar, gaps: q_bar / -gaps * (1.0 - np.eye(len(gaps)))),
        (SYMMETRIC,),
        "in the pull | wrong",
        {"gauge": lambda y: (y[0], y[1] * y[1])},
    ),
}
