"""Calls whose value NumPy is asked for, while operations say what its derivative is.

With ``dtype=``, ``initial=`` and ``where=`` a reduction adds in another order, in another dtype, or
not at all what operations would: 1e-300 times 1e200 times 1e200 is no infinity if NumPy starts with
the first. So both are computed. What NumPy raises, it raises here.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_py import ZeroTangent, identity, primitive, rule
from chainrules_py import ops as v
from chainrules_py.extend import (
    Call,
    Lowering,
    call_plain,
    find_tracers,
    in_own_context,
    static_types,
    type_info,
    untraced,
)


@dataclasses.dataclass(frozen=True)
class Asked:
    """A function of NumPy's, with the options of a call, but for those that are arrays.

    Attributes
    ----------
    native : callable
        The function.
    names : tuple of str
        The options that are given behind x, by position.
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
    """Return what NumPy computes of x, with the derivative of y, which operations computed."""
    return by(x, *given)


@rule(as_computed, batched=True)
def as_computed_rule(y: Any, x: Any, *given: Any, by: Asked) -> Any:
    """Pass tangents on."""
    return as_computed(y, x, *given, by=by), (identity, *[ZeroTangent()] * (1 + len(given)))


def asks(native: Callable[..., Any], **lower: Lowering) -> dict[str, Any]:
    """Return lowerings of a reduction's keywords, as they are in words, that ask NumPy as well."""

    def asking(name: str) -> Lowering:
        def lowering(call: Call, value: Any) -> None:
            if not isinstance(call.operation, _Asking):
                call.operation = _Asking(native, call.operation, lower)
            call.options[name] = value

        return lowering

    return {name: asking(name) for name in lower}


def always(native: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction of an operation for which NumPy is asked whatever its options are."""

    def asking(x: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
        return _Asking(native, operation, {})(x, axis=axis, keepdims=keepdims)

    return asking


class _Asking:
    """An operation with options: NumPy computes the value, and operations the derivative."""

    def __init__(
        self, native: Callable[..., Any], operation: Callable[..., Any], lower: dict[str, Lowering]
    ) -> None:
        self.native = native
        self.operation = operation
        self.lower = lower

    def __call__(self, x: Any, **options: Any) -> Any:
        try:
            y = in_own_context(self._in_operations, x, options)
        except Exception:
            self._numpys(x, options)  # which has its own operations for what is wrong
            raise
        given = {n: _operand(o) for n, o in options.items() if _is_operand(o)}
        if not all(map(low.is_numpys, (x, *given.values()))):
            return y
        names = {"correction": "ddof"}  # which methods have no other name for
        rest = tuple([(names.get(n, n), o) for n, o in options.items() if n not in given])
        by = Asked(self.native, (*given,), rest)
        if not find_tracers(y) or y.dtype == np.bool_:  # which no derivative is taken of
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


def _operand(value: Any) -> Any:
    """Make an array of a list; a number of Python's gives way to the digits of x."""
    return value if type_info(type(value)).is_python_number else low.array_of(value)


def _is_operand(value: Any) -> bool:
    return isinstance(value, (list, np.ndarray, np.generic)) or bool(find_tracers(value))
