"""Plants that join, repeat, window and difference arrays: which elements belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import primitive, rrule
from tests.testing.planted.build import (
    SQUARE,
    VECTOR,
    Plant,
    X,
    Z,
    numpy_pair,
    numpy_rule,
)

FIVE = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4])
SIX = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4, 1.1])


def softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=axis, keepdims=True)


def softmax_with(pull: Any) -> Any:
    """The softmax along an axis, with a pull of ``(t, y, axis)``."""

    @primitive
    def f(x, /, *, axis=-1):
        return softmax(x, axis)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, axis):
        y = softmax(x, axis)
        return y, lambda t: (pull(t, y, axis),)

    return f


def standardised(pull: Any) -> Any:
    """Rows of mean 0 and variance 1, with a pull of ``(t, y, s)``."""

    def parts(x):
        d = x - np.mean(x, axis=-1, keepdims=True)
        s = np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-3)
        return d / s, s

    @primitive
    def f(x, /):
        return parts(x)[0]

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        y, s = parts(x)
        return y, lambda t: (pull(t, y, s),)

    return f


def without_the_mean(t, y, s):
    return (t - y * np.mean(t * y, axis=-1, keepdims=True)) / s


def tiled(x):
    return np.tile(x, 2)


def periodic_laplacian(x):
    return np.roll(x, 1) + np.roll(x, -1) - 2.0 * x


def open_laplacian(x):
    padded = np.concatenate([[0.0], x, [0.0]])
    return padded[2:] + padded[:-2] - 2.0 * x


def circular(a, b):
    return np.real(np.fft.ifft(np.fft.fft(a) * np.fft.fft(b)))


def pooled(x):
    return np.mean(x.reshape(-1, 2), axis=-1)


def largest_of_two(x):
    return np.max(x.reshape(-1, 2), axis=-1)


def all_that_are_largest(t, x):
    pairs = x.reshape(-1, 2)
    return (t[:, None] * (pairs == pairs.max(axis=-1, keepdims=True))).reshape(x.shape)


def running(x):
    return np.maximum.accumulate(x)


def last_of_the_largest(t, x):
    x_bar = np.zeros(x.shape)
    places = np.maximum.accumulate(np.where(x == running(x), np.arange(x.size), 0))
    x_bar[places] = t
    return x_bar


def trapezoid(x):
    return np.sum(x[1:] + x[:-1]) / 2


def differenced(t, x):
    x_bar = np.zeros(x.shape)
    x_bar[1:] += t
    x_bar[1:] -= t
    return x_bar + np.concatenate([-t, [0.0]])


def inner_alone(t, x):
    x_bar = np.zeros(x.shape)
    x_bar[1:-1] = t[1:-1]
    return x_bar


def smooth(x):
    """Three neighbours averaged, and the ends as they are."""
    y = np.array(x)
    y[1:-1] = (x[2:] + x[1:-1] + x[:-2]) / 3
    return y


def smooth_again(t, x):
    return smooth(t)


def outer(a, b):
    return a[:, None] * b


def times_transposed(t, a, b):
    return t @ b.T


def both_sides(t, a, b):
    return np.swapaxes(a, -1, -2) @ t


def weighted(x, w):
    return np.sum(w * x) / np.sum(w)


def interpolated(x, y):
    """Lines between the numbers y at the places 0, 1, 2, ..."""
    return np.interp(x, np.arange(y.size), y)


def slope_of_lines(t, x, y):
    i = np.clip(np.floor(x).astype(int), 0, y.size - 2)
    return t * (y[i + 1] - y[i]) * ((x > 0) & (x < y.size - 1))


def left_places_alone(t, x, y):
    y_bar = np.zeros(y.shape)
    np.add.at(y_bar, np.clip(np.floor(x).astype(int), 0, y.size - 1), t)
    return y_bar


def squared_distances(a, b):
    d = a[:, None, :] - b[None, :, :]
    return np.sum(d * d, axis=-1)


def from_the_first(t, a, b):
    return 2.0 * (t.sum(axis=1)[:, None] * a - t @ b)


def to_the_second(t, a, b):
    return 2.0 * (t.sum(axis=0)[:, None] * b + t.T @ a)


WRONG: dict[str, Plant] = {
    "softmax along the last axis": Plant(
        softmax_with(lambda t, y, axis: y * (t - np.sum(t * y, axis=-1, keepdims=True))),
        (X,),
        "wrong only for axis=0",
        cites="paiml/aprender#2152",
    ),
    "softmax with a sum over all": Plant(
        softmax_with(lambda t, y, axis: y * (t - np.sum(t * y))),
        (X,),
        "numbers where zeros belong",
    ),
    "softmax without its sum": Plant(
        softmax_with(lambda t, y, axis: t * y * (1.0 - y)), (X,), "only the diagonal is kept"
    ),
    "rows standardised with a constant mean": Plant(
        standardised(without_the_mean), (X,), "mean not subtracted, along axis 1"
    ),
    "tiles taken for repeats": Plant(
        numpy_rule(tiled, lambda t, x: t.reshape(-1, 2).sum(axis=-1)),
        (VECTOR,),
        "the right numbers in the wrong places",
    ),
    "periodic boundary forgotten": Plant(
        numpy_rule(periodic_laplacian, lambda t, x: open_laplacian(t)),
        (FIVE,),
        "zero in 2 of",
    ),
    "ends of a moving average": Plant(
        numpy_rule(smooth, smooth_again), (FIVE,), "transpose forgotten | transposed"
    ),
    "convolution pulled back as one": Plant(
        numpy_pair(circular, lambda t, a, b: circular(t, b), lambda t, a, b: circular(t, a)),
        (FIVE, FIVE[::-1] + 0.5),
        "transposed | transpose forgotten",
    ),
    "average of windows as a sum": Plant(
        numpy_rule(pooled, lambda t, x: np.repeat(t, 2)), (SIX,), "factor 2"
    ),
    "largest of a window, twice": Plant(
        numpy_rule(largest_of_two, all_that_are_largest),
        (SIX,),
        "ties",
        cites="Theano/Theano#4568",
    ),
    "running maximum by assignment": Plant(
        numpy_rule(running, last_of_the_largest),
        (FIVE,),
        "overwritten",
        cites="pytorch/pytorch#80204",
    ),
    "ends of the trapezoids": Plant(
        numpy_rule(trapezoid, lambda t, x: t * np.ones(x.shape)), (FIVE,), "factor 2 in 2 of 5"
    ),
    "differences, off by one": Plant(numpy_rule(np.diff, differenced), (FIVE,), "zero in 4 of 8"),
    "inner elements alone": Plant(
        numpy_rule(lambda x: 1.0 * x, inner_alone), (FIVE,), "zero in 2 of"
    ),
    "outer product, the other way round": Plant(
        numpy_pair(outer, lambda t, a, b: t.T @ b, lambda t, a, b: t.T @ a),
        (VECTOR, VECTOR + 1.0),
        "transposed",
    ),
    "stacks of matrices transposed whole": Plant(
        numpy_pair(np.matmul, times_transposed, both_sides),
        (np.stack([SQUARE, SQUARE.T, 2.0 * SQUARE]), np.stack([SQUARE + 1.0] * 3)),
        "axes | wrong places | transposed",
    ),
    "matrix times vector": Plant(
        numpy_pair(lambda a, b: a @ b, lambda t, a, b: np.outer(b, t), lambda t, a, b: a.T @ t),
        (SQUARE, VECTOR),
        "transposed for argument 1",
    ),
    "weights of an average": Plant(
        numpy_pair(weighted, lambda t, x, w: t * w / np.sum(w), lambda t, x, w: t * x / np.sum(w)),
        (FIVE, FIVE * FIVE),
        "for argument 2",
    ),
    "places of an interpolation left out": Plant(
        numpy_pair(interpolated, None, left_places_alone),
        (np.asarray([0.3, 1.2, 2.6]), FIVE),
        "zero for argument 1",
    ),
    "weights of an interpolation left out": Plant(
        numpy_pair(interpolated, slope_of_lines, left_places_alone),
        (np.asarray([0.3, 1.2, 2.6]), FIVE),
        "for argument 2",
    ),
    "squared distances with a sign": Plant(
        numpy_pair(squared_distances, from_the_first, to_the_second),
        (X, Z),
        "for argument 2",
    ),
}
