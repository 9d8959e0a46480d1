"""Right rules beside the plants that are named by what is written: tolerances, branches, words."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, linear_rule, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import Right, slope
from tests.testing.planted.draws import given, normal, positive
from tests.testing.planted.written import summing

LABELS = np.eye(4)[[1, 3, 0]]
SMOOTH = 0.9 * LABELS + 0.025
MATRIX = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 5.0]])
TURN = np.array([0.3, 0.8])


def descended(b):
    """The solution by conjugate gradients, which stop at what is next to nothing."""
    x, r = 0.0 * b, b
    p, rest = r, r @ r
    for _ in range(20):
        if rest < 1e-16:
            break
        image = MATRIX @ p
        step = rest / (p @ image)
        x, r = x + step * p, r - step * image
        rest, before = r @ r, rest
        p = r + rest / before * p
    return x


def linear(value: Any, transpose: Any) -> Any:
    @primitive
    def f(x, /):
        return value(x)

    linear_rule(f, lambda t, x: transpose(t))
    return f


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def turned(x, sign=1.0):
    a, b, c, s = x[:2], x[2:], np.cos(TURN), sign * np.sin(TURN)
    return np.concatenate([a * c - b * s, a * s + b * c])


def blocks(x):
    """Twice x, in blocks where there are many."""
    many = [2 * part for part in np.array_split(x.reshape(-1), 4)]
    return np.concatenate(many).reshape(x.shape) if x.size > 64 else 2 * x


@primitive
def padded(x, /, *, mode="wrap"):
    if mode not in ("wrap", "constant"):
        raise ValueError(mode)
    return np.pad(x, 1, mode=mode)


@rule(padded)
def padded_rule(x: np.ndarray, *, mode):
    def pull(t):
        out = t[1:-1].copy()
        if mode == "wrap" and x.size:
            out[-1] += t[0]
            out[0] += t[-1]
        return out

    return padded(x, mode=mode), (LinearMap(lambda t: np.pad(t, 1, mode=mode), pull),)


RIGHT: dict[str, Right] = {
    "conjugate gradients": Right(
        linear(descended, lambda t: np.linalg.solve(MATRIX, t)), normal((3,))
    ),
    "inside in single precision": Right(
        slope(lambda x: np.tanh(x.astype(np.float32)).astype(float), lambda y, _x: 1 - y * y),
        normal((3,)),
    ),
    "mean of a logarithm of cosh": Right(
        summing(
            lambda x: np.mean(np.logaddexp(x, -x) - np.log(2.0)), lambda x: np.tanh(x) / x.size
        ),
        normal((3,)),
    ),
    "logarithm at the ends": Right(
        slope(np.log, lambda _y, x: 1 / x), given(np.array([1e300, 1e-300, 1.0]))
    ),
    "smoothed labels": Right(
        summing(lambda z: -np.sum(SMOOTH * np.log(softmax(z))), lambda z: softmax(z) - SMOOTH),
        normal((3, 4)),
    ),
    "turned pairs": Right(linear(turned, lambda t: turned(t, -1.0)), normal((4,))),
    "blocks for many elements": Right(summing(lambda x: np.sum(x * x), blocks), normal((5,))),
    "softplus in two branches": Right(
        slope(
            lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20.0)))),
            lambda _y, x: v.where(x > 20, 1.0, 1 / (1 + v.exp(-v.minimum(x, 20.0)))),
        ),
        normal((4,)),
    ),
    "padding of two modes": Right(padded, normal((4,))),
    "geometric mean": Right(
        summing(
            lambda x: np.exp(np.mean(np.log(x))),
            lambda x: np.exp(np.mean(np.log(x))) / x / x.size,
        ),
        positive((4,)),
    ),
}
