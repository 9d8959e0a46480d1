"""Aliases of NumPy's ufuncs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy._private import hidden_ufuncs
from chainrules_numpy.function_aliases.alias_constructors import ignored
from chainrules_numpy.late_alias import alias
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import REQUIRED, UFUNC_KEYWORDS, Call, Lowering, Site, kind_of

Row = tuple[Any, Primitive[..., Any]]


def in_dtype(ufunc: Any, operation: Primitive[..., Any]) -> Lowering:
    """Return a lowering for ``dtype=``: operands are converted, and NumPy uses the same loop."""
    sites: dict[Any, Site] = {}

    def lower(call: Call, dtype: Any) -> None:
        dtype = np.dtype(dtype)
        if not dtype.isnative:
            raise TypeError(
                f"np.{ufunc.__name__} computes in no dtype={dtype!r}: write .astype behind it"
            )
        z = next(iter(call.operands.values()))
        if operation is v.abs and kind_of(z) == "complex":
            have = low.numpy_dtype(z) if hasattr(z, "dtype") else np.dtype(complex)
            if dtype == np.empty(0, have).real.dtype:
                return  # which the result has anyway
        low.computed_in(call, dtype)
        if all(map(low.is_numpys, call.operands.values())):
            if dtype not in sites:
                sites[dtype] = Site(operation, functools.partial(ufunc, dtype=dtype))
            call.operation = sites[dtype].general

    return lower


def ufunc_row(ufunc: Any, operation: Primitive[..., Any], **lower: Lowering) -> None:
    """Register an alias of a ufunc; keywords that are not lowered are refused."""
    # The operations of these have other dtypes, or make arrays of numbers.
    if ufunc.__name__ not in ("float_power", "fabs", "rint", "_ones_like"):
        lower |= {"casting": low.cast_by(ufunc), "order": low.result_order, "subok": ignored}
    alias(
        ufunc,
        to=operation,
        parameters=dict.fromkeys(operation.operands, REQUIRED) | UFUNC_KEYWORDS,
        positional=operation.operands,
        refuse=tuple(UFUNC_KEYWORDS.keys() - lower.keys()),
        lower=lower,
    )


# Ufuncs from numbers to numbers of the same kind, which compute in ``dtype=``.
ARITHMETIC: tuple[Row, ...] = (
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
    (np.absolute, v.abs),
    (np.fabs, v.abs),
    (np.sign, v.sign),
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
OTHERS: tuple[Row, ...] = (
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
    (np.bitwise_count, v.bitwise_count),
    (np.invert, v.bitwise_invert),
    (np.left_shift, v.bitwise_left_shift),
    (np.right_shift, v.bitwise_right_shift),
    (np.gcd, v.gcd),
    (np.lcm, v.lcm),
)
for _ufunc, _operation in ARITHMETIC:
    ufunc_row(_ufunc, _operation, dtype=in_dtype(_ufunc, _operation))
for _ufunc, _operation in OTHERS:
    ufunc_row(_ufunc, _operation)

# Ufuncs that NumPy's functions and methods call if one of their other arguments is traced.
for _name, _ufunc in hidden_ufuncs().items():
    ufunc_row(_ufunc, getattr(v, _name.removeprefix("_")))
