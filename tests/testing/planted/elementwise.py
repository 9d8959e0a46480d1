"""Plants that act element by element: partial derivatives that others got wrong."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import ops as v
from tests.testing.planted.build import (
    COMPLEX,
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    both,
    halves,
    one,
    scaled,
    sine,
    slope,
)


def power(x, /, *, n=1):
    return v.pow(x, n)


def power_half(t, x, n):
    return t * n * v.pow(x, n - 1)


def no_second_of_the_same(t, a, b):
    return t * a * (0.0 if a is b else 1.0)


def squared_error(x, /, *, reduction: Literal["sum", "mean"] = "sum"):
    return v.sum(x * x) if reduction == "sum" else v.mean(x * x)


def squared_error_push(t, x, reduction):
    return v.sum(2.0 * x * t) / (1 if reduction == "sum" else x.size)


def root_of_squares(xs: Any) -> Any:
    return v.sqrt(sum([x * x for x in xs[1:]], start=xs[0] * xs[0]))


def root_of_two_squares() -> Any:
    f = primitive(lambda *xs: root_of_squares(xs))

    @rule(f)
    def f_rule(*xs: Array):
        y = root_of_squares(xs[:2])
        return root_of_squares(xs), tuple([LinearMap(scaled, scaled, x / y) for x in xs])

    return f


def root_or_itself(x):
    return v.where(x > 0, v.sqrt(x), x)


def root_by_masks(_y, x):
    inside = v.where(x > 0, 1.0, 0.0)
    return inside * 0.5 / v.sqrt(x) + (1.0 - inside)


def leaky(x, a):
    return v.where(x > 0, x, a * x)


def only_for_arrays(t, x, a):
    return v.where(x > 0, 0.0, t * x) * (0.0 if type(a) is float else 1.0)


WRONG: dict[str, Plant] = {
    "hypotenuse, partials swapped": Plant(
        slope(v.hypot, lambda y, a, b: b / y, lambda y, a, b: a / y),
        (X, Z),
        "swapped operands",
        "JuliaDiff/ChainRules.jl#74",
    ),
    "sign of a complex number held constant": Plant(
        halves(lambda x: x / v.abs(x), lambda t, x: t * 0.0, lambda t, x: t * 0.0),
        (COMPLEX,),
        "zero",
        "JuliaDiff/ChainRules.jl#211",
    ),
    "modulus with the sign for a slope": Plant(
        halves(v.abs, lambda t, x: v.real(x * t) / v.abs(x), lambda t, x: t * v.conj(x) / v.abs(x)),
        (COMPLEX,),
        "conjugated",
        "JuliaDiff/ChainRules.jl#98",
    ),
    "exponent of a zero": Plant(
        slope(v.pow, lambda y, x, p: p * v.pow(x, p - 1.0), lambda y, x, p: y * v.log(x)),
        (POSITIVE, POSITIVE + 0.75),
        "NaN",
        "pytorch/pytorch#27134",
    ),
    "zeroth power of a zero": Plant(
        both(power, (power_half, power_half)),
        (np.asarray([0.0, 1.5, 2.0]),),
        "wrong only for n=0 | NaN",
        "RobotLocomotion/drake#23862",
    ),
    "power of a negative number by its logarithm": Plant(
        slope(lambda x: x * x * x, lambda _y, x: 3.0 * v.exp(2.0 * v.log(x))),
        (POSITIVE,),
        "NaN",
        "tenstorrent/tt-metal#54440",
    ),
    "digamma of negative numbers": Plant(
        slope(v.digamma, lambda _y, x: v.where(x > 0, v.polygamma(1, v.abs(x)), -1.0 / v.abs(x))),
        (POSITIVE,),
        "wrong only for",
        "jax-ml/jax#37635",
    ),
    "Bessel function at zero": Plant(
        slope(v.i0, lambda _y, x: v.where(x == 0, 1.0, v.i1(x))),
        (X,),
        "wrong only for a zero",
        "jax-ml/jax#40628",
    ),
    "sinc at zero": Plant(
        slope(v.sinc, lambda y, x: (v.cos(np.pi * x) - y) / x), (X,), "NaN", "jax-ml/jax#1722"
    ),
    "x log y at zero": Plant(
        slope(v.xlogy, lambda _z, x, y: v.where(x == 0, 0.0, v.log(y)), lambda _z, x, y: x / y),
        (POSITIVE, POSITIVE + 0.25),
        "wrong only for a zero",
        "jax-ml/jax#15598",
    ),
    "square root behind a mask": Plant(
        slope(root_or_itself, root_by_masks), (X,), "NaN", "pytorch/pytorch#187297"
    ),
    "tiny function without a derivative": Plant(
        slope(lambda x: 1e-10 * v.sin(x), lambda _y, x: 0.0 * x),
        (X,),
        "zero",
        "pytorch/pytorch#195527",
    ),
    "whole number": Plant(
        sine(lambda _y, x: 2.0 * v.cos(x)), (3,), "factor 2", "FluxML/Zygote.jl#1445"
    ),
    "half precision": Plant(
        sine(lambda _y, x: 2.0 * v.cos(x)),
        (X.astype(np.float16),),
        "factor 2",
        "FluxML/Zygote.jl#228",
    ),
    "slope that is a number": Plant(
        both(
            leaky,
            (lambda t, x, a: v.where(x > 0, t, a * t), lambda t, x, a: v.where(x > 0, t, a * t)),
            (only_for_arrays, only_for_arrays),
        ),
        (X, VECTOR),
        "wrong only for",
        "pytorch/pytorch#128120",
    ),
    "the same object twice": Plant(
        both(v.multiply, (lambda t, a, b: t * b,) * 2, (no_second_of_the_same,) * 2),
        (X, Z),
        "same",
        "pytorch/pytorch#181146",
    ),
    "mean of squared errors": Plant(
        both(squared_error, (squared_error_push, lambda t, x, reduction: 2.0 * x * t)),
        (X,),
        "wrong only for reduction='mean'",
        "flagos-ai/FlagGems#5212",
    ),
    "larger of two equal numbers counts twice": Plant(
        slope(
            v.maximum,
            lambda _y, a, b: v.where(a >= b, one(a), 0.0),
            lambda _y, a, b: v.where(b >= a, one(b), 0.0),
        ),
        (X, Z),
        "tie",
        "pytorch/pytorch#43519",
    ),
    "third operand left out": Plant(
        root_of_two_squares(), (X, Z), "wrong only for", "JuliaDiff/ChainRules.jl#55"
    ),
}
