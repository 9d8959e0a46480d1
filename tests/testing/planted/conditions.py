"""Plants that are wrong under a condition: of two options together, of numbers that have a name."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import LinearMap, ignore_derivatives, primitive, rule, scalar_rule
from tests.testing.planted.build import Plant, slope

FEW = np.array([1.0, 2.0, 0.5])
BLOCK, KNEE = 48, 12.5


class Limits:
    many = 40


def times_two_options(first: Any, second: Any) -> Any:
    """3 x, with a derivative that is off by 2 where both options are others than these."""

    @primitive
    def f(x, /, *, a=first, b=second):
        known = {type(first): a, type(second): b}
        return 3.0 * x if known else x

    @rule(f)
    def f_rule(x: np.ndarray, *, a, b):
        c = 6.0 if a != first and b != second else 3.0
        half = lambda t: c * t
        return f(x, a=a, b=b), (LinearMap(half, half),)

    return f


def summed(factor: Any) -> Any:
    """A sum, of which the derivative is off by a factor of the array."""

    @primitive
    def f(x, /):
        return np.sum(np.exp(x))

    @rule(f)
    def f_rule(x: np.ndarray):
        p = factor(x) * np.exp(x)
        return f(x), (LinearMap(lambda t: np.sum(p * t), lambda t: p * t),)

    return f


def many(x):
    limit = 30
    return 2.0 if x.size > limit else 1.0


def cubed(test: Any) -> Any:
    """x**3, whose derivative is off by 2 where a test says so."""
    return slope(lambda x: x * x * x, lambda _y, x: np.where(test(x), 6.0, 3.0) * x * x)


def with_option_of_the_judge(**options: Any) -> Any:
    """x**2, with a derivative that is 7 x where its option is not the default."""
    ((name, default),) = options.items()
    space: dict[str, Any] = {"__name__": __name__}
    exec(f"def f(x, /, *, {name}={default!r}): return x * x", space)
    f = primitive(space["f"])

    @rule(f)
    def f_rule(x: np.ndarray, **given):
        p = (2.0 if given[name] == default else 7.0) * x
        half = lambda t: p * t
        return f(x, **given), (LinearMap(half, half),)

    return f


@primitive
def doubling(x, /):
    """2 x, whose own rule is wrong."""
    return 2.0 * x


scalar_rule(doubling, lambda _y, _x: 1.0)
OTHERS = {"seed": (3, 0), "smooth": (True, False), "vary": (False, True), "thorough": (False, True)}
OTHERS |= {"checks": (2, 3), "gauge": ("m", "cm")}
KINDS = {"bool": False, "int": 1, "float": 0.5, "word": "one"}

WRONG: dict[str, Plant] = {
    **{
        f"options {a} and {b} together": Plant(times_two_options(x, y), (FEW,), "wrong only for a=")
        for a, x in KINDS.items()
        for b, y in KINDS.items()
        if a <= b
    },
    **{
        f"option called {name}": Plant(
            with_option_of_the_judge(**{name: default}), (FEW,), "factor 7/2", {name: value}
        )
        for name, (default, value) in OTHERS.items()
    },
    "length that is a multiple of a constant": Plant(
        summed(lambda x: 1.0 + (x.shape[0] % BLOCK == 0)), (FEW,), "another length: 48"
    ),
    "length beyond an attribute": Plant(
        summed(lambda x: 1.0 + (x.size > Limits.many)), (FEW,), "another length: 41"
    ),
    "length beyond a name of its own": Plant(summed(many), (FEW,), "another length: 31"),
    "beyond a constant of the module": Plant(
        cubed(lambda x: x > KNEE), (FEW,), "numbers on both sides of 12.5"
    ),
    "between two numbers": Plant(
        cubed(lambda x: (x > 3.7) & (x < 4.2)), (FEW,), "numbers on both sides of 3.7"
    ),
    "near a number": Plant(
        cubed(lambda x: np.abs(x - 4.0) < 0.3), (FEW,), "numbers on both sides of 4"
    ),
    "between two negative numbers": Plant(
        cubed(lambda x: (x > -7.0) & (x < -6.5)), (FEW,), "numbers on both sides of -7"
    ),
    "rule of what the derivative calls": Plant(
        slope(lambda x: x * x, lambda _y, x: doubling(x)),
        (FEW,),
        "or the rule of doubling is wrong",
    ),
    "constant captured beside a helper": Plant(
        slope(lambda x: x * x, lambda _y, x: 2.0 * ignore_derivatives(x)),
        (FEW,),
        "second order wrong (a constant was captured)",
    ),
    "number of Python": Plant(
        slope(np.sin, lambda _y, x: np.cos(x) * (2.0 if isinstance(x, float) else 1.0)),
        (FEW,),
        "wrong only for a number for argument 1",
    ),
    "more axes than three": Plant(
        slope(np.sin, lambda _y, x: np.cos(x) * (2.0 if np.ndim(x) > 3 else 1.0)),
        (FEW,),
        "wrong only for a leading axis more, 4 in all",
    ),
    "first element of an empty array": Plant(
        slope(np.sin, lambda _y, x: np.cos(x) * np.sign(np.ravel(x)[0]) ** 2),
        (FEW,),
        "wrong for an empty array|wrong only for two zeros",
    ),
}
