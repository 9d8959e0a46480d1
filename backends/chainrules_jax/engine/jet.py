"""Taylor series of calls for `jax.experimental.jet`, by derivatives along the curve.

JAX has a series rule for each of its operations. Our rules state first derivatives; therefore the
term of order n is the derivative of the term of order n - 1, which is correct at every order.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive

from chainrules_jax.engine.linear_primitive import as_array
from chainrules_jax.engine.value_conversions import is_inexact


def _series(
    primitive: Primitive, primals: Sequence[Any], series: Sequence[Sequence[Any]], **params: Any
) -> tuple[list[Any], list[list[Any]]]:
    """Return values, and for each the coefficients of its series."""
    primals = [*map(as_array, primals)]
    ys = primitive.bind(*primals, **params)
    coefficients = [[] if is_inexact(y) else [jnp.zeros_like(y) for _ in series[0]] for y in ys]
    moving = [terms for terms, y in zip(coefficients, ys, strict=True) if is_inexact(y)]

    def along(t: Any) -> list[Any]:
        points = [  # the series of each operand near zero
            jnp.asarray(sum([term * t**n for n, term in enumerate(terms, 1)], x), x.dtype)
            if is_inexact(x)
            else x
            for x, terms in zip(primals, series, strict=True)
        ]
        return [y for y in primitive.bind(*points, **params) if is_inexact(y)]

    derivative: Any = along
    for order, _ in enumerate(series[0], 1):
        derivative = lambda t, f=derivative: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]
        for terms, y in zip(moving, derivative(0.0), strict=True):
            terms.append(y / math.factorial(order))
    return ys, coefficients


def define_series(primitive: Primitive) -> None:
    """Register a series rule of a primitive in JAX's experimental table, if there is one."""
    try:
        from jax.experimental.jet import jet_rules
    except ImportError:
        return
    jet_rules[primitive] = functools.partial(_series, primitive)
