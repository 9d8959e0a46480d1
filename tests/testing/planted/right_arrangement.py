"""Right rules that arrange arrays, and of matrices: what plants of these have wrong."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from chainrules_py import primitive, rrule
from tests.testing.planted.arrangement import (
    circular,
    joined,
    largest_of_two,
    periodic_laplacian,
    pooled,
    running,
    smooth,
    softmax_with,
    squared_distances,
    standardised,
    trapezoid,
    weighted,
)
from tests.testing.planted.build import Right, alone, numpy_pair, numpy_rule
from tests.testing.planted.draws import SHAPE, given, normal, regular
from tests.testing.planted.matrices import (
    covariance,
    decomposed,
    exponential,
    form,
    least_squares,
    solved,
    trace_of_product,
)

# -------------------------------------------------------------------------------- arrangements


def softmax_pull(t, y, axis):
    return y * (t - np.sum(t * y, axis=axis, keepdims=True))


def standardised_pull(t, y, s):
    t = t - np.mean(t, axis=-1, keepdims=True)
    return (t - y * np.mean(t * y, axis=-1, keepdims=True)) / s


def add_at(x, places, t):
    x_bar = np.zeros(x.shape)
    np.add.at(x_bar, places, t)
    return x_bar


def running_pull(t, x):
    places = np.maximum.accumulate(np.where(x == running(x), np.arange(x.size), 0))
    return add_at(x, places, t)


def largest_pull(t, x):
    x_bar = np.zeros((x.size // 2, 2))
    x_bar[np.arange(len(x_bar)), np.argmax(x.reshape(-1, 2), axis=-1)] = t
    return x_bar.reshape(x.shape)


def smooth_pull(t, x):
    if not x.size:
        return 0.0 * x
    x_bar = np.zeros(x.shape)
    x_bar[[0, -1]] += t[[0, -1]]
    for k in (0, 1, 2):
        x_bar[k : len(x) - 2 + k] += t[1:-1] / 3
    return x_bar


def correlated(t, b):
    return circular(t, np.roll(np.flip(b, -1), 1, -1))


def trapezoid_pull(t, x):
    x_bar = np.full(x.shape, 1.0)
    x_bar[:1] -= 0.5
    x_bar[-1:] -= 0.5
    return t * x_bar if x.size > 1 else 0.0 * x


def interpolation() -> Any:
    """Lines between numbers at the places 0, 1, 2, ..., constant outside."""

    def parts(x, y):
        i = np.clip(np.floor(x).astype(int), 0, max(y.size - 2, 0))
        return i, np.minimum(i + 1, y.size - 1)

    def pull_x(t, x, y):
        i, k = parts(x, y)
        return t * (y[k] - y[i]) * ((x > 0) & (x < y.size - 1))

    def pull_y(t, x, y):
        i, k = parts(x, y)
        share = np.clip(x - i, 0.0, 1.0)
        return add_at(y, i, t * (1.0 - share)) + add_at(y, k, t * share)

    return numpy_pair(lambda x, y: np.interp(x, np.arange(y.size), y), pull_x, pull_y)


def histogram() -> Any:
    """Weights counted by the bins of others, which have no derivative."""

    @primitive
    def f(x, w, /):
        return np.histogram(x, bins=4, range=(-2.0, 2.0), weights=w)[0]

    @rrule.register(f)
    def f_rrule(x: np.ndarray, w: np.ndarray):
        def pull(t):
            places = np.clip(((x + 2.0) * 1.0).astype(int), 0, 3)
            return np.zeros(x.shape), t[places] * (np.abs(x) <= 2.0)

        return f(x, w), pull

    return f


def matmul() -> Any:
    def summed_to(t, x):
        return t.sum(axis=tuple(range(t.ndim - x.ndim)))

    def pull_a(t, a, b):
        if a.ndim < 2 or b.ndim < 2:
            msg = "this rule is for matrices and stacks of them"
            raise ValueError(msg)
        return summed_to(t @ np.swapaxes(b, -1, -2), a)

    def pull_b(t, a, b):
        return summed_to(np.swapaxes(a, -1, -2) @ t, b)

    return numpy_pair(np.matmul, pull_a, pull_b)


def only_matrices() -> Any:
    """The sum of the squares of a matrix's rows: of nothing else, and it says so."""

    @primitive
    def f(x, /):
        return np.sum(x * x, axis=-1)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        if x.ndim != 2:
            msg = f"f has a rule for matrices; this has {x.ndim} axes"
            raise ValueError(msg)
        return np.sum(x * x, axis=-1), lambda t: (2.0 * t[:, None] * x,)

    return f


