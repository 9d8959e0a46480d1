"""MLX's arrays as array types: their namespace, numbers beside them, and operators with tracers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx

from chainrules_mlx import namespace as xp
from chainrules_py import Primitive, Scalar
from chainrules_py.extend import Library, Tracer, refuse_plain, register_array_type

_mx: Any = mx
ARRAY: Any = mx.array
"""The class that implementations are dispatched on."""
NUMERIC: Any = ARRAY | Scalar


def _owned(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Return x, or another handle on its data: a write to one does not change the other."""
    return _mx.array(x) if any([x is y for y in theirs]) else x


# MLX places operations, not arrays, on devices.
register_array_type(ARRAY, Library(xp, devices=False, own=_owned))


def _let_tracers_answer(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operator of arrays, so that ``array * tracer`` calls the tracer's operator.

    MLX raises for unknown operands, where Python's protocol expects NotImplemented.
    """

    @functools.wraps(operator)
    def operated(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, Tracer) else operator(self, other)

    return operated


for _name in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor"),
):
    _method = f"__{_name}__"
    setattr(ARRAY, _method, _let_tracers_answer(getattr(ARRAY, _method)))


def _refuse_tracers(write: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a write to arrays: other names of the array would not see what is traced."""

    @functools.wraps(write)
    def written(self: Any, *others: Any) -> Any:
        if isinstance(others[-1], Tracer):
            refuse_plain(self, others[-1])
        return write(self, *others)

    return written


for _name in (
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
    *("iand", "ior", "ixor", "setitem"),
):
    _method = f"__{_name}__"
    setattr(ARRAY, _method, _refuse_tracers(getattr(ARRAY, _method)))


def dtype_of(dtype: Any) -> Any:
    """Return MLX's dtype with the name of NumPy's; return None and MLX's own unchanged."""
    if dtype is None or isinstance(dtype, mx.Dtype):
        return dtype
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype)
    return getattr(xp, {"float": "float64", "int": "int64", "complex": "complex64"}.get(name, name))


def number_as(x: Any, like: Any) -> Any:
    """Convert a number to an array with its dtype beside ``like``; return arrays unchanged."""
    return x if isinstance(x, mx.array) else _mx.zeros((), like.dtype) + x


def alike(*xs: Any) -> tuple[Any, ...]:
    """Convert arrays and numbers to arrays of one dtype."""
    like = next(x for x in xs if isinstance(x, mx.array))
    arrays = [number_as(x, like) for x in xs]
    dtype = functools.reduce(_mx.result_type, arrays) if len(arrays) > 1 else arrays[0].dtype
    return tuple([x.astype(dtype) for x in arrays])


def implement(table: Mapping[Any, Callable[..., Any]], types: tuple[Any, ...] = ()) -> None:
    """Register implementations of operations for arrays, or for operands of these types."""
    for operation, function in table.items():
        arrays = (ARRAY,) * (1 if operation.variadic else len(operation.operands))
        operation.implement(function, types=types or arrays)


def entered(operation: Primitive[..., Any], function: Callable[..., Any]) -> None:
    """Register an implementation for every mixture of arrays and numbers."""
    n = len(operation.operands)
    for first in range(n):
        types = (*[Scalar] * first, ARRAY, *[NUMERIC] * (n - first - 1))
        operation.implement(function, types=types)
