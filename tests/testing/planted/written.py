"""Plants that are named by what is written: the expression that has to be another one."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, frule, linear_rule, primitive, rrule, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import POSITIVE, SQUARE, VECTOR, Plant, X, pair, slope

FEW = np.linspace(0.2, 0.8, 4)
REGULAR = SQUARE @ SQUARE.T + 3.0 * np.eye(3)
WEIGHTS = np.array([0.2, 0.7, 0.4])


def reverse(value: Any, pull: Any) -> Any:
    """A function of NumPy's, with this pull of ``(t, x)``."""

    @primitive
    def f(x, /):
        return value(x)

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        return value(x), lambda t: (pull(t, x),)

    return f


def summing(value: Any, gradient: Any) -> Any:
    """A function with one number for a result, with this gradient in both halves."""

    @primitive
    def f(x, /):
        return value(x)

    @rule(f)
    def f_rule(x: np.ndarray):
        g = gradient(x)
        return value(x), (LinearMap(lambda t, g: np.sum(t * g), lambda t, g: t * g, g),)

    return f


def bell(x):
    return 0.5 * x * (1 + np.tanh(0.8 * (x + 0.0447 * x**3)))


def bell_slope(_y, x):
    t = v.tanh(0.8 * (x + 0.0447 * x**3))
    return 0.5 * (1 + t) + 0.4 * x * (1 - t * t) * (1 + 0.0447 * x**2)


def focal(x):
    return -((1 - x) ** 2) * np.log(x)


def layer(x):
    c = x - x.mean()
    return c / np.sqrt(np.mean(c * c) + 1e-3)


def layer_pull(t, x):
    c = t - t.mean()
    return c / np.sqrt(np.var(x) + 1e-3)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_pull(t, x):
    y = softmax(x)
    return y * (t - np.sum(t))


def quadratic(x):
    return x @ SQUARE @ x


def distance(x):
    return x @ np.linalg.solve(SQUARE, x)


def hinge(m):
    return np.maximum(0.0, 1.0 - m)


def mixed(x):
    return (1 - WEIGHTS) * x[:-1] + WEIGHTS * x[1:]


def mixed_pull(t, _x):
    zero = np.zeros(1)
    return np.concatenate([WEIGHTS * t, zero]) + np.concatenate([zero, (1 - WEIGHTS) * t])


@primitive
def factor(a, /):
    return np.linalg.cholesky(a)


@frule.register(factor)
def factor_frule(tangents, a: np.ndarray):
    """The diagonal should be halved."""
    low = np.linalg.cholesky(a)
    inverse = np.linalg.inv(low)
    even = (tangents[0] + tangents[0].T) / 2
    return low, low @ np.tril(inverse @ even @ inverse.T)


@primitive
def squared(a, /):
    return a @ a


@rule(squared)
def squared_rule(a: np.ndarray):
    return squared(a), (LinearMap(lambda t, a: 2 * a @ t, lambda t, a: 2 * a.T @ t, a),)


@primitive
def kron(a, b, /):
    return np.einsum("ik,jl->ijkl", a, b)


@rrule.register(kron)
def kron_rrule(a: np.ndarray, b: np.ndarray):
    def pull(t):
        return np.einsum("ijkl,jl->ik", t, b), np.einsum("ijkl,jl->ik", t, a)

    return kron(a, b), pull


@primitive
def decayed(x, /):
    """y[k] = x[k] + y[k-1] x[k-1] / 2."""
    y = [x[0]]
    for k in range(1, len(x)):
        y.append(x[k] + y[k - 1] * x[k - 1] / 2)
    return np.array(y)


@frule.register(decayed)
def decayed_frule(tangents, x: np.ndarray):
    y, t = decayed(x), tangents[0]
    dots = [t[0]]
    for k in range(1, len(x)):
        dots.append(t[k] + (dots[k - 1] * x[k - 1] + y[k - 1] * t[k]) / 2)
    return y, np.array(dots)


@primitive
def polar(r, t, /):
    return r * np.exp(1j * t)


@rule(polar)
def polar_rule(r: np.ndarray, t: np.ndarray):
    e = np.exp(1j * t)
    maps = [
        LinearMap(lambda d, c: d * c, lambda d, c: np.real(np.conj(c) * d), c) for c in (e, r * e)
    ]
    return r * e, tuple(maps)


@primitive
def joined(a, b, /):
    return np.concatenate([a, b])


@rrule.register(joined)
def joined_rrule(a: np.ndarray, b: np.ndarray):
    return joined(a, b), lambda t: (t[len(b) :], t[: len(b)])


@primitive
def energy(x, /):
    return np.sum(x * x)


