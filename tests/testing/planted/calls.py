"""Plants that are right at the call that is given, and wrong at another."""

from __future__ import annotations

import numpy as np

from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    Plant,
    X,
    frozen,
    halves,
    mean_rule,
    right_sum,
    summed,
    wrong_for,
)


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


WRONG: dict[str, Plant] = {
    "negative axis": Plant(
        summed(sum_wrong_for_negative_axis), (X,), "wrong only for negative axis", {"axis": 0}
    ),
    "keepdims": Plant(
        summed(sum_wrong_for_keepdims), (X,), "wrong only for keepdims=True", {"axis": 0}
    ),
    "0-d": Plant(
        wrong_for(lambda x: x.ndim == 0), (X,), "wrong only for 0-d", cites="pytorch/pytorch#128120"
    ),
    "size 1": Plant(wrong_for(lambda x: x.size == 1 and x.ndim), (X,), "wrong only for size 1"),
    "empty": Plant(
        mean_rule(
            lambda y_bar, x: v.broadcast_to(
                y_bar * (1 // x.size + 1 / x.size - 1 // x.size), shape=x.shape
            )
        ),
        (X,),
        "wrong only for an empty array",
    ),
    "Fortran order": Plant(
        wrong_for(is_fortran), (X,), "wrong only for non-contiguous input (Fortran order)"
    ),
    "NaN at a kink": Plant(
        halves(v.abs, quotient_sign, quotient_sign),
        (np.asarray([0.0, 1.0, -2.0]),),
        "NaN at a kink",
        cites="HIPS/autograd#151",
    ),
    "NaN at a kink that nobody gave": Plant(
        halves(v.abs, quotient_sign, quotient_sign), (X,), "NaN at a kink"
    ),
}
