"""What NumPy's keywords are in words. Each is shared by all rows whose keyword means the same.

A lowering rewrites a `Call` for one keyword's value, and is absent where the keyword is absent.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import Primitive, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.alias import Call, Lowering
from chainrules_py.arrays import is_array_type, is_python_number, is_tracer_type
from chainrules_py.signature import parameters_of

__all__ = [
    "as_array",
    "as_arrays",
    "as_option",
    "converted",
    "ddof",
    "element_order",
    "flattened",
    "masked",
    "masked_extreme",
    "masked_mean",
    "of_shape",
    "started",
]


def static(value: Any) -> Any:
    """An integer or a sequence of them, as an option: hashable, and of Python."""
    if value is None:
        return None
    if isinstance(value, (tuple, list, np.ndarray)):
        return tuple([operator.index(n) for n in value])
    return operator.index(value)


def as_option(name: str, *, sequence: bool = False) -> Lowering:
    """An axis, a shape, a shift: a list or an array of NumPy's integers becomes a tuple."""

    def lower(call: Call, value: Any) -> None:
        value = static(value)
        call.options[name] = (value,) if sequence and type(value) is int else value

    return lower


def array_of(value: Any) -> Any:
    """An operand, where NumPy takes lists and numbers as well."""
    cls = type(value)
    if is_tracer_type(cls) and is_python_number(cls):
        return v.lift(value, to=np)
    return value if is_tracer_type(cls) or is_array_type(cls) else np.asarray(value)


def as_array(name: str) -> Lowering:
    """An operand that may be a list."""

    def lower(call: Call, value: Any) -> None:
        by_name = not isinstance(call.word, Primitive) and "x" in call.options
        (call.options if by_name else call.operands)[name] = array_of(value)

    return lower


def as_arrays(call: Call, value: Any) -> None:
    """A sequence of arrays: variadic operands, or the first operand of a composite."""
    arrays = [array_of(x) for x in value]
    if isinstance(call.word, Primitive) or parameters_of(call.word).variadic:
        call.operands = {f"arrays{i}": x for i, x in enumerate(arrays)}
    else:
        call.operands = {"arrays": arrays} | call.operands


def converted(call: Call, dtype: Any) -> None:
    """``dtype=``: the operands are converted before."""
    for name, x in call.operands.items():
        if x.dtype != np.dtype(dtype):
            call.operands[name] = v.astype(x, dtype=np.dtype(dtype))


# --------------------------------------------------------------------------------- reductions


def masked(identity: Any) -> Lowering:
    """``where=``: what is left out does not change the result."""

    def lower(call: Call, mask: Any) -> None:
        call.operands["x"] = v.where(np.asarray(mask), call.operands["x"], identity)

    return lower


def masked_extreme(sign: float) -> Lowering:
    """``where=`` of max and min, which have no identity unless ``initial=`` is given as well."""

    def lower(call: Call, mask: Any) -> None:
        if not call.after:
            msg = f"{call.word!r} has no identity, so to use where= one has to specify initial="
            raise ValueError(msg)
        x = call.operands["x"]
        if np.issubdtype(x.dtype, np.integer):
            info = np.iinfo(x.dtype)
            limit: Any = info.min if sign < 0 else info.max
        else:
            limit = sign * math.inf
        call.operands["x"] = v.where(np.asarray(mask), x, limit)

    return lower


def masked_mean(call: Call, mask: Any) -> None:
    """``where=`` of the mean: the sum, divided by how many elements there are."""
    x = call.operands["x"]
    mask = np.asarray(mask)
    count = np.sum(np.broadcast_to(mask, x.shape), **call.options)
    call.word = v.mean if mask.all() else v.sum
    call.operands["x"] = v.where(mask, x, 0)
    if call.word is v.sum:
        dtype = x.dtype if np.issubdtype(x.dtype, np.inexact) else np.dtype(float)
        call.after.append(lambda y: v.divide(y, count.astype(dtype)))


def started(word: Callable[..., Any]) -> Lowering:
    """``initial=``: joined to the result by the reduction's own word."""

    def lower(call: Call, start: Any) -> None:
        def join(y: Any) -> Any:
            z = word(y, start)
            return z if z.dtype == y.dtype else v.astype(z, dtype=y.dtype)

        call.after.append(join)

    return lower


def ddof(call: Call, value: Any) -> None:
    """``ddof=``: the standard calls it correction."""
    call.options["correction"] = value


def flattened(call: Call, axis: Any) -> None:
    """``axis=None`` where it means that the elements are read in C order."""
    if axis is None:
        call.operands["x"] = v.reshape(call.operands["x"], shape=(-1,))
        call.options["axis"] = 0
    else:
        call.options["axis"] = operator.index(axis)


# -------------------------------------------------------------------------------------- shapes


def element_order(call: Call, order: str) -> None:
    """``order="F"`` of reshape: C order, with the axes reversed before and after."""
    if order != "F":
        msg = (
            f"order={order!r} reads the memory of an array, which has no derivative; "
            f"order is 'C' or 'F'"
        )
        raise UnsupportedKeywordError(msg)
    call.operands["x"] = v.permute_dims(call.operands["x"])
    call.options["shape"] = call.options["shape"][::-1]
    call.after.append(v.permute_dims)


def of_shape(fill: int) -> Lowering:
    """``shape=`` of zeros_like and ones_like."""

    def lower(call: Call, shape: Any) -> None:
        shape = static(shape)
        call.word = v.full_like
        call.options |= {"shape": shape if type(shape) is tuple else (shape,), "fill": fill}

    return lower
