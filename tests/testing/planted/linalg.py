"""Plants of linear algebra: transposes, triangles, leading axes, singular and oblong matrices."""

from __future__ import annotations

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import REGULAR, SQUARE, Plant, X, Z, back, both, frozen, halves, mt

STACK = np.stack([REGULAR, REGULAR.T, 2.0 * REGULAR + 1.0])
SINGULAR = np.ones((3, 3))
SYMMETRIC = SQUARE + SQUARE.T
LOWER = np.tril(SQUARE) + 2.0 * np.eye(3)
TALL = np.concatenate([SQUARE, X]) + np.eye(5, 3)
COMPLEX_SQUARE = SQUARE + 1j * np.exp(SQUARE)
BATCH = np.stack([X, Z, X - Z])


def adjoint_of_gram(g, x):
    return v.matmul(g + mt(g), x)


def inverse_push(t, x):
    return -v.matmul(v.matmul(v.inv(x), t), v.inv(x))


def all_axes_reversed(t, x):
    y = v.permute_dims(v.inv(x), axes=None)
    return -v.matmul(v.matmul(y, t), y)


def of_factor(x):
    return v.inv(v.matmul(x, mt(x)))


def of_factor_push(t, x):
    """The tangent stands on the wrong side of the inverse, in a product of matrices."""
    y, half = of_factor(x), v.matmul(v.matmul(t, of_factor(x)), x)
    return -v.matmul(y, half) - mt(v.matmul(y, half))


def of_factor_pull(g, x):
    y = of_factor(x)
    return adjoint_of_gram(-v.matmul(v.matmul(mt(y), g), mt(y)), x)


def frozen_solution(t, a, b):
    x = np.linalg.solve(frozen(a), frozen(b))
    return -v.matmul(v.solve(mt(a), t), mt(x))


def lower_solve(a, b):
    return np.linalg.solve(np.tril(a), b)


def whole_matrix(t, a, b):
    return -np.linalg.solve(np.tril(a).T, t) @ lower_solve(a, b).T


def determinant_push(t, x):
    return v.det(x) * v.trace(v.matmul(v.inv(x), t))


def column(t):
    return v.expand_dims(t, axis=(-2, -1))


def by_frozen_cofactors(t, x):
    plain = frozen(x)
    return column(t) * mt(v.inv(plain) * column(v.det(plain)))


# ---------------------------------------------------------------------------- factorisations


def factor(x, /, *, upper=False):
    """The Cholesky factor of a Gram matrix."""
    y = np.linalg.cholesky(x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2]))
    return np.swapaxes(y, -1, -2) if upper else y


def lower_factor_pull(t, x, upper):
    y = factor(x)
    yt = np.swapaxes(y, -1, -2)
    triangle = np.tril(yt @ t) * (np.tril(np.ones(y.shape)) - 0.5 * np.eye(y.shape[-1]))
    left = np.swapaxes(np.linalg.solve(yt, triangle), -1, -2)
    g = np.swapaxes(np.linalg.solve(yt, left), -1, -2)
    return (g + np.swapaxes(g, -1, -2)) @ x


def upper_factor(x):
    return np.linalg.qr(x)[1]


def upper_factor_pull(t, x):
    """Right for as many columns as rows, or fewer; R is not square otherwise."""
    if not x.size:
        return np.zeros(x.shape)
    q, r = np.linalg.qr(x)
    m = r @ np.swapaxes(t, -1, -2)
    m = np.tril(m) + np.swapaxes(np.tril(m, -1), -1, -2)
    return np.swapaxes(np.linalg.solve(r, np.swapaxes(q @ m, -1, -2)), -1, -2)


def as_if_symmetric(t, x):
    _, vectors = np.linalg.eigh(x)
    return (vectors * t[..., None, :]) @ np.swapaxes(vectors, -1, -2)


# -------------------------------------------------------------------------------- contraction


def averaged_over_the_batch(t, a, b):
    return v.mean(v.matmul(mt(a), t), axis=0)


def real_parts_only(g, x):
    h = v.conj(mt(x))
    return v.real(v.matmul(g, h) + v.matmul(h, g)) + 0.0j


WRONG: dict[str, Plant] = {
    "inverse with all axes reversed": Plant(
        halves(v.inv, inverse_push, all_axes_reversed), (STACK,), "in the pull", "elixir-nx/nx#1748"
    ),
    "inverse of a product, in another order": Plant(
        halves(of_factor, of_factor_push, of_factor_pull),
        (LOWER,),
        "in the push",
        "pytorch/pytorch#197010",
    ),
    "average over the batch": Plant(
        both(
            v.matmul,
            (lambda t, a, b: v.matmul(t, b), lambda t, a, b: v.matmul(t, mt(b))),
            (lambda t, a, b: v.matmul(a, t), averaged_over_the_batch),
        ),
        (BATCH, SQUARE),
        "mean instead of sum",
        "tensorflow/tfjs#8721",
    ),
    "imaginary part thrown away": Plant(
        halves(
            lambda x: v.matmul(x, x), lambda t, x: v.matmul(t, x) + v.matmul(x, t), real_parts_only
        ),
        (COMPLEX_SQUARE,),
        "zero in 90 of 180",
        "FluxML/Zygote.jl#348",
    ),
    "solution taken for a constant": Plant(
        both(
            v.solve,
            (lambda t, a, b: -v.solve(a, v.matmul(t, v.solve(a, b))), frozen_solution),
            (lambda t, a, b: v.solve(a, t), lambda t, a, b: v.solve(mt(a), t)),
        ),
        (REGULAR, SQUARE),
        "second order wrong",
        "pytorch/pytorch#198017",
    ),
    "triangle without its mask": Plant(
        back(lower_solve, whole_matrix, lambda t, a, b: np.linalg.solve(np.tril(a).T, t)),
        (LOWER, SQUARE),
        "for argument 1",
        "ekzhang/jax-js#84",
    ),
    "determinant of a singular matrix": Plant(
        halves(v.det, determinant_push, lambda t, x: column(t * v.det(x)) * mt(v.inv(x))),
        (SINGULAR,),
        "NaN | LinAlgError",
        "jax-ml/jax#2380",
    ),
    "determinant of frozen cofactors": Plant(
        halves(v.det, determinant_push, by_frozen_cofactors),
        (REGULAR,),
        "second order wrong",
        "pytorch/pytorch#196696",
    ),
    "logarithm of a determinant": Plant(
        back(lambda x: np.linalg.slogdet(x)[1], lambda t, x: t[..., None, None] * np.linalg.inv(x)),
        (REGULAR,),
        "transpose forgotten | transposed",
        "owlbarn/owl#356",
    ),
    "upper triangle": Plant(
        back(factor, lower_factor_pull),
        (REGULAR,),
        "wrong only for upper=True",
        "pytorch/pytorch#3861",
    ),
    "R of a broad matrix": Plant(
        back(upper_factor, upper_factor_pull),
        (REGULAR[:2],),
        "LinAlgError | ValueError",
        "elixir-nx/nx#1810",
    ),
    "eigenvalues of one triangle": Plant(
        back(np.linalg.eigvalsh, as_if_symmetric), (SYMMETRIC,), "symmetrised", "jax-ml/jax#12795"
    ),
}
