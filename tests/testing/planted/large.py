"""Plants that are called with many elements, of whose derivatives nobody writes a matrix."""

from __future__ import annotations

import numpy as np

from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    Plant,
    adjoint_scaled,
    along_columns,
    halves,
    mean_rule,
    numpy_rule,
    product_of_matrices,
    scaled,
    shifted,
    sine,
    times,
)

RNG = np.random.default_rng(12)
MANY = RNG.standard_normal(50_000)
WAVES = MANY[:25_000] + 1j * MANY[25_000:]
ROWS = MANY.reshape(500, 100)
MATRIX, OTHER = RNG.standard_normal((2, 160, 160))


def one_wrong(x):
    """The cosine, and one element of it off by a relative 1e-3."""
    place = np.zeros(x.shape)
    place.reshape(-1)[1234:1235] = 1e-3
    return v.cos(x) * (1.0 + place)


WRONG: dict[str, Plant] = {
    "many: factor": Plant(sine(lambda _y, x: 2.0 * v.cos(x)), (MANY,), "factor 2"),
    "many: wrong sign in the pull": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: -t * v.cos(x)),
        (MANY,),
        "wrong sign in the pull",
    ),
    "many: conjugate missing": Plant(times(scaled, scaled), (WAVES, WAVES * 1j + 1), "conjugated"),
    "many: wrong sign of the second": Plant(
        times(scaled, adjoint_scaled, (lambda t, c: -t * c, lambda t, c: -t * v.conj(c))),
        (MANY, MANY + 1.0),
        "wrong sign for argument 2",
    ),
    "many: mean pulled back as a sum": Plant(
        mean_rule(lambda t, x: v.broadcast_to(t, shape=x.shape)),
        (MANY,),
        "sum instead of mean | factor 50000",
    ),
    "many: missing un-broadcast": Plant(
        shifted(lambda y_bar, b: y_bar[0]),
        (ROWS, ROWS[0]),
        "missing sum over axis 0 for argument 2",
    ),
    "many: missing un-broadcast of columns": Plant(
        along_columns(lambda y_bar, n: y_bar[:, 0]), (ROWS, ROWS[:, 0]), "missing sum over axis 1"
    ),
    "many: mean instead of sum": Plant(
        shifted(lambda y_bar, b: v.mean(y_bar, axis=0)),
        (ROWS, ROWS[0]),
        "mean instead of sum?",
    ),
    "many: transposed": Plant(
        product_of_matrices(
            lambda y_bar, b: v.matmul(y_bar, b),
            lambda y_bar, a: v.matmul(v.matrix_transpose(a), y_bar),
        ),
        (MATRIX, OTHER),
        "transposed",
    ),
    "many: transposed back twice": Plant(
        halves(v.matrix_transpose, lambda t, x: v.matrix_transpose(t), lambda t, x: t),
        (MATRIX,),
        "transposed",
    ),
    "many: one element": Plant(
        halves(v.sin, lambda t, x: t * one_wrong(x), lambda t, x: t * one_wrong(x)),
        (MANY,),
        "wrong only for large arrays",
    ),
    "many: NumPy, reversed": Plant(
        numpy_rule(lambda x: x[::-1] * 2.0, lambda t, x: 2.0 * t), (MANY,), "reverse order"
    ),
    "many: zeros lost": Plant(
        sine(lambda _y, x: v.where(x == 0, 0.0, v.cos(x))), (MANY,), "wrong only"
    ),
}
