"""Aliases of MLX's functions and of the methods of its arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_py import extend
from chainrules_py import ops as v
from chainrules_py.extend import alias

_mx: Any = mx
_REFUSED = {"stream": None}


def _entered(native: Any, operation: Any, parameters: dict[str, Any], **more: Any) -> None:
    alias(native, to=operation, parameters=parameters | _REFUSED, refuse=("stream",), **more)


for _name in (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh"),
    *("erf", "erfinv", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log"),
    *("log10", "log1p", "log2", "logical_not", "negative", "real", "reciprocal", "sign", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh"),
):
    _entered(getattr(_mx, _name), getattr(v, _name), {"x": None})
_entered(_mx.sigmoid, v.expit, {"x": None})
for _name in (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum"),
    *("logaddexp", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
):
    _entered(getattr(_mx, _name), getattr(v, _name), {"x": None, "y": None})
_entered(_mx.power, v.pow, {"x": None, "p": None})
_entered(_mx.arctan2, v.atan2, {"x": None, "y": None})
_entered(_mx.matmul, v.matmul, {"x1": None, "x2": None})
_entered(_mx.where, v.where, {"condition": None, "x": None, "y": None})


# ------------------------------------------------------------------------- with options


def _handed(composite: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a composite in a function that passes on all arguments."""

    def handed(*operands: Any, **keywords: Any) -> Any:
        return composite(*operands, **keywords)

    return handed


def _reduced(operation: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return operation(x, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims)

    return reduced


def _spread(operation: Callable[..., Any]) -> Callable[..., Any]:
    def spread(x: Any, axis: Any = None, keepdims: bool = False, ddof: int = 0) -> Any:
        axis = tuple(axis) if isinstance(axis, list) else axis
        return operation(x, axis=axis, keepdims=keepdims, correction=ddof)

    return spread


def _shaped(x: Any, *shape: Any) -> Any:
    return v.reshape(x, shape=tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape)


def _turned(x: Any, *axes: Any) -> Any:
    if axes and isinstance(axes[0], (tuple, list)):
        (axes,) = axes
    return v.permute_dims(x, axes=axes or None)


def _flattened(x: Any, start_axis: int = 0, end_axis: int = -1) -> Any:
    ahead, last = start_axis % max(x.ndim, 1), end_axis % max(x.ndim, 1)
    return v.reshape(x, shape=(*x.shape[:ahead], -1, *x.shape[last + 1 :]))


def _diagonals(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    matrices = extend.manipulation_composites.moveaxis(x, (axis1, axis2), (-2, -1))
    return v.diagonal(matrices, offset=offset)


_MEMBERS: dict[str, Callable[..., Any]] = {
    **{name: _reduced(getattr(v, name)) for name in ("sum", "mean", "prod", "max", "min")},
    **{name: _reduced(getattr(v, name)) for name in ("any", "all", "argmax", "argmin")},
    "logsumexp": _reduced(v.logsumexp),
    "var": _spread(v.var),
    "std": _spread(v.std),
    "cumsum": lambda x, axis=None: v.cumulative_sum(x, axis=axis),
    "cumprod": lambda x, axis=None: v.cumulative_prod(x, axis=axis),
    "reshape": _shaped,
    "transpose": _turned,
    "flatten": _flattened,
    "swapaxes": extend.manipulation_composites.swapaxes,
    "moveaxis": extend.manipulation_composites.moveaxis,
    "split": extend.joining_composites.split,
    "diag": extend.manipulation_composites.diag,
    "diagonal": _diagonals,
    "round": lambda x, decimals=0: v.round_decimals(x, decimals=decimals),
    "rsqrt": lambda x: v.reciprocal(v.sqrt(x)),
    "squeeze": lambda x, axis=None: v.squeeze(x, axis=axis),
    "astype": lambda x, dtype: v.astype(x, dtype=dtype),
}
for _name, _composite in _MEMBERS.items():
    alias(getattr(_mx.array, _name), to=_handed(_composite), parameters={})
for _name in (
    *("abs", "conj", "cos", "exp", "imag", "log", "log10", "log1p", "log2", "real", "reciprocal"),
    *("sin", "sqrt", "square"),
):
    alias(getattr(_mx.array, _name), to=getattr(v, _name), parameters={"x": None})
extend.advise(_mx.array.at, "write z = {x} + 0, then np.add.at(z, i, y), for z = {x}.at[i].add(y)")
alias(_mx.array.T, to=v.permute_dims, parameters={"x": None})
alias(_mx.array.mT, to=v.matrix_transpose, parameters={"x": None})
