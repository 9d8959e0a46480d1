"""Plants of one formula mistaken for another: factors, terms, axes and operands that were meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import NoTangent, primitive, rrule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    POSITIVE,
    SQUARE,
    VECTOR,
    Plant,
    X,
    numpy_pair,
    numpy_rule,
    pair,
    slope,
)

INSIDE = 0.4 * np.tanh(X)
OTHER = np.linspace(0.5, 2.0, 3)
REGULAR = SQUARE + 3.0 * np.eye(3)


def norm(x):
    return np.sqrt(np.sum(x * x))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def with_exponent(pull: Any) -> Any:
    """The sum of powers, with this pull of ``(t, x, p)``."""

    @primitive
    def f(x, /, *, p):
        return np.sum(x**p)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, p):
        return np.sum(x**p), lambda t: (pull(t, x, p),)

    return f


def elu(alpha_forgotten: Any) -> Any:
    @primitive
    def f(x, /, *, alpha):
        return np.where(x > 0, x, alpha * np.expm1(x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, alpha):
        return f(x, alpha=alpha), lambda t: (t * alpha_forgotten(x),)

    return f


def taken_along(pull: Any) -> Any:
    @primitive
    def f(x, i, /):
        return x[i]

    @rrule.register(f)
    def f_rrule(x: np.ndarray, i: np.ndarray):
        return x[i], lambda t: (pull(t, x, i), NoTangent())

    return f


def by_columns(t, x, i):
    out = np.zeros_like(x)
    np.add.at(out.T, i, t)
    return out


def quadratic(pull_matrix: Any) -> Any:
    return numpy_pair(lambda x, a: x @ a @ x, lambda t, x, a: t * (a + a.T) @ x, pull_matrix)


def solution(pull_matrix: Any) -> Any:
    return numpy_pair(np.linalg.solve, pull_matrix, lambda t, a, b: np.linalg.solve(a.T, t))


def standard_deviations(t, x):
    return t * (x - x.mean(axis=1, keepdims=True)) / (3 * x.std(axis=1))


WRONG: dict[str, Plant] = {
    "inverse error function of its operand": Plant(
        slope(v.erfinv, lambda _y, x: np.sqrt(np.pi) / 2 * v.exp(x * x)), (INSIDE,), "x where y was"
    ),
    "tangent's slope of a hyperbolic one": Plant(
        slope(v.atanh, lambda _y, x: 1 / (1 + x * x)), (INSIDE,), "factor (1 - x**2)/(1 + x**2)"
    ),
    "binary logarithm, upside down": Plant(
        slope(v.log2, lambda _y, x: np.log(2) / x), (POSITIVE,), "factor log(2)**2"
    ),
    "cube root, one power too few": Plant(
        slope(v.cbrt, lambda y, _x: 1 / (3 * y)), (POSITIVE,), "factor y"
    ),
    "power whose exponent is not lowered": Plant(
        pair(v.pow, lambda y, a, b: b * y, lambda y, a, b: y * v.log(a)),
        (POSITIVE, X),
        "factor a for argument 1",
    ),
    "power without its logarithm": Plant(
        pair(v.pow, lambda y, a, b: b * y / a, lambda y, a, b: y),
        (POSITIVE, X),
        "factor 1/log(a) for argument 2",
    ),
    "product rule, the first half of it": Plant(
        slope(lambda x: x / (1 + v.exp(-x)), lambda _y, x: 1 / (1 + v.exp(-x))),
        (X,),
        "half of the product rule is missing",
    ),
    "function for its derivative": Plant(
        slope(v.digamma, lambda y, _x: y), (POSITIVE,), "what is given is y, not the derivative"
    ),
    "digamma one place on": Plant(
        slope(v.gammaln, lambda _y, x: v.digamma(x + 1)), (POSITIVE,), "off by the term 1/x"
    ),
    "partial that leaves out the other operand": Plant(
        pair(
            v.betaln,
            lambda _y, a, b: v.digamma(a),
            lambda _y, a, b: v.digamma(b) - v.digamma(a + b),
        ),
        (POSITIVE, POSITIVE[::-1].copy()),
        "depends on a + b alone for argument 1",
    ),
    "exponential branch without its height": Plant(
        elu(lambda x: np.where(x > 0, 1.0, np.exp(x))),
        (X,),
        "factor 1/alpha where x < 0",
        {"alpha": 0.7},
    ),
    "exponent that is thought two": Plant(
        with_exponent(lambda t, x, p: 2 * x * t), (POSITIVE[0],), "as for p = 2", {"p": 3.0}
    ),
    "softmax of its own numbers alone": Plant(
        numpy_rule(softmax, lambda t, x: softmax(x) * t), (VECTOR,), "off by the term y y.T"
    ),
    "root mean square, counted once": Plant(
        numpy_rule(
            lambda x: x / np.sqrt(np.mean(x * x)),
            lambda t, x: t / np.sqrt(np.mean(x * x)) - x * np.sum(t * x) / np.mean(x * x) ** 1.5,
        ),
        (VECTOR,),
        "off by the term -2 x y/norm(x)**2",
    ),
    "cosine without its projection": Plant(
        numpy_pair(
            lambda a, b: a @ b / (norm(a) * norm(b)),
            lambda t, a, b: t * b / (norm(a) * norm(b)),
            lambda t, a, b: t * (a / norm(a) - a @ b / norm(a) * b / norm(b) ** 2) / norm(b),
        ),
        (VECTOR, OTHER),
        "off by the term a y/norm(a)**2 for argument 1",
    ),
    "average by weights that are not centred": Plant(
        numpy_pair(
            lambda x, w: np.sum(w * x) / np.sum(w),
            lambda t, x, w: t * w / np.sum(w),
            lambda t, x, w: t * x / np.sum(w),
        ),
        (VECTOR, OTHER),
        "off by the term y/sum(b) for argument 2",
    ),
    "spread along the wrong axis of a square": Plant(
        numpy_rule(lambda x: np.std(x, axis=1), standard_deviations),
        (SQUARE,),
        "spread along the wrong axis: axis 1 of the operand in place of axis 0",
    ),
    "cumulative products, summed the wrong way": Plant(
        numpy_rule(np.cumprod, lambda t, x: np.cumsum(t * np.cumprod(x)) / x),
        (OTHER,),
        "a cumulative sum in the other direction",
    ),
    "columns taken for rows of a square": Plant(
        taken_along(by_columns), (SQUARE, np.asarray([2, 0, 0])), "transposed"
    ),
    "solution without a sign": Plant(
        solution(lambda t, a, b: np.outer(np.linalg.solve(a.T, t), np.linalg.solve(a, b))),
        (REGULAR, VECTOR),
        "wrong sign for argument 1",
    ),
    "product of factors in another order": Plant(
        numpy_pair(np.matmul, lambda t, a, b: b.T @ t, lambda t, a, b: a.T @ t),
        (REGULAR, SQUARE),
        "axes in another order (factors exchanged?) for argument 1",
    ),
    "matrix in the derivative by that matrix": Plant(
        quadratic(lambda t, x, a: t * np.outer(x, a @ x)),
        (VECTOR, SQUARE),
        "changes with b, and should not for argument 2",
    ),
    "maximum for all": Plant(
        numpy_rule(np.max, lambda t, x: t * np.ones_like(x)),
        (VECTOR,),
        "numbers where zeros belong",
    ),
    "bound above that is forgotten": Plant(
        numpy_rule(lambda x: np.clip(x, 0, 6), lambda t, x: t * (x > 0)),
        (np.asarray([0.5, -1.0, 3.0, 5.0]),),
        "numbers where zeros belong, where x >= 6.25",
    ),
    "mean over the other axis": Plant(
        numpy_rule(
            lambda x: np.mean(x, axis=0),
            lambda t, x: np.broadcast_to(t, x.shape) / x.shape[-1],
        ),
        (X,),
        "factor 2/3 (the length of another axis?)",
    ),
}
