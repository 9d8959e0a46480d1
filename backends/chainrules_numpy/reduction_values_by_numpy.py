"""Calls whose value comes from NumPy, and whose derivative comes from operations.

With ``dtype=``, ``initial=`` and ``where=``, the result of a reduction in NumPy may differ from
that of operations in its order or dtype: 1e-300 times 1e200 times 1e200 is not infinite if NumPy
starts with the first. Therefore both are computed. An error of NumPy is raised here as well.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_py import ZeroTangent, identity, primitive, rule
from chainrules_py import ops as v
from chainrules_py.extend import (
    Call,
    Lowering,
    call_plain,
    find_tracers,
    in_own_context,
    static_types,
    untraced,
    warn_program,
)


class Asked(NamedTuple):
    """A NumPy function with the options of a call, except those that are arrays.

    Attributes
    ----------
    native : callable
        The function.
    names : tuple of str
        The options that are passed after x, by position.
    options : tuple
        The other options, and their values.
    """

    native: Callable[..., Any]
    names: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, x: Any, *given: Any) -> Any:
        """Call the function."""
        arrays = dict(zip(self.names, given, strict=True))
        return call_plain(self.native, (x,), {**dict(self.options), **arrays})


static_types.add(Asked)


@primitive
def as_computed(y: Any, x: Any, *given: Any, by: Asked) -> Any:
    """Return NumPy's result for x, with the derivative of y, which operations computed."""
    return by(x, *given)


@rule(as_computed, batched=True)
def as_computed_rule(y: Any, x: Any, *given: Any, by: Asked) -> Any:
    """Pass tangents through."""
    return as_computed(y, x, *given, by=by), (identity, *[ZeroTangent()] * (1 + len(given)))


def asks(native: Callable[..., Any], **lower: Lowering) -> dict[str, Any]:
    """Return lowerings of a reduction's keywords that take the value from NumPy."""

    def asking(name: str) -> Lowering:
        def lowering(call: Call, value: Any) -> None:
            if not isinstance(call.operation, _Asking):
                silent = _silent.get(call.operation, call.operation)
                call.operation = _Asking(native, silent, lower)
            call.options[name] = value

        return lowering

    return {name: asking(name) for name in lower}


def always(native: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction whose value comes from NumPy, whatever its options are."""

    def asking(x: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
        return _Asking(native, operation, {})(x, axis=axis, keepdims=keepdims)

    return asking


_silent: dict[Any, Callable[..., Any]] = {}
"""Operations by the functions that `warning` made of them."""


def warning(native: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction that skips NaN warn where NumPy does, as of slices that are all NaN.

    NumPy is called as well if the result has NaN, for its warnings.
    """

    def reduce(*operands: Any, **options: Any) -> Any:
        y = operation(*operands, **options)
        plain = untraced(y)
        if isinstance(plain, (np.ndarray, np.generic)) and np.isnan(plain).any():
            given = {_NATIVE.get(n, n): untraced(o) for n, o in options.items()}
            with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                native(*map(untraced, operands), **given)
            for each in said:
                warn_program(str(each.message), each.category)
        return y

    functools.update_wrapper(reduce, operation, updated=())
    _silent[reduce] = operation
    return reduce


_NATIVE = {"correction": "ddof", "x": "a"}
"""NumPy's names of options and operands."""


class _Asking:
    """An operation with options: NumPy computes the value, and operations the derivative."""

    def __init__(
        self, native: Callable[..., Any], operation: Callable[..., Any], lower: dict[str, Lowering]
    ) -> None:
        self.native = native
        self.operation = operation
        self.lower = lower

    def __call__(self, x: Any, **options: Any) -> Any:
        if not (hasattr(x, "dtype") or find_tracers(x)):  # only an option is traced
            x = low.array_of(x)
        try:
            y = in_own_context(self._in_operations, x, options)
        except Exception:
            self._numpys(x, options)  # NumPy's own error, if it raises one
            raise
        given = {n: low.unless_number(o) for n, o in options.items() if _is_operand(o)}
        if not all(map(low.is_numpys, (x, *given.values()))):
            return y
        rest = tuple([(_NATIVE.get(n, n), o) for n, o in options.items() if n not in given])
        by = Asked(self.native, (*given,), rest)
        if not find_tracers(y) or y.dtype == np.bool_:  # no derivative is taken of it
            return by(untraced(x), *map(untraced, given.values()))
        return as_computed(y, x, *given.values(), by=by)

    def _numpys(self, x: Any, options: dict[str, Any]) -> None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if low.is_numpys(x):
                call_plain(
                    self.native, (untraced(x),), {n: untraced(o) for n, o in options.items()}
                )

    def _in_operations(self, x: Any, options: dict[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            plain = {n: o for n, o in options.items() if n not in self.lower}
            call = Call(self.operation, {"x": x}, plain)
            for name, lowering in self.lower.items():
                if name in options:
                    lowering(call, options[name])
            y = call()
        dtype = options.get("dtype")
        wanted = y.dtype if dtype is None else np.dtype(dtype)
        return y if y.dtype == wanted else v.astype(y, dtype=wanted)


def _is_operand(value: Any) -> bool:
    return isinstance(value, (list, np.ndarray, np.generic)) or bool(find_tracers(value))
