"""Runs of calls as kernels, for a compiled program: element by element, or summed at the end."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, final

import cupy
import numpy as np

from chainrules_cupy.expressions import Expression, Program, full_like_expression, words
from chainrules_cupy.kernels import kernel_for
from chainrules_py import Primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import aliases
from chainrules_py.program import Call, Value

_MOST_LINES, _MOST_OPERANDS = 128, 24
"""How long a kernel may be: of longer ones registers are not enough."""

_OPERATORS = frozenset(
    (
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
        *(operator.mod, operator.pow, operator.neg, operator.pos, operator.abs, operator.invert),
        *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
        *(operator.and_, operator.or_),
    )
)
_COMPOSED = frozenset(
    (v.strong_multiply, v.tie_share, v.deg2rad, v.rad2deg, v.clip_below, v.clip_above)
)
_OPTIONS: dict[Any, frozenset[str]] = {
    v.zeros_like: frozenset(("dtype",)),
    v.ones_like: frozenset(("dtype",)),
    v.astype: frozenset(("dtype",)),
    v.nan_to_num: frozenset(("copy", "nan", "posinf", "neginf")),
}
"""Words with options that act element by element."""


@final
class Run:
    """Calls on arrays of one floating dtype, and on truths, which become kernels.

    Parameters
    ----------
    dtype : dtype
        That of all arrays that are no truths.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.calls: list[Call] = []
        self._program = Program(dtype)
        self._known: dict[Value, Any] = {}
        self._operands: list[Value] = []

    @property
    def is_full(self) -> bool:
        """Whether it is as long as a kernel may be."""
        return len(self._program.lines) > _MOST_LINES or len(self._operands) > _MOST_OPERANDS

    def add(self, call: Call) -> bool:
        """Add a call; return False if it is not done element by element in the dtype."""
        program, n, known = self._program, len(self._program.lines), dict(self._program.known)
        operands, m = dict(self._known), len(self._operands)
        try:
            traced(call, program, self._known, self._operands)
        except Exception:  # what is not done element by element raises anything
            del program.lines[n:], self._operands[m:]
            program.known, self._known = known, operands
            return False
        self.calls.append(call)
        return True

    def _traced(self, results: Iterable[Value]) -> tuple[Program, list[Any], list[Value]]:
        """Trace the calls again that some results need, and no others."""
        needed, calls = set(results), []
        for call in reversed(self.calls):
            if call.results[0] in needed:
                calls.append(call)
                needed.update(call.values)
        program, known, operands = Program(self.dtype), dict[Value, Any](), list[Value]()
        for call in reversed(calls):
            traced(call, program, known, operands)
        return program, [known[x] for x in results], operands

    def each(self, results: tuple[Value, ...]) -> tuple[Any, tuple[Value, ...]] | None:
        """Return a kernel that gives results, and what it is called with.

        It is None where the operands have not the shape of the results.
        """
        program, found, operands = self._traced(results)
        if np.broadcast_shapes(*[x.shape or () for x in operands]) != results[0].shape:
            return None
        names = tuple([x.name for x in found])
        outs = tuple(map(_type, results))
        return kernel_for(program, names, tuple(map(_type, operands)), outs).each, tuple(operands)

    def sum(self, x: Value) -> tuple[Any, tuple[Value, ...]] | None:
        """Return a kernel that sums a result, with the options of `sum`, and its operands."""
        program, (found,), operands = self._traced((x,))
        if found.is_truth or np.broadcast_shapes(*[x.shape or () for x in operands]) != x.shape:
            return None
        types = tuple(map(_type, operands))
        return kernel_for(program, (found.name,), types).sum, tuple(operands)


def _type(x: Value) -> str:
    return "bool" if x.dtype is not None and x.dtype.kind == "b" else "T"


def traced(call: Call, program: Program, known: dict[Value, Any], operands: list[Value]) -> None:
    """Note a call in a kernel.

    Raises
    ------
    TypeError
        If it is not done element by element; or whatever else is raised by that.
    """
    for x in call.values:
        if x not in known:
            known[x] = Expression(program, f"x{len(operands)}", is_truth=_type(x) == "bool")
            operands.append(x)
    (result,) = call.results
    found = _found(call.function, call.replaced(known).operands, call.options)
    if not isinstance(found, Expression) or found.dtype != result.dtype:
        raise TypeError
    known[result] = found


def _found(function: Any, xs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    if function in _OPERATORS:
        return function(*xs)
    if function is v.broadcast_to:
        return xs[0]  # kernels broadcast
    if function is v.full_like:
        return full_like_expression(xs[0], shape=(), fill=options["fill"])
    word = function
    if not isinstance(function, Primitive):
        if not isinstance(function, np.ufunc | cupy.ufunc) and function is not np.where:
            raise TypeError
        row = aliases[function]
        return row.call(xs, dict(options))()
    plain = not options and not word.variadic and hasattr(words, word.__name__)
    if not (plain or word in _COMPOSED or options.keys() <= _OPTIONS.get(word, frozenset())):
        raise TypeError
    return word(*xs, **options)
