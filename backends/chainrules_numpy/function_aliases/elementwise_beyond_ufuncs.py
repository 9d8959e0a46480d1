"""Aliases of NumPy's elementwise functions and methods that are not ufuncs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import elementwise as e
from chainrules_numpy.function_aliases.alias_constructors import ignored, row
from chainrules_numpy.late_alias import alias
from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import (
    UFUNC_KEYWORDS,
    Call,
    Tracer,
    find_tracers,
    kind_of,
    refuse_plain,
    untraced,
    viewers,
    writers,
)

_f: Any
_operation: Any

# ---------------------------------------------------------------------------------- rounding


def to_decimals(call: Call, decimals: Any) -> None:
    """Lower ``decimals=`` to another operation: the standard's round has no such option."""
    call.operation = v.round_decimals
    call.options["decimals"] = decimals


for _f in (np.round, np.around):
    row(_f, v.round, refuse=("out",), decimals=to_decimals)
row(np.fix, v.trunc, None, refuse=("out",))


# ---------------------------------------------------------------------------------- choosing


_LACKING: Any = object()


def clip_call(
    a: Any, a_min: Any = _LACKING, a_max: Any = _LACKING, *, min: Any = None, max: Any = None
) -> Any:
    """Call np.clip, whose bounds have two names; by position it takes both or none."""
    lacking = [name for name, x in (("a_min", a_min), ("a_max", a_max)) if x is _LACKING]
    if len(lacking) == 1:
        raise TypeError(f"clip() missing 1 required positional argument: {lacking[0]!r}")
    if lacking:
        a_min, a_max = min, max
    elif min is not None or max is not None:
        raise ValueError(
            "clip() takes the bounds as a_min and a_max or as min and max, not as both"
        )
    return e.bounded(low.unless_number(a), low.unless_number(a_min), low.unless_number(a_max))


def clip_method(x: Any, min: Any = None, max: Any = None) -> Any:
    """Clip as the array's method does, which has one name for each bound."""
    return clip_call(x, min, max)


def into(call: Call, out: Any) -> None:
    """Lower ``out=``: the result is written into an array that holds traced values."""
    traced, target = find_tracers((call.operands, call.options)), out
    if traced and not isinstance(out, Tracer):
        refuse_plain(out, traced[0])

    def write(y: Any) -> Any:
        target[...] = y
        return target

    call.after.append(write)


