"""Plants that are right at the call that is given, and wrong at another."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import (
    MANY,
    Plant,
    X,
    frozen,
    halves,
    mean_rule,
    right_sum,
    sine,
    summed,
    wrong_for,
)


def wrong_where(test: Any) -> Any:
    """The sine, with a derivative that is off by a factor at some numbers."""
    return sine(lambda _y, x: v.cos(x) * v.where(test(x), 2.0, 1.0))


def sum_wrong_for_negative_axis(y_bar, x, *, axis, keepdims):
    factor = 2.0 if type(axis) is int and axis < 0 else 1.0
    return right_sum(y_bar, x, axis=axis, keepdims=keepdims) * factor


def sum_wrong_for_keepdims(y_bar, x, *, axis, keepdims):
    factor = -1.0 if keepdims else 1.0
    return right_sum(y_bar, x, axis=axis, keepdims=keepdims) * factor


def quotient_sign(t, x):
    return t * x / v.abs(x)


def is_fortran(x):
    flags = getattr(frozen(x), "flags", None)
    return flags is not None and flags.f_contiguous and not flags.c_contiguous


def divided_by_nothing(t, x):
    return v.broadcast_to(t * (1 // x.size + 1 / x.size - 1 // x.size), shape=x.shape)


def one_wrong(t, x):
    """The cosine, and one element of many off by a relative 1e-3."""
    place = np.zeros(x.shape)
    place.reshape(-1)[1234:1235] = 1e-3
    return t * v.cos(x) * (1.0 + place)


ALONG = {"axis": 0}
AT_ZERO = np.asarray([0.0, 1.0, -2.0])

WRONG: dict[str, Plant] = {
    "negative axis": Plant(
        summed(sum_wrong_for_negative_axis), (X,), "wrong only for negative axis", options=ALONG
    ),
    "keepdims": Plant(
        summed(sum_wrong_for_keepdims), (X,), "wrong only for keepdims=True", options=ALONG
    ),
    "0-d": Plant(
        wrong_for(lambda x: x.ndim == 0), (X,), "wrong only for 0-d", "pytorch/pytorch#128120"
    ),
    "size 1": Plant(wrong_for(lambda x: x.size == 1 and x.ndim), (X,), "wrong only for size 1"),
    "empty": Plant(mean_rule(divided_by_nothing), (X,), "wrong only for an empty array"),
    "Fortran order": Plant(
        wrong_for(is_fortran), (X,), "wrong only for non-contiguous input (Fortran order)"
    ),
    "three axes": Plant(wrong_for(lambda x: x.ndim == 3), (X,), "wrong only for a leading axis"),
    "negative numbers": Plant(wrong_where(lambda x: x < 0), (np.abs(X),), "wrong only for"),
    "large numbers": Plant(wrong_where(lambda x: v.abs(x) > 40), (X,), "wrong only for"),
    "small numbers": Plant(wrong_where(lambda x: v.abs(x) < 1e-4), (X,), "wrong only for"),
    "NaN at a kink": Plant(
        halves(v.abs, quotient_sign, quotient_sign),
        (AT_ZERO,),
        "NaN at a kink",
        "HIPS/autograd#151",
    ),
    "NaN at a kink that nobody gave": Plant(
        halves(v.abs, quotient_sign, quotient_sign), (X,), "NaN at a kink"
    ),
    "many: one element": Plant(
        halves(v.sin, one_wrong, one_wrong), (MANY,), "wrong only for large arrays"
    ),
    "many: zeros lost": Plant(
        sine(lambda _y, x: v.where(x == 0, 0.0, v.cos(x))), (MANY,), "wrong only"
    ),
}
