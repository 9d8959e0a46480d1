"""Blocks: elementwise calls on large arrays become one, which runs through them a piece at a time.

A piece of each array stays in the cache, and what nobody else needs is never written to memory as
a whole. Each element is computed by the same functions of the same numbers, so that bits are kept.
Sums over elements are left outside: they would be added up in another order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, final

import numpy as np

from chainrules_compile.passes.values import changed, is_array, is_contiguous, largest, size
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import divide

LEAST = 131_072
"""How many elements arrays have at least."""
FEWEST = 16
"""How many calls become one at least."""
CACHE = 1 << 20
"""How many bytes of the pieces are to lie in the cache at once."""
PIECES = (2048, 16384)
"""How many elements a piece has at least, and at most."""


@final
class Blocked:
    """Function of arrays, and of numbers, that runs elementwise calls on a piece of each at a time.

    Attributes
    ----------
    calls : tuple of Call
        All of one shape, which may be that of vectors: then these are its elements in C order.
    inputs, outputs : tuple of Value
        What is given, and what others need.
    """

    __slots__ = ("calls", "inputs", "outputs")

    __name__ = "blocked"

    def __init__(
        self, calls: tuple[Call, ...], inputs: tuple[Value, ...], outputs: tuple[Value, ...]
    ) -> None:
        self.calls = calls
        self.inputs = inputs
        self.outputs = outputs

    @property
    def length(self) -> int:
        """How many elements each array has."""
        return size(self.outputs[0])

    @property
    def piece(self) -> int:
        """How many elements a piece has, a power of two."""
        live = sum([x.dtype.itemsize for x in (*self.inputs, *self.outputs) if is_array(x)])
        live += self.width() * self.outputs[0].dtype.itemsize
        low, high = PIECES
        return max(low, min(high, 1 << int(math.log2(max(CACHE // live, 1)))))

    def width(self) -> int:
        """Count the arrays that are needed at once beside inputs and outputs."""
        last = {x: i for i, call in enumerate(self.calls) for x in call.values}
        known = {*self.inputs, *self.outputs}
        now = most = 0
        for i, call in enumerate(self.calls):
            now += call.results[0] not in known
            most = max(most, now)
            now -= len([x for x in {*call.values} if x not in known and last[x] == i])
        return most

    def __call__(self, *given: Any) -> Any:
        """Compute all at once."""
        env: dict[Value, Any] = dict(zip(self.inputs, given, strict=True))
        for call in self.calls:
            xs = [env[x] if type(x) is Value else x for x in call.operands]
            env[result_of(call)] = call.function(*xs)
        found = tuple([env[x] for x in self.outputs])
        return found[0] if len(found) == 1 else found


def with_blocks(program: Program) -> Program:
    """Return the program with one call for many that are elementwise, of large arrays."""
    if not any([f is divide or isinstance(f, np.ufunc) for f in program.functions]):
        return program
    if largest(program) < LEAST or len([call for call in program.calls if fits(call)]) < FEWEST:
        return program
    places: dict[Value, int] = dict.fromkeys((*program.inputs, *program.constants), -1)
    items: list[list[Call]] = []
    open_: dict[Any, int] = {}
    for call in program.calls:
        if not call.results:
            open_.clear()  # what comes after a guard runs after it
        elif fits(call):
            shape = call.results[0].shape
            k = open_.get(shape, -1)
            if k >= max([places[x] for x in call.values], default=-1) and k >= 0:
                items[k].append(call)
                places[call.results[0]] = k
                continue
            open_[shape] = len(items)
        places.update(dict.fromkeys(call.results, len(items)))
        items.append([call])
    outputs = Call(None, program.outputs, {}, ()).values
    return changed(program, calls=tuple(joined(items, outputs)))


def joined(items: list[list[Call]], outputs: Iterable[Value]) -> list[Call]:
    """Return one call for each item, or its calls where these are few."""
    needed: dict[Value, int] = dict.fromkeys(outputs, -1)
    for k, item in enumerate(items):
        for call in item:
            for x in call.values:
                needed[x] = k if needed.get(x, k) == k else -1
    where = {y: k for k, item in enumerate(items) for call in item for y in call.results}
    found: list[Call] = []
    for item in items:
        if len(item) < FEWEST:
            found += item
            continue
        inner = {call.results[0] for call in item}
        given = dict.fromkeys([x for call in item for x in call.values if x not in inner])
        given_of = tuple(given)
        made = tuple([y for y in map(result_of, item) if where[y] != needed.get(y, -1)])
        if not made:
            found += item
            continue
        found.append(Call(Blocked(tuple(item), given_of, made), given_of, {}, made))
    return found


def result_of(call: Call) -> Value:
    """Return the one value that a call gives."""
    return call.results[0]


def fits(call: Call) -> bool:
    """Tell whether a call is elementwise, of arrays that can be gone through side by side."""
    f = call.function
    ufunc = isinstance(f, np.ufunc) and f.nout == 1 and f.signature is None
    if not (ufunc or f is divide) or call.options or len(call.results) != 1:
        return False
    (y,) = call.results
    if not is_array(y) or y.dtype.kind not in "fb" or size(y) < LEAST or not is_contiguous(y):
        return False
    for x in call.operands:
        if type(x) is not Value:
            if type(x) not in (int, float, bool, np.float64, np.float32):
                return False
        elif is_array(x):
            alike = x.shape == y.shape and is_contiguous(x) and x.dtype.kind in "fb"
            if not alike and (x.shape != () or x.dtype != y.dtype):
                return False
        elif x.type not in (float, np.float64, np.float32):
            return False
    return True
