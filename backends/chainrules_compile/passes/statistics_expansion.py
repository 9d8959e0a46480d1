"""Statistics: means, variances, norms and differences as the sums and products that they are.

NumPy's functions have an overhead of 4 to 10 us, and every target supports the steps.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_compile.passes.analysis import (
    axes_of,
    changed,
    contiguous,
    flat,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_py import ops as v
from chainrules_py.ops.engine_operations import Index, duplicate, read
from chainrules_py.program import Call, Program, Value


def with_steps(program: Program) -> Program:
    """Return the program with the steps of statistics in place of their functions."""
    if program.functions.isdisjoint(_STEPS):
        return program
    steps = _Steps()
    for call in program.calls:
        write = _STEPS.get(call.function)
        if write is None or not has_steps(call):
            steps.calls.append(call)
        else:
            write(steps, call)
    return changed(program, calls=tuple(steps.calls))


def has_steps(call: Call) -> bool:
    """Return whether a call on a floating array along axes, with a C-ordered result, has steps."""
    if len(call.results) != 1 or not call.options.keys() <= {*_OPTIONS}:
        return False
    (x, *rest), (y,) = call.operands, call.results
    if len(rest) > 1 or not is_array(x) or not x.shape or not size(x) or x.dtype.char not in "fd":
        return False
    if not (y.dtype == x.dtype and (y.type is x.dtype.type or (is_array(y) and is_contiguous(y)))):
        return False
    axis = _axis(call)
    axes = axis if type(axis) is tuple else (axis,)
    if not (axis is None or {*map(type, axes)} == {int}):
        return False
    if call.function in _NORMS:
        several = axis is None or (type(axis) is tuple and len(axis) == 2)
        orders: Any = (None, 2) if type(axis) is int or len(x.shape) == 1 else (None,)
        orders = (2,) if call.function is v.vector_norm else orders
        return call.options.get("ord") in orders and (several or type(axis) is int)
    if call.function in _DIFFERENCES:
        return type(axis) is int and call.options.get("n", 1) == 1 and bool(x.shape[axis] > 1)
    return bool(_freedom(call, 1) > 0)


_OPTIONS = ("axis", "keepdims", "ord", "n", "correction", "ddof")
_REDUCTIONS = {np.sum: v.sum, np.max: v.max, np.min: v.min, np.prod: v.prod}
_NORMS = (v.vector_norm, np.linalg.norm)
_DIFFERENCES = (v.diff, np.diff)


def _axis(call: Call) -> Any:
    """Return the ``axis`` argument of a call; an ellipsis if it cannot be found."""
    if call.function in _NORMS or call.function in _DIFFERENCES:
        if len(call.operands) > 1:
            return ...  # the second operand is an order, or a count
        return call.options.get("axis", -1 if call.function in _DIFFERENCES else None)
    return call.operands[1] if len(call.operands) > 1 else call.options.get("axis")


def _freedom(call: Call, given: int) -> Any:
    """Return the divisor of a sum of squares."""
    x, options = call.operands[0], call.options
    n = math.prod([x.shape[d] for d in axes_of(_axis(call), len(x.shape))])
    return n - options.get("correction", options.get("ddof", 0)) * given


@final
class _Steps:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._count = 0

    def new(self, y: Value, shape: Any = None, memory: Value | None = None) -> Value:
        """Return a new value like another, or of another shape in C order."""
        self._count += 1
        layout = y.layout if shape is None else contiguous(shape, y.dtype.itemsize)
        cls, shape = (y.type, y.shape) if shape is None else (np.ndarray, shape)
        name = f"{y.name}_step{self._count}"
        return value_of(name, cls, shape, y.dtype, memory, layout)  # type: ignore[arg-type]

    def take(self, function: Any, *operands: Any, into: Value) -> Value:
        """Append a call; return its result."""
        self.calls.append(flat(function, operands, (into,)))
        return into

    def in_order(self, x: Value) -> Value:
        """Return an array in C order, copied if necessary."""
        return x if is_contiguous(x) else self.take(duplicate, x, into=self.new(x, x.shape))

    def sum(self, x: Value, call: Call, into: Value, kept: bool = False) -> Value:
        """Append the sum along the axes of a call."""
        n = len(x.shape or ())
        axes, keepdims = (
            sorted({*axes_of(_axis(call), n)}),
            kept or bool(call.options.get("keepdims")),
        )
        axis = None if len(axes) == n else axes[0] if len(axes) == 1 else tuple(axes)
        operation = _REDUCTIONS.get(call.function, v.sum)
        self.calls.append(Call(operation, (x,), {"axis": axis, "keepdims": keepdims}, (into,)))
        return into

    def reduce(self, call: Call) -> None:
        """Append the operation for a NumPy function."""
        self.sum(call.operands[0], call, call.results[0])

    def divide(self, x: Value, n: Any, into: Value) -> Value:
        """Append a division by a number."""
        return self.take(np.divide if is_array(x) else operator.truediv, x, n, into=into)

    def mean(self, call: Call) -> None:
        """Append the steps of a mean."""
        x, (y,) = self.in_order(call.operands[0]), call.results
        self.divide(self.sum(x, call, self.new(y)), _freedom(call, 0), y)

    def var(self, call: Call, into: Value | None = None) -> Value:
        """Append the steps of a variance."""
        x, y = self.in_order(call.operands[0]), into or call.results[0]
        axes, shape = axes_of(_axis(call), len(x.shape or ())), x.shape or ()
        kept = tuple([1 if d in axes else n for d, n in enumerate(shape)])
        total = self.sum(x, call, self.new(x, kept), kept=True)
        mean = self.divide(total, _freedom(call, 0), self.new(x, kept))
        apart = self.take(np.subtract, x, mean, into=self.new(x, shape))
        squares = self.take(np.multiply, apart, apart, into=self.new(x, shape))
        return self.divide(self.sum(squares, call, self.new(y)), _freedom(call, 1), y)

    def std(self, call: Call) -> None:
        """Append the steps of a standard deviation."""
        (y,) = call.results
        self.take(np.sqrt, self.var(call, self.new(y)), into=y)

    def norm(self, call: Call) -> None:
        """Append the steps of a norm."""
        x, (y,) = self.in_order(call.operands[0]), call.results
        squares = self.take(np.multiply, x, x, into=self.new(x, x.shape))
        self.take(np.sqrt, self.sum(squares, call, self.new(y)), into=y)

    def diff(self, call: Call) -> None:
        """Append the difference of two shifted parts."""
        x, (y,) = self.in_order(call.operands[0]), call.results
        shape: Any = x.shape
        axis = _axis(call) % len(shape)
        parts = []
        for entry in (slice(1, None), slice(None, -1)):
            index = Index.split((*[slice(None)] * axis, entry))[0]
            steps = dict(zip([d for d, n in enumerate(shape) if n > 1], x.layout, strict=True))
            layout = tuple([steps[d] for d, n in enumerate(y.shape or ()) if n > 1])
            self._count += 1
            name = f"{y.name}_step{self._count}"
            part = value_of(name, np.ndarray, y.shape, y.dtype, x.memory or x, layout)
            self.calls.append(Call(read, (x,), {"index": index}, (part,)))
            parts.append(part)
        self.take(np.subtract, *parts, into=y)


_STEPS: dict[Any, Callable[[_Steps, Call], object]] = {
    **dict.fromkeys(_REDUCTIONS, _Steps.reduce),
    **dict.fromkeys((v.mean, np.mean), _Steps.mean),
    **dict.fromkeys((v.var, np.var), _Steps.var),
    **dict.fromkeys((v.std, np.std), _Steps.std),
    **dict.fromkeys(_NORMS, _Steps.norm),
    **dict.fromkeys(_DIFFERENCES, _Steps.diff),
}
