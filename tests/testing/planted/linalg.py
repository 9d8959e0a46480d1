"""Plants of linear algebra: transposes, triangles, leading axes, singular and oblong matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import primitive, rrule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    COMPLEX,
    SQUARE,
    VECTOR,
    Plant,
    X,
    Z,
    binary,
    frozen,
    halves,
    numpy_pair,
    numpy_rule,
    product_of_matrices,
)

REGULAR = SQUARE + 3.0 * np.eye(3)
STACK = np.stack([REGULAR, REGULAR.T, 2.0 * REGULAR + 1.0])
SINGULAR = np.ones((3, 3))
SYMMETRIC = SQUARE + SQUARE.T
LOWER = np.tril(SQUARE) + 2.0 * np.eye(3)
TALL = np.concatenate([SQUARE, X]) + np.eye(5, 3)
COMPLEX_SQUARE = SQUARE + 1j * np.exp(SQUARE)
BATCH = np.stack([X, Z, X - Z])


def mt(x):
    return v.matrix_transpose(x)


def adjoint_of_gram(g, x):
    return v.matmul(g + mt(g), x)


# -------------------------------------------------------------------------------- inverses


def all_axes_reversed(t, x):
    y = v.permute_dims(v.inv(x), axes=None)
    return -v.matmul(v.matmul(y, t), y)


def inverse(pull: Any) -> Any:
    push = lambda t, x: -v.matmul(v.matmul(v.inv(x), t), v.inv(x))
    return halves(v.inv, push, pull)


def of_factor(x):
    return v.inv(v.matmul(x, mt(x)))


def of_factor_push(t, x):
    """The tangent stands on the wrong side of the inverse, in a product of matrices."""
    y, half = of_factor(x), v.matmul(v.matmul(t, of_factor(x)), x)
    return -v.matmul(y, half) - mt(v.matmul(y, half))


def of_factor_pull(g, x):
    y = of_factor(x)
    return adjoint_of_gram(-v.matmul(v.matmul(mt(y), g), mt(y)), x)


def solved(pull_a: Any, pull_b: Any) -> Any:
    push_a = lambda t, a, b: -v.solve(a, v.matmul(t, v.solve(a, b)))
    push_b = lambda t, a, b: v.solve(a, t)
    return binary(v.solve, (push_a, pull_a), (push_b, pull_b))


def frozen_solution(t, a, b):
    x = np.linalg.solve(frozen(a), frozen(b))
    return -v.matmul(v.solve(mt(a), t), mt(x))


def lower_solve(a, b):
    return np.linalg.solve(np.tril(a), b)


def whole_matrix(t, a, b):
    return -np.linalg.solve(np.tril(a).T, t) @ lower_solve(a, b).T


# ---------------------------------------------------------------------------- determinants


def determinant(pull: Any) -> Any:
    push = lambda t, x: v.det(x) * v.trace(v.matmul(v.inv(x), t))
    return halves(v.det, push, pull)


def column(t):
    return v.expand_dims(t, axis=(-2, -1))


def by_the_inverse(t, x):
    return column(t * v.det(x)) * mt(v.inv(x))


def by_frozen_cofactors(t, x):
    plain = frozen(x)
    return column(t) * mt(v.inv(plain) * column(v.det(plain)))


def log_determinant() -> Any:
    value = lambda x: np.linalg.slogdet(x)[1]
    return numpy_rule(value, lambda t, x: t[..., None, None] * np.linalg.inv(x))


# ---------------------------------------------------------------------------- factorisations


def factored(weights: Any, *, upper_right: bool = True) -> Any:
    """The Cholesky factor of a Gram matrix, with these weights for the triangle of its pull."""

    def value(x, upper):
        y = np.linalg.cholesky(x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2]))
        return np.swapaxes(y, -1, -2) if upper else y

    @primitive
    def f(x, /, *, upper=False):
        return value(x, upper)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, upper):
        y = value(x, False)

        def pull(t):
            t = np.swapaxes(t, -1, -2) if upper and upper_right else t
            triangle = np.tril(np.swapaxes(y, -1, -2) @ t) * weights(y)
            left = np.linalg.solve(np.swapaxes(y, -1, -2), triangle)
            g = np.swapaxes(
                np.linalg.solve(np.swapaxes(y, -1, -2), np.swapaxes(left, -1, -2)), -1, -2
            )
            return ((g + np.swapaxes(g, -1, -2)) @ x,)

        return value(x, upper), pull

    return f


def halved_diagonal(y):
    return np.tril(np.ones(y.shape)) - 0.5 * np.eye(y.shape[-1])


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


def upper_factor_push(t, x):
    q, r = v.qr(x)
    return v.matmul(v.triu(v.matmul(mt(q), mt(v.solve(mt(r), mt(t))))), r)


def upper_factor_right_pull(t, x):
    q, r = v.qr(x)
    m = v.matmul(r, mt(t))
    m = v.tril(m) + mt(v.tril(m, k=-1))
    return mt(v.solve(r, mt(v.matmul(q, m))))


def as_if_symmetric(t, x):
    _, vectors = np.linalg.eigh(x)
    return (vectors * t[..., None, :]) @ np.swapaxes(vectors, -1, -2)


# -------------------------------------------------------------------------------- contraction


def averaged_over_the_batch(t, a, b):
    return v.mean(v.matmul(mt(a), t), axis=0)


def quadratic(x, s):
    return -0.5 * v.sum(x * v.solve(s, x))


def real_parts_only(g, x):
    h = v.conj(mt(x))
    return v.real(v.matmul(g, h) + v.matmul(h, g)) + 0.0j


WRONG: dict[str, Plant] = {
    "inverse with all axes reversed": Plant(
        inverse(all_axes_reversed),
        (STACK,),
        "in the pull",
        cites="elixir-nx/nx#1748",
    ),
    "inverse of a product, in another order": Plant(
        halves(of_factor, of_factor_push, of_factor_pull),
        (LOWER,),
        "in the push",
        cites="pytorch/pytorch#197010",
    ),
    "complex product of matrices": Plant(
        product_of_matrices(lambda t, b: v.matmul(t, mt(b)), lambda t, a: v.matmul(mt(a), t)),
        (COMPLEX_SQUARE, COMPLEX_SQUARE + 1.0),
        "conjugated",
        cites="tensorflow/tensorflow#4859",
    ),
    "average over the batch": Plant(
        binary(
            v.matmul,
            (lambda t, a, b: v.matmul(t, b), lambda t, a, b: v.matmul(t, mt(b))),
            (lambda t, a, b: v.matmul(a, t), averaged_over_the_batch),
        ),
        (BATCH, SQUARE),
        "mean instead of sum",
        cites="tensorflow/tfjs#8721",
    ),
    "contraction without a conjugate": Plant(
        halves(
            lambda x: v.sum(x * x),
            lambda t, x: v.sum(2.0 * x * t),
            lambda t, x: 2.0 * x * t,
        ),
        (COMPLEX,),
        "conjugated",
        cites="FluxML/Zygote.jl#151",
    ),
    "imaginary part thrown away": Plant(
        halves(
            lambda x: v.matmul(x, x),
            lambda t, x: v.matmul(t, x) + v.matmul(x, t),
            real_parts_only,
        ),
        (COMPLEX_SQUARE,),
        "zero in 90 of 180",
        cites="FluxML/Zygote.jl#348",
    ),
    "sign of a covariance": Plant(
        binary(
            quadratic,
            (
                lambda t, x, s: -0.5 * v.sum(t * (v.solve(s, x) + v.solve(mt(s), x))),
                lambda t, x, s: -0.5 * t * (v.solve(s, x) + v.solve(mt(s), x)),
            ),
            (
                lambda t, x, s: -0.5 * v.sum(v.solve(mt(s), x) * v.matmul(t, v.solve(s, x))),
                lambda t, x, s: -0.5 * t * v.outer(v.solve(mt(s), x), v.solve(s, x)),
            ),
        ),
        (VECTOR, REGULAR),
        "wrong sign for argument 2",
        cites="HIPS/autograd#412",
    ),
    "solution taken for a constant": Plant(
        solved(frozen_solution, lambda t, a, b: v.solve(mt(a), t)),
        (REGULAR, SQUARE),
        "second order wrong",
        cites="pytorch/pytorch#198017",
    ),
    "triangle without its mask": Plant(
        numpy_pair(lower_solve, whole_matrix, lambda t, a, b: np.linalg.solve(np.tril(a).T, t)),
        (LOWER, SQUARE),
        "for argument 1",
        cites="ekzhang/jax-js#84",
    ),
    "determinant of a singular matrix": Plant(
        determinant(by_the_inverse), (SINGULAR,), "NaN | LinAlgError", cites="jax-ml/jax#2380"
    ),
    "determinant of frozen cofactors": Plant(
        determinant(by_frozen_cofactors),
        (REGULAR,),
        "second order wrong",
        cites="pytorch/pytorch#196696",
    ),
    "logarithm of a determinant": Plant(
        log_determinant(),
        (REGULAR,),
        "transpose forgotten | transposed",
        cites="owlbarn/owl#356",
    ),
    "upper triangle": Plant(
        factored(halved_diagonal, upper_right=False),
        (REGULAR,),
        "wrong only for upper=True",
        cites="pytorch/pytorch#3861",
    ),
    "half of R": Plant(
        halves(lambda x: v.qr(x)[1], upper_factor_push, upper_factor_right_pull),
        (TALL,),
        "in the push",
        cites="jax-ml/jax#2863",
    ),
    "R of a broad matrix": Plant(
        numpy_rule(upper_factor, upper_factor_pull),
        (REGULAR[:2],),
        "LinAlgError | ValueError",
        cites="elixir-nx/nx#1810",
    ),
    "eigenvalues of one triangle": Plant(
        numpy_rule(np.linalg.eigvalsh, as_if_symmetric),
        (SYMMETRIC,),
        "symmetrised",
        cites="jax-ml/jax#12795",
    ),
}