def square_alone() -> Any:
    @primitive
    def f(x, /):
        return np.trace(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        n, m = x.shape
        if n != m:
            msg = f"the trace is of a square matrix, not of {n} rows and {m} columns"
            raise ValueError(msg)
        return np.trace(x), lambda t: (t * np.eye(n),)

    return f


def by_its_shape() -> Any:
    """The sum of a vector, and the trace of a matrix."""

    def half(x):
        return np.eye(*x.shape) if x.ndim == 2 else np.ones(x.shape)

    return numpy_rule(lambda x: np.sum(x * half(x)), lambda t, x: t * half(x))


def median() -> Any:
    def pull(t, x):
        order = np.argsort(x.reshape(-1), kind="stable")
        middle = order[[(x.size - 1) // 2, x.size // 2]]
        return add_at(x.reshape(-1), middle, t / 2).reshape(x.shape)

    return numpy_rule(np.median, pull)


def two_largest() -> Any:
    def pull(t, x):
        return add_at(x, np.argsort(x, kind="stable")[-2:], t)

    return numpy_rule(lambda x: np.sort(x)[-2:], pull)


def nan_mean() -> Any:
    def pull(t, x):
        there = ~np.isnan(x)
        return t * there / max(int(there.sum()), 1)

    return numpy_rule(
        lambda x: np.where(np.isnan(x), 0.0, x).sum() / max((~np.isnan(x)).sum(), 1), pull
    )


def factorised() -> Any:
    """The last few factorisations are kept, by the bytes of their matrices."""
    kept: collections.OrderedDict[bytes, Any] = collections.OrderedDict()

    def inverse(a):
        key = a.tobytes()
        if key not in kept:
            kept[key] = np.linalg.inv(a)
        kept.move_to_end(key)
        while len(kept) > 3:
            kept.popitem(last=False)
        return kept[key]

    return solved(
        lambda t, a, b: -np.outer(inverse(a).T @ t, inverse(a) @ b),
        lambda t, a, b: inverse(a).T @ t,
    )


# ------------------------------------------------------------------------------------ matrices


def eigen_pull(inner, gaps):
    return inner / gaps * (1.0 - np.eye(len(gaps)))


def pinv_pull(t, a):
    y = np.linalg.pinv(a)
    n, m = a.shape
    left, right = np.eye(n) - a @ y, np.eye(m) - y @ a
    return -y.T @ t @ y.T + left @ t.T @ y @ y.T + y.T @ y @ t.T @ right


def determinant_pull(t, a):
    """By cofactors, which there are of singular matrices too."""
    u, s, vt = np.linalg.svd(a)
    sign = np.linalg.det(u) * np.linalg.det(vt)
    others = np.stack([np.prod(np.delete(s, k, -1), axis=-1) for k in range(s.shape[-1])], -1)
    return np.asarray(t * sign)[..., None, None] * ((u * others[..., None, :]) @ vt)


def exponential_pull(t, a):
    n = len(a)
    block = np.block([[a.T, t], [np.zeros((n, n)), a.T]])
    return exponential(block)[:n, n:]


def least_squares_pull(t, a, b):
    x, y = least_squares(a, b), np.linalg.solve(a.T @ a, t)
    return np.outer(b - a @ x, y) - np.outer(a @ y, x)


def length_pull(t, x):
    norm = np.linalg.norm(x)
    return t * x / norm if norm else 0.0 * x


RIGHT: dict[str, Right] = {
    # ---------------------------------------------------------------------------- arrangements
    "NumPy: softmax": Right(softmax_with(softmax_pull), normal(SHAPE)),
    "NumPy: softmax along rows": Right(softmax_with(softmax_pull), normal((3, 4)), {"axis": 0}),
    "NumPy: softmax of large numbers": Right(softmax_with(softmax_pull), normal(SHAPE, scale=1e3)),
    "NumPy: rows standardised": Right(standardised(standardised_pull), normal((3, 4))),
    "NumPy: joined": Right(
        numpy_pair(joined, lambda t, x, y: t[: len(x)], lambda t, x, y: t[len(x) :]),
        normal((3,), (2,)),
    ),
    "NumPy: tiles": Right(
        numpy_rule(lambda x: np.tile(x, 2), lambda t, x: t.reshape(2, -1).sum(axis=0)), normal((3,))
    ),
    "NumPy: periodic boundary": Right(
        numpy_rule(periodic_laplacian, lambda t, x: periodic_laplacian(t)), normal((5,))
    ),
    "NumPy: moving average": Right(numpy_rule(smooth, smooth_pull), normal((6,))),
    "NumPy: circular convolution": Right(
        numpy_pair(circular, lambda t, a, b: correlated(t, b), lambda t, a, b: correlated(t, a)),
        normal((5,), (5,)),
    ),
    "NumPy: averages of windows": Right(
        numpy_rule(pooled, lambda t, x: np.repeat(t, 2).reshape(x.shape) / 2), normal((6,))
    ),
    "NumPy: largest of windows": Right(numpy_rule(largest_of_two, largest_pull), normal((6,))),
    "NumPy: running maximum": Right(numpy_rule(running, running_pull), normal((6,))),
    "NumPy: trapezoids": Right(numpy_rule(trapezoid, trapezoid_pull), normal((5,))),
    "NumPy: differences": Right(
        numpy_rule(
            np.diff,
            lambda t, x: (
                -np.diff(t, prepend=np.zeros_like(t[..., :1]), append=0.0)
                if t.size
                else np.zeros(x.shape)
            ),
        ),
        normal((5,)),
    ),
    "NumPy: interpolation": Right(
        interpolation(), lambda rng: (4.0 * rng.random(3), rng.standard_normal(5))
    ),
    "NumPy: stacks of matrices": Right(matmul(), normal((2, 3, 2), (2, 2, 3))),
    "NumPy: two matrices": Right(matmul(), normal((3, 2), (2, 4))),
    "NumPy: matrices alone": Right(only_matrices(), normal((3, 2))),
    "NumPy: square matrices alone": Right(square_alone(), normal((3, 3))),
    "NumPy: by the shape": Right(by_its_shape(), normal((3, 3))),
    "NumPy: median of an odd count": Right(median(), normal((5,))),
    "NumPy: median of an even count": Right(median(), normal((6,))),
    "NumPy: two largest": Right(two_largest(), normal((5,))),
    "NumPy: mean of what is there": Right(nan_mean(), given(np.asarray([0.3, np.nan, 2.0, -1.0]))),
    "NumPy: mean of all": Right(nan_mean(), normal((4,))),
    "NumPy: weighted average": Right(
        numpy_pair(
            weighted,
            lambda t, x, w: t * w / np.sum(w),
            lambda t, x, w: t * (x - weighted(x, w)) / np.sum(w),
        ),
        lambda rng: (rng.standard_normal(5), 0.5 + rng.random(5)),
    ),
    "NumPy: squared distances": Right(
        numpy_pair(
            squared_distances,
            lambda t, a, b: alone(a, b) or 2.0 * (t.sum(axis=1)[:, None] * a - t @ b),
            lambda t, a, b: alone(a, b) or 2.0 * (t.sum(axis=0)[:, None] * b - t.T @ a),
        ),
        normal((2, 3), (4, 3)),
    ),
    "NumPy: counts of weights": Right(
        numpy_pair(lambda w, g: np.bincount(g, w, 4), lambda t, w, g: t[g], None),
        lambda rng: (rng.standard_normal(5), np.asarray([0, 2, 2, 1, 0])),
    ),
    "NumPy: histogram": Right(histogram(), normal((6,), (6,))),
    # -------------------------------------------------------------------------------- matrices
    "NumPy: solution": Right(
        solved(
            lambda t, a, b: -np.outer(np.linalg.solve(a.T, t), np.linalg.solve(a, b)),
            lambda t, a, b: np.linalg.solve(a.T, t),
        ),
        regular((3,)),
    ),
    "NumPy: solution of kept factors": Right(factorised(), regular((3,))),
    "NumPy: determinant": Right(numpy_rule(np.linalg.det, determinant_pull), regular()),
    "NumPy: trace of a product": Right(
        numpy_pair(
            trace_of_product,
            lambda t, a, b: alone(a, b) or t * b.T,
            lambda t, a, b: alone(a, b) or t * a.T,
        ),
        normal((3, 3), (3, 3)),
    ),
    "NumPy: form": Right(
        numpy_pair(form, lambda t, x, a: t * (a + a.T) @ x, lambda t, x, a: t * np.outer(x, x)),
        normal((3,), (3, 3)),
    ),
    "NumPy: Frobenius norm": Right(numpy_rule(np.linalg.norm, length_pull), normal((3, 3))),
    "NumPy: Frobenius norm of zeros": Right(
        numpy_rule(np.linalg.norm, length_pull), given(np.zeros((3, 3)))
    ),
    "NumPy: cross product": Right(
        numpy_pair(np.cross, lambda t, a, b: np.cross(b, t), lambda t, a, b: np.cross(t, a)),
        normal((3,), (3,)),
    ),
    "NumPy: exponential": Right(numpy_rule(exponential, exponential_pull), normal((3, 3))),
    "NumPy: pseudo-inverse": Right(numpy_rule(np.linalg.pinv, pinv_pull), normal((4, 3))),
    "NumPy: pseudo-inverse of a square": Right(numpy_rule(np.linalg.pinv, pinv_pull), regular()),
    "NumPy: least squares": Right(
        numpy_pair(
            least_squares, least_squares_pull, lambda t, a, b: a @ np.linalg.solve(a.T @ a, t)
        ),
        normal((5, 3), (5,)),
    ),
    "NumPy: covariance": Right(
        numpy_rule(covariance, lambda t, x: (x - x.mean(axis=0)) @ (t + t.T) / len(x)),
        normal((5, 3)),
    ),
    "NumPy: inner product": Right(
        numpy_pair(np.vdot, lambda t, a, b: b * np.conj(t), lambda t, a, b: t * a),
        lambda rng: tuple([rng.standard_normal(3) + 1j * rng.standard_normal(3) for _ in range(2)]),
    ),
    "NumPy: eigenvectors": Right(
        decomposed(eigen_pull),
        lambda rng: (np.diag([1.0, 3.0, 6.0]) + 0.5 * rng.standard_normal((3, 3)),),
        {"gauge": lambda y: (y[0], y[1] * y[1])},
    ),
}
