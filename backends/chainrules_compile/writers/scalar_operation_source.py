"""Source of number operations: Python arithmetic, and NumPy where Python would raise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import double, over, over_silently, plain_number, root
from chainrules_compile.passes.analysis import is_array
from chainrules_compile.scalar_functions import PLAIN, power, power_range, power_silently
from chainrules_compile.writers.call_source import Speller, spells
from chainrules_py import ops as v
from chainrules_py.program import Call

_NUMBERS: Any = (np.float64, np.float64)


@spells(over, over_silently)
def _over(s: Speller, call: Call) -> str | None:
    x, y = call.operands
    operation: Any = np.divide if call.function is over else v.divide.implementation(_NUMBERS)
    above, below = s.text(x), s.text(y)
    return f"{above} / {below} if {below} else {s.bound(operation)}({above}, {below})"


@spells(root)
def _root(s: Speller, call: Call) -> str | None:
    x = s.text(call.operands[0])
    plain = s.scope.name(math.sqrt, "root_of")
    return f"{plain}({x}) if {x} >= 0.0 else {s.bound(np.sqrt)}({x})"


@spells(*PLAIN.values())
def _plain(s: Speller, call: Call) -> str | None:
    f, x = call.function, s.text(call.operands[0])
    own, theirs = s.scope.name(f.plain, f"plain_{f.__name__}"), s.bound(f.ufunc)
    return f"{own}({x}) if {f.low!r} < {x} < {f.high!r} else {s.bound(float)}({theirs}({x}))"


@spells(power, power_silently)
def _power(s: Speller, call: Call) -> str | None:
    (low, high), (x, n) = power_range(call.operands[1]), map(s.text, call.operands)
    otherwise = f"{s.bound(np.float64)}({x}) ** {n}"
    if call.function is power_silently:
        operation = s.bound(v.pow.implementation((np.float64, float)))
        otherwise = f"{operation}({s.bound(np.float64)}({x}), {n})"
    return f"{x} ** {n} if {low!r} < {x} < {high!r} else {otherwise}"


@spells(plain_number)
def _plain_number(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    text = s.text(x)
    if is_array(x):
        return f"{text}.item()"
    return f"{s.bound(float)}{text if text[0] == '(' else f'({text})'}"


@spells(double)
def _of_numpy(s: Speller, call: Call) -> str | None:
    return f"{s.bound(np.float64)}({s.text(call.operands[0])})"
