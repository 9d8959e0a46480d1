"""Scans as C loops: one function computes an iteration, and another calls it in a loop.

Lists of rows in NumPy source are arrays here, and the address of the row moves. The carry
alternates between two buffers.
"""

from __future__ import annotations

import contextlib
from typing import Any, final

import numpy as np

from chainrules_compile.c.buffers import (
    UNWRITABLE,
    Shape,
    UnwritableError,
    View,
    contiguous,
    span_of,
)
from chainrules_compile.c.ctypes_calls import ARRAY, BOOL, FLOAT, LINE, SCALAR, Spec
from chainrules_compile.c.emit import emit
from chainrules_compile.c.function_lowerings import lower
from chainrules_compile.c.item_builder import Lowering, form
from chainrules_compile.c.native_programs import loop_of, program
from chainrules_compile.c.vector_math import text_of
from chainrules_compile.loop_node import (
    Loop,
    block_of_rows,
    rows_of,
    stacked_parts,
    stacked_rows,
)
from chainrules_compile.passes.analysis import changed
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_py.program import Call, Program, Value


@final
class Turning:
    """Loop as a C function, in place of the `Loop` of a program until the library is loaded.

    Attributes
    ----------
    name : str
        The name in C.
    loop : Loop
    rewritten : Call
        The call of it, with arrays in place of lists.
    text : str
        The C text.
    guarded : bool
        Whether an iteration can miss.

    Raises
    ------
    UnwritableError
        If a call of the body is not written in C, or an output is not an array or a number.
    """

    def __init__(self, call: Call, name: str, threads: int) -> None:
        self.name = name
        self.__name__ = name
        self.loop: Loop = call.function
        self.rewritten = call
        self.lowering = Lowering()
        loop, body = self.loop, self.loop.body
        unfit = [x for x in body.outputs if type(x) is not Value or x.type is list]
        if unfit or body.constants:
            raise UnwritableError
        same, first, _ = loop.split(body.inputs)
        given, begin, _ = loop.split(call.operands)
        for x, y in zip((*same, *first), (*given, *begin), strict=True):
            if type(y) is Value and (y.layout, y.shape, y.dtype) != (x.layout, x.shape, x.dtype):
                raise UnwritableError
        for each in body.calls:
            lower(self.lowering, each)
        self.views = self._outputs()
        text, self.work = emit(self.lowering.items, self.views, f"{name}_turn", threads)
        names = ", ".join([f"{loop.__name__} {types}" for loop, types in self.lowering.loops])
        vectors = text_of(self.lowering.vectors)
        self.guarded = "return 1;" in text
        self.text = f"/* {name}, loops: {names} */\n{vectors}\n{text}\n{self._driver()}\n"

    def _outputs(self) -> list[View]:
        """Return the outputs of an iteration, each in C order in a separate buffer."""
        lowering, found, buffers = self.lowering, [], set()
        for x in self.loop.body.outputs:
            view = lowering.view(x)
            buffer = view.version.buffer
            own = not buffer.place and buffer not in buffers and view.is_whole
            if not own or not view.in_c_order:
                view = lowering.copy(view)
            buffers.add(view.version.buffer)
            found.append(view)
        return found

    def _driver(self) -> str:
        """Write the function that calls the iterations."""
        loop, name, turns = self.loop, self.name, self.loop.turns
        places = {x: k for k, x in enumerate(self.lowering.inputs)}
        steps = [max(view.size, 1) * view.dtype.itemsize for view in self.views]
        same, carried, each = loop.split(loop.body.inputs)
        before, inside, after = [], [], []
        slot = 0
        for j, x in enumerate((*same, *carried)):
            if x in places:
                before.append(f"in[{places[x]}] = I[{j}];")
        for j, x in enumerate(each):
            if x in places:
                row, k = self._of_rows(*form(x)).strides[0], len(same) + len(carried) + j
                turn = f"({turns - 1} - t)" if loop.backwards[j] else "t"
                inside.append(f"in[{places[x]}] = I[{k}] + {turn} * {row}L;")
        for j in range(len(self.views)):
            if j >= len(carried):
                inside.append(f"out[{j}] = O[{j}] + t * {steps[j]}L;")
                continue
            room = -(-steps[j] // LINE) * LINE
            inside.append(f"out[{j}] = t == {turns - 1} ? O[{j}] : w + {slot} + (t & 1) * {room}L;")
            slot += 2 * room
            if carried[j] in places:
                after.append(f"in[{places[carried[j]]}] = out[{j}];")
        given, made = max(len(places), 1), max(len(self.views), 1)
        self.work += slot
        lines = [
            f"int {name}(char** I, char** O, char* w, void** L) {{",
            f"  char *in[{given}], *out[{made}];",
            *[f"  {line}" for line in before],
            f"  for (long t = 0; t < {turns}; t++) {{",
            *[f"    {line}" for line in inside],
            f"    if ({name}_turn(in, out, w + {slot}, L)) return 1;",
            *[f"    {line}" for line in after],
            "  }\n  return 0;\n}",
        ]
        return "\n".join(lines)

    def call(self, library: Any) -> Call:
        """Return the call of the function."""
        call, loop, lowering = self.rewritten, self.loop, self.lowering
        same, carried, each = loop.split(loop.body.inputs)
        inputs = [spec_of(x, lowering.view(x)) for x in (*same, *carried)]
        inputs += [self._of_rows(*form(x)) for x in each]
        pairs = enumerate(zip(call.results, self.views, strict=True))
        outputs = [
            spec_of(y, view) if j < len(carried) else self._of_rows(view.shape, view.dtype)
            for j, (y, view) in pairs
        ]
        loops = [found for key in lowering.loops if (found := loop_of(*key)) is not None]
        rest = self.work, self.guarded, sum([view.size for view in self.views]) * loop.turns
        run = program(library, self.name, inputs, outputs, loops, *rest)
        results = call.results
        if self.guarded:
            results = (*results, Value(f"{self.name}_fits", bool))
        return Call(run, call.operands, {}, results)

    def _of_rows(self, shape: Shape, dtype: np.dtype[Any]) -> Spec:
        """Return the description of the array of all rows, in C order."""
        whole = (self.loop.turns, *shape)
        strides = contiguous(whole, dtype.itemsize)
        return Spec(ARRAY, dtype, whole, strides, *span_of(whole, strides, dtype))


def spec_of(x: Value, view: View) -> Spec:
    """Return the description of a value for C."""
    buffer = view.version.buffer
    kinds: dict[Any, int] = {np.ndarray: ARRAY, float: FLOAT, bool: BOOL}
    kind = kinds.get(x.type, SCALAR)
    return Spec(kind, view.dtype, view.shape, view.strides, buffer.low, buffer.nbytes)


def with_turnings(whole: Program, threads: int) -> Program:
    """Return the program with C functions in place of loops, and arrays in place of their lists."""
    found: dict[int, Turning] = {}
    for i, call in enumerate(whole.calls):
        if type(call.function) is Loop:
            with contextlib.suppress(*UNWRITABLE):
                found[i] = Turning(call, f"loop{len(found)}", threads)
    calls: list[Call] = []
    arrays: dict[Value, Value] = {}
    for i, call in enumerate(whole.calls):
        if call.function is rows_of:
            calls.append(call)
            (rows,) = call.results
            (x,) = call.operands
            arrays[rows] = Value(f"{rows.name}_rows", np.ndarray, memory=x)
            calls.append(Call(block_of_rows, call.operands, call.options, (arrays[rows],)))
        elif i in found:
            calls.append(_rewritten(call, found[i], arrays))
        elif call.function is stacked_rows and call.operands[-1] in arrays:
            parts = (*call.operands[:-1], arrays[call.operands[-1]])
            calls.append(Call(stacked_parts, parts, call.options, call.results))
        else:
            calls.append(call)
    return without_dead_code(changed(whole, calls=tuple(calls)))


def _rewritten(call: Call, turning: Turning, arrays: dict[Value, Value]) -> Call:
    """Return the call of a loop with arrays in place of lists."""
    same, first, rows = turning.loop.split(call.operands)
    ends, lists = turning.loop.outputs(call.results)
    for x in lists:
        arrays[x] = Value(f"{x.name}_rows", np.ndarray)
    operands = (*same, *first, *map(arrays.__getitem__, rows))
    results = (*ends, *map(arrays.__getitem__, lists))
    turning.rewritten = Call(turning, operands, {}, results)
    return turning.rewritten
