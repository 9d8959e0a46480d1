"""The rows of NumPy's ufuncs, and of their methods `reduce`, `accumulate` and `outer`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_py import Primitive, alias
from chainrules_py import vocabulary as v
from chainrules_py.alias import UFUNC_KEYWORDS, Call, Lowering
from chainrules_py.composites import elementwise as e

__all__: list[str] = []

Row = tuple[Any, Primitive[..., Any]]
_ufunc: Any
_word: Any


def ufunc_row(ufunc: Any, word: Primitive[..., Any], **lower: Lowering) -> None:
    """One row; what is not lowered is refused."""
    alias(
        ufunc,
        to=word,
        parameters=dict.fromkeys(word.operands) | UFUNC_KEYWORDS,
        positional=word.operands,
        refuse=tuple(UFUNC_KEYWORDS.keys() - lower.keys()),
        lower=lower,
    )


# Numbers to numbers of the same kind: with ``dtype=`` they compute in it.
_ARITHMETIC: tuple[Row, ...] = (
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
    (np.copysign, v.copysign),
    (np.heaviside, v.heaviside),
    (np.nextafter, v.nextafter),
    (np.conjugate, v.conj),
    (np.floor, v.floor),
    (np.ceil, v.ceil),
    (np.trunc, v.trunc),
    (np.rint, v.round),
)
_OTHERS: tuple[Row, ...] = (
    (np.absolute, v.abs),
    (np.fabs, v.abs),
    (np.sign, v.sign),
    (np.divmod, v.divmod),
    (np.modf, v.modf),
    (np.frexp, v.frexp),
    (np.ldexp, v.ldexp),
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
    (np.spacing, v.spacing),
    (np.bitwise_and, v.bitwise_and),
    (np.bitwise_or, v.bitwise_or),
    (np.bitwise_xor, v.bitwise_xor),
    (np.invert, v.bitwise_invert),
    (np.left_shift, v.bitwise_left_shift),
    (np.right_shift, v.bitwise_right_shift),
    (np.gcd, v.gcd),
    (np.lcm, v.lcm),
)
for _ufunc, _word in _ARITHMETIC:
    ufunc_row(_ufunc, _word, dtype=low.computed_in)
for _ufunc, _word in _OTHERS:
    ufunc_row(_ufunc, _word)
if hasattr(np, "bitwise_count"):  # since NumPy 2.0
    ufunc_row(np.bitwise_count, v.bitwise_count)

# What NumPy's functions and methods call when one of their other arguments is traced.
_umath: Any = importlib.import_module("numpy._core.umath")
for _name, _word in (
    ("clip", v.clip),
    ("_ones_like", v.ones_like),
    ("real", v.real),
    ("imag", v.imag),
):
    if hasattr(_umath, _name):  # the latter two since NumPy 2.5
        ufunc_row(getattr(_umath, _name), _word)


# ----------------------------------------------------------------------------------- methods

REDUCE = {
    "array": None,
    "axis": 0,
    "dtype": None,
    "out": None,
    "keepdims": False,
    "initial": None,
    "where": True,
}
ACCUMULATE = {"array": None, "axis": 0, "dtype": None, "out": None}


def reduces(word: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction whose axis, if none is given, is the first."""

    def reduce(x: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
        axis = low.static(axis) if x.ndim else None
        return word(x, axis=axis, keepdims=keepdims)

    return reduce


def accumulates(word: Callable[..., Any]) -> Callable[..., Any]:
    """As above, for what keeps its axis."""

    def accumulate(x: Any, *, axis: int = 0) -> Any:
        return word(x, axis=low.static(axis))

    return accumulate


def outer_of(ufunc: Any) -> Callable[..., Any]:
    """The ufunc of each element of A with each of B."""

    def outer(A: Any, B: Any) -> Any:
        A, B = low.array_of(A), low.array_of(B)
        return ufunc(v.reshape(A, shape=(*A.shape, *(1,) * B.ndim)) if B.ndim else A, B)

    return outer


def from_first(lower: Lowering) -> Lowering:
    """A lowering that reads the axis."""

    def lowered(call: Call, value: Any) -> None:
        call.options.setdefault("axis", 0)
        lower(call, value)

    return lowered


_array = low.as_array("x")
for _ufunc, _word, _mask, _start in (
    (np.add, v.sum, low.masked(0), low.started(v.add)),
    (np.multiply, v.prod, low.masked(1), low.started(v.multiply)),
    (np.maximum, v.max, low.masked_extreme(-1.0), low.started_extreme(v.maximum, -1.0)),
    (np.minimum, v.min, low.masked_extreme(1.0), low.started_extreme(v.minimum, 1.0)),
    (np.fmax, v.nanmax, low.masked_extreme(-1.0), low.started_extreme(v.fmax, -1.0)),
    (np.fmin, v.nanmin, low.masked_extreme(1.0), low.started_extreme(v.fmin, 1.0)),
    (np.logaddexp, e.logaddexp_reduce, low.masked(-math.inf), low.started(v.logaddexp)),
    (np.logaddexp2, e.logaddexp2_reduce, low.masked(-math.inf), low.started(v.logaddexp2)),
    (np.logical_and, v.all, low.masked(True), low.started(v.logical_and)),
    (np.logical_or, v.any, low.masked(False), low.started(v.logical_or)),
):
    alias(
        _ufunc.reduce,
        to=reduces(_word),
        parameters=REDUCE,
        refuse=("out",),
        lower={
            "array": _array,
            "dtype": low.converted,
            "initial": from_first(_start),
            "where": _mask,
        },
    )
for _ufunc, _word in (
    (np.add, v.cumulative_sum),
    (np.multiply, v.cumulative_prod),
    (np.maximum, v.cumulative_max),
    (np.minimum, v.cumulative_min),
):
    alias(
        _ufunc.accumulate,
        to=accumulates(_word),
        parameters=ACCUMULATE,
        refuse=("out",),
        lower={"array": _array, "dtype": low.converted},
    )
for _ufunc, _word in (*_ARITHMETIC, *_OTHERS):
    if len(_word.operands) == 2:
        alias(
            _ufunc.outer,
            to=outer_of(_ufunc),
            parameters={"A": None, "B": None} | UFUNC_KEYWORDS,
            positional=("A", "B"),
            refuse=tuple(UFUNC_KEYWORDS),
        )
