"""Ufuncs whose value SciPy is asked for, while words say what their derivative is.

What is written in words has last digits of its own, another value beyond where the formula holds,
and its own words for what is wrong. So both are computed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import LinearMap, identity, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import (
    find_tracers,
    in_own_context,
    static_types,
    type_info,
    untraced,
)
from chainrules_scipy.rows import array_of

static_types.add(np.ufunc)


@primitive
def as_computed(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Return what SciPy computes of xs; the derivative is that of y, which words computed of it."""
    return by(*xs)


@rule(as_computed, batched="broadcast")
def as_computed_rule(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Pass tangents on; where the value is NaN, every derivative is."""
    z = as_computed(y, *xs, by=by)
    undefined = LinearMap(_undefined, _undefined, z)
    return z, (identity, *[undefined] * len(xs))


def _undefined(t: Any, z: Any) -> Any:
    # Both are masked: the adjoint multiplies what is masked, and a zero times NaN is none.
    lost, zero = v.isnan(z), v.zeros_like(z)
    return v.where(lost, math.nan, zero) * v.where(lost, t, zero)


def asking(ufunc: np.ufunc, in_words: Callable[..., Any]) -> Callable[..., Any]:
    """Make of a function in words the ufunc, with its value, of arrays and numbers of NumPy's."""

    @functools.wraps(in_words)
    def function(*xs: Any) -> Any:
        xs = tuple([array_of(x, floating=False) if type(x) in (list, tuple) else x for x in xs])
        is_numpys = all(map(_is_numpys, xs))
        try:
            y = in_own_context(_quiet, in_words, xs) if is_numpys else in_words(*xs)
        except Exception:
            if is_numpys:
                ufunc(*map(untraced, xs))  # which has its own words for what is wrong
            raise
        if not is_numpys:
            return y
        if find_tracers(y):
            return as_computed(y, *xs, by=ufunc)
        value = ufunc(*map(untraced, xs))
        return value.item() if type_info(type(y)).is_python_number else value

    return function


def _quiet(in_words: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        return in_words(*xs)


def _is_numpys(x: Any) -> bool:
    cls = type_info(type(x)).dispatch_type
    return issubclass(cls, (np.ndarray, np.generic, int, float, complex))
