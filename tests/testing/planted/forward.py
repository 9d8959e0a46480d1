"""Plants of which the forward half alone is stated: engines transpose it, and nest it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_kit.custom_derivatives import custom_jvp
from chainrules_py import frule, ignore_derivatives, primitive
from chainrules_py import ops as v
from tests.testing.planted.build import Plant, Right
from tests.testing.planted.draws import normal

FEW = np.array([0.5, -1.25, 2.0])


def cube(x):
    return x * x * x


SLOPES: dict[str, Callable[[Any], Any]] = {
    "in whole": lambda x: ignore_derivatives(3.0 * x * x),
    "in part": lambda x: 3.0 * x * ignore_derivatives(x),
    "of a product": lambda x: 3.0 * ignore_derivatives(x * x),
}


def registered(slope: Callable[[Any], Any]) -> Any:
    """The cube, with this for the slope of its ``frule``."""
    return stated(cube, lambda tangents, x: (cube(x), tangents[0] * slope(x)))


def stated(value: Callable[[Any], Any], frule_of: Callable[..., Any]) -> Any:
    f = primitive(lambda x: value(x))
    frule.register(f)(frule_of)
    return f


def customised(slope: Callable[[Any], Any]) -> Any:
    f = custom_jvp(cube)
    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * slope(primals[0])))
    return f


def customised_each(slope: Callable[[Any], Any]) -> Any:
    f = custom_jvp(lambda x: cube(x))
    f.defjvps(lambda t, _y, x: t * slope(x))
    return f


CONSTRUCTORS = {"frule": registered, "custom_jvp": customised, "defjvps": customised_each}


def of_numpy(tangents, x):
    return np.sin(x), np.multiply(np.asarray(tangents[0]), np.cos(np.asarray(x)))


def softplus(tangents, x):
    y = np.log1p(np.exp(x))
    return y, tangents[0] * (1.0 - v.exp(-y))


WRONG: dict[str, Plant] = {
    f"slope constant {name}, {constructor} alone": Plant(of(slope), (FEW,), "second order wrong")
    for constructor, of in CONSTRUCTORS.items()
    for name, slope in SLOPES.items()
}
RIGHT: dict[str, Right] = {
    "cube, frule alone": Right(registered(lambda x: 3.0 * x * x), normal((3,))),
    "of NumPy's arrays, frule alone": Right(stated(np.sin, of_numpy), normal((3,))),
    "softplus, frule alone": Right(stated(lambda x: np.log1p(np.exp(x)), softplus), normal((3,))),
    "cube, custom_jvp": Right(customised(lambda x: 3.0 * x * x), normal((2, 3))),
    "cube, defjvps": Right(customised_each(lambda x: 3.0 * x * x), normal((3,))),
}
