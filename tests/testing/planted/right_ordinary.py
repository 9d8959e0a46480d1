"""Right rules as one writes them, by every pen, at ordinary operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    LONG,
    Right,
    adding,
    adding_into,
    adjoint_scaled,
    cube,
    flipped,
    gathered,
    halves,
    mean_rule,
    numpy_rule,
    product_of_matrices,
    right_sum,
    scaled,
    shifted,
    sine,
    summed,
    times,
    two_outputs,
    with_pull_into,
)
from tests.testing.planted.draws import complex_normal, normal


def outer_square() -> Any:
    return halves(
        lambda x: v.matmul(x, x),
        lambda t, x: v.matmul(t, x) + v.matmul(x, t),
        lambda y_bar, x: (
            v.matmul(y_bar, v.matrix_transpose(x)) + v.matmul(v.matrix_transpose(x), y_bar)
        ),
    )


def shared_pair() -> Any:
    @primitive
    def f(a, b, /):
        return v.sin(a + b)

    @rule(f)
    def f_rule(a: Array, b: Array):
        slope = v.cos(a + b)
        kept = [None, None]

        def pull(y_bar, slope):
            if kept[0] is not y_bar:
                kept[:] = y_bar, y_bar * slope
            return kept[1]

        return v.sin(a + b), (LinearMap(scaled, pull, slope), LinearMap(scaled, pull, slope))

    return f


RIGHT: dict[str, Right] = {
    "sine": Right(sine(lambda _y, x: v.cos(x)), normal((2, 3))),
    "product": Right(times(scaled, adjoint_scaled), normal((2, 3), (2, 3))),
    "complex product": Right(times(scaled, adjoint_scaled), complex_normal((2, 3), (2, 3))),
    "sum of all": Right(summed(right_sum), normal((2, 3))),
    "sum": Right(summed(right_sum), normal((2, 3)), {"axis": 0}),
    "sum with keepdims": Right(summed(right_sum), normal((2, 3)), {"axis": -1, "keepdims": True}),
    "shift": Right(shifted(lambda y_bar, b: v.sum(y_bar, axis=0)), normal((2, 3), (3,))),
    "shift that projection sums": Right(shifted(lambda y_bar, b: y_bar), normal((2, 3), (3,))),
    "gather": Right(
        gathered(adding), lambda rng: (rng.standard_normal(5), np.asarray([0, 2, 0, 4]))
    ),
    "matrix product": Right(
        product_of_matrices(
            lambda y_bar, b: v.matmul(y_bar, v.matrix_transpose(b)),
            lambda y_bar, a: v.matmul(v.matrix_transpose(a), y_bar),
        ),
        normal((3, 3), (3, 3)),
    ),
    "matrix square": Right(outer_square(), normal((3, 3))),
    "long": Right(sine(lambda _y, x: v.cos(x)), lambda rng: (LONG,)),
    "cube": Right(cube(lambda _y, x: 3.0 * x * x), normal((2, 3))),
    "buffer": Right(with_pull_into(adding_into), normal((2, 3))),
    "two outputs": Right(
        two_outputs(lambda y_bar, s, c: c * y_bar[0] - s * y_bar[1]), normal((2, 3))
    ),
    "NumPy: sine": Right(numpy_rule(np.sin, lambda t, x: t * np.cos(x)), normal((2, 3))),
    "NumPy: exp": Right(
        numpy_rule(np.exp, lambda t, x: t * np.exp(x.conj())), complex_normal((2, 3))
    ),
    "one array for two operands": Right(shared_pair(), normal((2, 3), (2, 3))),
    "reversed": Right(flipped(v.flip), normal((3,))),
    "mean": Right(
        mean_rule(lambda y_bar, x: v.broadcast_to(y_bar / (x.size or 1), shape=x.shape)),
        normal((2, 3)),
    ),
}
