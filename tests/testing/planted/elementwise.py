"""Plants that act element by element: partial derivatives that others got wrong."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    COMPLEX,
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    binary,
    halves,
    one,
    pair,
    scaled,
    sine,
    slope,
)


def power_of(partial: Any) -> Any:
    @primitive
    def f(x, /, *, n=1):
        return v.pow(x, n)

    @rule(f)
    def f_rule(x, *, n):
        return v.pow(x, n), (LinearMap(scaled, scaled, partial(x, n)),)

    return f


def root_or_itself(x):
    return v.where(x > 0, v.sqrt(x), x)


def root_by_masks(_y, x):
    inside = v.where(x > 0, 1.0, 0.0)
    return inside * 0.5 / v.sqrt(x) + (1.0 - inside)


def value_in_double() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rule(f)
    def f_rule(x: Array):
        return v.astype(v.sin(x), dtype=np.float64), (LinearMap(scaled, scaled, v.cos(x)),)

    return f


def leaky(x, a):
    return v.where(x > 0, x, a * x)


def only_for_arrays(t, x, a):
    return v.where(x > 0, 0.0, t * x) * (0.0 if type(a) is float else 1.0)


def drops_the_second_of_the_same() -> Any:
    @primitive
    def f(a, b, /):
        return a * b

    @rule(f)
    def f_rule(a, b):
        share = 0.0 if a is b else 1.0
        return a * b, (LinearMap(scaled, scaled, b), LinearMap(scaled, scaled, a * share))

    return f


def squared_error(mean_pull: Any) -> Any:
    @primitive
    def f(x, /, *, reduction: Literal["sum", "mean"] = "sum"):
        return v.sum(x * x) if reduction == "sum" else v.mean(x * x)

    @rule(f)
    def f_rule(x: Array, *, reduction):
        n = 1 if reduction == "sum" else x.size
        push = lambda t, x: v.sum(2.0 * x * t) / n
        return f(x, reduction=reduction), (LinearMap(push, mean_pull, x),)

    return f


def root_of_squares(xs: Any) -> Any:
    total = xs[0] * xs[0]
    for x in xs[1:]:
        total = total + x * x
    return v.sqrt(total)


def root_of_two_squares() -> Any:
    @primitive
    def f(*xs):
        return root_of_squares(xs)

    @rule(f)
    def f_rule(*xs: Array):
        y = root_of_squares(xs[:2])
        return root_of_squares(xs), tuple([LinearMap(scaled, scaled, x / y) for x in xs])

    return f


WRONG: dict[str, Plant] = {
    "hypotenuse, partials swapped": Plant(
        pair(v.hypot, lambda y, a, b: b / y, lambda y, a, b: a / y),
        (X, Z),
        "swapped operands",
        cites="JuliaDiff/ChainRules.jl#74",
    ),
    "squared magnitude as if it were holomorphic": Plant(
        halves(
            lambda x: v.real(x * v.conj(x)),
            lambda t, x: v.real(2.0 * x * t),
            lambda t, x: 2.0 * t * v.conj(x),
        ),
        (COMPLEX,),
        "conjugated",
        cites="JuliaDiff/ChainRules.jl#195",
    ),
    "conjugation passed through": Plant(
        halves(v.conj, lambda t, x: t, lambda t, x: t),
        (COMPLEX,),
        "conjugated",
        cites="JuliaDiff/ChainRules.jl#19",
    ),
    "sign of a complex number held constant": Plant(
        halves(lambda x: x / v.abs(x), lambda t, x: t * 0.0, lambda t, x: t * 0.0),
        (COMPLEX,),
        "zero",
        cites="JuliaDiff/ChainRules.jl#211",
    ),
    "modulus with the sign for a slope": Plant(
        halves(
            v.abs,
            lambda t, x: v.real(x * t) / v.abs(x),
            lambda t, x: t * v.conj(x) / v.abs(x),
        ),
        (COMPLEX,),
        "conjugated",
        cites="JuliaDiff/ChainRules.jl#98",
    ),
    "exponent of a zero": Plant(
        pair(v.pow, lambda y, x, p: p * v.pow(x, p - 1.0), lambda y, x, p: y * v.log(x)),
        (POSITIVE, POSITIVE + 0.75),
        "NaN",
        cites="pytorch/pytorch#27134",
    ),
    "zeroth power of a zero": Plant(
        power_of(lambda x, n: n * v.pow(x, n - 1)),
        (np.asarray([0.0, 1.5, 2.0]),),
        "wrong only for n=0 | NaN",
        cites="RobotLocomotion/drake#23862",
    ),
    "power of a negative number by its logarithm": Plant(
        slope(lambda x: x * x * x, lambda _y, x: 3.0 * v.exp(2.0 * v.log(x))),
        (POSITIVE,),
        "NaN",
        cites="tenstorrent/tt-metal#54440",
    ),
    "digamma of negative numbers": Plant(
        slope(
            v.digamma,
            lambda _y, x: v.where(x > 0, v.polygamma(1, v.abs(x)), -1.0 / v.abs(x)),
        ),
        (POSITIVE,),
        "wrong only for",
        cites="jax-ml/jax#37635",
    ),
    "Bessel function at zero": Plant(
        slope(v.i0, lambda _y, x: v.where(x == 0, 1.0, v.i1(x))),
        (X,),
        "wrong only for a zero",
        cites="jax-ml/jax#40628",
    ),
    "sinc at zero": Plant(
        slope(v.sinc, lambda y, x: (v.cos(np.pi * x) - y) / x),
        (X,),
        "NaN",
        cites="jax-ml/jax#1722",
    ),
    "x log y at zero": Plant(
        pair(
            v.xlogy,
            lambda _z, x, y: v.where(x == 0, 0.0, v.log(y)),
            lambda _z, x, y: x / y,
        ),
        (POSITIVE, POSITIVE + 0.25),
        "wrong only for a zero",
        cites="jax-ml/jax#15598",
    ),
    "square root behind a mask": Plant(
        slope(root_or_itself, root_by_masks), (X,), "NaN", cites="pytorch/pytorch#187297"
    ),
    "tiny function without a derivative": Plant(
        slope(lambda x: 1e-10 * v.sin(x), lambda _y, x: 0.0 * x),
        (X,),
        "zero",
        cites="pytorch/pytorch#195527",
    ),
    "tiny function, twice its derivative": Plant(
        slope(lambda x: 1e-10 * v.sin(x), lambda _y, x: 2e-10 * v.cos(x)),
        (X,),
        "factor 2",
        cites="jax-ml/jax#40343",
    ),
    "whole number": Plant(
        sine(lambda _y, x: 2.0 * v.cos(x)), (3,), "factor 2", cites="FluxML/Zygote.jl#1445"
    ),
    "array of whole numbers": Plant(
        sine(lambda _y, x: 0.5 * v.cos(x)),
        (np.asarray([1, 2, 4]),),
        "factor 1/2",
        cites="FluxML/Zygote.jl#727",
    ),
    "half precision": Plant(
        sine(lambda _y, x: 2.0 * v.cos(x)),
        (X.astype(np.float16),),
        "factor 2",
        cites="FluxML/Zygote.jl#228",
    ),
    "value in double precision": Plant(
        value_in_double(),
        (X.astype(np.float32),),
        "float64 result for float32 input",
        cites="JuliaMath/SpecialFunctions.jl#307",
    ),
    "hyperbolic tangent without its parentheses": Plant(
        halves(
            v.tanh,
            lambda t, x: t * (1.0 - v.tanh(x) * v.tanh(x)),
            lambda t, x: t - v.tanh(x) * v.tanh(x),
        ),
        (X,),
        "not linear in the cotangent",
        cites="apache/tvm#7340",
    ),
    "scale of a normal density": Plant(
        pair(
            lambda x, s: -0.5 * (x / s) * (x / s) - v.log(s),
            lambda _y, x, s: -x / (s * s),
            lambda _y, x, s: x * x / (s * s * s),
        ),
        (X, POSITIVE),
        "for argument 2",
        cites="pytorch/pytorch#1076",
    ),
    "slope that is a number": Plant(
        binary(
            leaky,
            (lambda t, x, a: v.where(x > 0, t, a * t), lambda t, x, a: v.where(x > 0, t, a * t)),
            (only_for_arrays, only_for_arrays),
        ),
        (X, VECTOR),
        "wrong only for",
        cites="pytorch/pytorch#128120",
    ),
    "the same object twice": Plant(
        drops_the_second_of_the_same(), (X, Z), "same", cites="pytorch/pytorch#181146"
    ),
    "mean of squared errors": Plant(
        squared_error(lambda t, x: 2.0 * x * t),
        (X,),
        "wrong only for reduction='mean'",
        cites="flagos-ai/FlagGems#5212",
    ),
    "larger of two equal numbers counts twice": Plant(
        pair(
            v.maximum,
            lambda _y, a, b: v.where(a >= b, one(a), 0.0),
            lambda _y, a, b: v.where(b >= a, one(b), 0.0),
        ),
        (X, Z),
        "tie",
        cites="pytorch/pytorch#43519",
    ),
    "third operand left out": Plant(
        root_of_two_squares(), (X, Z), "wrong only for", cites="JuliaDiff/ChainRules.jl#55"
    ),
}
