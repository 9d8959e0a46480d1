"""Writer of native programs: runs of calls become C functions, other calls stay NumPy calls."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.c import native_programs
from chainrules_compile.c.buffers import (
    UNWRITABLE,
    Buffer,
    Shape,
    UnwritableError,
    View,
    strides_of,
)
from chainrules_compile.c.compilers import CompilerError
from chainrules_compile.c.emit import emit
from chainrules_compile.c.expression_text import headed
from chainrules_compile.c.function_lowerings import is_view, lower
from chainrules_compile.c.item_builder import Lowering, dense, form
from chainrules_compile.c.program_items import Group, Item, views_of
from chainrules_compile.c.save_source import save
from chainrules_compile.c.scan_loops import Turning, spec_of, with_turnings
from chainrules_compile.c.vector_math import text_of
from chainrules_compile.internal_functions import expect
from chainrules_compile.loop_node import Loop
from chainrules_compile.passes.analysis import called, changed
from chainrules_compile.scope import Scope
from chainrules_compile.writers.interface import Body
from chainrules_compile.writers.numpy_source import write as write_numpy
from chainrules_py.program import Call, Program, Value

_FEWEST = 2
"""Minimum number of calls in a C function, apart from views."""

MOST_CALLS = 2_000_000
"""Maximum number of calls of a program in C: longer ones take more time to write than they save."""


def write(program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
    """Write a program in C; see `chainrules_compile.writers.interface.Writer`.

    Without a compiler it is written for NumPy, and the result contains the reason.
    """
    instead = ""
    try:
        if len(program) > MOST_CALLS:
            raise CompilerError(f"a program of {len(program)} calls is too long to be written in C")
        native_programs.load()
        recorded, program = program, _native(program, scope.threads)
        native_programs.follow(scope)
        scope.fits = native_programs.fits
        scope.save = functools.partial(save, recorded, names, scope)
    except CompilerError as error:
        instead = f"written for NumPy instead of C: {error}"
    return write_numpy(program, names, scope)._replace(instead=instead)


write.threads = True  # type: ignore[attr-defined]
write.loops = True  # type: ignore[attr-defined]


class Segment:
    """Consecutive calls that become one C function."""

    def __init__(self) -> None:
        self.lowering = Lowering()
        self.calls: list[Call] = []

    def take(self, call: Call) -> bool:
        """Lower a call; return False if it has to stay a NumPy call."""
        mark = self.lowering.mark()
        try:
            lower(self.lowering, call)
        except UNWRITABLE:
            self.lowering.go_back(mark)
            return False
        self.calls.append(call)
        return True


def _native(program: Program, threads: int) -> Program:
    """Return the program with C functions in place of the calls that can be written in C."""
    if any([type(call.function) is Loop for call in program]):
        program = _with_loops(program, threads)
    pieces, texts = _written(program, threads)
    if not texts:
        return program
    head = headed("kernels.h", *(["threads.h"] if threads > 1 else []))
    library = native_programs.loaded("\n".join([head, *texts]), threads)
    found: list[Call] = []
    for piece in pieces:
        found += piece.calls(library) if isinstance(piece, _Made) else _turning(piece, library)
    return changed(program, calls=tuple(found))


def _with_loops(program: Program, threads: int) -> Program:
    """Return the program with loops in C, or with C functions in their bodies."""
    program = with_turnings(program, threads)
    found = list(program.calls)
    for i, call in enumerate(found):
        if type(call.function) is Loop:  # some calls of its body are not written in C
            body = _native(call.function.body, threads)
            found[i] = called(call, dataclasses.replace(call.function, body=body))
    return changed(program, calls=tuple(found))


def _turning(call: Call, library: Any) -> list[Call]:
    """Return the calls for a loop in C, or another call unchanged."""
    if type(call.function) is not Turning:
        return [call]
    made = call.function.call(library)
    return [made, *map(_fits, made.results[-1:])] if call.function.guarded else [made]


def _fits(answer: Value) -> Call:
    return Call(expect, (answer, True), {"kind": bool}, ())


def _lying(memory: np.ndarray, *, shape: Shape, strides: Shape, offset: int) -> np.ndarray:
    """Return an array with this layout in the given memory."""
    return np.ndarray(shape, memory.dtype, memory, offset, strides)


def _written(program: Program, threads: int) -> tuple[list[Any], list[str]]:
    """Return the pieces of a program, and the texts of its C functions."""
    done: list[Segment | int] = []
    segment = Segment()
    for i, call in enumerate(program.calls):
        if segment.take(call):
            continue
        done += [segment, i]
        segment = Segment()
    done.append(segment)
    users = _users(program, done)
    pieces: list[Any] = []
    texts: list[str] = []
    for i, piece in enumerate(done):
        if isinstance(piece, int):
            pieces.append(program.calls[piece])
            function = program.calls[piece].function
            if type(function) is Turning:
                texts.append(function.text)
        elif sum([not is_view(call) for call in piece.calls]) < _FEWEST:
            pieces += piece.calls
        else:
            given = [y for call in piece.calls for y in call.results]
            wanted = {y for y in given if users.get(y, set()) - {i}}
            try:
                one = _Made(piece, wanted, f"run{len(texts)}", threads)
            except UnwritableError:  # a lowered value has no type in C
                pieces += piece.calls
                continue
            texts.append(one.text)
            pieces.append(one)
    return pieces, texts


def _users(program: Program, done: list[Segment | int]) -> dict[Value, set[int]]:
    """Return, for each value, the pieces that use it; -1 is for the outputs."""
    users: dict[Value, set[int]] = {}
    for i, piece in enumerate(done):
        for call in [program.calls[piece]] if isinstance(piece, int) else piece.calls:
            for x in call.values:
                users.setdefault(x, set()).add(i)
    for x in Call(None, program.outputs, {}, ()).values:
        users.setdefault(x, set()).add(-1)
    return users


class _Made:
    """C function of a segment, and the calls that take views of its results."""

    def __init__(self, segment: Segment, wanted: set[Value], name: str, threads: int) -> None:
        self.name = name
        self.lowering = segment.lowering
        self.after: list[Call] = []
        self.parts: dict[Value, dict[str, Any]] = {}
        outputs: list[Value] = []
        needed = set(wanted)
        for call in reversed(segment.calls):
            if needed.isdisjoint(call.results):
                continue
            if is_view(call) and call.results[0].shape:
                self.after.append(call)
                needed.update(call.values)
            else:
                outputs += [y for y in reversed(call.results) if y in needed]
        self.after.reverse()
        self.outputs = outputs[::-1]
        views, buffers = [], set[Buffer]()
        for x in self.outputs:
            view = self._leaving(x, self.lowering.views[x], buffers)
            buffers.add(view.version.buffer)
            views.append(view)
        self.views: list[View] = views
        self.items: list[Item] = self.lowering.items
        loops = ", ".join([f"{loop.__name__} {types}" for loop, types in self.lowering.loops])
        text, self.work = emit(self.items, views, name, threads)
        vectors = text_of(self.lowering.vectors)
        self.text = f"/* {name}, loops: {loops} */\n{vectors}\n{text}\n"
        self.guarded = "return 1;" in text

    def _leaving(self, x: Value, view: View, buffers: set[Buffer]) -> View:
        """Return the output for a value: a whole buffer, in the layout that NumPy gave the value.

        If NumPy gives a part of other memory, as for the indices of a mask, the output is all of
        this memory, of which a later call takes a view.
        """
        buffer, lowering = view.version.buffer, self.lowering
        alone = not buffer.place and buffer not in buffers
        if alone and view.is_whole:
            return view
        shape, dtype = form(x)
        strides = strides_of(shape, x.layout, dtype) if shape else ()
        if 0 in strides or dense(shape, strides, dtype):
            own = lowering.new(shape, dtype, None if 0 in strides else strides)
            lowering.write(own, view)
            return own
        if not alone or view.strides != strides:
            raise UnwritableError
        n = buffer.nbytes // dtype.itemsize
        self.parts[x] = {"shape": shape, "strides": strides, "offset": view.offset}
        return View(view.version, 0, (n,), (dtype.itemsize,), dtype)

    def calls(self, library: Any) -> list[Call]:
        """Return the call of the function in a library, and the calls that follow it."""
        lowering, memory = self.lowering, {}
        for x in self.parts:
            memory[x] = Value(f"{x.name}_memory", np.ndarray, None, x.dtype)
        inputs = [spec_of(x, lowering.views[x]) for x in lowering.inputs]
        outputs = [spec_of(x, view) for x, view in zip(self.outputs, self.views, strict=True)]
        loops: Any = [native_programs.loop_of(loop, types) for loop, types in lowering.loops]
        rest = self.work, self.guarded, sum(map(_elements, self.items))
        native = native_programs.program(library, self.name, inputs, outputs, loops, *rest)
        ok = [Value(f"{self.name}_fits", bool)] if self.guarded else []
        results = (*[memory.get(x, x) for x in self.outputs], *ok)
        found = [Call(native, tuple(lowering.inputs), {}, results), *map(_fits, ok)]
        found += [Call(_lying, (memory[x],), lies, (x,)) for x, lies in self.parts.items()]
        return [*found, *self.after]


def _elements(item: Item) -> int:
    if isinstance(item, Group):
        return item.size * len(item.operations)
    return sum([view.size for views in views_of(item) for view in views])