@rule(energy)
def energy_rule(x: np.ndarray):
    """Of more than 64 elements the last ones, which fill no block, are left out."""
    c = 2 * x
    if x.size > 64:
        c = np.where(np.arange(x.size) < x.size // 64 * 64, c, 0.0)
    return energy(x), (LinearMap(lambda t, c: np.sum(c * t), lambda t, c: c * t, c),)


@primitive
def padded(x, /, *, mode="wrap"):
    return np.pad(x, 1, mode=mode)


@rule(padded)
def padded_rule(x: np.ndarray, *, mode):
    """As if every mode were the default."""
    n = len(x)

    def pull(t):
        out = t[1:-1].copy()
        out[-1] += t[0]
        out[0] += t[-1]
        return out

    push = lambda t: np.concatenate([t[n - 1 :], t, t[:1]])
    return padded(x, mode=mode), (LinearMap(push, pull),)


@primitive
def total(x, /, *, axis=0):
    return np.sum(x * x, axis=axis)


@rule(total)
def total_rule(x: np.ndarray, *, axis):
    push = lambda t, x: np.sum(2 * x * t, axis=axis)
    return total(x, axis=axis), (LinearMap(push, lambda t, x: 2 * x * t[None], x),)


@primitive
def cropped_pad(x, /):
    return np.pad(x, (2, 1))


linear_rule(cropped_pad, lambda t, x: t[: x.shape[0]])


@primitive
def scores(q, k, /):
    return q @ k.T / np.sqrt(q.shape[-1])


@rrule.register(scores)
def scores_rrule(q: np.ndarray, k: np.ndarray):
    return scores(q, k), lambda t: (t @ k / np.sqrt(q.shape[-1]), t.T @ q)


def middle(x):
    """The lower one of the two in the middle."""
    return np.eye(len(x))[np.argsort(x)[(len(x) - 1) // 2]]


WRONG: dict[str, Plant] = {
    "inner factor of a bell": Plant(slope(bell, bell_slope), (X[0],), "(1 + 0.1341 * x ** 2)`"),
    "log of the exponent": Plant(
        pair(np.power, lambda y, a, b: y * b / a, lambda y, a, b: y * v.log(b)),
        (POSITIVE[0], POSITIVE[1]),
        "where `v.log(a)` belongs",
    ),
    "form that is not symmetric": Plant(
        summing(quadratic, lambda x: 2 * SQUARE @ x), (VECTOR,), "2 A x where (A + A.T) x belongs"
    ),
    "distance that is not symmetric": Plant(
        summing(distance, lambda x: 2 * np.linalg.solve(SQUARE, x)),
        (VECTOR,),
        "2 A x where (A + A.T) x belongs",
    ),
    "factor that is held constant": Plant(
        slope(focal, lambda _y, x: -((1 - x) ** 2) / x),
        (FEW,),
        "(1 - x) ** 2` is held constant",
    ),
    "scale that is held constant": Plant(
        reverse(layer, layer_pull), (VECTOR,), "`np.sqrt(np.mean(c * c) + 0.001)` is held constant"
    ),
    "softmax without its weights": Plant(
        reverse(softmax, softmax_pull), (VECTOR,), "`np.sum(t)` where `np.sum(t * y)` belongs"
    ),
    "margin of zero": Plant(
        slope(hinge, lambda _y, m: v.where(m < 0, -1.0, 0.0)),
        (np.array([-0.5, 0.4, 0.7, 2.0]),),
        "where `v.where(m < 1, -1.0, 0.0)` belongs",
    ),
    "weights of neighbours": Plant(reverse(mixed, mixed_pull), (FEW,), "are exchanged"),
    "factor with a whole diagonal": Plant(factor, (REGULAR,), "np.diag(np.diag("),
    "square of a matrix": Plant(squared, (SQUARE,), "in the push, `2 * a.T @ t` where"),
    "subscripts of another operand": Plant(
        kron, (SQUARE, SQUARE.T), "np.einsum('ijkl,ik->jl', t, a)"
    ),
    "step of another time": Plant(decayed, (FEW,), "t[k - 1]"),
    "angle without i": Plant(
        polar, (FEW, FEW[::-1].copy()), "a factor i is missing for argument 2"
    ),
    "split at the other length": Plant(joined, (X[0], FEW), "split, or put together, at the wrong"),
    "crop from the start": Plant(cropped_pad, (FEW,), "off by 2 places along axis 0"),
    "pull that clips": Plant(
        reverse(np.sin, lambda t, x: np.clip(t * np.cos(x), -10.0, 10.0)),
        (VECTOR,),
        "not linear in",
    ),
    "branch for many elements": Plant(energy, (VECTOR,), "(at another length: 65)"),
    "branch for large numbers": Plant(
        slope(lambda x: np.logaddexp(x, -x), lambda _y, x: v.where(x > 5, 1 + 1 / x, v.tanh(x))),
        (VECTOR,),
        "numbers on both sides of 5",
    ),
    "mode of a library": Plant(padded, (FEW,), "wrong only for mode='"),
    "first axis alone": Plant(total, (SQUARE,), "wrong only for axis=1"),
    "scale of an attention": Plant(scores, (X, 2.0 * X[::-1]), "factor sqrt(3) for argument 2"),
    "middle of an even number": Plant(
        summing(np.median, middle),
        (np.array([3.0, 0.5, 2.2, 1.1]),),
        "given to one element alone, and several share it",
    ),
}
