"""Plants with wrong numbers at the call that is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import primitive, scalar_rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    COMPLEX,
    LONG,
    RNG,
    SQUARE,
    VECTOR,
    Plant,
    X,
    Z,
    adjoint_scaled,
    along_columns,
    flipped,
    gathered,
    halves,
    numpy_rule,
    product_of_matrices,
    scaled,
    shifted,
    sine,
    times,
    two_outputs,
)


def power(pull_second: Any) -> Any:
    """a * b, where nobody has thought of b."""
    return times(scaled, scaled, (scaled, pull_second))


def no_second() -> Any:
    @primitive
    def f(a, b, /):
        return v.multiply(a, b)

    scalar_rule(f, lambda _y, a, b: b, None)
    return f


def numpy_off(y_bar, x):
    off = np.ones(x.shape)
    off[77 % x.size] = 1.001
    return y_bar * np.cos(x) * off


def overwriting(y_bar, n, indices):
    x_bar = np.zeros((n, *y_bar.shape[1:]))
    x_bar[indices] = y_bar
    return x_bar


WRONG: dict[str, Plant] = {
    "NumPy: wrong sign": Plant(numpy_rule(np.sin, lambda t, x: -t * np.cos(x)), (X,), "wrong sign"),
    "NumPy: one element of 2000": Plant(numpy_rule(np.sin, numpy_off), (LONG,), "wrong numbers"),
    "NumPy: conjugate missing": Plant(
        numpy_rule(np.exp, lambda t, x: t * np.exp(x)),
        (COMPLEX,),
        "conjugated",
        cites="FluxML/Zygote.jl#961",
    ),
    "wrong sign": Plant(sine(lambda _y, x: -v.cos(x)), (X,), "wrong sign"),
    "factor 2": Plant(sine(lambda _y, x: 2.0 * v.cos(x)), (X,), "factor 2"),
    "missing un-broadcast": Plant(
        shifted(lambda y_bar, b: y_bar[0]),
        (X, VECTOR),
        "missing sum over axis 0 for argument 2",
        cites="jax-ml/jax#6452",
    ),
    "missing un-broadcast of columns": Plant(
        along_columns(lambda y_bar, n: y_bar[:, 0]), (X, VECTOR[:2]), "missing sum over axis 1"
    ),
    "mean instead of sum": Plant(
        shifted(lambda y_bar, b: v.mean(y_bar, axis=0)),
        (X, VECTOR),
        "factor 1/2 for argument 2",
    ),
    "zero for the second": Plant(
        power(lambda y_bar, a: y_bar * 0.0), (X, Z), "zero for argument 2"
    ),
    "conjugate missing": Plant(
        times(scaled, scaled),
        (COMPLEX, COMPLEX * 1j + 1),
        "conjugated",
        cites="JuliaDiff/ChainRules.jl#55",
    ),
    "repeated index": Plant(
        gathered(overwriting),
        (RNG.standard_normal(5), np.asarray([0, 2, 0, 4])),
        "repeated index overwritten",
        cites="pytorch/pytorch#1631",
    ),
    "disagreement by a factor": Plant(
        times(scaled, lambda t, c: 3.0 * t * c),
        (X, Z),
        "push and pull disagree by a factor: factor 3",
    ),
    "transposed": Plant(
        product_of_matrices(
            lambda y_bar, b: v.matmul(y_bar, b),
            lambda y_bar, a: v.matmul(v.matrix_transpose(a), y_bar),
        ),
        (SQUARE, SQUARE + 1.0),
        "transposed",
    ),
    "forgets an output": Plant(
        two_outputs(lambda y_bar, s, c: c * y_bar[0]),
        (X,),
        "zero for output 1 of the result in the pull",
    ),
    "wrong sign of the second": Plant(
        times(scaled, adjoint_scaled, (lambda t, c: -t * c, lambda t, c: -t * v.conj(c))),
        (X, Z),
        "wrong sign for argument 2",
    ),
    "nothing for the second": Plant(no_second(), (X, Z), "zero for argument 2"),
    "left to projection": Plant(
        along_columns(lambda y_bar, n: y_bar), (SQUARE, VECTOR), "transposed for argument 2"
    ),
    "left to projection, which cannot": Plant(
        along_columns(lambda y_bar, n: y_bar), (X, VECTOR[:2]), "missing sum over axis 1"
    ),
    "log to the base 2": Plant(
        halves(v.log2, lambda t, x: t / x, lambda t, x: t / x), (X * X + 1.0,), "factor log(2)"
    ),
    "two of them mixed up": Plant(
        flipped(lambda y_bar: y_bar), (VECTOR,), "elements in reverse order in the pull"
    ),
}
