"""Symmetric products: of an array with its own transpose NumPy computes one half alone.

It looks whether both are one memory, and rounds otherwise where they are. So arrays that were two
when they were recorded, and are found to be one, stay two in such a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chainrules_compile.calls import laid_out
from chainrules_compile.passes.values import contiguous, is_array, is_contiguous, value_of
from chainrules_py.program import Call, Value
from chainrules_py.vocabulary.views import duplicate

PRODUCTS = frozenset(
    (
        *("matmul", "dot", "inner", "tensordot", "multi_dot", "einsum"),
        *("matmul_left_numpy", "matmul_right_numpy", "matmul_push_left", "matmul_push_right"),
    )
)
"""Names of functions that may multiply one matrix of theirs by another."""


def met(before: Call, instead: Mapping[Value, Any]) -> list[Value]:
    """Return the operands of a product that are of one memory now, and were of two.

    Of several arrays of one memory, those that were another before stand first.
    """
    of: dict[Any, tuple[Value, Value]] = {}
    found: list[Value] = []
    for x in before.values:
        y = instead.get(x, x)
        if not is_array(y) or len(y.shape or ()) < 2:
            continue
        was, memory = x.memory or x, y.memory or y
        root = instead.get(memory, memory)
        # What stands instead may be a view itself, as of a product with one.
        first, one = of.setdefault(getattr(root, "memory", None) or root, (was, x))
        if first is not was:
            of_other = instead.get(one, one)
            found.append(x if is_contiguous(y) or not is_contiguous(of_other) else one)
    return found


def copy_of(x: Value, name: str) -> Call:
    """Return the call that copies an array, so that its elements lie as they did."""
    shape: Any = x.shape
    if is_contiguous(x):
        made = value_of(name, x.type or object, shape, x.dtype, None, x.layout)
        return Call(duplicate, (x,), {}, (made,))
    steps = iter(x.layout)
    strides = [abs(next(steps)) if n > 1 else 0 for n in shape]
    axes = tuple(sorted(range(len(shape)), key=lambda i: -strides[i]))
    inner = contiguous(tuple([shape[i] for i in axes]), x.dtype.itemsize)
    given = dict(zip([i for i in axes if shape[i] > 1], inner, strict=True))
    layout = tuple([given[i] for i in range(len(shape)) if shape[i] > 1])
    made = value_of(name, x.type or object, shape, x.dtype, None, layout)
    return Call(laid_out, (x,), {"axes": axes}, (made,))
