"""The rows of NumPy's ufuncs, and of the functions and methods that act element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy.elementwise import clip_call, nan_to_num_call
from chainrules_py import alias
from chainrules_py import vocabulary as v
from chainrules_py.alias import Call
from chainrules_py.composites.elementwise import angle, bounded

__all__: list[str] = []

REFUSED = {
    "out": None,
    "where": True,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
    "signature": None,
}

for _ufunc, _word in (
    (np.add, v.add),
    (np.subtract, v.subtract),
    (np.multiply, v.multiply),
    (np.divide, v.divide),
    (np.floor_divide, v.floor_divide),
    (np.remainder, v.remainder),
    (np.fmod, v.fmod),
    (np.negative, v.negative),
    (np.positive, v.positive),
    (np.reciprocal, v.reciprocal),
    (np.power, v.pow),
    (np.float_power, v.pow),
    (np.square, v.square),
    (np.sqrt, v.sqrt),
    (np.cbrt, v.cbrt),
    (np.hypot, v.hypot),
    (np.exp, v.exp),
    (np.exp2, v.exp2),
    (np.expm1, v.expm1),
    (np.log, v.log),
    (np.log1p, v.log1p),
    (np.log2, v.log2),
    (np.log10, v.log10),
    (np.logaddexp, v.logaddexp),
    (np.logaddexp2, v.logaddexp2),
    (np.sin, v.sin),
    (np.cos, v.cos),
    (np.tan, v.tan),
    (np.arcsin, v.asin),
    (np.arccos, v.acos),
    (np.arctan, v.atan),
    (np.arctan2, v.atan2),
    (np.sinh, v.sinh),
    (np.cosh, v.cosh),
    (np.tanh, v.tanh),
    (np.arcsinh, v.asinh),
    (np.arccosh, v.acosh),
    (np.arctanh, v.atanh),
    (np.deg2rad, v.deg2rad),
    (np.radians, v.deg2rad),
    (np.rad2deg, v.rad2deg),
    (np.degrees, v.rad2deg),
    (np.maximum, v.maximum),
    (np.minimum, v.minimum),
    (np.fmax, v.fmax),
    (np.fmin, v.fmin),
    (np.absolute, v.abs),
    (np.fabs, v.abs),
    (np.sign, v.sign),
    (np.copysign, v.copysign),
    (np.nextafter, v.nextafter),
    (np.conjugate, v.conj),
    (np.equal, v.equal),
    (np.not_equal, v.not_equal),
    (np.less, v.less),
    (np.less_equal, v.less_equal),
    (np.greater, v.greater),
    (np.greater_equal, v.greater_equal),
    (np.logical_and, v.logical_and),
    (np.logical_or, v.logical_or),
    (np.logical_xor, v.logical_xor),
    (np.logical_not, v.logical_not),
    (np.isfinite, v.isfinite),
    (np.isinf, v.isinf),
    (np.isnan, v.isnan),
    (np.signbit, v.signbit),
    (np.floor, v.floor),
    (np.ceil, v.ceil),
    (np.trunc, v.trunc),
    (np.rint, v.round),
    (np.spacing, v.spacing),
    (np.bitwise_and, v.bitwise_and),
    (np.bitwise_or, v.bitwise_or),
    (np.bitwise_xor, v.bitwise_xor),
    (np.invert, v.bitwise_invert),
    (np.left_shift, v.bitwise_left_shift),
    (np.right_shift, v.bitwise_right_shift),
):
    alias(
        _ufunc,
        to=_word,
        parameters=dict.fromkeys(_word.operands) | REFUSED,
        positional=_word.operands,
        refuse=tuple(REFUSED),
    )


# -------------------------------------------------------------------------------- functions


def to_decimals(call: Call, decimals: Any) -> None:
    """``decimals=`` is another word: the standard's round has none."""
    call.word = v.round_decimals
    call.options["decimals"] = decimals


alias(np.where, to=v.where)
alias(np.clip, to=clip_call, refuse=("out",))
alias(np.sinc, to=v.sinc)
alias(np.real, to=v.real, rename={"val": "x"})
alias(np.imag, to=v.imag, rename={"val": "x"})
alias(np.angle, to=angle, rename={"z": "x"})
alias(np.nan_to_num, to=nan_to_num_call)
for _round in (np.round, np.around):
    alias(
        _round,
        to=v.round,
        rename={"a": "x"},
        lower={"decimals": to_decimals},
        refuse=("out",),
    )


# ---------------------------------------------------------------------------------- methods

for _class in (np.ndarray, np.generic):
    alias(
        _class.clip,
        to=bounded,
        parameters={"self": None, "min": None, "max": None, "out": None},
        rename={"self": "x", "min": "lo", "max": "hi"},
        refuse=("out",),
    )
    alias(
        _class.round,
        to=v.round,
        parameters={"self": None, "decimals": 0, "out": None},
        rename={"self": "x"},
        lower={"decimals": to_decimals},
        refuse=("out",),
    )
