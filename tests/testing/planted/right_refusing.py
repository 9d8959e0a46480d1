"""Right rules that refuse calls, that jump far from 1, and that nobody meant for a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.testing.planted.build import Right, acting, back, both, halves, slope
from tests.testing.planted.draws import given, normal, positive

GRID = np.array([1e13, 5e14])
THREE = np.array([-1.4, 0.3, 2.6])


def variation_pull(t, x):
    d = 2.0 * np.diff(x)
    return t * np.concatenate([-d[:1], d[:-1] - d[1:], d[-1:]])


def geometric(x, /, *, axis=0):
    return np.exp(np.mean(np.log(x), axis=axis))


def geometric_pull(t, x, axis):
    y = geometric(x, axis=axis)
    return np.expand_dims(t * y, axis) / (x.shape[axis] * x)


def lagged(x, /, *, lag=1):
    return np.sum(x[lag:] * x[: x.shape[0] - lag])


def lagged_pull(t, x, lag):
    n = x.shape[0] - lag
    return t * (np.pad(x[lag:], (0, lag)) + np.pad(x[:n], (lag, 0)))


def distribution(size: float, unit: float, sign: float) -> Any:
    """Of energies, at a temperature, in units in which the numbers are tiny or huge."""
    at = lambda y, t: -y * (1.0 - sign * y / size) * unit / t
    return slope(
        lambda e, t: size / (np.exp(unit * e / t) + sign),
        lambda y, e, t: at(y, t),
        lambda y, e, t: -at(y, t) * e / t,
    )


def spectrum(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2 * np.arange(1.0, len(x) + 1.0))


def spectrum_pull(t, x):
    """Complex, of which the real part is meant."""
    y = np.fft.fft(x) * np.arange(1.0, len(x) + 1.0)
    return 2.0 * t * len(x) * np.fft.ifft(y)


def spectrum_push(t, x):
    return np.sum(t * spectrum_pull(1.0, x).real)


RIGHT: dict[str, Right] = {
    "nothing has no neighbours": Right(
        back(lambda x: np.sum(np.diff(x) ** 2), variation_pull), normal((4,))
    ),
    "one axis and no tuple": Right(back(geometric, geometric_pull), positive((2, 3))),
    "lag that is not negative": Right(back(lagged, lagged_pull), normal((4,))),
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
        given(THREE),
    ),
    "square above zero": Right(
        slope(lambda x: np.where(x > 0, x * x, 0.0), lambda _y, x: 2.0 * x * (x > 0)), given(THREE)
    ),
    "product of parts above zero": Right(
        both(
            lambda a, b: np.where(a > 0, a * b, 0.0),
            *acting(lambda a, b: b * (a > 0), lambda a, b: a * (a > 0)),
        ),
        given(THREE, np.array([0.4, 1.3, -2.0])),
    ),
}
