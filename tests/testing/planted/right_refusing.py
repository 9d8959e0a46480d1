"""Right rules that refuse calls, that jump far from 1, and that nobody meant for a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, primitive, rule, scalar_rule
from tests.testing.planted.build import Right, binary, halves, slope
from tests.testing.planted.draws import given, normal, positive

GRID = np.array([1e13, 5e14])


@primitive
def variation(x, /):
    """The sum of what neighbours are apart, squared."""
    return np.sum(np.diff(x) ** 2)


@rule(variation)
def variation_rule(x: np.ndarray):
    d = 2.0 * np.diff(x)
    pull = lambda t: t * np.concatenate([-d[:1], d[:-1] - d[1:], d[-1:]])
    return variation(x), (LinearMap(lambda t: np.sum(d * np.diff(t)), pull),)


@primitive
def geometric(x, /, *, axis=0):
    return np.exp(np.mean(np.log(x), axis=axis))


@rule(geometric)
def geometric_rule(x: np.ndarray, *, axis):
    y = geometric(x, axis=axis)
    p = np.expand_dims(y, axis) / (x.shape[axis] * x)
    pull = lambda t: np.expand_dims(t, axis) * p
    return y, (LinearMap(lambda t: np.sum(p * t, axis=axis), pull),)


@primitive
def lagged(x, /, *, lag=1):
    return np.sum(x[lag:] * x[: x.shape[0] - lag])


@rule(lagged)
def lagged_rule(x: np.ndarray, *, lag):
    n = x.shape[0] - lag
    p = np.pad(x[lag:], (0, lag)) + np.pad(x[:n], (lag, 0))
    return lagged(x, lag=lag), (LinearMap(lambda t: np.sum(p * t), lambda t: p * t),)


def distribution(size: float, unit: float, sign: float) -> Any:
    """Of energies, at a temperature, in units in which the numbers are tiny or huge."""

    @primitive
    def f(e, t, /):
        return size / (np.exp(unit * e / t) + sign)

    at = lambda y, e, t: -y * (1.0 - sign * y / size) * unit
    scalar_rule(f, lambda y, e, t: at(y, e, t) / t, lambda y, e, t: -at(y, e, t) * e / t**2)
    return f


def spectrum(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2 * np.arange(1.0, len(x) + 1.0))


def spectrum_pull(t, x):
    """Complex, of which the real part is meant."""
    y = np.fft.fft(x) * np.arange(1.0, len(x) + 1.0)
    return 2.0 * t * len(x) * np.fft.ifft(y)


def spectrum_push(t, x):
    return np.sum(t * spectrum_pull(1.0, x).real)


RIGHT: dict[str, Right] = {
    "nothing has no neighbours": Right(variation, normal((4,))),
    "one axis and no tuple": Right(geometric, positive((2, 3))),
    "lag that is not negative": Right(lagged, normal((4,))),
    **{
        f"distribution of {size:g} {'+' if sign > 0 else '-'}": Right(
            distribution(size, 1.0, sign), lambda rng: (0.5 + rng.random(3), 0.7)
        )
        for size in (1e-20, 1.0, 1e20)
        for sign in (1.0, -1.0)
    },
    "radiation in SI units": Right(
        distribution(1e-18, 6.6e-34 / 1.4e-23, -1.0), given(GRID, 5800.0)
    ),
    "complex cotangent of a real operand": Right(
        halves(spectrum, spectrum_push, spectrum_pull), normal((3,))
    ),
    "triangle": Right(
        slope(
            lambda x: np.where(np.abs(x) < 1, 1 - np.abs(x), 0.0),
            lambda _y, x: -np.sign(x) * (np.abs(x) < 1),
        ),
        given(np.array([-1.4, 0.3, 2.6])),
    ),
    "square above zero": Right(
        slope(lambda x: np.where(x > 0, x * x, 0.0), lambda _y, x: 2.0 * x * (x > 0)),
        given(np.array([-1.4, 0.3, 2.6])),
    ),
    "product of parts above zero": Right(
        binary(
            lambda a, b: np.where(a > 0, a * b, 0.0),
            (lambda t, a, b: t * b * (a > 0),) * 2,
            (lambda t, a, b: t * a * (a > 0),) * 2,
        ),
        given(np.array([-1.4, 0.3, 2.6]), np.array([0.4, 1.3, -2.0])),
    ),
}
