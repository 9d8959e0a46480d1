"""Plants that join, repeat, window and difference arrays: which elements belong together."""

from __future__ import annotations

import numpy as np

from tests.testing.planted.build import FIVE, SQUARE, VECTOR, Plant, X, Z, back

SIX = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4, 1.1])


def softmax(x, /, *, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=axis, keepdims=True)


def along_the_last(t, x, axis):
    y = softmax(x, axis=axis)
    return y * (t - np.sum(t * y, axis=-1, keepdims=True))


def deviations(x):
    d = x - np.mean(x, axis=-1, keepdims=True)
    return d, np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + 1e-3)


def without_the_mean(t, x):
    d, s = deviations(x)
    return (t - d / s * np.mean(t * d / s, axis=-1, keepdims=True)) / s


def periodic_laplacian(x):
    return np.roll(x, 1) + np.roll(x, -1) - 2.0 * x


def open_laplacian(x):
    padded = np.concatenate([[0.0], x, [0.0]])
    return padded[2:] + padded[:-2] - 2.0 * x


def circular(a, b):
    return np.real(np.fft.ifft(np.fft.fft(a) * np.fft.fft(b)))


def largest_of_two(x):
    return np.max(x.reshape(-1, 2), axis=-1)


def all_that_are_largest(t, x):
    pairs = x.reshape(-1, 2)
    return (t[:, None] * (pairs == pairs.max(axis=-1, keepdims=True))).reshape(x.shape)


def last_of_the_largest(t, x):
    x_bar = np.zeros(x.shape)
    places = np.maximum.accumulate(np.where(x == np.maximum.accumulate(x), np.arange(x.size), 0))
    x_bar[places] = t
    return x_bar


def differenced(t, x):
    x_bar = np.zeros(x.shape)
    x_bar[1:] += t
    x_bar[1:] -= t
    return x_bar + np.concatenate([-t, [0.0]])


def smooth(x):
    """Three neighbours averaged, and the ends as they are."""
    y = np.array(x)
    y[1:-1] = (x[2:] + x[1:-1] + x[:-2]) / 3
    return y


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


def swish(x, b):
    return x / (1.0 + np.exp(-b * x))


def swish_pull_x(t, x, b):
    s = 1.0 / (1.0 + np.exp(-b * x))
    return t * (s + x * b * s * (1.0 - s))


def swish_pull_b(t, x, b):
    s = 1.0 / (1.0 + np.exp(-b * x))
    return np.full_like(b, np.sum(t * x * x * s * (1.0 - s)))


WRONG: dict[str, Plant] = {
    "slope of each column summed to one number": Plant(
        back(swish, swish_pull_x, swish_pull_b),
        (X, VECTOR),
        "sum along axis 0 of the operand instead of single numbers",
        "tensorflow/tensorflow#127690",
    ),
    "derivative of the other operand": Plant(
        back(lambda a, b: np.stack([a, b]), lambda t, _a, _b: t[0], lambda t, _a, _b: t[0]),
        (VECTOR, VECTOR[::-1].copy()),
        "the derivative of a for b",
    ),
    "softmax along the last axis": Plant(
        back(softmax, along_the_last), (X,), "wrong only for axis=0", "paiml/aprender#2152"
    ),
    "rows standardised with a constant mean": Plant(
        back(lambda x: np.divide(*deviations(x)), without_the_mean),
        (X,),
        "mean not subtracted, along axis 1",
    ),
    "tiles taken for repeats": Plant(
        back(lambda x: np.tile(x, 2), lambda t, x: t.reshape(-1, 2).sum(axis=-1)),
        (VECTOR,),
        "the right numbers in the wrong places",
    ),
    "periodic boundary forgotten": Plant(
        back(periodic_laplacian, lambda t, x: open_laplacian(t)), (FIVE,), "zero in 2 of"
    ),
    "ends of a moving average": Plant(
        back(smooth, lambda t, x: smooth(t)), (FIVE,), "transpose forgotten | transposed"
    ),
    "convolution pulled back as one": Plant(
        back(circular, lambda t, a, b: circular(t, b), lambda t, a, b: circular(t, a)),
        (FIVE, FIVE[::-1] + 0.5),
        "transposed | transpose forgotten",
    ),
    "average of windows as a sum": Plant(
        back(lambda x: np.mean(x.reshape(-1, 2), axis=-1), lambda t, x: np.repeat(t, 2)),
        (SIX,),
        "factor 2",
    ),
    "largest of a window, twice": Plant(
        back(largest_of_two, all_that_are_largest), (SIX,), "ties", "Theano/Theano#4568"
    ),
    "running maximum by assignment": Plant(
        back(np.maximum.accumulate, last_of_the_largest),
        (FIVE,),
        "overwritten",
        "pytorch/pytorch#80204",
    ),
    "ends of the trapezoids": Plant(
        back(lambda x: np.sum(x[1:] + x[:-1]) / 2, lambda t, x: t * np.ones(x.shape)),
        (FIVE,),
        "factor 2 in 2 of 5",
    ),
    "differences, off by one": Plant(back(np.diff, differenced), (FIVE,), "zero in 4 of 8"),
    "stacks of matrices transposed whole": Plant(
        back(np.matmul, lambda t, a, b: t @ b.T, lambda t, a, b: np.swapaxes(a, -1, -2) @ t),
        (np.stack([SQUARE, SQUARE.T, 2.0 * SQUARE]), np.stack([SQUARE + 1.0] * 3)),
        "axes | wrong places | transposed",
    ),
    "places of an interpolation left out": Plant(
        back(interpolated, None, left_places_alone),
        (np.asarray([0.3, 1.2, 2.6]), FIVE),
        "zero for argument 1",
    ),
    "weights of an interpolation left out": Plant(
        back(interpolated, slope_of_lines, left_places_alone),
        (np.asarray([0.3, 1.2, 2.6]), FIVE),
        "for argument 2",
    ),
    "squared distances with a sign": Plant(
        back(squared_distances, from_the_first, to_the_second), (X, Z), "for argument 2"
    ),
}
