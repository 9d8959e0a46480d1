"""Implementations of operations that the array-API standard lacks, or takes fewer arguments for.

Most operations are functions of the standard, and are not listed here. The others run NumPy's
implementations on the buffers: operands must be on one device, and results are strict arrays on
that device, so that no NumPy array gets out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import array_api_strict as xp
import numpy as np

from chainrules_py import Primitive, Scalar, ops
from chainrules_py import ops as v
from chainrules_py.extend import (
    Library,
    Memory,
    Tracer,
    map_leaves,
    register_array_type,
    see,
    type_info,
)
from chainrules_py.testing.array_api_strict._private import CHECK, Strict, buffer


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy an array that is read-only, a view, or shares memory with an array of the caller."""
    memory = buffer(x)
    given = [buffer(y) for y in theirs if isinstance(y, Strict)]
    if (
        memory.base is None
        and memory.flags.writeable
        and not any(y is memory or y.base is memory for y in given)
    ):
        return x
    return xp.asarray(x, copy=True)


def _inside(name: str) -> Callable[..., Any]:
    """Return a function that calls a memory function of NumPy's backend on the buffers."""

    def of_buffers(*operands: Any) -> Any:
        see(None, (np.ndarray,))
        memory = type_info(np.ndarray).memory
        buffers = [buffer(x) if isinstance(x, Strict) else x for x in operands]
        return getattr(memory, name)(*buffers)

    return of_buffers


register_array_type(
    Strict,
    Library(
        xp,
        mutable=lambda x: buffer(x).flags.writeable and 0 not in buffer(x).strides,
        own=own,
        memory=Memory(  # the standard has no flag that would lock an array
            owner=_inside("owner"),
            layout=_inside("layout"),
            laid_out=lambda x, like: x,
            fingerprint=_inside("fingerprint"),
        ),
    ),
)


def _let_tracers_answer(check: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Wrap the check that operators make of their other operand, so that tracers pass it.

    The library raises where Python's protocol wants NotImplemented. Behind the wrapped check it
    returns that, so that ``array * tracer`` calls the tracer's operator, as in other libraries.
    """

    @functools.wraps(check)
    def check_type_device(self: Any, other: Any) -> None:
        if not isinstance(other, Tracer):
            check(self, other)

    return check_type_device


if hasattr(Strict, CHECK):
    setattr(Strict, CHECK, _let_tracers_answer(getattr(Strict, CHECK)))


# ------------------------------------------------------------------ operations that NumPy computes


def borrow(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap NumPy's implementation of an operation, for strict arrays on one device.

    Raises
    ------
    ValueError
        When called, if the operands are on several devices.
    """

    @functools.wraps(operation)
    def borrowed(*operands: Any, **options: Any) -> Any:
        devices = {x.device for x in operands if isinstance(x, Strict)}
        if len(devices) > 1:
            raise ValueError(
                f"{operation.__name__} of arrays on several devices: {sorted(map(str, devices))}"
            )
        (device,) = devices
        inside = [buffer(x) if isinstance(x, Strict) else x for x in operands]
        return _wrapped(
            operation(*inside, **{name: _native(value) for name, value in options.items()}), device
        )

    return borrowed


def _native(option: Any) -> Any:
    """Return an option for NumPy: only dtypes belong to a library."""
    return getattr(option, "_np_dtype", option)


def _wrapped(result: Any, device: Any) -> Any:
    def wrapped(x: Any) -> Any:
        is_numpy = isinstance(x, (np.ndarray, np.generic))
        return xp.asarray(np.asarray(x), device=device) if is_numpy else x

    return map_leaves(wrapped, result)


def is_of_the_standard(operation: Primitive[..., Any]) -> bool:
    """Return whether the standard, or one of its extensions, has a function of this name."""
    return any(hasattr(space, operation.__name__) for space in (xp, xp.linalg, xp.fft))


def _borrow_everywhere(operation: Primitive[..., Any]) -> None:
    """Implement an operation by NumPy for every mixture of strict arrays and numbers."""
    borrowed = borrow(operation)
    operand: Any = Strict | Scalar
    n = len(operation.operands)
    if operation.variadic:
        operation.implement(borrowed, types=(Strict, *[operand] * n))
        return
    for first in range(n):
        operation.implement(
            borrowed, types=(*[Scalar] * first, Strict, *[operand] * (n - first - 1))
        )


# The standard has functions of these names that take less than the operations do.
_NARROWER: tuple[Any, ...] = (v.getitem, v.outer, v.clip, v.eig, v.eigvals, v.linspace)


def _operations() -> list[Primitive[..., Any]]:
    return [operation for operation in vars(ops).values() if isinstance(operation, Primitive)]


def _is_computed(operation: Primitive[..., Any]) -> bool:
    """Return whether strict arrays have an implementation: of the standard, or a general one."""
    return is_of_the_standard(operation) or operation.implementation(
        (Strict,) * max(1, len(operation.operands))
    ) not in (None, operation._fallback)


for _operation in _operations():
    if _operation in _NARROWER or not _is_computed(_operation):
        _borrow_everywhere(_operation)


# ---------------------------------------------------------------- operations with other parameters


@v.full_like.implement
def full_like_strict(x: Strict, *, shape: tuple[int, ...], fill: Any, dtype: Any = None) -> Any:
    """Fill an array of a given shape, which the standard's function does not accept."""
    return xp.full(shape, fill, dtype=x.dtype if dtype is None else dtype, device=x.device)


@v.where.implement
def where_strict(condition: Strict, x: Scalar, y: Scalar) -> Any:
    """Select between two numbers; the standard's function takes at most one."""
    kind: Any = type(x) if type(x) is type(y) else type(x + y)
    return xp.where(condition, xp.asarray(kind(x), device=condition.device), kind(y))


@v.conj.implement
def conj_strict(x: Strict) -> Any:
    """Conjugate x; in its first version, the standard's function takes only complex numbers."""
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x


@v.real.implement
def real_strict(x: Strict) -> Any:
    """Return the real part; at first, the standard's function took only complex numbers."""
    return xp.real(x) if xp.isdtype(x.dtype, "complex floating") else x


@v.astype.implement
def astype_strict(x: Strict, *, dtype: Any) -> Any:
    """Convert to a dtype, which the standard's function takes only by position."""
    return xp.astype(x, dtype, copy=False)


@v.imag.implement
def imag_strict(x: Strict) -> Any:
    """Return the imaginary part; at first, the standard's function took only complex numbers."""
    return xp.imag(x) if xp.isdtype(x.dtype, "complex floating") else xp.zeros_like(x)


def _spread_of(operation: Primitive[..., Any], standard: Callable[..., Any]) -> None:
    """Implement variance or deviation also for complex numbers, which the standard lacks."""
    borrowed = borrow(operation)

    def spread_strict(x: Strict, **options: Any) -> Any:
        compute = borrowed if xp.isdtype(x.dtype, "complex floating") else standard
        return compute(x, **options)

    operation.implement(spread_strict, types=(Strict,))


_spread_of(v.var, xp.var)
_spread_of(v.std, xp.std)

v.take.implement(
    borrow(v.take), types=(Strict, Scalar)
)  # the standard takes arrays of indices only


@v.to_device.implement
def to_device_strict(x: Strict, *, device: Any) -> Any:
    """Move x to a device, by a method in the standard."""
    return x if x.device == device else x.to_device(device)