def select_call(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Call np.select with lists; two Python numbers would meet in double precision."""
    conditions = [low.array_of(c) for c in condlist]
    *choices, default = [low.unless_number(x) for x in (*choicelist, default)]
    if all(map(low.is_numpys, (*choices, default))):
        dtype = np.result_type(*map(untraced, (*choices, default)))
        choices = [v.astype(low.array_of(x), dtype=dtype) for x in choices]
    return low.in_array(e.select(conditions, choices, default))


def choose_call(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Call np.choose with a list, or along the first axis of an array."""
    if not isinstance(choices, (list, tuple)):
        choices = low.array_of(choices)
        choices = [choices[i] for i in range(len(choices))]
    return e.choose(low.array_of(a), [low.unless_number(x) for x in choices], mode)


def nan_to_num_call(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Call np.nan_to_num, with the bounds of the dtype for infinities."""
    if not copy:
        raise UnsupportedKeywordError(
            "nan_to_num(copy=False) writes to its argument, which is being differentiated; "
            "leave copy out, and use what is returned"
        )
    x = low.array_of(x)
    if kind_of(x) not in ("real", "complex"):
        return v.positive(x)
    bounds = np.finfo(low.numpy_dtype(x))
    posinf = bounds.max if posinf is None else posinf
    neginf = bounds.min if neginf is None else neginf
    return v.nan_to_num(x, *map(low.unless_number, (nan, posinf, neginf)))


# np.where(condition) returns indices.
alias(np.where, to=v.where, fewer=np.nonzero)
_LOWERED: dict[str, Any] = {
    "order": low.result_order,  # before the result is written into out
    "out": into,
    "casting": low.cast_by(lambda x, a=None, b=None, **how: np.clip(x, a, b, **how)),
    "subok": ignored,
}
for _functions in (writers, viewers):  # which write to out, and return it: it may be a view
    _functions.update((np.clip, np.ndarray.clip))
alias(
    np.clip,
    to=clip_call,
    parameters={"a": None, **dict.fromkeys(("a_min", "a_max"), _LACKING), "min": None, "max": None}
    | UFUNC_KEYWORDS,
    positional=("a", "a_min", "a_max", "out"),
    lower=_LOWERED,
    refuse=("where", "dtype", "signature"),
)
for _f in (np.ndarray.clip, np.generic.clip):
    alias(
        _f,
        to=clip_method,
        parameters={"self": None, "min": None, "max": None} | UFUNC_KEYWORDS,
        positional=("self", "min", "max", "out"),
        rename={"self": "x"},
        lower=_LOWERED,
        refuse=("where", "dtype", "signature"),
    )
alias(np.choose, to=choose_call, refuse=("out",))


# ------------------------------------------------------- complex results for real operands


def in_complex(operation: Any, low_: float = 0.0, high: float = math.inf) -> Callable[..., Any]:
    """Extend an operation to complex results outside of a real interval."""

    def function(x: Any) -> Any:
        return operation(v.complex_outside(low.array_of(x), low=low_, high=high))

    return function


log_call = in_complex(v.log)


def logn_call(n: Any, x: Any) -> Any:
    """Compute the logarithm to base n."""
    return log_call(x) / log_call(n)


def power_call(x: Any, p: Any) -> Any:
    """Compute the power, with float exponents if any is negative, which integers do not allow."""
    p = low.array_of(p)
    if kind_of(p) == "int" and np.any(low.readable(p) < 0):
        p = p * 1.0
    return v.pow(v.complex_outside(low.array_of(x), low=0.0, high=math.inf), p)


for _f, _operation, *_real in (
    (np.lib.scimath.sqrt, v.sqrt),
    (np.lib.scimath.log, v.log),
    (np.lib.scimath.log2, v.log2),
    (np.lib.scimath.log10, v.log10),
    (np.lib.scimath.arcsin, v.asin, -1.0, 1.0),
    (np.lib.scimath.arccos, v.acos, -1.0, 1.0),
    (np.lib.scimath.arctanh, v.atanh, -1.0, 1.0),
):
    alias(_f, to=in_complex(_operation, *_real))

alias(np.real, to=v.real, rename={"val": "x"})
alias(np.imag, to=v.imag, rename={"val": "x"})
row(np.real_if_close, v.real_if_close)


# --------------------------------------------------------------------------------- the rest


def unwrap_call(
    p: Any, discont: float | None = None, axis: int = -1, *, period: Any = 2 * math.pi
) -> Any:
    """Call np.unwrap, whose period may be traced."""
    discont = untraced(discont)  # a threshold
    return v.unwrap(low.array_of(p), period, axis=low.static(axis), discont=discont)


def interp_call(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Call np.interp, which computes in double precision."""
    scalar = isinstance(untraced(x), np.generic)  # NumPy casts it, but no array
    x, xp, fp = map(low.array_of, (x, xp, fp))
    wide = [t.dtype for t in (x, xp)[scalar:] if not np.can_cast(low.numpy_dtype(t), float)]
    if period is not None:  # NumPy casts, even what is wider
        if lost := [t.dtype for t in (x, xp) if kind_of(t) == "complex"]:
            raise NotDifferentiableError(
                f"np.interp with period= drops imaginary parts of {lost}: write x.real, xp.real"
            )
    elif wide or not np.can_cast(low.numpy_dtype(fp), complex):
        raise TypeError(
            f"Cannot cast array data from {wide or fp.dtype!r} to dtype('float64') by rule 'safe'"
        )
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    x, xp = [v.astype(t, dtype=np.dtype(float)) for t in (x, xp)]
    fp = v.astype(fp, dtype=np.dtype(complex if kind_of(fp) == "complex" else float))
    if period is not None:
        return e.interp_periodic(x, xp, fp, period)
    return e.interp(x, xp, fp, left, right)


def i0_call(x: Any) -> Any:
    """Call np.i0."""
    return v.bessel_i(low.array_of(x), order=0)


for _f, _operation in (
    (np.select, select_call),
    (np.nan_to_num, nan_to_num_call),
    (np.lib.scimath.logn, logn_call),
    (np.lib.scimath.power, power_call),
    (np.angle, e.angle),
    (np.sinc, v.sinc),
    (np.unwrap, unwrap_call),
    (np.interp, interp_call),
    (np.i0, i0_call),
):
    alias(_f, to=_operation)
