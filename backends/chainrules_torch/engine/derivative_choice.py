"""Operations on tensors that PyTorch differentiates: by their rules, as in every other engine.

An operation is left to PyTorch if PyTorch's own derivative equals that of the rule, at every point
and to every order, and no user-defined rule exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from chainrules_kit import imported_from, is_captured, lookups, own_function
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    HigherOrder,
    find_rule,
    flatten,
    is_ruleless,
    is_structure_type,
    moved,
    register_host,
)
from chainrules_py.ops.higher_order import scanning
from chainrules_torch import _private
from chainrules_torch.array_types import beside_tensors
from chainrules_torch.engine.call_plans import Plan, computed_by, known_value, known_values
from chainrules_torch.engine.callback import of_body
from chainrules_torch.engine.export import applied, opened, plan_for, without_numbers
from chainrules_torch.engine.outputs import unwrap
from chainrules_torch.engine.rule_config import (
    computing,
    config,
    constant,
    floats,
    is_cast,
    uncast,
    varies,
    watching,
)

_grad_enabled: Callable[[], bool] = torch.is_grad_enabled
_transforms_active = _private.transforms_active

_SMOOTH: frozenset[Any] = frozenset(
    (
        v.add, v.subtract, v.multiply, v.negative, v.positive, v.square,
        v.exp, v.sin, v.cos, v.sinh, v.cosh, v.tanh, v.atan,
        v.real, v.imag, v.conj, v.where,
        v.sum, v.mean,
        v.reshape, v.permute_dims, v.matrix_transpose, v.broadcast_to, v.expand_dims, v.squeeze,
        v.sliding_window_view,
        v.flip, v.roll, v.tile, v.astype, v.copy, v.to_device,
        v.concat, v.stack, v.getitem, v.take, v.take_along_axis,
        v.matmul, v.tensordot, v.vecdot, v.outer, v.inner, v.dot, v.einsum,
        v.diagonal, v.from_diagonal, v.trace, v.tril, v.triu,
        v.zeros_like, v.ones_like, v.full_like, v.arange_like, v.eye_like,
        v.map, v.reduce, v.report, v.scan,
    )
)  # fmt: skip
"""Operations that PyTorch differentiates as their rules do."""


def host(
    primitive: Primitive[..., Any],
    classes: tuple[type, ...],
    implementation: Callable[..., Any] | None,
) -> Callable[..., Any]:
    """Return the function that runs a call of a primitive with tensors."""
    if any([issubclass(cls, np.ndarray) for cls in classes]):
        return lambda *operands, **options: primitive(*beside_tensors(operands), **options)
    if primitive is moved:  # its operands are arrays of another library
        return moved.__wrapped__
    rule = find_rule(primitive, classes, config)
    if rule is None:
        if is_ruleless(primitive, classes, config):
            return computed_by(primitive, classes)
    elif primitive in _SMOOTH and implementation is not None and rule.is_core:
        return implementation

    quick = _quick(primitive, classes, implementation)

    def call(*operands: Any, **options: Any) -> Any:
        if is_cast():
            return uncast(primitive, *operands, **options)
        if not (
            quick is None
            or _grad_enabled()
            or _transforms_active()
            or _private.dual_level() >= 0
            or known_values.get()
        ):
            return quick(*operands, **options)
        operands, options = primitive.normalise(operands, options)
        found = known_value(primitive, operands, options)
        if found is not None:
            return found.y
        plan = plan_for(primitive, tuple(map(type, operands)), options)
        if plan.flat:
            if computing.get() or not any(map(varies, operands)):
                if computing.get():
                    _refuse_captured(plan)
                return plan.compute(*operands, **options)
            return applied(plan, plan, operands)
        call, leaves = opened(plan, operands)
        if computing.get() or watching.get():
            return unwrap(call.value(leaves))
        return applied(call.plan, call, leaves)

    return call


def _refuse_captured(plan: Plan) -> None:
    """Raise for tensors that a rule captured, where tensors of outer levels look plain."""
    if plan.lookups:
        is_captured(plan.primal, varies, among=True)
    if plan.imported:
        own_function(plan.primal, "another", varies)


def _quick(
    primitive: Primitive[..., Any],
    classes: tuple[type, ...],
    implementation: Callable[..., Any] | None,
) -> Callable[..., Any] | None:
    """Return what computes a primitive where nothing is differentiated, without checks."""
    structured = isinstance(primitive, HigherOrder) or any(map(is_structure_type, classes))
    seen = not lookups(primitive) and imported_from(primitive) is None
    if structured or implementation is None or not seen:
        return None
    return of_body(primitive, implementation)


register_host(torch.Tensor, host, constant=constant, varies=varies)


def _scanned(f: Any, initial: Any, xs: Any, length: int | None) -> Any:
    """Compute a scan of tensors that starts with numbers, which are converted to tensors.

    Integers are counts, and remain integers.
    """
    like = next(filter(floats, flatten(xs)[0]), None)
    start = initial if like is None else without_numbers(initial, like)
    return None if start is initial else v.scan.__wrapped__(f, start, xs, length=length)


scanning.append(_scanned)
