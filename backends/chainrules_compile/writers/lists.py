"""Lists: numbers of one array that are read one by one are read at once.

`tolist` takes a quarter of the time for each. Where turns were found again it stays as it was, for
these read what belongs to a turn.
"""

from __future__ import annotations

import numpy as np

from chainrules_compile.loops import Loop
from chainrules_compile.passes.values import call_of, changed, is_array, size
from chainrules_compile.writers.zeros import with_zeros
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import read

_FEWEST, _MOST = 4, 512
"""How many numbers of an array are read so, and how many elements it has, at most."""
_SHARE = 3
"""What part of the elements has to be read."""


def listed(x: np.ndarray) -> list[float]:
    """Return the numbers of a vector."""
    found: list[float] = x.tolist()
    return found


def as_written(program: Program) -> Program:
    """Return the program as it is written: zeros made at once, and lists."""
    return with_lists(with_zeros(program))


def with_lists(program: Program) -> Program:
    """Return the program in which vectors of which many numbers are read become lists."""
    if read not in program.functions or any([type(f) is Loop for f in program.functions]):
        return program
    reads: dict[Value, dict[int, list[int]]] = {}
    for i, call in enumerate(program.calls):
        if call.function is read and call.results[0].type is float and is_element(call):
            x, place = call.operands[0], call.options["index"][0]
            reads.setdefault(x, {}).setdefault(place % size(x), []).append(i)
    calls: list[Call | None] = [*program.calls]
    for x, found in reads.items():
        if not pays(x, len(found)) or any([len(places) > 1 for places in found.values()]):
            continue
        numbers = [Value(f"{x.name}_{place}", float) for place in range(size(x))]
        for place, (i,) in found.items():
            numbers[place] = program.calls[i].results[0]
            calls[i] = None
        first = min([i for (i,) in found.values()])
        calls[first] = call_of(listed, (x,), {}, tuple(numbers), (x,))
    return changed(program, calls=tuple([call for call in calls if call is not None]))


def is_element(call: Call) -> bool:
    """Tell whether a number of a vector is read, at a place that no number says."""
    x = call.operands[0]
    if len(call.operands) != 1 or not is_array(x) or len(x.shape) != 1 or x.dtype != np.float64:
        return False
    return [type(k) for k in call.options["index"]] == [int]


def pays(x: Value, reads: int) -> bool:
    """Tell whether a list of all numbers takes less time than to read some."""
    return reads >= _FEWEST and size(x) <= min(_MOST, _SHARE * reads)
