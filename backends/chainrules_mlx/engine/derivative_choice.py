"""Calls of primitives with MLX arrays: by their rules, wherever MLX differentiates them.

An array does not show whether it is being differentiated. An operation is left to MLX if MLX's own
derivative equals that of the rule, at every point and to every order, and no user-defined rule
exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

from chainrules_mlx.engine.call import run
from chainrules_mlx.engine.rule_config import config
from chainrules_mlx.engine.values import as_values, varies
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import find_rule, is_ruleless, moved, register_host

_mx: Any = mx

_SMOOTH: frozenset[Any] = frozenset(
    (
        v.add, v.subtract, v.multiply, v.negative, v.positive, v.square,
        v.exp, v.sin, v.cos, v.sinh, v.cosh, v.tanh,
        v.real, v.imag, v.conj, v.where,
        v.sum, v.mean,
        v.reshape, v.permute_dims, v.matrix_transpose, v.broadcast_to, v.expand_dims, v.squeeze,
        v.flip, v.roll, v.tile, v.astype, v.copy, v.to_device,
        v.concat, v.stack,
        v.matmul, v.tensordot, v.outer, v.inner, v.dot, v.einsum,
        v.diagonal, v.from_diagonal, v.trace, v.tril, v.triu,
        v.zeros_like, v.ones_like, v.full_like, v.arange_like, v.eye_like,
    )
)  # fmt: skip
"""Operations that MLX differentiates as their rules do."""


def host(
    operation: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any] | None:
    """Return the function that runs a call whose operands are, or hold, arrays of MLX's."""
    if any([issubclass(cls, (np.ndarray, np.generic)) for cls in classes]):
        return lambda *operands, **options: operation(*as_values(operands), **options)
    if operation is moved:  # its operands are arrays of another library
        return moved.__wrapped__
    rule = find_rule(operation, classes, config)
    if rule is None:
        if is_ruleless(operation, classes, config):
            return implementation  # type: ignore[no-any-return]
    elif rule.is_core and implementation is not None:
        stated = [s for s in (rule.forward, rule.reverse) if s is not None]
        if operation in _SMOOTH or all([s.recipe.is_constant for s in stated]):
            return implementation  # type: ignore[no-any-return]
    if implementation is None and not operation.has_body:
        return None

    def running(*operands: Any, **options: Any) -> Any:
        operands, options = operation.normalise(operands, options)
        return run(operation, operands, options, implementation)

    return running


register_host(_mx.array, host, constant=_mx.stop_gradient, varies=varies)
