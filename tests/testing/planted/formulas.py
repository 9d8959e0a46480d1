"""Plants of functions of single numbers: constants, limits, branches, options and few digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    POSITIVE,
    Plant,
    X,
    Z,
    binary,
    halves,
    numpy_pair,
    numpy_rule,
    pair,
    scaled,
)

INSIDE = 0.2 * np.tanh(X)
DEGREE = np.pi / 180
PLACES = np.array([1.0, 2.0, 3.0])


def slope(value: Any, partial: Any) -> Any:
    """A function of one operand that acts element by element, with a derivative of x."""
    half = lambda t, x: t * partial(x)
    return halves(value, half, half)


def with_option(value: Any, partial: Any, name: str, default: Any) -> Any:
    """The same with an option, of this name and default: both take it."""
    if name == "beta":

        @primitive
        def f(x, /, *, beta: float = default):
            return value(x, beta)

        @rule(f)
        def f_rule(x, *, beta):
            return value(x, beta), (LinearMap(scaled, scaled, partial(x, beta)),)

    else:

        @primitive
        def f(x, /, *, delta: float = default):
            return value(x, delta)

        @rule(f)
        def f_rule(x, *, delta):
            return value(x, delta), (LinearMap(scaled, scaled, partial(x, delta)),)

    return f


def huber(x, delta):
    near = v.abs(x) <= delta
    return v.where(near, 0.5 * x * x, delta * (v.abs(x) - 0.5 * delta))


def clipped(pull_low: Any) -> Any:
    """Numbers between two bounds, of which the lower one has this pull."""

    def value(x, low):
        return np.clip(x, low, 1.0)

    return numpy_pair(value, lambda t, x, low: t * ((x > low) & (x < 1.0)), pull_low)


def by_differences(value: Any, h: float) -> Any:
    """A derivative that is a difference quotient itself."""
    return numpy_rule(value, lambda t, x: t * (value(x + h) - value(x)) / h)


def logistic(x):
    return 1.0 / (1.0 + v.exp(-x))


def steep_logistic(x):
    e = v.exp(-x)
    return e / ((1.0 + e) * (1.0 + e))


def quotient_or_zero(a, b):
    return v.where(b == 0, 0.0, a / v.where(b == 0, 1.0, b))


def entropy(p):
    return v.where(p > 0, -p * v.log(v.where(p > 0, p, 1.0)), 0.0)


def area(a, b):
    """The integral of the squares from a to b."""
    return (b * b * b - a * a * a) / 3.0


WRONG: dict[str, Plant] = {
    "sine of degrees": Plant(
        slope(lambda x: v.sin(DEGREE * x), lambda x: v.cos(DEGREE * x)), (X,), "factor 1/(pi/180)"
    ),
    "error function without its constant": Plant(
        slope(v.erf, lambda x: v.exp(-x * x)), (X,), "factor 1/2 sqrt(pi)"
    ),
    "clipping passed through": Plant(
        numpy_rule(lambda x: np.clip(x, -1.0, 1.0), lambda t, x: t + 0.0),
        (INSIDE,),
        "wrong only for",
    ),
    "clipping with its comparisons inverted": Plant(
        numpy_rule(lambda x: np.clip(x, -1.0, 1.0), lambda t, x: t * ((x <= -1.0) & (x >= 1.0))),
        (INSIDE,),
        "zero",
        cites="tenstorrent/tt-metal#48201",
    ),
    "bound that is thought constant": Plant(
        clipped(None),
        (X, np.full(X.shape, -0.1)),
        "zero for argument 2",
        cites="Theano/Theano#1010",
    ),
    "bound at the wrong numbers": Plant(
        clipped(lambda t, x, low: t * (x > low)),
        (X, np.full(X.shape, -0.1)),
        "where `t * (x < low)` belongs",
        cites="Theano/Theano#633",
    ),
    "Huber loss without its width": Plant(
        with_option(huber, lambda x, d: v.where(v.abs(x) <= d, x, v.sign(x)), "delta", 1.0),
        (3.0 * X,),
        "wrong only for delta=",
    ),
    "softplus without its sharpness": Plant(
        with_option(
            lambda x, b: v.logaddexp(0.0, b * x) / b, lambda x, b: logistic(x), "beta", 1.0
        ),
        (X,),
        "wrong only for beta=",
    ),
    "logit with a sign": Plant(
        slope(lambda x: v.log(x / (1.0 - x)), lambda x: 1.0 / (x * (1.0 + x))),
        (logistic(X),),
        "factor (1 - x)/(1 + x)",
    ),
    "bell without its inner derivative": Plant(
        slope(lambda x: v.exp(-0.5 * x * x), lambda x: v.exp(-0.5 * x * x)), (X,), "factor -1/x"
    ),
    "logarithm of a modulus": Plant(
        slope(lambda x: v.log(v.abs(x)), lambda x: 1.0 / v.abs(x)), (X,), "where `1.0 / x` belongs"
    ),
    "cube root of negative numbers": Plant(
        numpy_rule(np.cbrt, lambda t, x: t * x ** (-2 / 3) / 3), (POSITIVE,), "NaN"
    ),
    "logistic function far out": Plant(
        slope(logistic, steep_logistic), (X,), "NaN", cites="tracel-ai/burn#1139"
    ),
    "weights of two exponentials": Plant(
        pair(
            v.logaddexp,
            lambda _y, a, b: v.exp(a) / (v.exp(a) + v.exp(b)),
            lambda _y, a, b: v.exp(b) / (v.exp(a) + v.exp(b)),
        ),
        (X, Z),
        "NaN",
    ),
    "hypotenuse of nothing": Plant(
        pair(v.hypot, lambda y, a, b: a / y, lambda y, a, b: b / y),
        (X, Z),
        "NaN",
        cites="pytorch/pytorch#2421",
    ),
    "quotient, or zero": Plant(
        binary(
            quotient_or_zero,
            (lambda t, a, b: t / b, lambda t, a, b: t / b),
            (lambda t, a, b: -t * a / (b * b), lambda t, a, b: -t * a / (b * b)),
        ),
        (X, POSITIVE),
        "NaN | wrong only at a zero",
    ),
    "entropy of a probability": Plant(
        slope(entropy, lambda p: -v.log(p)), (POSITIVE,), "off by the constant 1"
    ),
    "lower limit of an integral": Plant(
        pair(area, lambda _y, a, b: a * a, lambda _y, a, b: b * b),
        (X, Z),
        "wrong sign for argument 1",
    ),
    "differences in place of a derivative": Plant(by_differences(np.sin, 1e-6), (X,), "digits"),
    "few digits of a constant": Plant(
        slope(lambda x: v.sin(np.pi * x), lambda x: 3.14159 * v.cos(np.pi * x)), (X,), "digits"
    ),
    "constant in single precision": Plant(
        slope(lambda x: v.sin(0.1 * x), lambda x: float(np.float32(0.1)) * v.cos(0.1 * x)),
        (X,),
        "digits | float32",
    ),
    "minimum with the other one's slope": Plant(
        pair(
            v.minimum,
            lambda _y, a, b: v.where(a > b, v.exp(0.0 * a), 0.0),
            lambda _y, a, b: v.where(a > b, 0.0, v.exp(0.0 * a)),
        ),
        (X, Z),
        "swapped operands",
    ),
    "remainder of negative numbers": Plant(
        numpy_pair(np.fmod, lambda t, a, b: t + 0.0, lambda t, a, b: -t * np.floor(a / b)),
        (POSITIVE + 3.0, POSITIVE),
        "off by the constant 1 for argument 2",
    ),
    "only numbers": Plant(
        halves(lambda x: x * v.sum(x), lambda t, x: 2.0 * x * t, lambda t, x: 2.0 * x * t),
        (np.asarray(1.5),),
        "wrong only for",
    ),
    "phase of a complex number": Plant(
        halves(
            lambda x: v.atan2(v.imag(x), v.real(x)),
            lambda t, x: v.imag(t / x),
            lambda t, x: t * 1j / x,
        ),
        (X + 1j * Z,),
        "conjugated | wrong sign in 6 of 12",
    ),
    "squared modulus without its factor": Plant(
        halves(
            lambda x: v.real(x * v.conj(x)),
            lambda t, x: v.real(v.conj(x) * t),
            lambda t, x: t * x,
        ),
        (X + 1j * Z,),
        "factor 1/2",
    ),
    "weights of places that are forgotten": Plant(
        slope(lambda x: PLACES * x * x, lambda x: 2.0 * x), (X,), "factor by place along axis 1"
    ),
    "weights of places from behind": Plant(
        slope(lambda x: PLACES * v.sin(x), lambda x: PLACES[::-1] * v.cos(x)),
        (X,),
        "`PLACES[::1]` | `PLACES[::1] * v.cos(x)`",
    ),
}
