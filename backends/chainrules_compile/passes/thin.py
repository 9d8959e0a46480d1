"""Thin operands: what NumPy would spread in runs of a few elements is spread first.

NumPy begins anew for each run along which all operands go on evenly: of pairs of points that is
once for the three coordinates of each. Rows are repeated four times as fast, and then operands and
result are read in one go.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import spread
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.lifetimes import is_elementwise
from chainrules_compile.passes.values import (
    axes_of,
    changed,
    is_array,
    is_contiguous,
    largest,
    size,
    value_of,
)
from chainrules_py.program import Call, Program, Value

_UFUNCS = frozenset((np.add, np.subtract, np.multiply, np.divide))
"""Those that round alike, however their operands lie."""
_LONGEST = 8
"""How many elements a short run has at most."""
_FEWEST = 500
"""From how many elements on an operand may be worth spreading."""
_LARGEST = 1 << 16
"""Of how many elements two arrays are made at most."""
_ONE, _BOTH, _REPEATED, _LEFT, _BEGIN = 6.5, 11.0, 2.0, 2.0, 700.0
"""Nanoseconds: a run of one operand, of two; to repeat one; what is left; to call what repeats."""


class Thin(NamedTuple):
    """Operand that is spread along neighbouring axes.

    Attributes
    ----------
    source : Value
    before, times : int
        How many elements of the result there are before these axes, and along them.
    run : int
        How many elements NumPy goes through at once.
    """

    source: Value
    before: int
    times: int
    run: int


def with_thin_spread(program: Program) -> Program:
    """Return the program with arrays for operands that NumPy would spread in short runs."""
    if program.functions.isdisjoint(_UFUNCS) or largest(program) < _FEWEST:
        return program
    if not any(map(is_large, program.calls)):
        return program
    walk = _Walk(program)
    calls = tuple([new for call in program.calls for new in walk.instead(call)])
    if not walk.found:
        return program
    return without_dead_code(changed(program, calls=calls))


@final
class _Walk:
    """Walk along a program, with how often an operand was spread."""

    def __init__(self, program: Program) -> None:
        self.found = 0
        self._made = program.definitions()

    def instead(self, call: Call) -> list[Call]:
        """Return what stands in the place of a call."""
        if not is_large(call) or not is_elementwise(call):
            return [call]
        (y,) = call.results
        if not is_contiguous(y) or y.dtype.kind != "f" or len(y.shape or ()) < 2:
            return [call]
        thin: dict[Value, Thin] = {}
        for x in call.values:
            if not is_array(x):
                continue
            if x.dtype != y.dtype:
                return [call]
            if x.shape == y.shape and is_contiguous(x):
                continue
            how = self._spread(x, y)
            if how is None:
                return [call]
            if how.run and how.run <= _LONGEST:
                thin[x] = how
        if not thin or not pays([*thin.values()], size(y)):
            return [call]
        calls = [self._call(how, y) for how in thin.values()]
        instead = {x: made.results[0] for x, made in zip(thin, calls, strict=True)}
        return [*calls, call.replaced(instead)]

    def _call(self, how: Thin, y: Value) -> Call:
        self.found += 1
        name = f"{y.name}_spread{self.found}"
        made = value_of(name, np.ndarray, y.shape, y.dtype, None, y.layout)
        options = {"before": how.before, "times": how.times, "shape": y.shape}
        return Call(spread, (how.source,), options, (made,))

    def _spread(self, x: Value, y: Value) -> Thin | None:
        """Return how NumPy spreads an operand: with no run, if it is a number."""
        shape: Any = y.shape
        source, padded = x, (1,) * (len(shape) - len(x.shape or ())) + (x.shape or ())
        made = self._made.get(x)
        if made is not None and getattr(made.function, "__name__", None) == "sum_transpose_numpy":
            source, axis = made.operands[0], made.options["axis"]
            along = {*axes_of(axis, len(shape))}
            if x.shape != shape or not is_array(source) or source.dtype != y.dtype:
                return None
            padded = tuple([1 if i in along else n for i, n in enumerate(shape)])
        if size(source) == 1:
            return Thin(source, 1, size(y), 0)
        if size(source) != math.prod(padded):
            return None
        axes = [i for i, n in enumerate(shape) if n > 1 == padded[i]]
        if not axes or any([padded[i] > 1 for i in range(axes[0], axes[-1])]):
            return None
        before = math.prod(shape[: axes[0]])
        times = math.prod(shape[axes[0] : axes[-1] + 1])
        behind = math.prod(shape[axes[-1] + 1 :])
        return Thin(source, before, times, behind if behind > 1 else times)


def is_large(call: Call) -> bool:
    """Tell whether a call gives an array of enough elements for two of them to be a run."""
    if call.function not in _UFUNCS or len(call.results) != 1:
        return False
    (y,) = call.results
    return is_array(y) and size(y) >= _FEWEST


def pays(thin: list[Thin], n: int) -> bool:
    """Tell whether to spread operands first takes less time, of so many elements."""
    runs = n // max([how.run for how in thin])
    saved = (_ONE if len(thin) == 1 else _BOTH) - _LEFT - _REPEATED * len(thin)
    return runs * saved > _BEGIN * len(thin) and (len(thin) == 1 or n <= _LARGEST)
